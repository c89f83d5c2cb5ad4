// What a node does with the store: how often it calls, under which keys, and how many of them stay.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "exercises/04_groups_and_rendezvous/file_store.hpp"
#include "exercises/04_groups_and_rendezvous/hash_store.hpp"
#include "tests/04_groups_and_rendezvous/store_files.hpp"
#include "tests/10_elastic/membership_rounds.hpp"
#include "tests/harness/harness.hpp"

namespace dist::harness {

inline void prefixes() {
    HashStore store;
    std::set<std::string> prefixes;
    for (const std::string run : {"job", "job1", "1", "-1"}) {
        for (const std::int64_t number : {1, 2, 11, 111}) {
            const std::string prefix = round_prefix(run, number);
            INFO("round " << number << " of the run " << run << ": " << prefix);
            CHECK(prefixes.insert(prefix).second);
            CHECK(prefix == round_prefix(run, number));
            for (const std::string key : {"mesh/0", "1/mesh/0", "round/1/mesh/0"}) {
                PrefixStore workers(prefix, store);
                CHECK(!workers.check({key}));
                workers.set(key, "here");
            }
        }
    }
}

/// No key of the nodes is one of the workers', and two jobs know nothing of each other.
inline void keys_of_a_job() {
    Job job(between(2, 2), 1);
    for (const char* const name : {"a", "b"}) {
        job.add(name, 1, 0s, [](Agent& node) { node.run(3s); });
    }
    REQUIRE(job.play());
    std::string elsewhere;  // how many keys there are is up to the answer
    std::string workers;
    for (const std::string& key : job.store.keys) {
        if (!key.starts_with("job/")) {
            elsewhere = key;
        }
        for (const std::int64_t number : {1, 2}) {
            if (key.starts_with(round_prefix("job", number) + "/")) {
                workers = key;
            }
        }
    }
    INFO("it has the key " << elsewhere << workers);
    CHECK(elsewhere.empty());
    CHECK(workers.empty());
    // a job that is finished, and another one in the same store
    SteadyClock clock;
    Membership other(job.store, "other", "a", 2, between(1, 1), clock);
    const auto round = other.next();
    REQUIRE(round.has_value());
    CHECK(*round == WorkerRound{.number = 1, .workers = 2, .world_size = 2});
    CHECK(other.finish());
}

/// b comes and goes 30 times.
inline void keys_stay_few() {
    constexpr std::int64_t kMost = 4 * 2 + 2;
    Job job(between(1, 2), 2);
    const Agent& a = job.add("a", 1, 0s, [](Agent& node) {
        while (node.next() && node.rounds.back().number < 60) {
            node.stay_until(24h);
        }
    });
    const Agent& b = job.add("b", 1, 0s, [&](Agent& node) {
        for (int i = 0; i < 30; ++i) {
            node.next();
            node.finish();
            node.stay_until(job.time.now() + 2s);
            node.leave();
            node.clock.sleep(4s);
        }
    });
    REQUIRE(job.play());
    const std::int64_t most = std::max(a.store.most_keys, b.store.most_keys);
    INFO("in " << a.rounds.size() << " rounds: keys in the store");
    CHECK(a.rounds.size() >= 59);
    CHECK(most <= kMost);
}

inline void costs_of_calls() {
    Job job(between(2, 2), 3);
    std::vector<long> told;
    const Agent& a = job.add("a", 1, 0s, [&](Agent& node) {
        node.next();
        job.time.sleep(1s);
        const auto measure = [&](const std::function<void()>& call) {
            node.holds();
            call();
            const long before = job.store.told;
            for (int i = 0; i < 100; ++i) {
                call();
            }
            told.push_back(job.store.told - before);
        };
        measure([&] { node.holds(); });
        measure([&] { node.finish(); });
        node.stay_until(30s);
    });
    job.add("b", 1, 5s, [&](Agent& node) {
        node.next();
        job.time.sleep(3s);
    });
    REQUIRE(job.play());
    INFO("values of the store that 100 calls were told, in no time");
    REQUIRE(told.size() == 2);
    CHECK(told[0] <= 100);
    CHECK(told[1] <= 200);
    const auto others =
        std::ranges::count_if(a.clock.sleeps, [](Ms slept) { return slept != kLook; });
    INFO(
        "of " << a.clock.sleeps.size() << " times that a slept, so many were not for settings.poll"
    );
    CHECK(others == 0);
}

/// What one of four nodes is told: it goes on at once to the next round, until the third, and stays
/// there until the job is finished.
inline std::vector<WorkerRound> rounds_of(Store& store, int i) {
    SteadyClock clock;
    RendezvousSettings settings = {.min_nodes = 4, .max_nodes = 4};
    settings.poll = 1ms;
    Membership node(store, "job", "node" + std::to_string(i), i + 1, settings, clock);
    std::vector<WorkerRound> rounds;
    try {
        for (bool is_finished = false; !is_finished;) {
            rounds.push_back(node.next().value());
            while (rounds.back().number >= 3 && !is_finished && node.holds()) {
                is_finished = node.finish();
                clock.sleep(1ms);
            }
        }
    } catch (...) {
        node.close();  // nobody waits for this node
        throw;
    }
    return rounds;
}

/// Four nodes in threads, on the machine's own clock.
inline void through(const std::function<std::shared_ptr<Store>()>& open) {
    std::vector<std::future<std::vector<WorkerRound>>> ends;
    for (int i = 0; i < 4; ++i) {
        ends.push_back(std::async(std::launch::async, [i, store = open()] {
            return rounds_of(*store, i);
        }));
    }
    const std::array<int, 4> first = {0, 1, 3, 6};
    for (std::size_t i = 0; i < 4; ++i) {
        const int node = static_cast<int>(i);
        for (const WorkerRound& round : ends[i].get()) {
            INFO("node" << i << " is told " << text_of(round));
            CHECK(round == WorkerRound{round.number, node, 4, first.at(i), node + 1, 10});
        }
    }
}

}  // namespace dist::harness
