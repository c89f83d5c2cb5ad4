// Communicators as the harness knows them: an identity that is the same on all their ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <mpi.h>

namespace dist::harness {

struct Group {
    std::uint64_t id = 0;  // the same on every member, different from every other communicator's
    std::vector<int> members;  // ranks in the world of the job
    int rank = 0;              // this rank in the communicator

    [[nodiscard]] int size() const { return static_cast<int>(members.size()); }
    [[nodiscard]] int world_rank(int r) const {
        return r >= 0 && r < size() ? members[static_cast<std::size_t>(r)] : -1;
    }
};

/// What is known of `comm`; a communicator nobody declared is known by its members.
const Group& group_of(MPI_Comm comm);

/// Declares a communicator that was made from `parent_id` at its collective number `count`.
void declare_group(MPI_Comm comm, std::uint64_t parent_id, std::uint64_t count);

/// Its handle was freed, and may be given to another.
void forget_group(MPI_Comm comm);

/// Nobody passes before every rank of `comm` stands at the same collective. A mismatch is named,
/// and MPI never sees it.
///
/// signature  the call, its root and its bytes, as far as they must agree.
/// wait       false for a non-blocking collective: it is compared, and passes at once.
/// Returns    the number of this collective on `comm`, from 1.
/// Errors     Stopped if the ranks stand at different collectives, or the test was stopped.
std::uint64_t arrive(MPI_Comm comm, const std::string& signature, bool wait = true);

/// Waits until every rank of `comm` has arrived at its collective number `count`.
///
/// Errors  as arrive().
void await_arrivals(MPI_Comm comm, std::uint64_t count, const std::string& signature);

/// Forgets all arrivals of this rank: a new body begins.
void reset_arrivals();

}  // namespace dist::harness
