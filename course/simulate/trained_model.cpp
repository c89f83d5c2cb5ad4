#include "course/simulate/trained_model.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <functional>
#include <sstream>
#include <utility>

#include "course/process/error.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

/// A line of the table: number,part,floats,multiply_adds,name.
TrainedParameter parameter_in(const std::string& line, const fs::path& file) {
    TrainedParameter parameter;
    std::istringstream in(line);
    char comma = 0;
    in >> parameter.number >> comma >> parameter.part >> comma >> parameter.floats >> comma >>
        parameter.multiply_adds >> comma;
    if (!in || comma != ',' || parameter.floats == 0) {
        throw CommandError(
            exit_status::kOurs, fmt::format("{}: \"{}\" is no parameter", file.string(), line)
        );
    }
    return parameter;
}

std::vector<std::string> models_in(const fs::path& folder) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) {
        if (entry.path().extension() == ".csv") {
            names.push_back(entry.path().stem().string());
        }
    }
    std::ranges::sort(names);
    return names;
}

}  // namespace

std::size_t TrainedModel::floats() const {
    std::size_t all = 0;
    for (const TrainedParameter& parameter : parameters) {
        all += parameter.floats;
    }
    return all;
}

std::size_t TrainedModel::parts() const {
    std::size_t last = 0;
    for (const TrainedParameter& parameter : parameters) {
        last = std::max(last, parameter.part);
    }
    return last + 1;
}

double TrainedModel::share(double multiply_adds) const {
    double all = 0;
    for (const TrainedParameter& parameter : parameters) {
        all += parameter.multiply_adds;
    }
    return multiply_adds / all;
}

std::vector<TrainedParameter> TrainedModel::backwards() const {
    std::vector<TrainedParameter> order = parameters;
    std::ranges::sort(order, std::greater(), &TrainedParameter::number);
    return order;
}

TrainedModel read_model(const fs::path& root, const std::string& name) {
    const fs::path folder = root / "course" / "simulate" / "models";
    const std::vector<std::string> known = models_in(folder);
    if (std::ranges::find(known, name) == known.end()) {
        throw UsageError(fmt::format("--model {}: there is {}", name, fmt::join(known, ", ")));
    }
    TrainedModel model;
    model.name = name;
    const fs::path file = folder / (name + ".csv");
    std::ifstream in(file);
    std::string line;
    std::getline(in, line);  // the columns' names
    while (std::getline(in, line)) {
        model.parameters.push_back(parameter_in(line, file));
    }
    if (model.parameters.empty()) {
        throw CommandError(exit_status::kOurs, file.string() + " has no parameter");
    }
    return model;
}

std::vector<std::vector<std::size_t>> plan_buckets(
    const std::vector<TrainedParameter>& order, const std::vector<std::size_t>& limits
) {
    std::vector<std::vector<std::size_t>> buckets;
    std::vector<std::size_t> open;
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
        open.push_back(i);
        bytes += order[i].floats * sizeof(float);
        if (bytes >= limits.at(std::min(buckets.size(), limits.size() - 1))) {
            buckets.push_back(std::exchange(open, {}));
            bytes = 0;
        }
    }
    if (!open.empty()) {
        buckets.push_back(open);
    }
    return buckets;
}

}  // namespace dist::cli
