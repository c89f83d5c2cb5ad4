// What a timing depends on besides the code: the machine, the library, the load.
#pragma once

#include <random>
#include <sched.h>
#include <string>
#include <vector>

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

/// The ranks that share this rank's machine. Every rank of `comm` makes it, and all calls.
class RanksHere {
  public:
    explicit RanksHere(const Communicator& comm);
    ~RanksHere();
    RanksHere(const RanksHere&) = delete;
    RanksHere& operator=(const RanksHere&) = delete;
    RanksHere(RanksHere&&) = delete;
    RanksHere& operator=(RanksHere&&) = delete;

    [[nodiscard]] MPI_Comm handle() const { return handle_; }
    [[nodiscard]] int size() const { return size_; }
    [[nodiscard]] int rank() const { return rank_; }

    /// The cores that any of them may run on.
    [[nodiscard]] cpu_set_t cores() const;

  private:
    MPI_Comm handle_ = MPI_COMM_NULL;
    int size_ = 0;
    int rank_ = 0;
};

/// While it lives, each rank stays on one core: the kernel would move it about. Where there are
/// enough cores, each rank has one to itself. Where there are fewer, ranks share them evenly, and
/// who shares with whom decides how fast an algorithm is: a neighbour on the same core answers only
/// when it gets its turn. No arrangement is more right than others, so draw() makes another one.
/// Every rank of `comm` makes it, and all calls.
class Placement {
  public:
    explicit Placement(const Communicator& comm);
    ~Placement();
    Placement(const Placement&) = delete;
    Placement& operator=(const Placement&) = delete;
    Placement(Placement&&) = delete;
    Placement& operator=(Placement&&) = delete;

    /// Another arrangement, at random: the same draw on every rank. Nothing where each rank has a core.
    void draw();

  private:
    cpu_set_t before_{};
    std::size_t rank_;                // on this machine
    std::vector<std::size_t> cores_;  // by rank; empty: nothing is to be arranged
    bool shared_ = false;
    std::mt19937 random_;
};

/// Looks around. Every rank of `comm` makes this call; all get the same answer but for the load.
Machine describe_machine(const Communicator& comm);

}  // namespace dist::lab
