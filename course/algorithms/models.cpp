#include "course/algorithms/models.hpp"

#include <bit>

namespace dist::lab {
namespace {

int tree_rounds(int p) {
    return static_cast<int>(std::bit_width(static_cast<unsigned>(p - 1)));
}

double message_s(double bytes, const LinkCost& link) {
    return link.alpha_s + bytes * link.beta_s_per_byte;
}

double chunk(std::size_t bytes, int p) {
    return static_cast<double>(bytes) / p;
}

}  // namespace

double tree_all_reduce_s(std::size_t bytes, int p, const LinkCost& link) {
    return tree_reduce_s(bytes, p, link) + tree_broadcast_s(bytes, p, link);
}

double ring_on_nodes_s(std::size_t bytes, int p, const NodeCosts& costs) {
    const bool one_node = p == costs.per_node;
    return all_reduce_s<AllReduceAlgorithm::ring>(
        bytes, p, one_node ? costs.inside : costs.between
    );
}

double hierarchical_s(std::size_t bytes, int p, const NodeCosts& costs) {
    // one ring in the node, whose two halves stand before and behind the one across
    const std::size_t chunk_bytes = bytes / static_cast<std::size_t>(costs.per_node);
    constexpr auto kRing = AllReduceAlgorithm::ring;
    return all_reduce_s<kRing>(bytes, costs.per_node, costs.inside) +
           all_reduce_s<kRing>(chunk_bytes, p / costs.per_node, costs.between);
}

double naive_broadcast_s(std::size_t bytes, int p, const LinkCost& link) {
    return (p - 1) * message_s(static_cast<double>(bytes), link);
}

double tree_broadcast_s(std::size_t bytes, int p, const LinkCost& link) {
    return tree_rounds(p) * message_s(static_cast<double>(bytes), link);
}

double pipeline_s(std::size_t bytes, int p, const LinkCost& link) {
    // the last rank has the first segment after p - 1 messages, and each further one after one more
    const int segments = segments_of(bytes);
    return p == 1 ? 0.0
                  : (p - 2 + segments) * message_s(static_cast<double>(bytes) / segments, link);
}

double naive_reduce_s(std::size_t bytes, int p, const LinkCost& link) {
    const auto k = static_cast<double>(bytes);
    return (p - 1) * (message_s(k, link) + k * link.gamma_s_per_byte);
}

double tree_reduce_s(std::size_t bytes, int p, const LinkCost& link) {
    const auto k = static_cast<double>(bytes);
    return tree_rounds(p) * (message_s(k, link) + k * link.gamma_s_per_byte);
}

double chunks_s(std::size_t bytes, int p, const LinkCost& link) {
    return (p - 1) * message_s(chunk(bytes, p), link);
}

double ring_reduce_scatter_s(std::size_t bytes, int p, const LinkCost& link) {
    return chunks_s(bytes, p, link) + (p - 1) * chunk(bytes, p) * link.gamma_s_per_byte;
}

double naive_all_gather_s(std::size_t bytes, int p, const LinkCost& link) {
    return chunks_s(bytes, p, link) + naive_broadcast_s(bytes, p, link);
}

double naive_reduce_scatter_s(std::size_t bytes, int p, const LinkCost& link) {
    return naive_reduce_s(bytes, p, link) + chunks_s(bytes, p, link);
}

double naive_barrier_s(std::size_t /*bytes*/, int p, const LinkCost& link) {
    return 2 * (p - 1) * link.alpha_s;
}

double dissemination_barrier_s(std::size_t /*bytes*/, int p, const LinkCost& link) {
    return tree_rounds(p) * link.alpha_s;
}

int segments_of(std::size_t bytes) {
    constexpr std::size_t kSegment = std::size_t{256} << 10U;
    return static_cast<int>(bytes / kSegment) + 1;
}

}  // namespace dist::lab
