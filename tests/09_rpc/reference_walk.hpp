// A game for the model checker: what a few ranks do with references, in all orders of what they do and of
// what arrives, with messages that are lost, come twice, or are sent again too early.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/09_rpc/reference_world.hpp"
#include "tests/harness/walk/walk.hpp"

namespace dist::harness {

/// What a rank does, one after the other, as soon as it can: it gives, and ends, the first use that
/// it has.
struct Move {
    enum class Kind { create, remote, fork, drop };

    int rank;
    Kind kind;
    int other = -1;  // the owner; whom it gives a use
};
using Plan = std::vector<Move>;

inline Move creates(int rank) {
    return {rank, Move::Kind::create};
}
inline Move remote(int rank, int owner) {
    return {rank, Move::Kind::remote, owner};
}
inline Move forks(int rank, int to) {
    return {rank, Move::Kind::fork, to};
}
inline Move drops(int rank) {
    return {rank, Move::Kind::drop};
}

/// How often at most.
struct Budget {
    int lost = 0;
    int repeated = 0;
    int early = 0;                    // a rank sends again what was not lost
    bool final_acks_at_once = false;  // the ACKs of CHILD_ACCEPT and USER_DELETE come first
};

struct ReferenceEvent {
    char what;  // a: its next action; t: its time goes on; d, l, r: that letter is delivered,
                // lost, or repeated
    int rank;
    std::string letter = {};
};

/// An event, and those before it: states that begin alike share them.
struct ReferencePath {
    ReferenceEvent event;
    std::shared_ptr<const ReferencePath> before;
};

/// The ranks themselves, after some events.
struct ReferencePlay {
    std::unique_ptr<RefWorld> world;
    std::vector<std::size_t> done;  // how many of its actions each rank has done
};

/// What has happened. Ranks cannot be copied, so they are played again where they are needed; the
/// first of the states that follow another one goes on with its ranks.
struct ReferenceState {
    std::shared_ptr<const ReferencePath> path = {};
    std::vector<std::string> histories = {};  // of each rank, what has happened to it
    std::vector<std::string> faults = {};     // sorted
    Budget left = {};
    mutable std::shared_ptr<ReferencePlay> before = {};  // without the last event, or taken
    mutable std::shared_ptr<ReferencePlay> play = {};
};

/// Ranks know of each other by messages alone. So what a rank does depends on what has happened to
/// it, in its order, and on nothing else; and two ways through the game in which this is the same
/// for each rank, and the same messages were lost or repeated, have come to the same state. It is
/// gone through once, whatever the answer keeps in it.
class ReferenceGame {
  public:
    using State = ReferenceState;
    using Event = ReferenceEvent;

    /// before  what has happened when the game begins, with all that was said.
    ReferenceGame(int ranks, Plan before, Plan plan, Budget budget)
        : ranks_(ranks), before_(std::move(before)), plan_(std::move(plan)), budget_(budget) {}

    [[nodiscard]] State begun() const {
        return {.histories = std::vector<std::string>(size()), .left = budget_};
    }

    [[nodiscard]] std::vector<Event> events(const State& state) const {
        RefWorld& world = *played(state).world;
        std::vector<Event> events;
        for (const Letter& letter : world.letters) {
            if (budget_.final_acks_at_once && letter.control.is_ack &&
                letter.control.kind != ControlKind::fork_request) {
                return {{'d', letter.to, letter.name}};
            }
        }
        for (int rank = 0; rank < ranks_; ++rank) {
            const Move* const action = next(played(state), rank);
            if (action != nullptr &&
                (action->kind == Move::Kind::create || action->kind == Move::Kind::remote ||
                 !world.uses(rank).empty())) {
                events.push_back({'a', rank});
            }
            if (state.left.early > 0 && world.at(rank).counts().pending > 0) {
                events.push_back({'t', rank});
            }
        }
        for (const Letter& letter : world.letters) {
            events.push_back({'d', letter.to, letter.name});
            if (letter.kind == Letter::Kind::control && state.left.lost > 0) {
                events.push_back({'l', letter.to, letter.name});
            }
            if (letter.kind == Letter::Kind::control && state.left.repeated > 0) {
                events.push_back({'r', letter.to, letter.name});
            }
        }
        return events;
    }

    /// Only notes it: judge() looks at what comes of it.
    static Verdict happens(State& state, const Event& event) {
        state.path = std::make_shared<ReferencePath>(ReferencePath{event, std::move(state.path)});
        state.before = std::exchange(state.play, {});
        state.left.early -= event.what == 't' ? 1 : 0;
        state.left.lost -= event.what == 'l' ? 1 : 0;
        state.left.repeated -= event.what == 'r' ? 1 : 0;
        const std::string text = event.what + event.letter + " ";
        if (event.what == 'l' || event.what == 'r') {
            state.faults.insert(std::ranges::upper_bound(state.faults, text), text);
        } else {
            state.histories.at(static_cast<std::size_t>(event.rank)) += text;
        }
        return {};
    }

