// What the code under test allocates is counted, in each of its threads; what MPI, the layer and what
// came before allocate is not.
// state: pass

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "tests/harness/harness.hpp"
#include "tests/harness/states/state.hpp"

namespace dist {
namespace {

constexpr std::size_t kFloats = 100'000;
constexpr long kBytes = kFloats * sizeof(float);

void expect_memory(const harness::Memory& memory, const char* what, long bytes, long allocations) {
    const bool close = memory.peak_bytes >= bytes && memory.peak_bytes <= bytes + 4096;
    if (!close || memory.allocations != allocations) {
        throw Error(
            std::string(what) + ": " + std::to_string(memory.peak_bytes) + " bytes at most, in " +
            std::to_string(memory.allocations) + " allocations"
        );
    }
}

void shift(const std::vector<float>& out, std::vector<float>& in, const Communicator& comm) {
    const int p = comm.size();
    const int n = static_cast<int>(out.size());
    MPI_CHECK(MPI_Sendrecv(
        out.data(), n, MPI_FLOAT, (comm.rank() + 1) % p, 0,     //
        in.data(), n, MPI_FLOAT, (comm.rank() - 1 + p) % p, 0,  //
        comm.handle(), MPI_STATUS_IGNORE
    ));
}

}  // namespace

void state(const Communicator& comm) {
    const std::vector<float> out(kFloats, 1);
    std::vector<float> in(kFloats);
    expect_memory(
        harness::memory_of(comm, [&] { shift(out, in, comm); }), "a message of the layer's", 0, 0
    );
    expect_memory(
        harness::memory_of(
            comm,
            [&] {
                for (int i = 0; i < 3; ++i) {
                    std::vector<float> scratch(kFloats);
                    shift(out, scratch, comm);
                }
            }
        ),
        "three vectors, one after the other", kBytes, 3
    );
    expect_memory(
        harness::memory_of(
            comm,
            [&] {
                void* volatile both[2]  // or the compiler leaves them out
                    = {std::malloc(kBytes), std::calloc(kFloats, sizeof(float))};
                shift(out, in, comm);
                std::free(both[0]);
                std::free(both[1]);
            }
        ),
        "two blocks at once", 2 * kBytes, 2
    );
    const harness::Memory threads = harness::memory_of(comm, [&] {
        std::thread([&] { const std::vector<float> scratch(kFloats); }).join();
    });
    expect_memory(threads, "a vector of a thread", kBytes, threads.allocations);

    constexpr long kStack = 1 << 20;
    std::atomic<bool> is_full = false;
    std::atomic<bool> is_over = false;
    std::thread parked;
    const harness::Memory stack = harness::memory_of(comm, [&] {
        parked = std::thread([&] {
            std::array<volatile char, kStack> scratch;
            std::ranges::fill(scratch, 1);
            is_full = true;
            is_full.notify_all();
            is_over.wait(false);
        });
        is_full.wait(false);
    });
    is_over = true;
    is_over.notify_all();
    parked.join();
    if (stack.peak_bytes < kStack * 7 / 8 || stack.peak_bytes > kStack * 9 / 8) {
        throw Error("a parked thread's stack: " + std::to_string(stack.peak_bytes) + " bytes");
    }
}

}  // namespace dist
