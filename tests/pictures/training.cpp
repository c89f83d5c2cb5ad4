// Steps of training whose messages pages play: each schedule of a pipeline, and each stage of ZeRO.
#include <ATen/ops/linear.h>
#include <memory>
#include <vector>

#include "exercises/07_zero/zero1.hpp"
#include "exercises/07_zero/zero2.hpp"
#include "exercises/07_zero/zero3.hpp"
#include "tests/08_model_parallel/pipelined.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

constexpr int kRanks = 4;
constexpr int kMicroBatches = 4;
const nn::OptimizerOptions kOptions;

/// One run of a schedule whose ranks have so many chunks.
void plays_schedule(ScheduleKind kind, int chunks = 1) {
    on_ranks({kRanks}, [=](const Communicator& comm) {
        const Schedule rows =
            insert_messages(pipeline_schedule(kind, kRanks, kMicroBatches, chunks));
        const StagedModel model = layers(kRanks * chunks);
        const Traffic traffic = record(comm, [&] { (void)model.train(rows, kMicroBatches, comm); });
        CHECK(traffic.messages_sent > 0);
    });
}

/// Two layers of 16 weights each: four shards of four.
Tensors two_layers() {
    return {
        filled({4, 4}, 0, 1).sign().requires_grad_(), filled({4, 4}, 0, 2).sign().requires_grad_()};
}

at::Tensor input_of(const Communicator& comm) {
    return filled({2, 4}, comm.rank(), 3);
}

/// A step of one of these, which `make` makes of parameters.
template <class Make>
void plays_step(const Make& make) {
    on_ranks({kRanks}, [=](const Communicator& comm) {
        const Tensors weights = two_layers();
        const auto optimizer = make(weights, comm);
        const Traffic traffic = record(comm, [&] {
            optimizer->zero_grad();
            at::linear(at::linear(input_of(comm), weights[0]), weights[1]).sum().backward();
            optimizer->step();
        });
        CHECK(traffic.messages_sent > 0);
    });
}

}  // namespace

TEST_CASE("pipeline_gpipe") {
    plays_schedule(ScheduleKind::gpipe);
}

TEST_CASE("pipeline_1f1b") {
    plays_schedule(ScheduleKind::one_forward_one_backward);
}

TEST_CASE("pipeline_interleaved") {
    plays_schedule(ScheduleKind::interleaved, 2);
}

TEST_CASE("pipeline_zero_bubble") {
    plays_schedule(ScheduleKind::zero_bubble);
}

TEST_CASE("zero1") {
    plays_step([](const Tensors& weights, const Communicator& comm) {
        return std::make_unique<Zero1>(weights, kOptions, comm);
    });
}

TEST_CASE("zero2") {
    constexpr std::size_t kLayer = 64;  // bytes: a bucket for each
    plays_step([](const Tensors& weights, const Communicator& comm) {
        return std::make_unique<Zero2>(weights, std::vector{kLayer}, kOptions, comm);
    });
}

TEST_CASE("zero3") {
    on_ranks({kRanks}, [](const Communicator& comm) {
        const Tensors weights = two_layers();
        Zero3 optimizer({{{weights[0]}}, {{weights[1]}}}, kOptions, comm, /*prefetch=*/false);
        const Traffic traffic = record(comm, [&] {
            optimizer.zero_grad();
            const at::Tensor h =
                optimizer.forward(0, [&] { return at::linear(input_of(comm), weights[0]); });
            optimizer.forward(1, [&] { return at::linear(h, weights[1]); }).sum().backward();
            optimizer.step();
        });
        CHECK(traffic.messages_sent > 0);
    });
}
