// Faults at every call of the store that a node makes: it dies there, stands still, is cut off, or
// the answer is lost.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "course/runtime/seeded.hpp"
#include "tests/10_elastic/membership_rounds.hpp"
#include "tests/harness/harness.hpp"

namespace dist::harness {

/// What happens to b, at which of its calls.
using Fault = std::function<void(Job& job, Agent& b, long call)>;

/// "at call 3: ..."
inline Comparison at_call(const Comparison& one, long call) {
    return {one.equal, one ? "" : "at call " + std::to_string(call) + ": " + one.text};
}

/// Plays three nodes' lives, again and again, with the fault at the first call of b, the second,
/// and so on to its last one. How many there are is the answer's matter: so one check is for all.
inline void at_every_call(std::uint64_t seed, const std::string& what, const Fault& fault) {
    Comparison right;
    for (long call = 1; right; ++call) {
        Job job(between(1, 3), seed);
        job.add("a", 2, 0ms, [](Agent& node) { node.run(2s); });
        Agent& b = job.add("b", 1, 100ms, [](Agent& node) { node.run(2s); });
        job.add("c", 3, 300ms, [](Agent& node) { node.run(3s); });
        fault(job, b, call);
        right = at_call(job.play(), call);
        right = right ? at_call(job.all_end(), call) : right;
        if (b.store.calls < call) {
            break;  // it has made fewer
        }
    }
    INFO(what << " of the store; seed " << seed);
    REQUIRE(right);
}

inline void dies_at_every_call(std::uint64_t seed) {
    at_every_call(seed, "b dies before its call", [](Job&, Agent& b, long call) {
        b.store.before = [call](long number) {
            if (number >= call) {
                throw Dies();
            }
        };
    });
}

inline void answers_lost(std::uint64_t seed) {
    at_every_call(seed, "b's answer is lost, of its call", [](Job&, Agent& b, long call) {
        b.store.after = [call](long number) {
            if (number == call) {
                throw Error("the answer is lost");
            }
        };
    });
}

inline void cut_at_every_call(std::uint64_t seed) {
    at_every_call(seed, "b is cut off for 9 s, before its call", [](Job& job, Agent& b, long call) {
        b.store.before = [&job, call, end = Ms(0)](long number) mutable {
            end = number == call ? job.time.now() + 9s : end;
            if (job.time.now() < end) {
                throw Error(kCut);
            }
        };
    });
}

/// Until another node has been told a newer round than its own, or the job has ended for all
/// others.
inline void stand_still(Job& job, const Agent& node) {
    const auto last = [](const Agent& one) {
        return one.rounds.empty() ? 0 : one.rounds.back().number;
    };
    const auto goes_on = [&](const auto& other) {
        return last(*other) > std::max<std::int64_t>(last(node), 1);
    };
    const Ms end = job.time.now() + 20s;
    while (std::ranges::none_of(job.agents, goes_on) && job.time.now() < end) {
        job.time.sleep(50ms);
    }
}

/// In every second game it dies soon after: then what it has done stays.
inline void stands_still_at_every_call(std::uint64_t seed) {
    const bool dies = seed % 2 == 1;
    at_every_call(
        seed,
        "b stands still until others are in a newer round" +
            std::string(dies ? ", and dies three calls later" : "") + ", before its call",
        [dies](Job& job, Agent& b, long call) {
            b.store.before = [&job, &b, call, dies](long number) {
                if (number == call) {
                    stand_still(job, b);
                } else if (dies && number > call + 2) {
                    throw Dies();
                }
            };
        }
    );
}

/// The last one to finish stands still at each call of its finish(), for so long that others take
/// it for dead; and c comes. The other node of the round, if there is one, has finished and died.
inline void finish_is_one_moment(std::uint64_t seed, bool with_b) {
    long finished = 0;
    long others = 0;
    Comparison right;
    for (long call = 1; right; ++call) {
        Job job(between(1, 3), seed);
        long calls_before = 0;
        Agent& a = job.add("a", 1, 0s, [&](Agent& node) {
            node.next();
            if (node.stay_until(6s)) {
                calls_before = node.store.calls;
                node.work_until(6s);
            }
        });
        a.store.before = [&](long number) {
            if (calls_before > 0 && number == calls_before + call) {
                stand_still(job, a);
            }
        };
        if (with_b) {
            job.add("b", 1, 0s, [&](Agent& node) {
                node.next();
                node.stay_until(5s);
                node.finish();
            });
        }
        const Agent& c = job.add("c", 1, 8s, [](Agent& node) { node.run(1s); });
        right = at_call(job.play(), call);
        const bool reached = a.store.calls >= calls_before + call;
        if (!reached) {
            break;
        }
        finished += a.finished > 0 ? 1 : 0;
        others += c.rounds.empty() ? 0 : 1;
    }
    INFO(
        (with_b ? "a is the last one to finish, b has died since" : "a is alone in the round")
        << "; a stands still before a call of its finish(), and c comes; seed " << seed
    );
    REQUIRE(right);
    INFO("finished " << finished << " times, and c was told a round " << others << " times");
    CHECK((finished > 0 && others > 0));
}

/// Nodes with all of it, at random.
inline void lives_of_jobs(std::uint64_t seed) {
    std::uint64_t drawn = 0;
    const auto draw = [&](int end) {
        return static_cast<int>(seeded_bits(seed, drawn++) % static_cast<unsigned>(end));
    };
    Job job(between(1, 4), seed);
    const std::vector<std::string> kinds = {
        "nothing", "it stands still", "its answer is lost", "it is cut off", "it dies"};
    std::string plan;
    for (const char* const name : {"a", "b", "c", "d"}) {
        const Ms start = 500ms * draw(20);
        const Ms work = 1s + 500ms * draw(16);
        const int kind = draw(5);
        const long call = 1 + draw(40);
        const Ms while_off = 500ms * draw(30);
        Agent& agent = job.add(name, 1 + draw(3), start, [work](Agent& node) { node.run(work); });
        plan += std::string("; ") + name + " comes after " + std::to_string(start.count()) +
                " ms, and at its call " + std::to_string(call) + " " + kinds.at(kind);
        agent.store.before = [&job, kind, call, while_off, end = Ms(0)](long number) mutable {
            end = number == call ? job.time.now() + while_off : end;
            if (kind == 1 && number == call) {
                job.time.sleep(while_off);
            } else if (kind == 3 && job.time.now() < end) {
                throw Error(kCut);
            } else if (kind == 4 && number >= call) {
                throw Dies();
            }
        };
        agent.store.after = [kind, call](long number) {
            if (kind == 2 && number == call) {
                throw Error("the answer is lost");
            }
        };
    }
    INFO("seed " << seed << plan);
    REQUIRE(job.play());
    REQUIRE(job.all_end());
}

}  // namespace dist::harness
