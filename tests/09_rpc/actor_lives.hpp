// Drivers on all ranks that call actors by the seed, and what their diaries must hold then.
#pragma once

#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "course/runtime/seeded.hpp"
#include "tests/09_rpc/actor_calls.hpp"

namespace dist::harness {

/// Of the words of a diary those of a caller, and whether each "(" is followed at once by its ")".
struct Read {
    std::map<char, std::string> by_caller = {};
    bool is_whole = true;
};

inline Read read_diary(const std::string& line) {
    std::istringstream words(line);
    Read diary;
    std::string word;
    std::string before;
    words >> word;  // the place
    while (words >> word) {
        if (word != "(" && word != ")") {
            diary.by_caller[word.front()] += " " + word;
        }
        diary.is_whole = diary.is_whole && (before == "(") == (word == ")");
        before = word;
    }
    diary.is_whole = diary.is_whole && before != "(";
    return diary;
}

inline constexpr int kLifeRanks = 3;
inline constexpr int kLifeMessages = 10;  // of each driver

/// What was sent to an actor of a by a caller.
using Sent = std::map<std::pair<int, char>, std::string>;

inline std::string add_to_b(int place, const std::string& word) {
    return "b " + std::to_string(place) + " add " + word;
}

/// Begins calls, and waits for all of them in the end.
inline void call_by_seed(Driver& driver, int rank, std::uint64_t seed, Sent& sent) {
    const char me = static_cast<char>('p' + rank);
    std::vector<ActorMesh::Call> calls;
    for (std::uint64_t i = 0; i < kLifeMessages; ++i) {
        const auto draw = seeded_bits(seed * 100 + static_cast<std::uint64_t>(rank), i);
        const int place = static_cast<int>(draw % kLifeRanks);
        const std::string word = std::string(1, me) + std::to_string(i);
        const int other = static_cast<int>(draw / 8 % kLifeRanks);
        if (draw / 64 % 2 == 0) {
            calls.push_back(driver.begin("a", at(place), "ask", add_to_b(other, word)));
        } else {
            calls.push_back(driver.begin("a", at(place), "add", word));
            sent[{place, me}] += " " + word;
        }
        if (draw / 128 % 4 == 0) {
            driver.pause(3ms);
        }
    }
    for (const ActorMesh::Call& call : calls) {
        const std::string line = driver.end(call);
        if (line.find("failed") != std::string::npos) {
            driver.scene.note(line);
        }
    }
}

inline std::string text_of_diary(
    int place, const std::string& line, char caller, const std::string& words
) {
    return "the diary of a[x=" + std::to_string(place) + "] is \"" + line +
           "\", where each ( is followed by its ). From " + caller + " it was sent" + words;
}

/// Notes what is wrong with the diaries of a.
inline void read_all(Driver& driver, Sent& sent) {
    for (int place = 0; place < kLifeRanks; ++place) {
        const std::string line = driver.call("a", at(place), "read");
        Read diary = read_diary(line);
        for (const char caller : {'p', 'q', 'r'}) {
            const std::string& words = sent[{place, caller}];
            if (!diary.is_whole || diary.by_caller[caller] != words) {
                driver.scene.note(text_of_diary(place, line, caller, words));
            }
        }
    }
}

inline void lives_of_actors(std::uint64_t seed) {
    ActorScene scene(kLifeRanks, {{"x", kLifeRanks}}, seed);
    scene.spawns = {{"a", 3}, {"b", 2}};
    scene.network.jitter = 4ms;
    Sent sent;
    int ended = 0;
    for (int rank = 0; rank < kLifeRanks; ++rank) {
        scene.drivers[rank] = [&sent, &ended, rank, seed](Driver& driver) {
            call_by_seed(driver, rank, seed, sent);
            ++ended;
            if (rank == 0) {
                while (ended < kLifeRanks) {
                    driver.pause(1ms);
                }
                read_all(driver, sent);
            }
        };
    }
    REQUIRE(scene.play());
    REQUIRE(scene.told({}));
    int added = 0;
    for (const auto& [message, times] : scene.handled) {
        added += times;
    }
    CHECK(added == kLifeMessages * kLifeRanks);
}

}  // namespace dist::harness
