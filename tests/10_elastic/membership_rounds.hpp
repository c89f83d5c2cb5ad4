// Rounds and their ends: who is in, with which ranks, when a node comes, goes, dies or is cut off,
// and when the job is finished.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "tests/10_elastic/membership_job.hpp"
#include "tests/harness/harness.hpp"

namespace dist::harness {

inline constexpr const char* kCut = "the store cannot be reached";

/// The rounds of a node: a text_of each.
inline std::vector<std::string> texts_of(const std::vector<WorkerRound>& rounds) {
    std::vector<std::string> texts;
    for (const WorkerRound& round : rounds) {
        texts.push_back(text_of(round));
    }
    return texts;
}

inline Comparison same_rounds(const Agent& agent, const std::vector<std::string>& expected) {
    const std::vector<std::string> got = texts_of(agent.rounds);
    std::string text = agent.name + " is told";
    for (const std::string& round : got) {
        text += " " + round + ";";
    }
    text += " expected";
    for (const std::string& round : expected) {
        text += " " + round + ";";
    }
    return {got == expected, text};
}

/// Whether something happened in time, by the test's clock.
inline Comparison between_times(const std::string& what, Ms got, Ms first, Ms last) {
    const auto text = [](Ms time) { return std::to_string(time.count()) + " ms"; };
    return {
        first <= got && got <= last,
        what + " after " + text(got) + "; expected from " + text(first) + " to " + text(last)};
}

inline void ranks_by_node() {
    const std::array<int, 4> workers = {3, 1, 4, 2};
    const std::array<const char*, 4> names = {"a", "b", "c", "d"};
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        for (std::size_t n = 1; n <= 4; ++n) {
            Job job(between(static_cast<int>(n), static_cast<int>(n)), seed);
            for (std::size_t i = 0; i < n; ++i) {
                const Ms start = ((seed + 3) * (i + 1) % 5) * 300ms;
                job.add(names[i], workers[i], start, [](Agent& node) { node.next(); });
            }
            INFO(n << " nodes, with 3, 1, 4 and 2 workers; seed " << seed);
            REQUIRE(job.play());
            int first = 0;
            for (std::size_t i = 0; i < n; ++i) {
                INFO(job.text());
                REQUIRE(job.agents[i]->rounds.size() == 1);
                CHECK(job.agents[i]->rounds[0].first_rank == first);
                first += workers[i];
            }
            CHECK(job.agents[0]->rounds[0].world_size == first);
        }
    }
}

inline void comes_late() {
    Job job(between(1, 2), 1);
    std::vector<Ms> ends;
    Agent& b = job.add("b", 2, 0s, [&](Agent& node) {
        while (node.rounds.size() < 3) {
            node.next();
            node.stay_until(50s);
            ends.push_back(job.time.now());
        }
    });
    const Agent& a = job.add("a", 1, 10s, [](Agent& node) {
        node.next();
        node.stay_until(30s);
        node.leave();
    });
    const Agent& c = job.add("c", 3, 20s, [](Agent& node) {
        node.next();
        node.stay_until(50s);
    });
    CHECK(job.store.calls.empty());
    REQUIRE(job.play());
    const Comparison of_b = same_rounds(
        b, {"round 1: node 0 of 1, ranks 0-1 of 2", "round 2: node 1 of 2, ranks 1-2 of 3",
            "round 3: node 0 of 2, ranks 0-1 of 5"}
    );
    CHECK(of_b);
    CHECK(same_rounds(a, {"round 2: node 0 of 2, ranks 0-0 of 3"}));
    CHECK(same_rounds(c, {"round 3: node 1 of 2, ranks 2-4 of 5"}));
    REQUIRE(ends.size() == 3);
    CHECK(between_times("a came after 10 s, and b's first round ended", ends[0], 10s, 11s));
    CHECK(between_times(
        "c came after 20 s, when there was no room, a left after 30 s, and b's second round ended",
        ends[1], 30s, 31s
    ));
}

inline void dies_and_nobody_waits() {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
        Job job(between(1, 2), seed);
        Ms noticed{0};
        const Agent& a = job.add("a", 2, 0s, [&](Agent& node) {
            node.next();
            node.stay_until(60s);
            noticed = job.time.now();
            node.next();
        });
        job.add("b", 2, 0s, [](Agent& node) {
            node.next();
            node.stay_until(20s);
            throw Dies();
        });
        INFO("two nodes, and no third one; seed " << seed);
        REQUIRE(job.play());
        CHECK(between_times("b died after 20 s, and a noticed it", noticed, 20s, 20s + kNoticed));
        CHECK(same_rounds(
            a, {"round 1: node 0 of 2, ranks 0-1 of 4", "round 2: node 0 of 1, ranks 0-1 of 2"}
        ));
    }
}

