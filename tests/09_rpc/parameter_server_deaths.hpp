// Ranks that die, leave, and call what they should not.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/09_rpc/parameter_server_scene.hpp"

namespace dist::harness {

/// Runs `body` with several seeds: who goes on first, and how late each message is.
inline void with_seeds(const std::function<void(std::uint64_t seed)>& body) {
    on_ranks_each(
        {1}, [](int) { return 3; },
        [&](const Communicator&, std::size_t seed) {
            INFO("seed " << seed);
            body(seed);
        }
    );
}

/// Three workers, of which one dies at that moment. The others have version `last`, and are told.
inline void die_at(std::uint64_t seed, Moment moment, int at_step, int last) {
    for (const int s : {1, 2}) {
        for (const int dying : {0, 1, 2}) {
            ParameterScene scene(3, s, 7, seed);
            const int rank = scene.worker_rank(dying);
            INFO(
                s << " servers; worker " << dying << ", on rank " << rank << ", dies in step "
                  << at_step
            );
            scene.at = [&](int worker, int step, Moment now) {
                if (worker == dying && step == at_step && now == moment) {
                    scene.network.kill(rank);
                }
            };
            REQUIRE(scene.play());
            for (const int worker : {0, 1, 2}) {
                if (worker != dying) {
                    const std::string end = "rank " + std::to_string(rank) + " has died";
                    REQUIRE(scene.pulled(worker, last, end));
                }
            }
        }
    }
}

inline void lose_a_worker(std::uint64_t seed) {
    die_at(seed, Moment::begins, 0, 0);
    die_at(seed, Moment::begins, 1, 1);
    die_at(seed, Moment::has_pulled, 1, 1);
}

inline void lose_a_worker_that_has_pushed(std::uint64_t seed) {
    die_at(seed, Moment::has_pushed, 1, 2);
}

inline void leave_early(std::uint64_t seed) {
    ParameterScene scene(3, 2, 7, seed);
    scene.workers[1].leaves_at = 1;
    REQUIRE(scene.play());
    REQUIRE(scene.pulled(1, 0));
    const std::string end = "rank " + std::to_string(scene.worker_rank(1)) + " has left";
    REQUIRE(scene.pulled(0, 1, end));
    REQUIRE(scene.pulled(2, 1, end));
}

inline void leave_before_it_asks(std::uint64_t seed) {
    ParameterScene scene(2, 1, 7, seed);
    scene.steps = 0;
    scene.servers_begin = 10ms;
    scene.workers[0].leaves_at = 0;
    REQUIRE(scene.play());
    REQUIRE(scene.pulled(0, -1));
    REQUIRE(scene.servers_end());
}

/// One of the servers dies when the fastest worker is at that moment. All workers are told.
inline void lose_a_server(std::uint64_t seed) {
    for (const Moment moment : {Moment::begins, Moment::has_pulled, Moment::has_pushed}) {
        for (const auto& one : std::vector<std::pair<int, std::size_t>>{{1, 0}, {2, 0}, {2, 1}}) {
            const int s = one.first;
            const std::size_t dying = one.second;
            ParameterScene scene(3, s, 7, seed);
            scene.workers[1].computes = 8ms;
            scene.workers[2].computes = 20ms;
            const int rank = scene.server_rank(dying);
            INFO("server " << dying << " of " << s << ", on rank " << rank << ", dies in step 1");
            scene.at = [&](int worker, int step, Moment now) {
                if (worker == 0 && step == 1 && now == moment) {
                    scene.network.kill(rank);
                }
            };
            REQUIRE(scene.play());
            const std::string end = "rank " + std::to_string(rank) + " has died";
            const int last = moment == Moment::begins ? 0 : 1;
            REQUIRE(scene.pulled(0, last, end));
            for (const int worker : {1, 2}) {
                REQUIRE(scene.told(worker, end));
            }
        }
    }
}

/// Two workers wait at both servers for the third one, which takes longer than their deadline. Then
/// a server dies.
inline void lose_a_server_while_others_wait(std::uint64_t seed) {
    for (const std::size_t dying : {0, 1}) {
        ParameterScene scene(3, 2, 7, seed);
        scene.workers[2].lingers = 600ms;
        const int rank = scene.server_rank(dying);
        scene.dies[rank] = 100ms;
        INFO(
            "server " << dying << " of 2, on rank " << rank
                      << ", dies; the other one's answer must wait"
        );
        REQUIRE(scene.play());
        const std::string end = "rank " + std::to_string(rank) + " has died";
        for (const int worker : {0, 1, 2}) {
            REQUIRE(scene.pulled(worker, 1, end));
        }
    }
}

}  // namespace dist::harness
