// Which tests a job has to run, known from their source: a program that says otherwise is not believed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "course/launch/launch.hpp"
#include "course/manifest/manifest.hpp"

namespace dist::cli {

struct PlannedTest {
    std::string name;
    bool many = false;  // it has the tag [many]
};

/// The tests of a file, and of headers of its folder that it includes, in the order they are written.
std::vector<PlannedTest> tests_in(const std::filesystem::path& file);

/// Where the tests of an exercise are, relative to the repository.
std::filesystem::path test_file_of(const Program& program);

/// Names of those that a job with these options runs, after the one named `after` unless empty.
std::vector<std::string> plan_of(
    const std::vector<PlannedTest>& tests, const LaunchOptions& options, const std::string& after
);

}  // namespace dist::cli
