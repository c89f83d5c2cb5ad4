// What a run says beside its states: which tests passed, and how many checks were made.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "course/result/result.hpp"

namespace dist::cli {

/// For each test the checks that each rank made.
using Checks = std::map<std::string, std::vector<long>>;
Checks checks_of(const Result& result);

/// Names of the tests that were passed.
std::set<std::string> passed_in(const Result& result);

/// A sentence on the first test in which a rank made fewer checks than expected; empty: there is none.
std::string fewer_checks(const Checks& made, const Checks& expected);

/// Likewise, where fewer or more checks were made.
std::string other_checks(const Checks& made, const Checks& expected);

}  // namespace dist::cli
