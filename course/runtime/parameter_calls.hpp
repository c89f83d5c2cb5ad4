// What workers and parameter servers call on each other, and what travels in these calls.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "course/runtime/error.hpp"
#include "course/runtime/rpc.hpp"

namespace dist {

/// On a server: takes a step and a gradient, answers with nothing, at once.
inline constexpr const char* kPush = "parameters.push";
/// On a server: takes a step, answers with a row of floats, when there is one for that step.
inline constexpr const char* kPull = "parameters.pull";
/// On a worker: takes nothing, answers with nothing, when the worker leaves. So this call is under
/// way as long as the worker is there, and it fails when the worker dies.
inline constexpr const char* kStay = "parameters.stay";

inline Bytes bytes_of(std::span<const float> row) {
    const auto bytes = std::as_bytes(row);
    return {bytes.begin(), bytes.end()};
}

/// Errors  std::invalid_argument if that is no number of whole floats.
inline std::vector<float> row_of(std::span<const std::byte> bytes) {
    expects(bytes.size() % sizeof(float) == 0, "parameters: a row must be whole floats");
    std::vector<float> row(bytes.size() / sizeof(float));
    std::ranges::copy(bytes, std::as_writable_bytes(std::span(row)).begin());
    return row;
}

/// Arguments of a call: a step, and behind it a gradient, where there is one.
struct StepAndRow {
    std::int64_t step = 0;
    std::vector<float> row = {};
};

/// 8 bytes for the step, 4 for each float.
inline Bytes arguments_of(std::int64_t step, std::span<const float> row = {}) {
    Bytes bytes(sizeof(step));
    std::memcpy(bytes.data(), &step, sizeof(step));
    const auto behind = std::as_bytes(row);
    bytes.insert(bytes.end(), behind.begin(), behind.end());
    return bytes;
}

/// Errors  std::invalid_argument if there is no step, or no whole float behind it.
inline StepAndRow step_and_row(std::span<const std::byte> arguments) {
    StepAndRow read;
    expects(arguments.size() >= sizeof(read.step), "parameters: a call must have a step");
    std::memcpy(&read.step, arguments.data(), sizeof(read.step));
    read.row = row_of(arguments.subspan(sizeof(read.step)));
    return read;
}

}  // namespace dist
