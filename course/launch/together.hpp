// Several answers of an exercise in one started job: what `check` does with those that it expects to be refused.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "course/build/build.hpp"
#include "course/launch/launch.hpp"

namespace dist::cli {

/// One of them.
struct Together {
    std::filesystem::path as;       // takes the place of the program's source
    std::filesystem::path library;  // Built::library
    LaunchOptions options;          // alike but for `test` and `enough`, which is there
};

/// The target that such jobs of this program start; empty where each answer needs a job of its own.
std::string host_of(const Context& context, const Program& program);

/// Runs each as launch() would, in processes of its own (tests/harness/job/answers.cpp): no answer leaves anything for the
/// next. Each writes records of its own, and is judged by them.
///
/// returns  a result for each answer that its `enough` accepts; none for an answer that must run alone
/// Errors   as launch()
std::vector<std::optional<Result>> launch_together(
    Context& context, const Program& program, const std::vector<Together>& answers
);

}  // namespace dist::cli
