// What tests of meshes share: gradients of many ranks beside those of one process.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/course/trainer_run.hpp"
#include "tests/course/trainer_support.hpp"
#include "tests/harness/catch2.hpp"

/// Options of a model with experts, which have room for every token: none is dropped, and it does not
/// matter whose tokens they are. At this rate the scores between which a router decides are always
/// 5e-6 or more apart: no rounding changes a choice.
inline const std::string kExperts =
    " --layers 2 --experts 4 --expert-choices 2 --capacity-factor 2 --rate 0.08 ";

/// What ten steps came to with each of these options, all in one job.
inline Records trained_with(int ranks, const std::vector<std::string>& options) {
    std::string arguments;
    for (const std::string& option : options) {
        arguments += " '" + option + "'";
    }
    const Run run = run_program(MESH_GRADIENTS, ranks, arguments);
    INFO(run.output);
    REQUIRE(run.status == 0);
    Records records;
    std::istringstream lines(run.output);
    for (std::string line; std::getline(lines, line);) {
        records.push_back(nlohmann::json::parse(line));
    }
    REQUIRE(records.size() == options.size());
    return records;
}

// Gradients are up to 0.1, weights up to 3: what is left is the order of sums of floats.
inline void check_as_one_process(const nlohmann::json& record) {
    INFO(record.dump());
    CHECK(record.at("names") == true);
    CHECK(record.at("gradients") < 1e-6);
    CHECK(record.at("weights") < 1e-5);
    const auto got = record.at("losses").get<std::vector<double>>();
    const auto wanted = record.at("of_one").get<std::vector<double>>();
    REQUIRE(got.size() == wanted.size());
    for (std::size_t step = 0; step < got.size(); ++step) {
        CHECK(std::abs(got[step] - wanted[step]) < 1e-5);
    }
}
