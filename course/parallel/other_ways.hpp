// The ways that are more than equal replicas. A program that trains equal replicas alone takes course/trainer/no_other_runs.cpp in the
// place of other_ways.cpp, and need not compile the others.
#pragma once

#include <memory>

#include "course/nn/model.hpp"
#include "course/parallel/options.hpp"
#include "course/parallel/strategy.hpp"
#include "course/parallel/trace.hpp"
#include "course/runtime/communicator.hpp"

namespace dist::trainer {

/// As make_strategy(), for the ways that it does not make itself.
std::unique_ptr<Strategy> make_other_way(
    const ParallelOptions& options,
    std::shared_ptr<nn::Model> model,
    Trace& trace,
    const Communicator& comm
);

}  // namespace dist::trainer
