// What a step is limited by: what a worker computes, what goes through its card, or what goes through the card of a server.
#pragma once

#include <string>

#include "course/simulate/trained.hpp"

namespace dist::cli {

/// Gradients and weights of a step that go through a card, in and out, and how long it takes for them.
struct CardUse {
    double bytes = 0;
    double seconds = 0;
};

struct StepLimits {
    double compute_s = 0;
    CardUse worker;
    CardUse server;  // of ps

    /// Which takes longest: "compute", "worker's card" or "server's card".
    [[nodiscard]] const char* longest() const;
};

/// n floats of weights, p ranks, w workers, S servers. A ring sends and takes 4n(p - 1)/p floats through each card, and half as
/// many again with zero3; ps 2wn/S through each server's, and 2n through each worker's. How long that takes was simulated;
/// of ps what the w messages to a server take, so a worker's S take S/w of it.
StepLimits limits_of(const TrainedStep& step, const Training& training);

/// The table of all steps.
std::string limits_table(const Trained& trained, const TrainingSimulation& wanted);

}  // namespace dist::cli
