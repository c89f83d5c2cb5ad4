// Parameters that workers share: all of them, or the share of one server.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <string>

#include "course/runtime/error.hpp"

namespace dist {

/// A row of parameters. Workers are numbered from 0. In its step 0, 1, 2, ... a worker pulls the
/// row, computes a gradient from it, and pushes that.
///
/// One thread makes all calls, and none of them waits: a pull that has to wait keeps its reader.
class ParameterTable {
  public:
    /// Is given the row, and copies it before it returns; or an error, and an empty row.
    using Reader = std::function<void(std::span<const float> row, std::exception_ptr error)>;
    /// Changes the row by a gradient, as an optimizer does.
    using Step = std::function<void(std::span<float> row, std::span<const float> gradient)>;

    ParameterTable() = default;
    ParameterTable(const ParameterTable&) = delete;
    ParameterTable& operator=(const ParameterTable&) = delete;
    virtual ~ParameterTable() = default;

    /// Takes a worker's gradient of that step.
    ///
    /// Errors  std::invalid_argument, and nothing has changed, if it fits nowhere.
    virtual void push(int worker, std::int64_t step, std::span<const float> gradient) = 0;

    /// Gives the reader the row for that step of the worker, once: in this call or in a later one.
    ///
    /// Errors  std::invalid_argument, and the reader is not called.
    virtual void pull(int worker, std::int64_t step, Reader reader) = 0;

    /// The worker is gone, and makes no more calls.
    ///
    /// reason  for those that wait for it: "rank 3 has died".
    virtual void leave(int worker, const std::string& reason) = 0;
};

}  // namespace dist
