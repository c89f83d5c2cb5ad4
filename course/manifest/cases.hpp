// Answers that are tried in the place of an exercise's, and what must come of each. An answer is a whole file or, in a list, a
// change of another one: most wrong answers are a few lines away from the right one.
//
//     [partner_wraps]
//     wrong = "Does not ask whether there is a place d further on: around the circle there is one, that has it."
//     refused = { state = "hang", in = "gives every rank the root's data", says = ["waits in MPI_Send"] }
//     from = "        if (place < d && place + d < p) {"
//     to = "        if (place < d) {"
//
//   wrong       what is wrong; or `right`, what is different in an answer that must pass
//   refused     state: fail where it is not said; or: other states, where compilers or machines differ; in: the test that must
//               refuse it, by its name or a part of it, which runs alone without --all-tests; says: texts that the report must contain
//   base        the source that it changes. A `base` at the list's top is that of all its answers; without one,
//               tests/mutants/CHAPTER/NAME.toml changes solutions/CHAPTER/NAME.cpp
//   from, to    whole lines that occur once in the base, and those that take their place; without `to` they go
//   after, add  whole lines that occur once in the base, and those that are added after them
//   also        a list of further changes
//
// A whole file says the same in its first lines:
//
//     // Every rank passes its whole tensor around the ring.
//     // state: fail in each rank sends 2 (p - 1) chunks
//     // says: bytes_sent
#pragma once

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "course/process/context.hpp"
#include "course/result/result.hpp"

namespace dist::cli {

struct Change {
    std::string from;               // whole lines, without the last one's end
    std::optional<std::string> to;  // likewise; none: they go
    int line = 0;                   // of the list
};

struct Case {
    std::filesystem::path file;  // relative to the repository; in a list, LIST.toml:NAME
    State state = State::pass;
    std::string test = {};               // empty: whichever
    std::vector<std::string> says = {};  // the report contains each of these
    std::string name = {};
    std::string sentence = {};
    std::filesystem::path base = {};       // relative to the repository
    std::vector<Change> changes = {};      // of the base; none: a whole file
    std::vector<State> other_states = {};  // as good as `state`

    [[nodiscard]] bool expects(State other) const {
        return other == state || std::ranges::count(other_states, other) > 0;
    }
};

/// "ring_shift.toml:send_first"
struct InList {
    std::filesystem::path list;
    std::string name;
};

/// None where `answer` is a file.
std::optional<InList> in_list(const std::filesystem::path& answer);

/// All answers of a list, by name.
/// Errors  CommandError that names file, line and field.
std::vector<Case> read_list(const Context& context, const std::filesystem::path& list);

/// The answers in the list FOLDER.toml and in the folder, by name; none where neither is there.
/// Errors  CommandError for a file without a state, unless `otherwise` is what it then expects.
std::vector<Case> read_cases(
    const Context& context, const std::filesystem::path& folder, const State* otherwise = nullptr
);

}  // namespace dist::cli
