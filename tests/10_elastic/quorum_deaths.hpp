// Replicas that die, and what the others come to. Each function is the body of a TEST_CASE.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "tests/10_elastic/quorum_scene.hpp"

namespace dist::harness {

/// Runs `body` with several seeds: who goes on first where several could.
inline void with_scenes(const std::function<void(std::uint64_t seed)>& body) {
    on_ranks_each(
        {1}, [](int) { return 3; },
        [&](const Communicator&, std::size_t seed) {
            INFO("seed " << seed);
            body(seed);
        }
    );
}

/// How many messages replica `who` of p sends and receives in so many steps, if nobody dies.
inline long messages_in(std::int64_t steps, int p, std::size_t who) {
    QuorumScene scene(p);
    scene.training.steps = steps;
    REQUIRE(scene.play());
    return scene.lives[who].fate.messages;
}

/// A run of 4 steps, in which one replica dies after so many messages.
struct Death {
    Death(int p, std::size_t its_victim, long messages, std::uint64_t seed)
        : scene(p, seed), victim(its_victim) {
        scene.training.steps = 4;
        scene.lives[victim].fate.dies_after = messages;
    }

    /// What the others were told in an attempt: 0 or 1 of each, by name.
    [[nodiscard]] std::string told(std::size_t attempt) const {
        std::string text;
        for (std::size_t who = 0; who < scene.lives.size(); ++who) {
            if (who != victim) {
                text += scene.lives[who].commits.at(attempt) ? '1' : '0';
            }
        }
        return text;
    }

    QuorumScene scene;
    std::size_t victim;
};

/// Each replica dies at each message of the first two steps. In the first one all copy.
inline void die_at_every_message(int p) {
    on_ranks({1}, [&](const Communicator&) {
        for (std::size_t victim = 0; victim < static_cast<std::size_t>(p); ++victim) {
            const long most = messages_in(2, p, victim);
            REQUIRE(most > 0);
            Comparison right;
            for (long messages = 0; messages < most && right; ++messages) {
                Death death(p, victim, messages, static_cast<std::uint64_t>(messages));
                right = death.scene.play();
                if (right && !death.scene.lives[victim].fate.is_dead) {
                    right = {false, "it lives"};
                }
                right.text +=
                    right ? "" : ": it dies after " + std::to_string(messages) + " messages";
            }
            INFO(p << " replicas; replica " << victim << " (0 is a) dies");
            REQUIRE(right);
        }
    });
}

/// One dies at a message of the first all_reduce of the second step: 4 are sent there, and 4 received.
inline void die_in_the_first_all_reduce() {
    on_ranks({1}, [](const Communicator&) {
        for (const std::size_t victim : {0, 1, 2}) {
            const long before = messages_in(1, 3, victim);
            for (long more = 1; more <= 8; ++more) {
                INFO(
                    "of 3 replicas, number " << victim << " (0 is a) dies in its first all_reduce"
                );
                INFO("after " << more << " of its 8 messages");
                Death death(3, victim, before + more, static_cast<std::uint64_t>(more));
                REQUIRE(death.scene.play());
                REQUIRE(death.told(1) == "00");
            }
        }
    });
}

/// The last messages of a step are the vote, and what rank 0 has to say.
inline void die_in_the_vote() {
    with_scenes([](std::uint64_t seed) {
        for (const std::size_t victim : {1, 2}) {
            const long all = messages_in(2, 3, victim);
            {
                INFO("of 3 replicas, number " << victim << " (0 is a) dies before its vote");
                Death death(3, victim, all - 2, seed);
                REQUIRE(death.scene.play());
                REQUIRE(death.told(1) == "00");
            }
            INFO("of 3 replicas, number " << victim << " (0 is a) dies when it has voted yes");
            Death death(3, victim, all - 1, seed);
            REQUIRE(death.scene.play());
            REQUIRE(death.told(1) == "11");
        }
    });
}

/// Rank 0 dies while it tells the others. Some have taken a step then that the others have not.
/// With `stands_still`, these are not there for a while.
inline void die_while_it_tells(bool stands_still) {
    int splits = 0;
    on_ranks({1}, [&](const Communicator&) {
        const long all = messages_in(2, 4, 0);
        for (long messages = all - 6; messages < all; ++messages) {
            INFO("of 4 replicas, a dies " << all - messages << " messages before its step ends");
            Death death(4, 0, messages, 1);
            for (Life& life : death.scene.lives) {
                life.at = 2;
                life.stands_still = stands_still ? 3000ms : 0ms;
            }
            death.scene.may_lose = stands_still;
            REQUIRE(death.scene.play());
            const std::string told = death.told(1);
            splits += told == "000" || told == "111" ? 0 : 1;
        }
    });
    INFO("runs in which some were told, and others were not: " << splits);
    CHECK(splits == 2);
}

/// Half of those that live do not begin; with one more they do.
inline void half_do_not_begin() {
    with_scenes([](std::uint64_t seed) {
        QuorumScene scene(4, seed);
        scene.settings.join_timeout = 100ms;
        scene.training.steps = 5;
        scene.lives[2].asks = 2000ms;
        scene.lives[3].asks = 2020ms;
        REQUIRE(scene.play());
        const Comparison waits{
            scene.quorums.front().members.size() == 3 && scene.lives[0].ended >= 2000ms,
            "a and b ask at once, c and d live and ask later: the first quorum is of " +
                std::to_string(scene.quorums.front().members.size()) + " replicas"};
        REQUIRE(waits);
    });
}

/// Replicas that come late, are slow, err and die by chance.
inline void lives_of_replicas() {
    long dead = 0;
    long refused = 0;
    on_ranks({1}, [&](const Communicator&) {
        for (std::uint64_t seed = 0; seed < 10; ++seed) {
            INFO("seed " << seed);
            std::uint64_t drawn = 0;
            const auto draw = [&](std::uint64_t end) {
                return static_cast<long>(seeded_bits(seed, drawn++) % end);
            };
            QuorumScene scene(4 + static_cast<int>(seed % 2), seed);
            scene.training.steps = 5;
            for (Life& life : scene.lives) {
                life.comes = Ms(draw(3) == 0 ? draw(100) : 0);
                life.computes = Ms(5 + draw(40));
                life.errs_in = draw(5) == 0 ? static_cast<int>(draw(4)) : -1;
            }
            for (int one = 0; one < 2; ++one) {
                Life& life = scene.lives[static_cast<std::size_t>(draw(scene.lives.size()))];
                life.comes = 0ms;
                life.fate.dies_after = draw(30);
            }
            REQUIRE(scene.play());
            for (const Life& life : scene.lives) {
                dead += life.fate.is_dead ? 1 : 0;
                refused += std::ranges::count(life.commits, false);
            }
        }
    });
    INFO(dead << " replicas died, and " << refused << " attempts did not count");
    CHECK((dead >= 10 && refused >= 10));
}

}  // namespace dist::harness
