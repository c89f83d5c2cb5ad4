// The runtime, as far as one process goes: reductions, buffers, seeded data, errors.

#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>  // its std::accumulate must not be taken for ours
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <mpi.h>

#include "course/runtime/buffer.hpp"
#include "course/runtime/clock.hpp"
#include "course/runtime/deadline.hpp"
#include "course/runtime/error.hpp"
#include "course/runtime/mpi_count.hpp"
#include "course/runtime/reduce_op.hpp"
#include "course/runtime/rendezvous_state.hpp"
#include "course/runtime/seeded.hpp"
#include "tests/course/error_text.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist;

namespace {

std::vector<float> reduced(std::vector<float> into, const std::vector<float>& in, ReduceOp op) {
    accumulate(std::span<const float>(in), std::span<float>(into), op);
    return into;
}

}  // namespace

TEST_CASE("accumulate combines element by element, for every operation") {
    const std::vector<float> into = {1, 5, -2, 8};
    const std::vector<float> in = {4, 2, -3, 8};
    CHECK(reduced(into, in, ReduceOp::sum) == std::vector<float>{5, 7, -5, 16});
    CHECK(reduced(into, in, ReduceOp::mean) == std::vector<float>{5, 7, -5, 16});
    CHECK(reduced(into, in, ReduceOp::product) == std::vector<float>{4, 10, 6, 64});
    CHECK(reduced(into, in, ReduceOp::min) == std::vector<float>{1, 2, -3, 8});
    CHECK(reduced(into, in, ReduceOp::max) == std::vector<float>{4, 5, -2, 8});
    CHECK(reduced({}, {}, ReduceOp::sum).empty());
}

TEST_CASE("accumulate is right at every length around a vector register's") {
    for (std::size_t n = 0; n < 70; ++n) {
        std::vector<float> into(n, 3);
        std::vector<float> in(n);
        std::iota(in.begin(), in.end(), 1.0F);
        accumulate(in, into, ReduceOp::sum);  // of vectors, in the presence of <numeric>
        for (std::size_t i = 0; i < n; ++i) {
            REQUIRE(into[i] == 4.0F + static_cast<float>(i));
        }
        std::span<float> all(into);
        accumulate(std::span<float>(in), all, ReduceOp::sum);  // and of two spans of one type
        REQUIRE(std::accumulate(into.begin(), into.end(), 0.0F) == static_cast<float>(n * (n + 4)));
    }
}

TEST_CASE("a deadline stops at the end of time, and poll gets what fits into an int") {
    using Duration = Clock::Duration;
    CHECK(deadline_after(Duration(5), Duration(7)) == Duration(12));
    CHECK(deadline_after(Duration(5), Duration(-7)) == Duration(-2));
    CHECK(deadline_after(Duration(5), Duration::max()) == Duration::max());
    CHECK(deadline_after(Duration(-5), Duration::min()) == Duration::min());
    CHECK(poll_ms(deadline_after(Duration::max())) == std::numeric_limits<int>::max());
    CHECK(poll_ms(deadline_after(Duration::min())) == 0);
    CHECK(poll_ms(deadline_after(std::chrono::hours(1))) > 1'000'000);
}

TEST_CASE("accumulate refuses spans of different length") {
    std::vector<float> three(3);
    std::vector<float> two(2);
    CHECK_THROWS_AS(accumulate(two, three, ReduceOp::sum), std::invalid_argument);
}

TEST_CASE("scale multiplies every element") {
    std::vector<float> data = {2, -4, 0};
    scale(data, 0.5F);
    CHECK(data == std::vector<float>{1, -2, 0});
}

