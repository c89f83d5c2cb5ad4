// An exercise's call, stated once: the patterns of patterns.hpp make it in every way that a test has
// to try.
//
//     const Attempt kAttempt{
//         .name = "ring_all_reduce",
//         .takes = {.op = true},
//         .before = contribution,
//         .call = [](Buffers& b, const Call& c, const Communicator& comm) {
//             ring_all_reduce(b.data, c.op, comm);
//         },
//         .outcome = [](const Buffers& b, const Call& c, const Communicator& comm) {
//             return reduced(b.data, c, comm);
//         }};
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "course/runtime/communicator.hpp"
#include "course/runtime/reduce_op.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/words/compare.hpp"
#include "tests/harness/words/inputs.hpp"

namespace dist::harness {

/// What one call is asked for; a function uses what it takes.
struct Call {
    std::size_t n = 7;  // elements: of data, or of the whole that ranks have chunks of
    ReduceOp op = ReduceOp::sum;
    int root = 0;
    int segments = 3;
    std::uint64_t salt = 0;  // another one: another input
    Values values = Values::mixed;
};

/// One rank's memory for one call. A function that works in place has data alone.
struct Buffers {
    std::vector<float> data;
    std::vector<float> out = {};
};

/// Which parts of a Call the function takes, beside n.
struct Takes {
    bool op = false;
    bool root = false;
    bool segments = false;
    bool blocks = false;  // in is p blocks of ceil(n / p) elements
};

struct Attempt {
    std::string name;  // of the function
    Takes takes = {};
    /// This rank's memory before the call.
    std::function<Buffers(const Call&, const Communicator&)> before;
    std::function<void(Buffers&, const Call&, const Communicator&)> call;
    /// Compares with what has to be there after it. Called when all messages are through.
    std::function<Comparison(const Buffers&, const Call&, const Communicator&)> outcome;
    /// What else to tell this rank with a failure: "this rank gets elements [3, 5)".
    std::function<std::string(const Call&, const Communicator&)> note = {};
};

/// "mean of 7 floats, root 2, 3 segments, p = 4": what the function takes, for INFO.
std::string text_of(const Attempt& attempt, const Call& call, const Communicator& comm);

/// record() of that call; `trace` is told of its memory.
Traffic record(
    const Attempt& attempt, Buffers& buffers, const Call& call, const Communicator& comm
);

/// This rank's input, as the call asks for it: what most collectives begin with.
Buffers contribution(const Call& call, const Communicator& comm);

/// reduced_input(), as the call asks for it.
std::vector<float> reduction(const Call& call, int p);

}  // namespace dist::harness
