// What becomes of nodes with loops of their own: who comes late, dies, stands still, gives up,
// leaves, or ends it all.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/04_groups_and_rendezvous/rendezvous_game.hpp"
#include "tests/harness/harness.hpp"

namespace dist::harness {

inline void late_and_dead() {
    Game game(nodes(2, 3), 2);
    std::vector<Duration> ends;  // of a's rounds
    Actor& a = game.add("a", 0s, [&](Actor& node) {
        for (int rounds = 0; rounds < 3; ++rounds) {
            node.next_round();
            node.work(300s);
            ends.push_back(game.time.now());
        }
    });
    game.add("b", 0s, [](Actor& node) {
        while (node.next_round().number < 3) {
            node.work(300s);
        }
        node.work(600s);
    });
    game.add("c", 100s, [](Actor& node) {
        node.next_round();
        node.work(50s);  // and dies
    });
    const Comparison result = game.play();
    INFO(game.text());
    CHECK(result);
    REQUIRE(a.rounds.size() == 3);
    CHECK(a.rounds[0].nodes == Names{"a", "b"});
    CHECK(a.rounds[1].nodes == Names{"a", "b", "c"});
    CHECK(a.rounds[2].nodes == Names{"a", "b"});
    INFO(
        "c came after 100 s, and died after about 152 s: a's rounds ended after "
        << ends[0] / 1s << " s and " << ends[1] / 1s << " s"
    );
    CHECK((100s <= ends[0] && ends[0] <= 103s));
    CHECK((150s <= ends[1] && ends[1] <= 175s));
}

inline void stood_still() {
    Game game(nodes(1, 2), 3);
    bool held = true;
    game.add("a", 0s, [](Actor& node) {
        while (node.next_round().nodes != Names{"a"}) {
            node.work(300s);
        }
        node.work(300s);
        node.next_round();
    });
    Actor& b = game.add("b", 0s, [&](Actor& node) {
        node.next_round();
        node.clock.sleep(60s);
        held = node.stay();
        node.next_round();
    });
    const Comparison result = game.play();
    INFO(game.text());
    CHECK(result);
    CHECK(!held);
    REQUIRE(b.rounds.size() == 2);
    CHECK(b.rounds[1].nodes == Names{"a", "b"});
}

inline std::set<long> numbers_in(const std::string& text) {
    constexpr const char* kTen = "0123456789";
    std::set<long> numbers;
    for (std::size_t at = text.find_first_of(kTen); at < text.size();) {
        const std::size_t end = std::min(text.find_first_not_of(kTen, at), text.size());
        numbers.insert(std::stol(text.substr(at, end - at)));
        at = text.find_first_of(kTen, end);
    }
    return numbers;
}

inline void not_enough() {
    Game game(nodes(3, 3));
    std::map<std::string, std::string> texts;
    std::map<std::string, Duration> waited;
    const auto plot = [&](Actor& node) {
        const Duration start = game.time.now();
        try {
            node.next_round();
        } catch (const Timeout& timeout) {
            waited[node.name] = game.time.now() - start;
            texts[node.name] = timeout.what();
        }
    };
    game.add("a", 0s, plot);
    game.add("b", 10s, plot);
    const Comparison result = game.play();
    INFO(game.text());
    CHECK(result);
    for (const std::string name : {"a", "b"}) {
        INFO(name << " said after " << waited[name] / 1s << " s: " << texts[name]);
        const Comparison in_time = {
            600s <= waited[name] && waited[name] <= 603s,
            "it gives up after join_timeout, which is 600 s, and not long after it"};
        CHECK(in_time);
        CHECK(texts[name].find("job") != std::string::npos);
        INFO("how many others were there: b, when a gave up, and then nobody");
        const bool says_how_many = numbers_in(texts[name]).contains(name == "a" ? 1 : 0);
        CHECK(says_how_many);
    }
    const RendezvousState last = RendezvousState::from(game.store.values.back());
    CHECK(last.members.empty());
}

inline void whole_time() {
    Game game(nodes(2, 2));
    Actor& a = game.add("a", 0s, [](Actor& node) {
        node.next_round();
        node.work(700s);
        try {
            node.next_round();
        } catch (const Timeout&) {
            node.next_round();
        }
    });
    game.add("b", 500s, [](Actor& node) {
        node.next_round();
        node.work(100s);
        node.leave();
        node.clock.sleep(900s);
        node.next_round();
    });
    const Comparison result = game.play();
    INFO(game.text());
    CHECK(result);
    CHECK(a.rounds.size() == 2);
}

inline void closed_for_good() {
    Game game(nodes(1, 1), 4);
    int closed = 0;
    bool held = false;
    const auto expect_closed = [&](Actor& node) {
        try {
            node.next_round();
        } catch (const RendezvousClosed& error) {
            closed += std::string(error.what()).find("job") != std::string::npos ? 1 : 0;
        }
    };
    game.add("a", 0s, [&](Actor& node) {
        node.next_round();
        held = node.work(100s);
        expect_closed(node);
        expect_closed(node);
    });
    game.add("b", 5s, expect_closed);
    game.add("c", 50s, [](Actor& node) {
        node.close();
        node.close();
    });
    game.add("d", 90s, expect_closed);
    const Comparison result = game.play();
    INFO(game.text());
    CHECK(result);
    CHECK(held);
    CHECK(closed == 4);
}

inline void stay_and_leave() {
    Game game(nodes(1, 1));
    std::vector<bool> stays;
    const Actor& a = game.add("a", 0s, [&](Actor& node) {
        stays.push_back(node.stay());
        node.leave();
        node.next_round();
        stays.push_back(node.stay());
        node.leave();
        stays.push_back(node.stay());
        node.leave();
        node.next_round();
        stays.push_back(node.stay());
    });
    const Comparison result = game.play();
    INFO(game.text());
    CHECK(result);
    CHECK(stays == std::vector<bool>{false, true, false, true});
    CHECK(a.rounds.back().number == 2);
    CHECK(game.time.now() == 0s);
}

}  // namespace dist::harness
