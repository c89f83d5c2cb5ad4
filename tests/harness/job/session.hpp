// Catch2's own part of a test process. Version 2 is one header, whose half that runs tests takes half a
// minute to optimise: it is compiled in a file of its own, without.
#pragma once

#include <string>
#include <vector>

namespace dist::harness::session {

/// The names of all tests, in the order they were written.
std::vector<std::string> test_names();

/// Runs all tests; listeners hear of them, and nothing is printed.
void run();

}  // namespace dist::harness::session
