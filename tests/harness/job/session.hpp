// Catch2's own part of a test process. Version 2 is one header, whose half that runs tests takes half a
// minute to optimise: it is compiled once for all tests, without.
#pragma once

#include <string>
#include <vector>

namespace dist::harness::session {

struct Test {
    std::string name;
    bool many = false;  // has the tag [many]: is for kManyRanks ranks
};

/// All tests, in the order they were written.
std::vector<Test> tests();

/// Runs all tests; listeners hear of them, and nothing is printed.
void run();

/// What main() of a single-process test does: obeys the command line as Catch2 documents it, prints,
/// returns the exit status.
int run_alone(int argc, char** argv);

}  // namespace dist::harness::session
