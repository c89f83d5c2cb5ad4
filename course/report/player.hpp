// A run's messages as a page that plays them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "course/result/result.hpp"

namespace dist::cli {

/// What the page is filled with.
///
///     {"name", "test", "state", "reason", "ranks", "rounds", "right_rounds", "unit": "floats" or "bytes", "cut", "to_themselves",
///      "calls": [text],                                   of messages, by "call"
///      "memory": [{"name", "bytes", "cuts": [byte]}],     that messages carry parts of, and where they cut it
///      "messages": [{"src", "dst", "tag", "bytes", "begin", "end", "lost", "excess", "call", "values",
///                    "part", "from", "into": {"memory", "begin", "end", "of"} or null}],
///      "waits": [{"rank", "begin", "end", "forever"}],    rounds
///      "ends": [{"rank", "text", "wrong"}]}               of ranks that did not end well
///
/// begin, end and the parts are those of harness::MessageRecord and trace::Parcel.
nlohmann::json played(const TestResult& test, const std::string& exercise);

/// The page: one file of HTML.
std::string player_page(const TestResult& test, const std::string& exercise);

}  // namespace dist::cli
