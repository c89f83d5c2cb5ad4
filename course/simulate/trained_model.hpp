// What a model's gradients are, in the order in which backward makes them: without LibTorch, from a table.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace dist::cli {

/// A parameter, and with it its gradient.
struct TrainedParameter {
    std::size_t number = 0;  // in the model
    std::size_t part = 0;    // the model's (course/nn/model.hpp), in the order of forward
    std::size_t floats = 0;
    double multiply_adds = 0;  // that forward does with it, for one picture
};

struct TrainedModel {
    std::string name;
    std::vector<TrainedParameter> parameters;  // as backward makes their gradients

    [[nodiscard]] std::size_t floats() const;
    [[nodiscard]] std::size_t parts() const;

    /// Of forward, and of backward as well: the share that belongs to so many multiply-adds.
    [[nodiscard]] double share(double multiply_adds) const;

    /// The order in which Zero2 expects gradients: the model's, backwards.
    [[nodiscard]] std::vector<TrainedParameter> backwards() const;
};

/// The table of a model of course/nn/model.hpp: course/simulate/models/NAME.csv.
/// tests/course/simulated_models_test.cpp holds it against the model.
///
/// Errors  UsageError, naming the models that there are; CommandError if the table cannot be read.
TrainedModel read_model(const std::filesystem::path& root, const std::string& name);

/// As exercise gradient_buckets shares gradients of one dtype out: by places in `order`.
///
/// limits  bytes; all buckets behind the last have the last.
std::vector<std::vector<std::size_t>> plan_buckets(
    const std::vector<TrainedParameter>& order, const std::vector<std::size_t>& limits
);

}  // namespace dist::cli
