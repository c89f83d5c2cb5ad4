// shared_memory_all_reduce: every part the reduction, no message, each rank its own slice, no race.
#include "exercises/03_ring_and_tree/shared_memory_all_reduce.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <sys/mman.h>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "tests/harness/words/patterns.hpp"
#include "tests/harness/words/reductions.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid(
    {"MPI_Allreduce", "MPI_Iallreduce", "MPI_Reduce", "MPI_Ireduce", "MPI_Reduce_scatter",
     "MPI_Reduce_scatter_block", "MPI_Bcast", "MPI_Ibcast", "MPI_Allgather", "MPI_Allgatherv",
     "MPI_Gather", "MPI_Gatherv", "MPI_Scatter", "MPI_Scatterv", "MPI_Alltoall"},
    "The ranks share memory: read the other ranks' parts, and synchronize()."
);

constexpr int kLateMs = 3;

void write_input(SharedBuffer& data, const Communicator& comm, std::uint64_t salt = 0) {
    std::ranges::copy(input(data.size(), comm.rank(), salt), data.of(comm.rank()).begin());
}

/// Looks at once: what another rank writes after this rank has returned is not there yet.
std::vector<float> read_own_part(const SharedBuffer& data, const Communicator& comm) {
    const auto part = data.of(comm.rank());
    return {part.begin(), part.end()};
}

std::vector<Suspicion> mistakes(const Call& call, const Communicator& comm) {
    const int p = comm.size();
    std::vector<Suspicion> known = reduction_mistakes(call, p);
    known.push_back(
        {contribution(call, comm).data,
         "that is this rank's own contribution: whoever reduces this slice writes the result into "
         "every part, and nobody goes on before all have"}
    );
    for (int missing = 0; p > 1 && missing < p; ++missing) {
        known.push_back(
            {partial(call, arc(p, missing + 1, p - 1)),
             "that is the " + std::string(name(call.op)) + " without rank " +
                 std::to_string(missing) + ": its contribution was not there yet, or was left out"}
        );
    }
    return known;
}

Comparison is_reduction(
    const std::vector<float>& part, const Call& call, const Communicator& comm
) {
    return reduced(part, call, comm, mistakes);
}

const Attempt kAttempt{
    .name = "shared_memory_all_reduce",
    .takes = {.op = true},
    .before = contribution,
    .call =
        [](Buffers& b, const Call& call, const Communicator& comm) {
            SharedBuffer data(b.data.size(), comm);
            std::ranges::copy(b.data, data.of(comm.rank()).begin());
            shared_memory_all_reduce(data, call.op, comm);
            b.data = read_own_part(data, comm);
        },
    .outcome = [](const Buffers& b, const Call& call, const Communicator& comm
               ) { return is_reduction(b.data, call, comm); }};

constexpr std::uintptr_t kPageBytes = 4096;

/// Floats of a part that lie before its first whole page: the window has a head of its own.
std::size_t before_first_page(const Communicator& comm) {
    const SharedBuffer any(1, comm);
    const auto begin = reinterpret_cast<std::uintptr_t>(any.of(0).data());
    return (kPageBytes - begin % kPageBytes) % kPageBytes / sizeof(float);
}

/// Memory of `part` outside of the elements of `slice`, as far as whole pages go: no access.
void guard_outside(std::span<float> part, Chunk slice, int access) {
    const auto guard = [access](const float* first, const float* last) {
        const auto begin =
            (reinterpret_cast<std::uintptr_t>(first) + kPageBytes - 1) / kPageBytes * kPageBytes;
        const auto end = reinterpret_cast<std::uintptr_t>(last) / kPageBytes * kPageBytes;
        if (begin < end) {
            // NOLINTNEXTLINE(performance-no-int-to-ptr): a page is found by its number
            mprotect(reinterpret_cast<void*>(begin), end - begin, access);
        }
    };
    guard(part.data(), part.data() + slice.begin);
    guard(part.data() + slice.end, part.data() + part.size());
}

}  // namespace

TEST_CASE("shared_memory_all_reduce leaves the sum of all parts in every part, for every length") {
    every_length(kAttempt);
}

TEST_CASE("shared_memory_all_reduce combines by mean, product, min and max as well") {
    every_operation(kAttempt);
}

