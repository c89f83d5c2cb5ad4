// What the wrappers of mpi_calls.cpp are made of, which calls.cmake writes from mpi.h.
//
// A collective passes the gate of groups.hpp and is then MPI's own: its internal messages are neither
// counted nor delayed. Count and type need not agree between ranks in MPI; bytes are part of the
// signature only where they must.
#pragma once

#include <cstdint>
#include <string>

#include <mpi.h>

#include "tests/harness/mpi/handles.hpp"

namespace dist::harness {

inline constexpr int kNoRoot = -1;
inline constexpr long kAnyBytes = -1;

long bytes(long count, MPI_Datatype type);

/// A call that all ranks of a communicator make, past its gate.
class Collective {
  public:
    Collective(std::string signature, MPI_Comm comm, std::uint64_t number)
        : signature_(std::move(signature)), comm_(comm), number_(number) {}

    /// MPI's own collective is over.
    [[nodiscard]] int left(int code) const;
    /// It goes on, until `request` is through.
    [[nodiscard]] int started(int code, const MPI_Request* request) const;
    /// It made `made`.
    [[nodiscard]] int made(int code, const MPI_Comm* made) const;

  private:
    std::string signature_;
    MPI_Comm comm_;
    std::uint64_t number_;  // on comm_, from 1; 0 outside of a test body
};

/// Before a collective: nobody passes alone. `root` and `n_bytes` where they have to agree.
Collective enter(const char* name, MPI_Comm comm, int root, long n_bytes);

/// Before a non-blocking collective: it is compared, and passes at once.
Collective start(const char* name, MPI_Comm comm, int root, long n_bytes);

/// Before a communicator is made from `comm`.
Collective join(const char* name, MPI_Comm comm);

/// Inside a test body, ends the test as `forbidden`, by the exercise's sentence if it has one for this
/// call, or else by `sentence`.
void refuse_call(const char* name, const char* sentence);
void refuse_collective(const char* name, const char* sentence);

}  // namespace dist::harness
