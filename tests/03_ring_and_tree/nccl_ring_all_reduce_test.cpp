// What nccl_ring_all_reduce must do: what ring_all_reduce must, with memory of GPUs and NCCL's messages.
#include "exercises/03_ring_and_tree/nccl_ring_all_reduce.hpp"

#include <string>

#include "course/protocol/counted.hpp"
#include "tests/harness/gpu/collectives.hpp"
#include "tests/harness/gpu/gpu.hpp"
#include "tests/harness/words/cost.hpp"
#include "tests/harness/words/reductions.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const ForbidNcclCollectives kForbid(
    "This exercise builds an all-reduce from messages: nccl_ring_shift, and your kernel."
);

/// What the likely mistakes leave behind, most telling first.
std::vector<Suspicion> suspicions(const Call& call, const NcclCommunicator& comm) {
    const int p = comm.size();
    std::vector<Suspicion> known = mean_mistakes(call, comm.rank(), p);
    known.push_back(
        {input(call.n, comm.rank(), call.salt),
         "that is this rank's own contribution: nothing was added, and no finished chunk came"}
    );
    for (int k = 1; k < p; ++k) {
        for (int first = 0; first < p; ++first) {
            const auto ranks = arc(p, first, k);
            known.push_back(
                {partial(call, ranks), "that is what " + alone(ranks) + " would give, " +
                                           std::to_string(k) + " of " + std::to_string(p) +
                                           " contributions: is each piece of work in the "
                                           "stream that comm.stream() gives?"}
            );
        }
    }
    return known;
}

/// The all-reduce of input(n, r, salt) on GPUs, against the reduction over all ranks.
Comparison reduced(
    std::size_t n, ReduceOp op, const NcclCommunicator& comm, std::uint64_t salt = 0
) {
    const DeviceBuffer data(input(n, comm.rank(), salt));
    nccl_ring_all_reduce(data.span(), op, comm);
    const auto expected = reduced_input(n, comm.size(), op, salt);
    const double allowed = tolerance(op, comm.size());
    Comparison plain = same(data.to_host(), expected, allowed);
    if (plain || n > 1000) {
        return plain;
    }
    return same(
        data.to_host(), expected, allowed, suspicions({.n = n, .op = op, .salt = salt}, comm)
    );
}

}  // namespace

TEST_CASE("nccl_ring_all_reduce sums every element over all ranks, for every length") {
    on_gpus({3, 1, 2, 4, 5}, [](const NcclCommunicator& comm) {
        for (const std::size_t n : lengths(comm.size())) {
            const Comparison result = reduced(n, ReduceOp::sum, comm);
            INFO("n = " << n << ", p = " << comm.size());
            CHECK(result);
        }
    });
}

TEST_CASE("nccl_ring_all_reduce combines by mean, product, min and max as well") {
    on_gpus({1, 2, 3, 5}, [](const NcclCommunicator& comm) {
        for (const ReduceOp op :
             {ReduceOp::mean, ReduceOp::product, ReduceOp::min, ReduceOp::max}) {
            for (const std::size_t n : {7U, 1000U}) {
                const Comparison result = reduced(n, op, comm);
                INFO(name(op) << " of n = " << n << " elements, p = " << comm.size());
                CHECK(result);
            }
        }
    });
}

TEST_CASE("nccl_ring_all_reduce sends at most 2(p-1) messages of one chunk, to its neighbours") {
    on_gpus({1, 2, 3, 4, 5}, [](const NcclCommunicator& comm) {
        const int p = comm.size();
        for (const std::size_t n : {7U, 1000U, 300'000U}) {
            const DeviceBuffer data(input(n, comm.rank()));
            const Traffic traffic =
                record(comm, [&] { nccl_ring_all_reduce(data.span(), ReduceOp::sum, comm); });
            const long most_messages = 2L * (p - 1);
            const long most_bytes = most_messages * ceil_div(n, p) * 4;
            INFO(
                "n = " << n << ", p = " << p << ": rank " << comm.rank() << " sent "
                       << counted(traffic.messages_sent, "message") << " with "
                       << traffic.bytes_sent << " bytes in all."
            );
            INFO(
                "A ring needs " << most_messages << " messages with " << most_bytes
                                << " bytes: each carries one chunk, never the whole tensor."
            );
            CHECK(traffic.messages_sent <= most_messages);
            CHECK(traffic.bytes_sent <= most_bytes);
            CHECK(traffic.partners() == neighbours(comm));
        }
    });
}

TEST_CASE("nccl_ring_all_reduce keeps all ranks busy at the same time") {
    on_gpus({1, 2, 3, 4, 5}, [](const NcclCommunicator& comm) {
        const int p = comm.size();
        const DeviceBuffer data(input(1000, comm.rank()));
        const Traffic traffic =
            record(comm, [&] { nccl_ring_all_reduce(data.span(), ReduceOp::sum, comm); });
        const int most_rounds = 2 * (p - 1);
        INFO(
            "The longest chain of messages that wait for each other is "
            << traffic.rounds << " long; " << most_rounds << " is what a ring needs."
        );
        CHECK(traffic.rounds <= most_rounds);
    });
}

TEST_CASE("nccl_ring_all_reduce leaves the same bits on every rank") {
    on_gpus({1, 2, 3, 4, 5}, [](const NcclCommunicator& comm) {
        // 2^24 + 1 is 2^24 in float, 2^24 + (1 + 1) is not: the order of addition shows
        const std::vector<float> mine(1000, comm.rank() == 0 ? 0x1p24F : 1.0F);
        for (const ReduceOp op : {ReduceOp::sum, ReduceOp::mean}) {
            for (const std::size_t n : {1U, 2U, 1000U}) {
                const DeviceBuffer data(std::span<const float>(mine).first(n));
                nccl_ring_all_reduce(data.span(), op, comm);
                const Comparison bits = same_on_all_ranks(data.to_host(), comm);
                INFO(name(op) << " of n = " << n << " elements, p = " << comm.size());
                INFO("On a ring one rank finishes a chunk, and all others copy its bits.");
                CHECK(bits);
            }
        }
    });
}

TEST_CASE("nccl_ring_all_reduce holds one chunk beside data, not all of it") {
    on_gpus({3, 1, 2, 5}, [](const NcclCommunicator& comm) {
        const std::size_t n = 3000;
        const DeviceBuffer data(input(n, comm.rank()));
        const long held_bytes =
            device_memory_of([&] { nccl_ring_all_reduce(data.span(), ReduceOp::sum, comm); });
        INFO("n = " << n << ", p = " << comm.size() << "; bytes of the GPU's memory beside data");
        CHECK(held_bytes <= 4 * ceil_div(n, comm.size()));
    });
}

TEST_CASE("nccl_ring_all_reduce can be called twice in a row") {
    on_gpus({2, 3, 5}, [](const NcclCommunicator& comm) {
        const Comparison first = reduced(1000, ReduceOp::sum, comm, 1);
        const Comparison second = reduced(1000, ReduceOp::max, comm, 2);
        CHECK(first);
        CHECK(second);
    });
}
