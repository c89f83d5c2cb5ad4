// A step of training on many ranks, put together from two things that are known: how long a rank computes, and how long
// each collective takes.
//
// A rank does one thing after the other, but its communication thread (exercise overlap), which does so as well, beside
// it. What each way of parallelism does when is in training_step.cpp, a function each, as course/parallel has it.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "course/parallel/ways.hpp"
#include "course/simulate/trained_model.hpp"

namespace dist::cli {

/// What one rank takes for one step, if it waits for nobody.
struct Work {
    double data_s = 0;
    double forward_s = 0;
    double backward_s = 0;
    double optimizer_s = 0;  // for all parameters

    [[nodiscard]] double step_s() const { return data_s + forward_s + backward_s + optimizer_s; }
};

/// All that the ranks agree on before the first step.
struct Training {
    TrainedModel model;
    Work work;
    std::size_t batch = 64;  // pictures a rank
    std::size_t bucket_cap_mb = 25;
    int servers = 1;    // of ps: so many of the ranks hold the weights, and compute no gradients
    int staleness = 0;  // of ps: 0: a worker waits for the weights of its step
};

/// How long a collective takes on so many floats: "all_reduce", "reduce_scatter" or "all_gather"; of ps "push", where each
/// worker sends so many to each server, and "pull", where it gets as many back.
using ExchangeTime = std::function<double(const std::string& collective, std::size_t floats)>;

struct StepTime {
    double step_s = 0;
    double communication_s = 0;  // all collectives, if nothing ran beside them
    double exposed_s = 0;        // of it: while nothing was computed
    double weights_s = 0;        // of it: gradients and weights, and not the loss

    [[nodiscard]] double hidden_s() const {
        const double hidden = communication_s - exposed_s;
        return hidden > 1e-9 * communication_s ? hidden : 0;  // what is less was rounded
    }
};

/// Ranks of p that have pictures: all but the servers of ps.
int workers_of(trainer::Parallel way, const Training& training, int p);

/// A step of `way` on p ranks.
///
/// Errors  std::invalid_argument for a way that is of one process.
StepTime step_on(trainer::Parallel way, const Training& training, int p, const ExchangeTime& time);

}  // namespace dist::cli
