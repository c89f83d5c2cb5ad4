// Training on simulated clusters of several sizes: each collective of a step is simulated, and the step put together.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "course/process/context.hpp"
#include "course/simulate/cluster.hpp"
#include "course/simulate/training_step.hpp"

namespace dist::cli {

struct TrainingSimulation {
    Training training;
    std::vector<trainer::Parallel> ways;
    std::vector<int> ranks;          // ascending
    std::vector<int> servers = {1};  // of ps; ascending. training.servers is not looked at
    std::string mine;  // an exercise, whose answer takes the ring's place in its collective
    std::filesystem::path mine_module;  // empty: the references alone
    std::filesystem::path references;
    Cluster cluster;
};

struct TrainedStep {
    trainer::Parallel way = trainer::Parallel::average;
    int ranks = 1;
    StepTime time;
    double images_per_s = 0;  // over all ranks
    double efficiency = 0;    // of that, over as many times what one rank does
    int servers = 1;          // of ps
};

struct Trained {
    std::vector<TrainedStep> steps;  // by ranks, and by ways
    std::vector<std::string> notes;
};

/// A way to share the work, and of ps the servers: a line of the picture.
struct TrainedWay {
    trainer::Parallel way = trainer::Parallel::average;
    int servers = 1;
};
std::vector<TrainedWay> lines_of(const TrainingSimulation& wanted);

/// To be asked before anything is built.
/// Errors  as its namesake for collectives
void expect_held(const Context& context, const TrainingSimulation& wanted);

/// Shows how far it is.
/// Errors  as simulate
Trained simulate_training(Context& context, const TrainingSimulation& wanted);

/// At most so many of these lengths, the shortest and the longest among them: others are taken to lie on the lines
/// between them.
///
/// lengths  ascending.
std::vector<std::size_t> lengths_to_simulate(
    const std::vector<std::size_t>& lengths, std::size_t most
);

/// The time of a length on the straight lines between those that are known.
///
/// known  ascending, with the shortest and the longest that are asked for.
double on_the_line(const std::vector<std::pair<std::size_t, double>>& known, std::size_t length);

}  // namespace dist::cli