TEST_CASE("mpi_count is a length as an int, or refuses it") {
    CHECK(mpi_count(0) == 0);
    CHECK(mpi_count(2'147'483'647U) == 2'147'483'647);
    CHECK_THROWS_AS(mpi_count(2'147'483'648U), std::invalid_argument);
    CHECK_THROWS_AS(mpi_count(std::size_t{1} << 32U), std::invalid_argument);
}

TEST_CASE("a buffer of a huge page and more is aligned to it, and keeps what is written") {
    constexpr std::size_t kHuge = std::size_t{2} << 20U;
    Buffer buffer(3 * kHuge / sizeof(float) + 1);
    CHECK(reinterpret_cast<std::uintptr_t>(buffer.data()) % kHuge == 0);
    buffer.span().back() = 7;
    Buffer moved = std::move(buffer);
    CHECK(moved.span().back() == 7);
    CHECK(Buffer(0).span().empty());
    CHECK(Buffer(5).span().size() == 5);
}

TEST_CASE(
    "the memory of the largest buffer serves those that fit, whatever came between, and no two at "
    "once"
) {
    constexpr std::size_t kFloats = std::size_t{4} << 20U;
    const float* first = nullptr;
    {
        const Buffer buffer(kFloats);
        first = buffer.data();
    }
    for (const std::size_t floats : {kFloats / 3, kFloats, kFloats / 2, kFloats - 5}) {
        CHECK(Buffer(floats).data() == first);  // the buckets of a step, one after the other
    }
    CHECK(Buffer(8).data() != first);
    Buffer second(kFloats / 2);
    Buffer third(kFloats);
    CHECK(second.data() == first);
    CHECK(third.data() != first);
    second.span().back() = 1;
    third.span().back() = 2;
    CHECK(second.span().back() == 1);
    second = Buffer(8);
    CHECK(second.size() == 8);
    std::thread([&] { CHECK(Buffer(kFloats).data() != first); }).join();
}

TEST_CASE("seeded data: the same pair of seed and rank, the same small whole numbers") {
    const auto data = seeded_data(1000, 2, 7);
    CHECK(data == seeded_data(1000, 2, 7));
    CHECK(data != seeded_data(1000, 3, 7));
    CHECK(data != seeded_data(1000, 2, 8));
    CHECK(std::set<float>(data.begin(), data.end()) == std::set<float>{1, 2, 3, 4, 5, 6, 7, 8});
}

TEST_CASE("errors say what was called, where, and why") {
    CHECK_NOTHROW(expects(true, "never seen"));
    CHECK(error_text([] { expects(false, "f: n must be even"); }) == "f: n must be even");
    CHECK(error_text([] { throw NotImplemented("f"); }) == "f is not implemented yet");
    REQUIRE(MPI_Init(nullptr, nullptr) == MPI_SUCCESS);
    const std::string text =
        error_text([] { check_mpi(MPI_ERR_RANK, "MPI_Send(...)", "a.cpp", 7); });
    CHECK(text.find("MPI_Send(...) failed: MPI_ERR_RANK") == 0);
    CHECK(text.find("a.cpp:7") != std::string::npos);
    MPI_Finalize();
}

TEST_CASE("the machine's clock goes on while it sleeps, and never back") {
    SteadyClock clock;
    const Clock::Duration start = clock.now();
    clock.sleep(Clock::Duration(3));
    CHECK(clock.now() - start >= Clock::Duration(3));
}

TEST_CASE("the state of a rendezvous is in its text, whatever names the nodes have") {
    RendezvousState state;
    CHECK(RendezvousState::from(state.text()) == state);
    CHECK(RendezvousState::from("") == state);
    state.round = 7;
    state.last_call = 3;
    state.closed = true;
    state.ranks = {"", "end", "node 1:\n\"2\" \\"};
    state.members = {{"end", 4}, {"node 1:\n\"2\" \\", std::int64_t{1} << 62}};
    state.waiting = {{"", 0}, {"rank \"a\"", 1}};
    CHECK(state.complete());
    CHECK(RendezvousState::from(state.text()) == state);
    for (const std::string text : {"7", "round 1 0 0", "round 1 0 0\nmember \"a\"\nend", "end"}) {
        CHECK_THROWS_AS(RendezvousState::from(text), Error);
    }
    CHECK_THROWS_AS(RendezvousState::from(state.text() + " "), Error);
}

TEST_CASE("a stopwatch never runs backwards") {
    const Stopwatch watch;
    const double first = watch.elapsed_s();
    CHECK(first >= 0);
    CHECK(watch.elapsed_s() >= first);
}
