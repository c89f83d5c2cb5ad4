// Ranks that look at each other while a test stops, kills and delays them, and what each takes the
// others for.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "exercises/10_elastic/heartbeat.hpp"
#include "tests/10_elastic/heartbeat_network.hpp"
#include "tests/harness/harness.hpp"

namespace dist::harness {

using enum Health;

inline constexpr Ms kInterval = 100ms;

/// From one look to the next. Rank r looks at r, r + 10, r + 20, ... ms, and beats at r, r + 100,
/// r + 200, ... ms.
inline constexpr Ms kLook = 10ms;

inline constexpr std::int64_t kMaxLag = 10;

inline HeartbeatSettings with_misses(int misses) {
    return {.interval = kInterval, .misses = misses, .max_lag = kMaxLag};
}

inline std::string text_of(Health health) {
    const char* const words[] = {"alive", "straggler", "suspected", "dead"};
    return words[static_cast<int>(health)];
}

inline std::string text_of(Ms time) {
    return std::to_string(time.count()) + " ms";
}

inline std::string text_of(const RankHealth& one) {
    return text_of(one.health) + (one.step ? ", step " + std::to_string(*one.step) : ", no step") +
           ", silent for " + text_of(one.silence);
}

inline std::string text_of(const std::vector<Ms>& times) {
    std::string text;
    for (const Ms time : times) {
        text += (text.empty() ? "" : ", ") + std::to_string(time.count());
    }
    return text + " ms";
}

/// A rank is taken for something else from that look on.
struct Change {
    Ms at;
    Health to;

    bool operator==(const Change&) const = default;
};
using Changes = std::vector<Change>;

/// Each begins as alive.
inline std::string text_of(const Changes& changes) {
    std::string text = "alive";
    for (const Change& change : changes) {
        text += ", " + text_of(change.to) + " from " + text_of(change.at) + " on";
    }
    return text;
}

/// By who looks, and at whom.
using Story = std::map<std::pair<int, int>, Changes>;

class HeartbeatScene {
  public:
    HeartbeatNetwork network;

    explicit HeartbeatScene(int p, const HeartbeatSettings& settings = with_misses(3))
        : network(p) {
        for (int rank = 0; rank < p; ++rank) {
            players_.push_back(std::make_unique<Player>(network, rank, settings));
        }
    }

    [[nodiscard]] int size() const { return network.size(); }

    /// It stands still until go_on(), as after SIGSTOP. Its connections stay.
    void stop(int rank) { player(rank).is_stopped = true; }
    void go_on(int rank) { player(rank).is_stopped = false; }

    void kill(int rank) {
        stop(rank);
        network.is_dead[static_cast<std::size_t>(rank)] = true;
    }

    /// It looks once in so much time.
    void looks_every(int rank, Ms time) { player(rank).every = time; }

    Ms& skew(int rank) { return player(rank).clock.skew; }

    std::int64_t& step(int rank) { return network.steps.at(static_cast<std::size_t>(rank)); }

    [[nodiscard]] bool has_turn(int rank) {
        const Player& one = player(rank);
        return !one.is_stopped && network.now >= Ms(rank) &&
               (network.now - Ms(rank)) % one.every == 0ms;
    }

    /// What it returned, of all ranks.
    const std::vector<RankHealth>& look(int rank) {
        Player& one = player(rank);
        network.looks = 0;
        one.last = one.heartbeat.look(step(rank));
        if (!network.trouble.empty()) {
            throw std::runtime_error(network.trouble);
        }
        if (one.last.size() != players_.size()) {
            throw std::runtime_error("look() does not return one RankHealth for each rank");
        }
        for (int other = 0; other < size(); ++other) {
            Changes& changes = story_[{rank, other}];
            const Health before = changes.empty() ? alive : changes.back().to;
            if (const Health after = last(rank, other).health; after != before) {
                changes.push_back({network.now, after});
            }
        }
        return one.last;
    }

    void pass(Ms time) {
        for (const Ms end = network.now + time; network.now < end; network.now += 1ms) {
            for (int rank = 0; rank < size(); ++rank) {
                if (has_turn(rank)) {
                    look(rank);
                }
            }
        }
    }

    /// What `rank` took `other` for when it last looked.
    [[nodiscard]] const RankHealth& last(int rank, int other) {
        return player(rank).last.at(static_cast<std::size_t>(other));
    }

    /// Whether that is what all have seen. Who is not in `right` was alive all the time.
    [[nodiscard]] Comparison is(const Story& right) const {
        for (const auto& [pair, changes] : story_) {
            const auto found = right.find(pair);
            const Changes expected = found == right.end() ? Changes{} : found->second;
            if (changes != expected) {
                const auto [rank, other] = pair;
                const std::string whom = rank == other ? "itself" : "rank " + std::to_string(other);
                return {
                    false, "rank " + std::to_string(rank) + " takes " + whom + " for " +
                               text_of(changes) + ". It has to take it for " + text_of(expected)};
            }
        }
        return {};
    }

  private:
    struct Player {
        Player(HeartbeatNetwork& network, int rank, const HeartbeatSettings& settings)
            : transport(std::make_unique<HeartbeatTransport>(network, rank)),
              clock(network, std::chrono::hours(24 * 365) * (rank % 3 - 1)),
              heartbeat(*transport, HeartbeatNetwork::kGroup, clock, settings) {}
        ~Player() { transport.reset(); }  // first
        Player(const Player&) = delete;
        Player& operator=(const Player&) = delete;

        std::unique_ptr<HeartbeatTransport> transport;
        HeartbeatClock clock;
        Heartbeat heartbeat;
        Ms every = kLook;
        bool is_stopped = false;
        std::vector<RankHealth> last = {};
    };

    Player& player(int rank) { return *players_.at(static_cast<std::size_t>(rank)); }

    std::vector<std::unique_ptr<Player>> players_;
    Story story_;
};

/// Runs what plays scenes: they are one process's.
inline void in_one_thread(const std::function<void()>& body) {
    on_ranks({1}, [&](const Communicator&) { body(); });
}

}  // namespace dist::harness