TEST_CASE("shared_memory_all_reduce returns when every slice of the part is finished") {
    on_ranks({2, 3, 5}, [](const Communicator& comm) {
        for (int late = 0; late < comm.size(); ++late) {
            INFO("rank " << late << " is late: it leaves each barrier after the others");
            SharedBuffer data(1000, comm);
            write_input(data, comm);
            const Late delay(comm.rank() == late ? kLateMs : 0);
            shared_memory_all_reduce(data, ReduceOp::sum, comm);
            CHECK(is_reduction(read_own_part(data, comm), {.n = data.size()}, comm));
        }
    });
}

TEST_CASE("shared_memory_all_reduce reads no part before its rank has written it") {
    on_ranks({2, 3, 5}, [](const Communicator& comm) {
        for (int late = 0; late < comm.size(); ++late) {
            INFO("rank " << late << " is late: it writes its contribution after the others");
            SharedBuffer data(1000, comm);
            data.synchronize();
            {
                const Late delay(comm.rank() == late ? kLateMs : 0);
                data.synchronize();
            }
            write_input(data, comm);
            shared_memory_all_reduce(data, ReduceOp::sum, comm);
            CHECK(is_reduction(read_own_part(data, comm), {.n = data.size()}, comm));
        }
    });
}

TEST_CASE("shared_memory_all_reduce sends no message") {
    costs(
        kAttempt,
        [](const Call&, const Communicator&) { return Cost{.messages_sent = exactly(0)}; },
        "the other ranks' parts are in memory: read them there"
    );
}

TEST_CASE("shared_memory_all_reduce waits for the others twice, and no more often") {
    on_ranks({3, 1, 2, 5}, [](const Communicator& comm) {
        SharedBuffer data(1000, comm);
        write_input(data, comm);
        const Traffic traffic =
            record(comm, [&] { shared_memory_all_reduce(data, ReduceOp::sum, comm); });
        INFO("one barrier before the first read, one after the last write");
        CHECK(traffic.collectives == 2);
    });
}

TEST_CASE("shared_memory_all_reduce touches the rank's own slice of every part, and no other") {
    on_ranks({2, 3, 4}, [](const Communicator& comm) {
        // rank 0's slice, the longest, ends with a page: one element more is seen
        const std::size_t shorter = before_first_page(comm) + 8191;
        SharedBuffer data(shorter * static_cast<std::size_t>(comm.size()) + 1, comm);
        write_input(data, comm);
        const Chunk slice = chunk_bounds(data.size(), comm.size(), comm.rank());
        for (int rank = 0; rank < comm.size(); ++rank) {
            guard_outside(data.of(rank), slice, PROT_NONE);
        }
        {
            const CrashMeans sentence(
                "it read or wrote elements outside of chunk_bounds(n, p, r), its own slice. The "
                "ranks share the work: each reduces one slice, of all parts"
            );
            shared_memory_all_reduce(data, ReduceOp::sum, comm);
        }
        for (int rank = 0; rank < comm.size(); ++rank) {
            guard_outside(data.of(rank), slice, PROT_READ | PROT_WRITE);
        }
        CHECK(is_reduction(read_own_part(data, comm), {.n = data.size()}, comm));
    });
}

TEST_CASE("shared_memory_all_reduce can be called again at once, on the same memory") {
    on_ranks({2, 3, 5}, [](const Communicator& comm) {
        SharedBuffer data(1000, comm);
        for (const std::uint64_t salt : {1U, 2U, 3U}) {
            INFO(
                "call " << salt << ": its input is written as soon as the one before has returned"
            );
            write_input(data, comm, salt);
            const Late delay(static_cast<std::uint64_t>(comm.rank()) == salt % 2 ? kLateMs : 0);
            shared_memory_all_reduce(data, ReduceOp::max, comm);
            const Call call{.n = data.size(), .op = ReduceOp::max, .salt = salt};
            CHECK(is_reduction(read_own_part(data, comm), call, comm));
        }
    });
}

TEST_CASE("shared_memory_all_reduce stays inside the communicator it is given") {
    on_other_communicators(kAttempt);
}

TEST_CASE("shared_memory_all_reduce is right on 11 ranks", "[many]") {
    on_many_ranks(kAttempt);
}
