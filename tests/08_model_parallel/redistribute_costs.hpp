// What a way from one placement to another may send, and hold.
#pragma once

#include <string>

#include "tests/08_model_parallel/placed.hpp"
#include "tests/harness/words/cost.hpp"

namespace dist::harness {

/// Even for 1 to 4 ranks, and so is every block where two dimensions cross.
inline const Shape kEven = {12, 12, 12};

/// Messages and floats that a rank may send for one way: what the header's table says.
struct Sent {
    long messages = 0;
    long floats = 0;
};

inline Sent sent_at_most(Placement from, Placement to, const Shape& shape, int p) {
    const auto size = [&](std::int64_t d) {
        return static_cast<std::size_t>(shape[static_cast<std::size_t>(d)]);
    };
    long all = 1;
    for (const std::int64_t n : shape) {
        all *= n;
    }
    const auto largest = [&](long n, std::int64_t dim) {
        return n == 0 ? 0 : n / static_cast<long>(size(dim)) * ceil_div(size(dim), p);
    };
    const bool sends = from.kind != Kind::replicate && to.kind != Kind::partial && from != to;
    if (!sends) {
        return {};
    }
    if (from.kind == Kind::partial && to.kind == Kind::replicate) {
        return {2L * (p - 1), 2 * (p - 1) * ceil_div(static_cast<std::size_t>(all), p)};
    }
    long block = all;
    for (const Placement& placement : {from, to}) {
        block = placement.kind == Kind::shard ? largest(block, placement.dim) : block;
    }
    return {p - 1, (p - 1) * block};
}

/// Does one way cost what the table says? Exactly, where p divides all sizes.
inline Comparison costs(
    const Traffic& traffic, Placement from, Placement to, const Shape& shape, int p
) {
    const auto [messages, floats] = sent_at_most(from, to, shape, p);
    const long bytes = float_bytes(static_cast<std::size_t>(floats));
    return within(
        traffic, {.messages_sent = at_most(messages),
                  .bytes_sent = shape == kEven ? exactly(bytes) : at_most(bytes)}
    );
}

/// Has the tensor memory of its own, exactly as much as it needs?
inline Comparison stands_alone(const at::Tensor& tensor) {
    if (!tensor.is_contiguous()) {
        return {false, "it is not contiguous"};
    }
    const std::size_t bytes = tensor.storage().nbytes();
    if (bytes == tensor.nbytes()) {
        return {};
    }
    return {
        false, "its elements take " + std::to_string(tensor.nbytes()) +
                   " bytes, and it holds memory of " + std::to_string(bytes) +
                   ": is it a view of something larger?"};
}

}  // namespace dist::harness
