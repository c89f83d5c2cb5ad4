#include "course/simulate/gpt_step.hpp"

#include <algorithm>

namespace dist::cli {
namespace {

constexpr double kHalfBytes = 2;    // bytes of a number in 16 bits
constexpr double kSingleBytes = 4;  // of one in 32

double weights_of_layer(const GptModel& model) {
    const double h = model.width;
    return 12 * h * h + 13 * h;
}

/// Parameters of the first rank; the last one has no positions.
double held_parameters(const GptModel& model, const GptLayout& layout) {
    const double h = model.width;
    return weights_of_layer(model) * model.layers / layout.pp / layout.tp +
           h * model.vocabulary / layout.tp + h * model.context;
}

/// (m x k) times (k x n): it takes its operations, or the way of its three matrices to memory if that is longer.
double product_s(double m, double k, double n, const Card& card) {
    return std::max(
        2 * m * k * n / card.flops_per_s, kHalfBytes * (m * k + k * n + m * n) / card.bytes_per_s
    );
}

/// What a rank computes for one micro-batch.
struct ComputedWork {
    double forward_s = 0;   // of a layer
    double backward_s = 0;  // of a layer, without what is computed again
    double head_s = 0;      // logits and loss, both ways: of the last stage
};

/// Beside its products a layer moves bytes. For each float of a tensor, forward reads and writes:
///
///     two norms: 8; bias, dropout and sum, twice: 2 + 2 + 2, and 1 of the mask: 14    of s b h that is not cut
///     bias and GeLU of 4 h: 4 each: 16                                                of s b h that is cut
///     mask and softmax: 4; dropout: 5                                                 of a s^2 b, the scores
///
/// and backward: two norms 12, dropout 10, sums of gradients 12; GeLU 24; softmax 6 and dropout 5.
ComputedWork computed_by(const GptTraining& training, const GptLayout& layout) {
    const auto& [model, batch, ranks, gradient_bytes, sequence_parallel, card, cluster] = training;
    const double h = model.width;
    const double s = model.context;
    const double tokens = s * layout.micro_batch;
    const double cut_h = h / layout.tp;
    const double heads = static_cast<double>(layout.micro_batch) * model.heads / layout.tp;
    const double head_width = h / model.heads;

    const double products_s =
        product_s(tokens, h, 3 * cut_h, card) + product_s(tokens, cut_h, h, card) +
        product_s(tokens, h, 4 * cut_h, card) + product_s(tokens, 4 * cut_h, h, card) +
        heads * (product_s(s, head_width, s, card) + product_s(s, s, head_width, card));
    const double whole = tokens * (sequence_parallel ? cut_h : h);
    const double cut = tokens * cut_h;
    const double scores = heads * s * s;
    // of each weight: its new gradient and the sum of the old ones are read, and the sum is written
    const double sums_bytes = 12 * h * cut_h * (kHalfBytes + 2 * gradient_bytes);
    // of each logit: to float32 6, maximum 4, difference 8, exponential and sum 12, gradient 8, back 6
    constexpr double kLogitBytes = 44;
    const double logits = tokens * model.vocabulary / layout.tp;

    ComputedWork computed;
    computed.forward_s = products_s + (22 * whole + 16 * cut + 9 * scores) / card.bytes_per_s;
    computed.backward_s =
        2 * products_s + (34 * whole + 24 * cut + 11 * scores + sums_bytes) / card.bytes_per_s;
    computed.head_s =
        3 * product_s(tokens, h, static_cast<double>(model.vocabulary) / layout.tp, card) +
        kLogitBytes * logits / card.bytes_per_s;
    for (double* const time : {&computed.forward_s, &computed.backward_s, &computed.head_s}) {
        *time /= card.efficiency;
    }
    return computed;
}

/// From stage to stage: each tp rank sends its part over its own card, and the parts are gathered inside of the node.
double boundary_s(double bytes, const GptTraining& training, int tp) {
    const Cluster& cluster = training.cluster;
    const bool inside = training.ranks <= cluster.per_node;
    const double latency_s = inside ? cluster.inside_latency_s : cluster.latency_s;
    const double bytes_per_s = inside ? cluster.inside_bytes_per_s : cluster.bytes_per_s;
    return latency_s + bytes / tp / bytes_per_s +
           all_reduce_s(bytes, tp, cluster.per_node, cluster) / 2;
}

/// Messages of the data dimension that no work hides. Where one stage is all, its last backward hides gradients but those
/// of a layer, as ddp does; stages end their backwards one after the other, and wait for all.
double data_s(const GptTraining& training, const GptLayout& layout, double backward_s) {
    const int on_node = std::max(1, training.cluster.per_node / layout.tp);
    const double parameters = held_parameters(training.model, layout);
    const auto all = [&](double bytes) {
        return all_reduce_s(parameters * bytes, layout.dp, on_node, training.cluster);
    };
    const double gradients_s = all(training.gradient_bytes) / (layout.zero == 0 ? 1 : 2);
    const double weights_s = layout.zero == 0 ? 0 : all(kHalfBytes) / 2;
    const double exposed_s =
        layout.pp > 1 ? gradients_s
                      : std::max(gradients_s / training.model.layers, gradients_s - backward_s);
    return exposed_s + weights_s;
}

}  // namespace

double GptModel::parameters() const {
    return layers * weights_of_layer(*this) + static_cast<double>(width) * (vocabulary + context);
}

double flops_of(const GptTraining& training, bool recompute) {
    const GptModel& model = training.model;
    const double h = model.width;
    const double forward = model.layers * (24 * h * h + 4.0 * model.context * h);
    const double tokens = static_cast<double>(training.batch) * model.context;
    return tokens * ((recompute ? 4 : 3) * forward + 6 * h * model.vocabulary);
}

double all_reduce_s(double bytes, int p, int on_node, const Cluster& cluster) {
    const int inside = std::min(p, on_node);
    const int nodes = (p + inside - 1) / inside;
    const auto ring_s = [](double k, int ranks, double latency_s, double bytes_per_s) {
        return 2 * (ranks - 1) * (latency_s + k / ranks / bytes_per_s);
    };
    return ring_s(bytes, inside, cluster.inside_latency_s, cluster.inside_bytes_per_s) +
           ring_s(bytes / inside, nodes, cluster.latency_s, cluster.bytes_per_s);
}

GptTime time_of(const GptTraining& training, const GptLayout& layout) {
    const GptModel& model = training.model;
    const Cluster& cluster = training.cluster;
    const Card& card = training.card;
    const int m = layout.micro_batches(training.batch);
    const double layers = static_cast<double>(model.layers) / layout.pp;  // of a stage
    const double activations_bytes =
        kHalfBytes * model.context * layout.micro_batch * model.width;  // between two layers
    const ComputedWork computed = computed_by(training, layout);
    const double again_s = layout.recompute ? computed.forward_s : 0;
    const double layer_s = computed.forward_s + again_s + computed.backward_s;
    const double mean_s = layers * layer_s + computed.head_s / layout.pp;
    const double last_s = layers * layer_s + computed.head_s;
    const double reduced_s = layers * (layout.recompute ? 6 : 4) *
                             all_reduce_s(activations_bytes, layout.tp, cluster.per_node, cluster);

    GptTime time;
    time.computation_s = m * mean_s;
    time.tp_s = m * reduced_s;
    time.bubble_s = m * (last_s - mean_s) + (mean_s + reduced_s) * (layout.pp - 1) / layout.chunks;
    if (layout.pp > 1) {
        // a stage sends and receives at the same time; first and last share the table of the vocabulary
        const double table_bytes = static_cast<double>(training.gradient_bytes) * model.width *
                                   model.vocabulary / layout.tp;
        time.pp_s =
            2 * (m * layout.chunks + layout.pp - 1) *
                boundary_s(activations_bytes, training, layout.tp) +
            all_reduce_s(table_bytes, 2, training.ranks <= cluster.per_node ? 2 : 1, cluster);
    }
    time.dp_s = data_s(
        training, layout, layers * (again_s + computed.backward_s) + computed.head_s * 2 / 3
    );
    // Adam: weight and moments are read and written in float32, and the weight in 16 bits; of the gradient three passes
    const double optimizer_bytes = 6 * kSingleBytes + kHalfBytes + 3.0 * training.gradient_bytes;
    time.optimizer_s = held_parameters(model, layout) * optimizer_bytes /
                       (layout.zero == 0 ? 1 : layout.dp) / card.bytes_per_s / card.efficiency;
    return time;
}

namespace {

/// Of the first stage, which keeps most micro-batches, or of the last, which has the logits.
GptMemory memory_at(const GptTraining& training, const GptLayout& layout, bool first, bool last) {
    const GptModel& model = training.model;
    const double h = model.width;
    const int m = layout.micro_batches(training.batch);
    const double positions = first ? 0 : h * model.context;
    const double parameters = held_parameters(model, layout) - positions;
    // chunks of layers, each of a micro-batch, that have begun their forward and not ended their backward
    const int warm_up = layout.chunks == 1 ? (first ? layout.pp : 1)
                        : first            ? layout.pp * layout.chunks + layout.pp - 1
                                           : layout.pp * (layout.chunks - 1) + 1;
    const double in_flight = std::min(warm_up, m * layout.chunks);
    const double layers = static_cast<double>(model.layers) / layout.pp / layout.chunks;
    const double tokens = static_cast<double>(model.context) * layout.micro_batch;
    const double whole = tokens * h / (training.sequence_parallel ? layout.tp : 1);
    const double layer = 10 * whole + 24 * tokens * h / layout.tp +
                         5.0 * model.heads * tokens * model.context / layout.tp;
    // in 16 bits, in float32, and the softmax of it
    constexpr double kLogitBytes = kHalfBytes + 2 * kSingleBytes;

    GptMemory memory;
    memory.parameters_bytes = parameters * (kHalfBytes + training.gradient_bytes);
    // weight and two moments; the step reads gradients in float32, which is a copy of those in 16 bits
    const int singles = training.gradient_bytes == kSingleBytes ? 3 : 4;
    memory.optimizer_bytes =
        parameters * singles * kSingleBytes / (layout.zero == 0 ? 1 : layout.dp);
    memory.activations_bytes = (layout.recompute ? in_flight * layers * kHalfBytes * whole + layer
                                                 : in_flight * layers * layer) +
                               (last ? kLogitBytes * tokens * model.vocabulary / layout.tp : 0);
    return memory;
}

}  // namespace

GptMemory memory_of(const GptTraining& training, const GptLayout& layout) {
    const bool alone = layout.pp == 1;
    const GptMemory first = memory_at(training, layout, true, alone);
    const GptMemory last = memory_at(training, layout, alone, true);
    return first.bytes() < last.bytes() ? last : first;
}

}  // namespace dist::cli
