// The loop around decide(): nodes at one store, in threads that go on one at a time. How they read
// and write, and what is refused; their lives stand in rendezvous_lives.hpp.
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/04_groups_and_rendezvous/rendezvous_game.hpp"
#include "tests/harness/harness.hpp"

namespace dist::harness {

inline void every_order_of_calls() {
    long lost = 0;
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        Game game(nodes(2, 3), seed);
        const auto plot = [](Actor& node) {
            while (node.next_round().number < 3) {
                node.work(2s);
            }
            node.leave();
        };
        game.add("b", seed % 3 * 1s, plot);
        game.add("c", 0s, plot, 24h);
        game.add("a", seed % 2 * 40s, plot, -24h);
        const Comparison result = game.play();
        INFO("seed " << seed);
        REQUIRE(result);
        lost += game.store.lost;
    }
    INFO("in no game did a compare_set find another value than it expected: is there one?");
    CHECK(lost > 0);
}

inline void one_key() {
    Game game(nodes(2, 2), 1);
    const auto plot = [](Actor& node) {
        node.next_round();
        node.stay();
        node.leave();
    };
    game.add("a", 0s, plot);
    game.add("b", 20s, plot);
    CHECK(game.store.calls.empty());  // of the constructors
    const Comparison result = game.play();
    for (const std::string call : {"set", "add", "erase"}) {
        INFO("the store was asked for " << call << "(): what another node has written is lost");
        CHECK(!game.store.calls.contains(call));
    }
    CHECK(result);
    CHECK(game.store.keys == std::set<std::string>{"job"});
    const std::vector<Duration>& sleeps = game.actors[0]->clock.sleeps;
    INFO("a slept " << sleeps.size() << " times while it waited for 20 s");
    CHECK((19 <= sleeps.size() && sleeps.size() <= 21));
    CHECK(std::ranges::count(sleeps, 1s) == std::ssize(sleeps));
    const std::ptrdiff_t writes = std::ssize(game.store.values);
    INFO(
        "a look costs one value of the store, and a write one more: "
        << writes << " writes, and " << game.store.told << " values"
    );
    CHECK(game.store.told <= std::ssize(sleeps) + 2 * writes + 8);
}

/// Whether a is in the round after b's, which was first.
inline void is_after_b(Game& game) {
    const Actor& a = game.add("a", 0s, [](Actor& node) { node.next_round(); });
    const Comparison result = game.play();
    CHECK(result);
    INFO("before a's join was written, b was in a complete round, and died then\n" << game.text());
    REQUIRE(a.rounds.size() == 1);
    INFO("a is told " << text_of(a.rounds[0]));
    CHECK(a.rounds[0].number == 2);
    CHECK(a.rounds[0].nodes == Names{"a"});
}

inline std::string with_b_alone() {
    RendezvousState won;
    won.members = {{"b", 1}};
    won.ranks = {"b"};
    return won.text();
}

inline void lost_join() {
    Game game(nodes(1, 1));
    game.store.rival = [](const std::string&, const std::string&) { return with_b_alone(); };
    is_after_b(game);
}

/// Who reads once more before it writes sees what it has not decided by.
inline void lost_between_two_calls() {
    Game game(nodes(1, 1));
    int calls = 0;
    game.store.before = [&](const std::string&) {
        game.time.pass();
        if (++calls == 2) {
            game.store.comes("job", with_b_alone());
        }
    };
    is_after_b(game);
}

inline void lost_giving_up() {
    Game game(nodes(2, 2));
    game.store.rival = [](const std::string& value, const std::string& desired) {
        RendezvousState won = RendezvousState::from(value);
        const bool gives_up =
            won.members.contains("a") && !RendezvousState::from(desired).members.contains("a");
        won.members["b"] = 1;
        won.ranks = {"a", "b"};
        return gives_up ? std::optional(won.text()) : std::nullopt;
    };
    const Actor& a = game.add("a", 0s, [](Actor& node) { node.next_round(); });
    INFO(
        "a has come to its deadline, and before its leaving was written, b completed the round "
        "with it"
    );
    const Comparison result = game.play();
    CHECK(result);
    REQUIRE(a.rounds.size() == 1);
    CHECK(a.rounds[0].nodes == Names{"a", "b"});
}

inline void two_keys() {
    Game game(nodes(2, 2), 5);
    const auto plot = [](Actor& node) { node.next_round(); };
    game.add("a", 0s, plot, "one");
    game.add("a", 0s, plot, "other");
    game.add("b", 1s, plot, "other");
    game.add("b \"\n", 2s, plot, "one");
    const std::vector<std::string> ends = game.run();
    INFO(text_of(ends));
    CHECK(std::ranges::count(ends, "") == 4);
    CHECK(game.actors[0]->rounds.back().nodes == Names{"a", "b \"\n"});
    CHECK(game.actors[1]->rounds.back().nodes == Names{"a", "b"});
}

inline void refusals() {
    const auto make = [](const RendezvousSettings& settings) {
        WatchedStore store;
        SteadyClock clock;
        const Rendezvous node(store, "job", "a", settings, clock);
    };
    CHECK_NOTHROW(make(nodes(1, 1)));
    CHECK_THROWS_AS(make(nodes(0, 1)), std::invalid_argument);
    CHECK_THROWS_AS(make(nodes(3, 2)), std::invalid_argument);
    RendezvousSettings settings = nodes(1, 2);
    settings.poll = 0s;
    CHECK_THROWS_AS(make(settings), std::invalid_argument);
    settings.poll = 5001ms;
    CHECK_THROWS_AS(make(settings), std::invalid_argument);
    settings.poll = 5s;
    CHECK_NOTHROW(make(settings));
    settings.dead_after = 5s;
    CHECK_THROWS_AS(make(settings), std::invalid_argument);
}

inline void store_fails() {
    Game game(nodes(1, 1));
    std::string text;
    int calls = 0;
    game.store.before = [&](const std::string&) {
        game.time.pass();
        if (++calls == 2) {
            throw Error("the store is gone");
        }
    };
    const Actor& a = game.add("a", 0s, [&](Actor& node) {
        try {
            node.next_round();
        } catch (const Error& error) {
            text = error.what();
        }
        node.next_round();
    });
    const Comparison result = game.play();
    INFO("the second call of the store throws. What came out: " << text);
    CHECK(text == "the store is gone");
    CHECK(result);
    CHECK(a.rounds.size() == 1);
}

}  // namespace dist::harness
