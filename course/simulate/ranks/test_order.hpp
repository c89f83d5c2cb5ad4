// What the command asks of an exercise's test on SimGrid's MPI: a file of JSON, which the test's
// command line names. A test is a row of trials:
// one is one body of on_ranks, on one world. They are numbered alike on all ranks, from 1.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace dist::simulation {

struct TestOrder {
    std::string folder;                // for all that is left there; empty: nothing is
    std::string test;                  // only tests so named, or whose name holds this
    long trial = 0;                    // this one alone; 0: all, one after the other
    std::vector<std::size_t> lengths;  // of inputs
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TestOrder, folder, test, trial, lengths)

// In the folder, beside a board and the records of course/protocol/protocol.hpp, whose key is that of an empty Secret:

/// One JSON object a line, by each rank for each trial that it has ended.
inline constexpr const char* kTrialsFile = "trials.jsonl";

struct Trial {
    int rank = 0;
    long trial = 0;
    std::string test;
    long calls = 0;            // of MPI
    std::size_t messages = 0;  // a hash of these: calls, partners, tags and bytes, in order
    std::string unsuited;      // why the model checker cannot go through it; empty: it can
    bool failed = false;       // on this rank
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Trial, rank, trial, test, calls, messages, unsuited, failed)

/// One line for each message that came, in their order.
inline constexpr const char* kMessagesFile = "messages.jsonl";

struct Message {
    long trial = 0;
    int from = 0;  // ranks of the world
    int to = 0;
    int tag = 0;
    long bytes = 0;
    std::string call;  // that received it
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Message, trial, from, to, tag, bytes, call)

// What a rank says in its output, in a line of its own:

/// Orders differ in how they come: a receive from any rank, and a call that asks whether a message has come without waiting for it.
inline constexpr const char* kFromAnyoneMark = "shardlings: it receives from any rank";
inline constexpr const char* kQuestionMark = "shardlings: it asks without waiting";

/// In front of why the test cannot be run on simulated ranks; it has ended then.
inline constexpr const char* kCannotRunMark = "shardlings: not on simulated ranks: ";

}  // namespace dist::simulation