inline void leaves() {
    Job job(between(1, 2), 2);
    Ms noticed{0};
    std::vector<bool> after;
    const Agent& a = job.add("a", 1, 0s, [&](Agent& node) {
        node.next();
        node.stay_until(60s);
        noticed = job.time.now();
        node.next();
        node.stay_until(60s);
        node.next();
    });
    const Agent& b = job.add("b", 1, 0s, [&](Agent& node) {
        after.push_back(node.holds());
        node.next();
        node.stay_until(20s);
        after.push_back(node.finish());
        node.leave();
        after.push_back(node.holds());
        after.push_back(node.finish());
        node.leave();
        node.clock.sleep(20s);
        node.next();
    });
    REQUIRE(job.play());
    INFO(job.text());
    CHECK(between_times("b left after 20 s, and a noticed it", noticed, 20s, 21s));
    INFO("b asks: does its round hold, before the first one; finish(); leaves; and asks both again"
    );
    CHECK(after == std::vector<bool>{false, false, false, false});
    CHECK(a.rounds.size() == 3);
    REQUIRE(b.rounds.size() == 2);
    CHECK(b.rounds[1].number == 3);
}

/// Each call throws what the store does; and the round is over when the store is there again.
inline void is_told_so(Job& job, Agent& node, bool& is_cut) {
    const std::vector<std::pair<std::string, std::function<void()>>> calls = {
        {"holds", [&] { node.holds(); }},
        {"finish", [&] { node.finish(); }},
        {"next", [&] { node.next(); }},
        {"leave", [&] { node.leave(); }},
        {"close", [&] { node.close(); }}};
    is_cut = true;
    for (const auto& [name, call] : calls) {
        try {
            call();
            job.note(name + "() returns, and does not throw what the store threw");
        } catch (const Error&) {
        }
    }
    node.clock.sleep(20s);
    is_cut = false;
    if (node.holds()) {
        job.note("holds() is true for a node that was cut off for 20 s");
    }
}

inline void is_cut_off() {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
        Job job(between(1, 2), seed);
        Ms noticed{0};
        bool is_cut = false;
        const Agent& a = job.add("a", 1, 0s, [&](Agent& node) {
            node.next();
            node.stay_until(60s);
            noticed = job.time.now();
            node.run(30s);
        });
        const auto plot = [&](Agent& node) {
            node.next();
            node.stay_until(20s);
            is_told_so(job, node, is_cut);
            node.run(1s);
        };
        Agent& b = job.add("b", 1, 0s, plot, -24h);
        b.store.before = [&](long) {
            if (is_cut) {
                throw Error(kCut);
            }
        };
        INFO("seed " << seed);
        REQUIRE(job.play());
        INFO("b was cut off from 20 s to 40 s" << job.text());
        CHECK(between_times("a noticed it", noticed, 20s, 20s + kNoticed));
        REQUIRE(a.rounds.size() == 3);
        CHECK(a.rounds[1].nodes == 1);
        CHECK(a.rounds[2].nodes == 2);
        REQUIRE(b.rounds.size() == 2);
        CHECK(b.rounds[1].number == 3);
    }
}

/// Nodes finish one after the other, and say so again and again: that alone keeps them in.
inline void all_finish() {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
        Job job(between(3, 3), seed);
        std::vector<Ms> ends;
        for (const char* const name : {"a", "b", "c"}) {
            const Ms work = 15s * (name[0] - 'a');
            job.add(name, 1, 0s, [&, work](Agent& node) {
                node.next();
                while (job.time.now() < work) {
                    node.clock.sleep(kLook);
                    if (!node.holds()) {
                        job.note(node.name + ": its round does not hold, and all live");
                        return;
                    }
                }
                while (!node.finish() && job.time.now() < 60s) {
                    node.clock.sleep(kLook);
                }
                ends.push_back(job.time.now());
            });
        }
        INFO("a finishes at once, b after 15 s, c after 30 s; seed " << seed);
        REQUIRE(job.play());
        for (const auto& agent : job.agents) {
            CHECK(agent->finished == 1);
        }
        for (const Ms end : ends) {
            CHECK(between_times("finish() was true", end, 30s, 31s));
        }
    }
}

