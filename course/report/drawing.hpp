// What the ranks of a test did with messages, ready to be drawn.
#pragma once

#include <string>
#include <vector>

#include "course/diagrams/diagram.hpp"
#include "course/result/result.hpp"
#include "course/trace/timeline.hpp"

namespace dist::cli {

struct Drawing {
    diagrams::Diagram diagram;
    std::vector<harness::MessageRecord> messages;
    bool cut = false;                         // there were more
    int to_themselves = 0;                    // messages of a rank to itself, which are not drawn
    std::vector<std::string> calls = {};      // of MessageRecord::call
    std::vector<trace::Parcel> parcels = {};  // of MessageRecord::parcel
};

/// The last piece of code that the test looked at.
Drawing drawing_of(const TestResult& test, const std::string& exercise);

/// These messages, in the order of their last rounds, and where the ranks of the test stand.
Drawing drawing_of(
    const TestResult& test,
    const std::string& exercise,
    std::vector<harness::MessageRecord> messages
);

/// Whether there is anything to be drawn.
bool has_messages(const TestResult& test);

/// Whether a rank sent more than is right, or in more rounds.
bool spent_too_much(const TestResult& test);

/// For a report: at most 20 lines of text; empty where nothing is to be seen.
std::string small_drawing(const TestResult& test);

/// What each rank did when, as Chrome's trace events: a process for each rank, a row for each of its threads, a flow for
/// each message. Perfetto opens it.
std::string chrome_trace(const TestResult& test, const std::string& exercise);

}  // namespace dist::cli
