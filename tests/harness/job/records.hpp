// rank-R.jsonl: what this rank has to say, a line at a time. The format is in protocol.hpp.
#pragma once

#include <string>
#include <vector>

#include "tests/harness/job/runs.hpp"

namespace dist::harness {

/// Opens the file. Every write is one line, complete or absent.
void open_records(const std::string& folder, int rank);

/// `many` tests are left for a job of more ranks.
void write_plan(const std::vector<std::string>& tests, int many);
void write_test(
    const TestRun& test, double duration_s, long checks, long output_begin, long output_end
);
void write_finished();

}  // namespace dist::harness