    [[nodiscard]] Verdict judge(const State& state) const {
        RefWorld& world = *played(state).world;
        world.look();
        if (world.is_wrong()) {
            return Broken{
                "nothing is freed while it is used, and nothing begins before it is known",
                world.result().text};
        }
        for (const Event& event : events(state)) {
            if (event.what == 'a' || event.what == 'd') {
                return {};
            }
        }
        world.settle();  // from here on nothing is lost
        world.look_at_end();
        const Comparison result = world.result();
        state.play.reset();
        if (!result) {
            return Broken{"when nobody uses it any more, nothing is kept", result.text};
        }
        return {};
    }

    [[nodiscard]] static std::string key(const State& state) {
        std::string key;
        for (const std::string& history : state.histories) {
            key += history + "|";
        }
        for (const std::string& fault : state.faults) {
            key += fault;
        }
        return key;
    }

    [[nodiscard]] std::string text(const State& state, const Event& event) const {
        return text_of(event, played(state));
    }

  private:
    [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(ranks_); }

    /// The ranks in this state.
    ReferencePlay& played(const State& state) const {
        if (!state.play && state.before && state.before->world) {
            state.play = std::make_shared<ReferencePlay>(std::move(*state.before));
            step(*state.play, state.path->event);
        }
        if (!state.play) {
            state.play = std::make_shared<ReferencePlay>();
            *state.play = {std::make_unique<RefWorld>(ranks_), std::vector<std::size_t>(size())};
            for (const Move& action : before_) {
                act(*state.play->world, action);
                state.play->world->deliver_all();
            }
            std::vector<const Event*> path;
            for (const ReferencePath* at = state.path.get(); at != nullptr; at = at->before.get()) {
                path.push_back(&at->event);
            }
            for (; !path.empty(); path.pop_back()) {
                step(*state.play, *path.back());
            }
        }
        state.before.reset();
        return *state.play;
    }

    /// The next action of a rank; none: it has no more.
    [[nodiscard]] const Move* next(const ReferencePlay& play, int rank) const {
        std::size_t skip = play.done.at(static_cast<std::size_t>(rank));
        for (const Move& action : plan_) {
            if (action.rank == rank && skip-- == 0) {
                return &action;
            }
        }
        return nullptr;
    }

    void step(ReferencePlay& play, const Event& event) const {
        RefWorld& world = *play.world;
        if (event.what == 'a') {
            act(world, *next(play, event.rank));
            ++play.done.at(static_cast<std::size_t>(event.rank));
        } else if (event.what == 't') {
            world.pass(event.rank, std::chrono::seconds(10));
        } else {
            const auto letter = std::ranges::find(world.letters, event.letter, &Letter::name);
            const auto i = static_cast<std::size_t>(letter - world.letters.begin());
            if (event.what == 'd') {
                world.deliver(i);
            } else if (event.what == 'l') {
                world.lose(i);
            } else {
                const Letter again = *letter;
                world.letters.push_back(again);
            }
        }
    }

    static void act(RefWorld& world, const Move& action) {
        switch (action.kind) {
            case Move::Kind::create:
                world.create(action.rank);
                break;
            case Move::Kind::remote:
                world.remote(action.rank, action.other);
                break;
            case Move::Kind::fork:
                world.fork(action.rank, action.other);
                break;
            case Move::Kind::drop:
                world.drop(action.rank);
                break;
        }
    }

    [[nodiscard]] std::string text_of(const Event& event, const ReferencePlay& play) const {
        const std::string rank = "rank " + std::to_string(event.rank);
        if (event.what == 't') {
            return "10 s pass on " + rank;
        }
        if (event.what == 'a') {
            const Move& action = *next(play, event.rank);
            const std::string other = "rank " + std::to_string(action.other);
            switch (action.kind) {
                case Move::Kind::create:
                    return rank + " makes an object";
                case Move::Kind::remote:
                    return rank + " has " + other + " make an object";
                case Move::Kind::fork:
                    return rank + " gives a use to " + other;
                case Move::Kind::drop:
                    return rank + " ends a use";
            }
        }
        const Letter& letter = *std::ranges::find(play.world->letters, event.letter, &Letter::name);
        const std::string what = letter.kind == Letter::Kind::control
                                     ? harness::text_of(letter.control)
                                 : letter.kind == Letter::Kind::make ? "the call that makes it"
                                                                     : "the call with a use";
        const std::string from = " from rank " + std::to_string(letter.from);
        return what + from +
               (event.what == 'l'   ? " to " + rank + " is lost"
                : event.what == 'r' ? " to " + rank + " comes twice"
                                    : " comes to " + rank);
    }

    int ranks_;
    Plan before_;
    Plan plan_;
    Budget budget_;
};

}  // namespace dist::harness
