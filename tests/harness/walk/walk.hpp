// A small model checker: all that can happen in a game, in every order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "course/runtime/error.hpp"
#include "tests/harness/words/compare.hpp"

namespace dist::harness {

/// An invariant that does not hold.
struct Broken {
    std::string invariant;  // what should hold: "a closed rendezvous begins no round"
    std::string how;        // what is, in its place
};
using Verdict = std::optional<Broken>;  // none: all holds

struct Walked {
    std::size_t states = 0;        // that were found
    bool is_whole = true;          // all that follow from them were found as well
    Verdict broken = {};           // the first invariant that breaks; none is broken sooner
    std::vector<std::string> way;  // there: one event after the other
};

struct WalkLimits {
    std::size_t states = std::numeric_limits<std::size_t>::max();
    /// Told now and then how many states there are. False ends the walk.
    std::function<bool(std::size_t states)> goes_on = [](std::size_t) { return true; };
    /// On from the state that was found last: a game whose states are played anew is gone through
    /// sooner, and the way to what breaks is not the shortest.
    bool goes_deep = false;
};

namespace walking {

/// What the code under test throws in a game breaks an invariant like any other one.
template <class Call>
Verdict judged(const Call& call) {
    try {
        return call();
    } catch (const NotImplemented&) {
        throw;
    } catch (const std::exception& error) {
        return Broken{"nothing is thrown", error.what()};
    }
}

/// How a state was come to first: by which of the events that may follow another state.
struct Step {
    std::uint32_t from = 0;
    std::uint32_t event = 0;
};

/// The events on the way to state `at`, and then `last`.
template <class Game>
std::vector<std::string> way_to(
    const Game& game, const std::vector<Step>& steps, std::size_t at, std::optional<Step> last
) {
    std::vector<Step> way;
    for (; at > 0; at = steps[at].from) {
        way.insert(way.begin(), steps[at]);
    }
    if (last) {
        way.push_back(*last);
    }
    std::vector<std::string> texts;
    auto state = game.begun();
    for (const Step& step : way) {
        const auto event = game.events(state).at(step.event);
        texts.push_back(game.text(state, event));
        static_cast<void>(judged([&] { return game.happens(state, event); }));
    }
    return texts;
}

}  // namespace walking

/// Goes through all states that a game can come to, those after fewer events first. A game is a type with
///
///     State begun() const
///     std::vector<Event> events(const State&) const      what may happen next
///     Verdict happens(State&, const Event&) const        lets it happen
///     Verdict judge(const State&) const                  what must hold in a state, and be possible from it
///     std::string key(const State&) const                states with the same key go on alike, and are one
///     std::string text(const State&, const Event&) const
template <class Game>
Walked walk(const Game& game, const WalkLimits& limits = {}) {
    using State = decltype(game.begun());
    Walked walked;
    std::vector<walking::Step> steps = {{}};
    std::unordered_set<std::string> keys;
    struct Found {
        std::size_t number;
        std::size_t events;  // on the way there
        State state;
    };
    std::deque<Found> next;  // those that nothing is known of yet that follows from them
    next.push_back({0, 0, game.begun()});
    keys.insert(game.key(next.back().state));
    const auto end = [&](std::size_t at, std::optional<walking::Step> last) {
        walked.states = steps.size();
        if (walked.broken) {
            walked.way = walking::way_to(game, steps, at, last);
        }
        return walked;
    };
    const auto judge = [&](const Found& found) {
        walked.broken = walking::judged([&] { return game.judge(found.state); });
        return walked.broken.has_value();
    };
    for (std::size_t done = 0; !next.empty(); ++done) {
        if (steps.size() > limits.states || (done % 500 == 499 && !limits.goes_on(steps.size()))) {
            walked.is_whole = false;
            break;
        }
        const Found here = std::move(limits.goes_deep ? next.back() : next.front());
        limits.goes_deep ? next.pop_back() : next.pop_front();
        if (judge(here)) {
            return end(here.number, {});
        }
        const auto events = game.events(here.state);
        for (std::size_t i = 0; i < events.size(); ++i) {
            State state = here.state;
            const walking::Step step = {
                static_cast<std::uint32_t>(here.number), static_cast<std::uint32_t>(i)};
            const Verdict broken = walking::judged([&] { return game.happens(state, events[i]); });
            if (broken) {
                for (const Found& other : next) {  // one event less
                    if (!limits.goes_deep && other.events == here.events && judge(other)) {
                        return end(other.number, {});
                    }
                }
                walked.broken = broken;
                return end(here.number, step);
            }
            if (keys.insert(game.key(state)).second) {
                next.push_back({steps.size(), here.events + 1, std::move(state)});
                steps.push_back(step);
            }
        }
    }
    return end(0, {});
}

/// For a test: what is wrong, and the way there.
inline Comparison compared(const Walked& walked) {
    if (!walked.broken) {
        return {walked.is_whole, walked.is_whole ? "" : "not all orders were gone through"};
    }
    std::string text = walked.broken->invariant + ": " + walked.broken->how + ". The way there: ";
    for (const std::string& event : walked.way) {
        text += event + "; ";
    }
    return {false, text};
}

}  // namespace dist::harness
