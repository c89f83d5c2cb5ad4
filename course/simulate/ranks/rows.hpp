// Which algorithms an order asks for.
#pragma once

#include <vector>

#include "course/algorithms/registry.hpp"
#include "course/simulate/ranks/order.hpp"

namespace dist::simulation {

/// The rows to run, all of one collective; none if the exercise of `mine` passes no messages.
///
/// Errors  std::invalid_argument for a name that cannot be simulated, with those that can.
std::vector<lab::Algorithm> rows_of(const Order& order);

}  // namespace dist::simulation
