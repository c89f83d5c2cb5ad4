#include "course/trainer/stack.hpp"

#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <vector>

namespace dist::trainer {

namespace {

// top to bottom: each stands on the ones after it
constexpr std::array<std::string_view, 9> kLayers = {
    "average_gradients",    "ring_all_reduce", "ring_reduce_scatter",
    "ring_all_gather",      "ring_shift",      "chunk_bounds",
    "broadcast_parameters", "broadcast",       "send_recv"};

bool contains(std::string_view list, std::string_view name) {
    return fmt::format(",{},", list).find(fmt::format(",{},", name)) != std::string::npos;
}

}  // namespace

std::string describe_stack(std::string_view mine) {
    std::vector<std::string_view> yours;
    std::vector<std::string_view> reference;
    for (const std::string_view layer : kLayers) {
        (contains(mine, layer) ? yours : reference).push_back(layer);
    }
    std::string text = "stack:";
    if (!yours.empty()) {
        text += fmt::format(" yours: {}", fmt::join(yours, ", "));
    }
    if (!reference.empty()) {
        text += fmt::format(
            "{} the reference's: {}", yours.empty() ? "" : ";", fmt::join(reference, ", ")
        );
    }
    return text;
}

}  // namespace dist::trainer
