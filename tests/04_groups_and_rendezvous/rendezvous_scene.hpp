// A rendezvous that is played look by look, without a store: whoever's turn it is looks at the
// shared state, and its decision is the state for the next one.
#pragma once

#include <chrono>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "exercises/04_groups_and_rendezvous/rendezvous.hpp"

namespace dist::harness {

using namespace std::chrono_literals;
using Duration = Clock::Duration;
using Names = std::vector<std::string>;

/// Times are round numbers: a last call of 30 s, heartbeats every 5 s, dead after 15 s.
inline RendezvousSettings nodes(int min, int max) {
    return {.min_nodes = min, .max_nodes = max};
}

inline std::string text_of(const Names& names) {
    std::string text;
    for (const std::string& name : names) {
        text += (text.empty() ? "" : " ") + name;
    }
    return names.empty() ? "none" : text;
}

inline Names names_of(const RendezvousState::Nodes& nodes) {
    Names names;
    for (const auto& [name, count] : nodes) {
        names.push_back(name);
    }
    return names;
}

inline std::string text_of(Action action) {
    const char* const words[] = {"write", "wait", "done", "new_round", "timed_out", "closed"};
    return words[static_cast<int>(action)];
}

/// "round 2, members a b, ranks none, waiting c"
inline std::string text_of(const RendezvousState& state) {
    std::ostringstream text;
    text << "round " << state.round << ", members " << text_of(names_of(state.members))
         << ", ranks " << text_of(state.ranks) << ", waiting " << text_of(names_of(state.waiting))
         << (state.closed ? ", closed" : "");
    return text.str();
}

class Scene {
  public:
    RendezvousState state;
    std::map<std::string, NodeView> views;
    std::map<std::string, Duration> skew;  // what a node's clock says more than others do
    Duration now = 0s;                     // by a clock that nobody has

    explicit Scene(const RendezvousSettings& settings) : settings_(settings) {}

    /// The node looks once.
    Action look(const std::string& name, Wish wish = Wish::join) {
        NodeView& view = views[name];
        if (view.name.empty()) {
            view = {.name = name, .settings = settings_, .deadline = settings_.join_timeout};
        }
        view = observe(view, state, now + skew[name]);
        const std::string before = text_of(state);
        const Decision decision = decide(state, view, wish);
        const Action action = decision.action;
        state = decision.state;
        if (action == Action::done && wish == Wish::join) {
            view.round = state.round;
            in_round_.insert(name);
        } else if (action == Action::new_round) {
            view.deadline = view.time + settings_.join_timeout;
            in_round_.erase(name);
        }
        if (const std::string after = text_of(state); after != before) {
            log_.push_back(std::to_string(now / 1s) + " s, " + name + ": " + after);
        }
        return action;
    }

    /// The node looks until there is nothing to write.
    Action act(const std::string& name, Wish wish = Wish::join) {
        for (int looks = 0; looks < 5; ++looks) {
            const Action action = look(name, wish);
            if (action != Action::write) {
                return action;
            }
        }
        return Action::write;
    }

    /// All of these act in turn, with what they are about: who is in the round stays in it, others
    /// join.
    void all_act(const Names& names) {
        for (const std::string& name : names) {
            act(name, in_round_.contains(name) ? Wish::stay : Wish::join);
        }
    }

    /// Time goes on, second by second, and these nodes act in each.
    void pass(Duration duration, const Names& names) {
        for (Duration end = now + duration; now < end;) {
            now += 1s;
            all_act(names);
        }
    }

    /// For INFO: what has been written, but for heartbeats, and by whom.
    [[nodiscard]] std::string text() const {
        std::string text = "it is second " + std::to_string(now / 1s) + "; what was written:";
        for (const std::string& line : log_) {
            text += "\n  " + line;
        }
        return text;
    }

  private:
    RendezvousSettings settings_;
    std::set<std::string> in_round_;
    std::vector<std::string> log_;
};

/// The ranks when these have come in this order, one every 6 s, and a last call is over.
inline Names ranks_of(const RendezvousSettings& settings, const Names& arrivals) {
    Scene scene(settings);
    for (std::size_t n = 1; n <= arrivals.size(); ++n) {
        scene.pass(6s, Names(arrivals.begin(), arrivals.begin() + static_cast<std::ptrdiff_t>(n)));
    }
    scene.pass(31s, arrivals);
    return scene.state.ranks;
}

}  // namespace dist::harness