/// a has finished round 1 when b begins another one.
inline void finish_of_an_older_round() {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        Job job(between(2, 2), seed);
        std::vector<bool> in_round_2;
        const Agent& a = job.add("a", 1, 0s, [&](Agent& node) {
            node.next();
            node.work_until(0s);
            node.next();
            node.stay_until(20s);
            node.work_until(20s);
        });
        job.add("b", 1, 0s, [&](Agent& node) {
            node.next();
            node.stay_until(10s);
            node.next();
            in_round_2.push_back(node.finish());
            node.work_until(0s);
        });
        INFO("seed " << seed);
        REQUIRE(job.play());
        INFO("b's finish() in round 2, where a has not said so yet" << job.text());
        CHECK(in_round_2 == std::vector<bool>{false});
        CHECK(a.finished == 2);
    }
}

/// The time at which a node was told that there are no more rounds; -1 if it was not.
inline std::function<void(Agent&)> told_none_at(Job& job, Ms& at) {
    at = -1s;
    return [&](Agent& node) {
        if (!node.next()) {
            at = job.time.now();
        }
    };
}

inline void no_more_rounds() {
    Job finished(between(2, 3), 3);
    finished.add("a", 1, 0s, [](Agent& node) { node.run(1s); });
    finished.add("b", 1, 0s, [](Agent& node) { node.run(2s); });
    Ms late{0};
    finished.add("c", 1, 30s, told_none_at(finished, late));
    REQUIRE(finished.play());
    CHECK(finished.finished() == 1);
    CHECK(between_times("the job was finished; c came after 30 s, and was told so", late, 30s, 31s)
    );

    Job closed(between(2, 2), 4);
    Ms noticed{0};
    Ms waited{0};
    Ms left{0};
    bool held = false;
    closed.add("a", 1, 0s, [&](Agent& node) {
        node.next();
        node.stay_until(10s);
        node.close();
        held = node.stay_until(20s);
        told_none_at(closed, left)(node);
    });
    closed.add("b", 1, 0s, [&](Agent& node) {
        node.next();
        node.stay_until(60s);
        noticed = closed.time.now();
    });
    closed.add("c", 1, 5s, told_none_at(closed, waited));
    closed.add("d", 1, 15s, told_none_at(closed, late));
    REQUIRE(closed.play());
    CHECK(held);
    CHECK(between_times("a closed after 10 s, and c, which waited, was told so", waited, 10s, 11s));
    CHECK(between_times("d came after 15 s, and was told so", late, 15s, 16s));
    CHECK(between_times("a asked for another round after 20 s, and was told so", left, 20s, 21s));
    CHECK(between_times("a had gone then, and b noticed it", noticed, 20s, 21s));
}

inline void gives_up() {
    Job job(between(2, 2), 5);
    Ms at{0};
    const Agent& a = job.add("a", 1, 0s, [&](Agent& node) {
        try {
            node.next();
            job.note("without enough nodes next() returns, and does not throw Timeout");
        } catch (const Timeout&) {
            at = job.time.now();
        }
        node.clock.sleep(30s);
        node.next();
    });
    const Agent& b = job.add("b", 1, 80s, [](Agent& node) { node.next(); });
    REQUIRE(job.play());
    CHECK(between_times("a gave up", at, 60s, 62s));
    CHECK(a.rounds.size() == 1);
    CHECK(b.rounds.size() == 1);
}

/// b stands still before one of its calls, until a has given up. Where a has seen the round begin, it was never told it.
inline void gives_up_after_a_round_began() {
    std::string wrong;
    for (long call = 1, calls = 1; call <= calls && wrong.empty(); ++call) {
        Job job(between(2, 2), 5);
        job.settings.join_timeout = 20s;
        bool is_finished = false;
        job.add("a", 1, 0s, [&](Agent& node) {
            try {
                node.next();
            } catch (const Timeout&) {
                node.clock.sleep(40s);
                is_finished = node.finish_in_no_round();
            }
        });
        Agent& b = job.add("b", 1, 0s, [&](Agent& node) {
            if (node.next() && node.finish()) {
                node.leave();
            }
        });
        b.store.before = [&](long number) {
            if (number == call) {
                job.time.sleep(40s);
            }
        };
        static_cast<void>(job.play());  // b may end by a Timeout as well
        calls = b.store.calls;
        if (is_finished) {
            wrong =
                "a, after a Timeout in next(): finish() must be false, it is in no round (b stood "
                "still for 40 s before "
                "its call " +
                std::to_string(call) + " of the store)";
        }
    }
    INFO(wrong);
    CHECK(wrong.empty());
}

}  // namespace dist::harness
