// Nodes with loops of their own, in threads, at one store, in a time that costs none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/04_groups_and_rendezvous/rendezvous_scene.hpp"
#include "tests/04_groups_and_rendezvous/watched_store.hpp"
#include "tests/harness/words/compare.hpp"
#include "tests/harness/world/virtual_time.hpp"

namespace dist::harness {

inline std::string text_of(const RendezvousRound& round) {
    return "round " + std::to_string(round.number) + ", rank " + std::to_string(round.rank) +
           " of " + text_of(round.nodes);
}

/// One node, and what it does. What happens to it is kept for the end: no check is made in a
/// thread.
class Actor {
  public:
    Actor(
        Store& store,
        const std::string& key,
        const std::string& its_name,
        const RendezvousSettings& settings,
        VirtualTime& time,
        Duration skew
    )
        : name(its_name),
          clock(time, skew),
          settings_(settings),
          node_(store, key, its_name, settings, clock) {}

    /// As Rendezvous has them; the round is kept.
    RendezvousRound next_round() {
        rounds.push_back(node_.next_round());
        return rounds.back();
    }
    bool stay() { return node_.stay(); }
    void leave() { node_.leave(); }
    void close() { node_.close(); }

    /// Stays in its round for so long, or while it holds. Returns whether it still does.
    bool work(Duration duration) {
        for (Duration worked{0}; worked < duration; worked += settings_.poll) {
            clock.sleep(settings_.poll);
            if (!stay()) {
                return false;
            }
        }
        return true;
    }

    std::string name;
    VirtualClock clock;
    std::vector<RendezvousRound> rounds;  // all that it was in

  private:
    RendezvousSettings settings_;
    Rendezvous node_;
};

class Game {
  public:
    WatchedStore store;
    VirtualTime time;
    std::vector<std::unique_ptr<Actor>> actors;

    Game(const RendezvousSettings& settings, std::uint64_t seed = 0, std::string key = "job")
        : time(seed), settings_(settings), key_(std::move(key)) {
        store.before = [this](const std::string&) { time.pass(); };
    }

    /// A node that comes at a time, and what it does then.
    Actor& add(
        const std::string& name,
        Duration start,
        const std::function<void(Actor&)>& plot,
        Duration skew = Duration(0)
    ) {
        return add(name, start, plot, key_, skew);
    }
    Actor& add(
        const std::string& name,
        Duration start,
        const std::function<void(Actor&)>& plot,
        const std::string& key,
        Duration skew = Duration(0)
    ) {
        actors.push_back(std::make_unique<Actor>(store, key, name, settings_, time, skew));
        Actor& actor = *actors.back();
        plots_.emplace_back([this, &actor, start, plot] {
            time.sleep(start);
            plot(actor);
        });
        return actor;
    }

    /// Plays to the end. Says how each node ended: "", or what was thrown.
    std::vector<std::string> run() { return time.run(plots_); }

    /// Plays to the end. Whether nothing was thrown; of two rounds with the same number, whether
    /// they have the same nodes; and whether each has as many as it may have, with ranks by sorted
    /// name.
    Comparison play() {
        const std::vector<std::string> ends = run();
        for (std::size_t i = 0; i < ends.size(); ++i) {
            if (!ends[i].empty()) {
                return {false, actors[i]->name + ": " + ends[i] + "\n" + text()};
            }
        }
        std::map<std::int64_t, Names> rounds;
        for (const auto& actor : actors) {
            std::int64_t last = 0;
            for (const RendezvousRound& round : actor->rounds) {
                const std::string wrong = wrong_with(round, actor->name, last, rounds);
                if (!wrong.empty()) {
                    return {false, wrong + "\n" + text()};
                }
                last = round.number;
            }
        }
        return {};
    }

    /// The states that stood in the store, one after the other; the last of many.
    [[nodiscard]] std::string text() const {
        const std::size_t first = store.values.size() > 12 ? store.values.size() - 12 : 0;
        std::string text = first > 0 ? "the last states in the store:" : "the states in the store:";
        for (std::size_t i = first; i < store.values.size(); ++i) {
            text += "\n  " + text_of(RendezvousState::from(store.values[i]));
        }
        return text;
    }

  private:
    [[nodiscard]] std::string wrong_with(
        const RendezvousRound& round,
        const std::string& name,
        std::int64_t last,
        std::map<std::int64_t, Names>& rounds
    ) const {
        const std::string told = name + " is told " + text_of(round);
        const auto known = rounds.emplace(round.number, round.nodes).first;
        if (round.nodes != known->second) {
            return told + ", and another node: of " + text_of(known->second);
        }
        if (!std::ranges::is_sorted(round.nodes)) {
            return told + ": they are not sorted";
        }
        if (std::ranges::adjacent_find(round.nodes) != round.nodes.end()) {
            return told + ": one is in it twice";
        }
        if (round.size() < settings_.min_nodes || round.size() > settings_.max_nodes) {
            return told + ": that are too few, or too many";
        }
        if (round.rank < 0 || round.rank >= round.size() ||
            round.nodes[static_cast<std::size_t>(round.rank)] != name) {
            return told + ": that is not its own rank";
        }
        if (round.number <= last) {
            return told + ", after round " + std::to_string(last);
        }
        return "";
    }

    RendezvousSettings settings_;
    std::string key_;
    std::vector<std::function<void()>> plots_;
};

}  // namespace dist::harness
