// Lives: random legal sequences of calls, held against a plain model of what has to come, and ended in the middle.
//
//     lives([&](std::uint64_t draw) {
//         auto life = std::make_shared<Pair>(draw);  // what is under test, and the plain model beside it
//         return std::vector<Step>{
//             {"put", [=] { return life->has_room(); }, [=] { return life->put(); }},
//             {"take", [=] { return !life->is_empty(); }, [=] { return life->take(); }},
//         };
//     });
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/harness/words/compare.hpp"

namespace dist::harness {

/// What may happen in a life: a call, and the same in the plain model.
struct Step {
    std::string name;                  // as the report tells it: "prepare_for_backward"
    std::function<bool()> is_legal;    // now; the same on every rank
    std::function<Comparison()> take;  // makes the call, and compares: values, messages, bytes
};

/// How many lives, and how many steps in each.
struct Span {
    int lives = 8;
    int steps = 12;
};

/// Begins lives, and takes random legal steps in each, the same on every rank. A life ends where its steps are
/// destroyed: they hold what is under test. Every rank makes this call, inside of on_ranks. With a failure it
/// tells the steps up to the first that went wrong.
///
/// begin  `draw` is another number in each life, and the same on every rank.
void lives(const std::function<std::vector<Step>(std::uint64_t draw)>& begin, Span span = {});

}  // namespace dist::harness
