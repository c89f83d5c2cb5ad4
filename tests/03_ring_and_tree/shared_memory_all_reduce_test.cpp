// shared_memory_all_reduce: every part the reduction, no message, each rank its own slice, no race.
#include "exercises/03_ring_and_tree/shared_memory_all_reduce.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <sys/mman.h>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "tests/harness/harness.hpp"

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

Comparison is_reduction(
    const std::vector<float>& part, ReduceOp op, const Communicator& comm, std::uint64_t salt = 0
) {
    const std::size_t n = part.size();
    const int p = comm.size();
    const double tolerance = op == ReduceOp::mean ? 3.0 / (1 << 24) : 0.0;  // rounded twice
    const auto total = reduced_input(n, p, op == ReduceOp::mean ? ReduceOp::sum : op, salt);
    std::vector<Suspicion> known = {
        {input(n, comm.rank(), salt),
         "that is this rank's own contribution: whoever reduces this slice writes the result into "
         "every part, and nobody goes on before all have"}};
    if (op == ReduceOp::mean) {
        known.push_back({total, "that is the sum: mean divides it by p, once"});
    }
    for (int missing = 0; missing < p; ++missing) {
        std::vector<float> others(n, 0.0F);
        for (int src = 0; src < p; ++src) {
            if (src != missing) {
                accumulate(input(n, src, salt), others, ReduceOp::sum);
            }
        }
        if (op == ReduceOp::sum) {
            known.push_back(
                {others, "that is the sum without rank " + std::to_string(missing) +
                             ": its contribution was not there yet, or was left out"}
            );
        }
    }
    return same(part, reduced_input(n, p, op, salt), tolerance, known);
}

/// Memory of `part` outside of the elements of `slice`, as far as whole pages go: no access.
void guard_outside(std::span<float> part, Chunk slice, int access) {
    constexpr std::uintptr_t kPageBytes = 4096;
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

TEST_CASE("every part ends as the reduction of all parts, for every operation") {
    const auto op =
        GENERATE(ReduceOp::sum, ReduceOp::mean, ReduceOp::product, ReduceOp::min, ReduceOp::max);
    on_ranks({3, 1, 2, 4, 5}, [&](const Communicator& comm) {
        for (const std::size_t n : {7U, 0U, 1U, 2U, 3U, 4U, 5U, 6U, 1000U}) {
            INFO(name(op) << " of " << n << " floats over " << comm.size() << " ranks");
            SharedBuffer data(n, comm);
            write_input(data, comm);
            shared_memory_all_reduce(data, op, comm);
            CHECK(is_reduction(read_own_part(data, comm), op, comm));
        }
    });
}

TEST_CASE("nobody returns before every slice of its part is finished") {
    on_ranks({2, 3, 5}, [](const Communicator& comm) {
        for (int late = 0; late < comm.size(); ++late) {
            INFO("rank " << late << " is late: it leaves each barrier after the others");
            SharedBuffer data(1000, comm);
            write_input(data, comm);
            const Late delay(comm.rank() == late ? kLateMs : 0);
            shared_memory_all_reduce(data, ReduceOp::sum, comm);
            CHECK(is_reduction(read_own_part(data, comm), ReduceOp::sum, comm));
        }
    });
}

TEST_CASE("nobody reads a part before its rank has written it") {
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
            CHECK(is_reduction(read_own_part(data, comm), ReduceOp::sum, comm));
        }
    });
}

TEST_CASE("it sends no message") {
    on_ranks({1, 2, 3, 4, 5}, [](const Communicator& comm) {
        SharedBuffer data(1000, comm);
        write_input(data, comm);
        const Traffic traffic =
            record(comm, [&] { shared_memory_all_reduce(data, ReduceOp::sum, comm); });
        INFO("the other ranks' parts are in memory: read them there");
        CHECK(traffic.messages_sent == 0);
    });
}

TEST_CASE("each rank touches its own slice of every part, and no other") {
    on_ranks({2, 3, 4}, [](const Communicator& comm) {
        SharedBuffer data(100'000, comm);
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
        CHECK(is_reduction(read_own_part(data, comm), ReduceOp::sum, comm));
    });
}

TEST_CASE("two calls in a row do not mix") {
    on_ranks({2, 3, 5}, [](const Communicator& comm) {
        SharedBuffer data(1000, comm);
        for (const std::uint64_t salt : {1U, 2U, 3U}) {
            INFO(
                "call " << salt << ": its input is written as soon as the one before has returned"
            );
            write_input(data, comm, salt);
            const Late delay(static_cast<std::uint64_t>(comm.rank()) == salt % 2 ? kLateMs : 0);
            shared_memory_all_reduce(data, ReduceOp::max, comm);
            CHECK(is_reduction(read_own_part(data, comm), ReduceOp::max, comm, salt));
        }
    });
}

TEST_CASE("the ranks are those of the communicator that was given") {
    on_ranks({2, 3, 4, 5}, [](const Communicator& comm) {
        const Communicator reversed = comm.split(0, -comm.rank());
        const Communicator half = comm.split(comm.rank() % 2);
        for (const Communicator* group : {&reversed, &half}) {
            INFO("a communicator of " << group->size() << " of the ranks, numbered anew");
            SharedBuffer data(7, *group);
            write_input(data, *group);
            shared_memory_all_reduce(data, ReduceOp::sum, *group);
            CHECK(is_reduction(read_own_part(data, *group), ReduceOp::sum, *group));
        }
    });
}
