// Ranks that are plain processes, and no ranks of MPI: for exercises that bring a transport of their own, and for those
// in which a rank may die while the others go on.
//
//     on_ranks({1}, [](const Communicator&) {
//         const Processes run = on_processes(3, [](int rank, int p) { ... }, {.die = {2}});
//         CHECK(run.died[2] == "killed by SIGKILL");
//         CHECK(within(run, 0, {.messages_sent = exactly(2)}));
//     });
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "tests/harness/harness.hpp"
#include "tests/harness/words/cost.hpp"

namespace dist::harness {

/// What came of them. Of a rank that has died, all that it told the channel before.
struct Processes {
    std::vector<std::string> died;        // by rank: "killed by SIGKILL"; empty: its body ended
    std::vector<Traffic> traffic;         // by rank
    std::vector<MessageRecord> messages;  // in the order of their last rounds, then of senders
    bool passed = true;                   // no check failed in a rank, and each ended as it may
};

struct ProcessesMay {
    /// Ranks whose death is an event of the run; the death of another one fails the test.
    std::set<int> die = {};
    /// Called in this process once all have been forked: closes here what they talk through, so that who waits for a rank
    /// that has died reads the end.
    std::function<void()> go_on_alone = {};
};

/// Runs `body(rank, p)` in p processes, each forked from this one, and waits for all. Messages are those that the code told
/// the channel (tests/harness/channel.hpp). Checks inside of a body count; what else it finds stays in its process. MPI is
/// forbidden there.
///
/// When nothing of those that live has run for a second and a half, the test hangs, and ends; a rank that computes for too
/// long is killed.
Processes on_processes(
    int p, const std::function<void(int rank, int p)>& body, const ProcessesMay& may = {}
);

/// As within(), for what that rank did: the picture shows where it was too much.
Comparison within(const Processes& run, int rank, const Cost& cost);

}  // namespace dist::harness
