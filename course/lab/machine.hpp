// What a timing depends on besides the code: the machine, the library, the load.
#pragma once

#include <sched.h>
#include <string>

#include <mpi.h>

#include "course/runtime/communicator.hpp"

namespace dist::lab {

struct Machine {
    std::string cpu;           // model name
    std::string mpi;           // "Open MPI v4.1.4"
    std::string mpi_settings;  // "btl=self,vader pml=ob1": what the launcher asked for
    int ranks = 0;
    int nodes = 0;
    int ranks_per_node = 0;  // on the fullest node
    int cores = 0;           // that the ranks of that node may run on
    bool bound = false;      // every rank has a core to itself
    double load = 0.0;       // average of the last minute, before the start

    /// Ranks share cores: each is interrupted by others at all times.
    [[nodiscard]] bool oversubscribed() const { return ranks_per_node > cores; }
};

/// The cores that any rank of `machine` may run on: the ranks of one machine, all of which make this call.
cpu_set_t cores_of(MPI_Comm machine);

/// While it lives, each rank has a core to itself, where the launcher gave it more and there are enough for all: the
/// kernel would move ranks about. Every rank of `comm` makes it.
class OneCoreEach {
  public:
    explicit OneCoreEach(const Communicator& comm);
    ~OneCoreEach();
    OneCoreEach(const OneCoreEach&) = delete;
    OneCoreEach& operator=(const OneCoreEach&) = delete;
    OneCoreEach(OneCoreEach&&) = delete;
    OneCoreEach& operator=(OneCoreEach&&) = delete;

  private:
    cpu_set_t before_{};
};

/// Looks around. Every rank of `comm` makes this call; all get the same answer but for the load.
Machine describe_machine(const Communicator& comm);

}  // namespace dist::lab
