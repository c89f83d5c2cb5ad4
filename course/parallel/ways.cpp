#include "course/parallel/ways.hpp"

#include <algorithm>

namespace dist::trainer {
namespace {

/// The exercises of the loop, its data and its counts, and `more` of the way itself.
std::vector<std::string> with_loop(const std::vector<std::string>& more) {
    std::vector<std::string> all = {
        "resnet_trainer", "distributed_sampler", "evaluate", "broadcast_parameters"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

}  // namespace

std::span<const Way> ways() {
    static const std::vector<Way> all = {
        {Parallel::average, "average", "equal replicas, gradients averaged after backward",
         with_loop({"average_gradients", "ring_all_reduce"})},
        {Parallel::ddp, "ddp", "equal replicas, gradients averaged while backward makes others",
         with_loop({"gradient_buckets", "autograd_hooks", "overlap", "ring_all_reduce"})},
        {Parallel::zero1, "zero1",
         "equal weights, the optimizer's state cut into a shard for each rank",
         with_loop({"zero1", "ring_reduce_scatter", "ring_all_gather"})},
        {Parallel::zero2, "zero2",
         "zero1, and gradients cut into shards while backward makes others",
         with_loop({"zero2", "zero1", "gradient_buckets", "ring_reduce_scatter", "ring_all_gather"}
         )},
        {Parallel::zero3, "zero3",
         "zero2, and weights cut into shards, gathered while their layer computes",
         with_loop({"zero3", "zero1", "overlap", "ring_reduce_scatter", "ring_all_gather"})},
        {Parallel::three_d,
         "3d",
         "a GPT cut across a mesh of data, pipeline, context, tensor and expert ranks (--mesh)",
         {"resnet_trainer",
          "distributed_sampler",
          "broadcast_parameters",
          "average_gradients",
          "zero1",
          "zero2",
          "zero3",
          "device_mesh",
          "tensor_parallel",
          "vocab_parallel",
          "ring_attention",
          "sequence_parallel",
          "expert_parallel",
          "redistribute",
          "pipeline",
          "pipeline_messages",
          "pipeline_schedule",
          "ring_all_reduce",
          "ring_reduce_scatter",
          "ring_all_gather"},
         /*one_process=*/false,
         /*on_a_mesh=*/true},
        {Parallel::ps, "ps",
         "the last ranks are parameter servers, which hold and step the weights (--servers, "
         "--staleness)",
         with_loop({"rpc", "parameter_server", "bounded_staleness", "ring_all_reduce"})},
        {Parallel::dp, "dp", "one process, whose threads have a replica each (--replicas)",
         with_loop({"data_parallel"}),
         /*one_process=*/true},
        {Parallel::none, "none", "one process, which exchanges nothing", with_loop({}),
         /*one_process=*/true},
    };
    return all;
}

std::string way_names() {
    std::string names;
    for (const Way& way : ways()) {
        names += names.empty() ? "" : ", ";
        names += way.name;
    }
    return names;
}

const Way* find_way(std::string_view name) {
    const auto found = std::ranges::find(ways(), name, &Way::name);
    return found == ways().end() ? nullptr : &*found;
}

const Way& way_of(Parallel parallel) {
    return *std::ranges::find(ways(), parallel, &Way::parallel);
}

}  // namespace dist::trainer
