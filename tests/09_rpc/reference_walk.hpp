// A game for the model checker: what a few ranks do with references, in all orders of what they do and of
// what arrives, with messages that are lost, come twice, or are sent again too early.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "tests/09_rpc/reference_world.hpp"
#include "tests/harness/walk/walk.hpp"

namespace dist::harness {

/// What a rank does, one after the other, as soon as it can: it gives, and ends, the first use that
/// it has.
struct Move {
    int rank;
    std::string what;
    std::function<void(RefWorld& world)> act;
    std::function<bool(RefWorld& world)> can = [](RefWorld&) { return true; };
};
using Plan = std::vector<Move>;

inline Move creates(int rank) {
    return {rank, text("rank ", rank, " makes an object"), [=](RefWorld& on) { on.create(rank); }};
}
inline Move remote(int rank, int owner) {
    return {rank, text("rank ", rank, " has rank ", owner, " make an object"), [=](RefWorld& on) {
                on.remote(rank, owner);
            }};
}
inline Move forks(int rank, int to) {
    return {
        rank, text("rank ", rank, " gives a use to rank ", to),
        [=](RefWorld& on) { on.fork(rank, to); },
        [=](RefWorld& on) {  // the owner: when the object is made
            return !on.uses(rank).empty() &&
                   (on.ref(rank).owner() != rank || on.ref(rank).is_confirmed());
        }};
}
inline Move drops(int rank) {
    return {
        rank, text("rank ", rank, " ends a use"), [=](RefWorld& on) { on.drop(rank); },
        [=](RefWorld& on) { return !on.uses(rank).empty(); }};
}

struct ReferenceEvent {
    char
        what;  // a: its next move; t: its time goes on; d, l, r: that letter is delivered, lost, or
               // repeated
    int rank;
    std::string letter = {};
};

/// The ranks themselves, after some events.
struct ReferencePlay {
    RefWorld world{3};
    std::queue<const Move*> left[3];  // the moves of each rank
};

/// What has happened. Ranks cannot be copied, so they are played again where they are needed.
struct ReferenceState {
    std::vector<ReferenceEvent> path = {};
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
    /// fault   l, r or t: what happens once at most, at any time; ' ': nothing.
    ReferenceGame(Plan before, Plan plan, char fault)
        : before_(std::move(before)), plan_(std::move(plan)), fault_(fault) {}

    [[nodiscard]] static State begun() { return {}; }

    [[nodiscard]] std::vector<Event> events(const State& state) const {
        ReferencePlay& play = played(state);
        const bool fails = std::ranges::find(state.path, fault_, &Event::what) == state.path.end();
        std::vector<Event> events;
        for (int rank = 0; rank < play.world.size(); ++rank) {
            if (!play.left[rank].empty() && play.left[rank].front()->can(play.world)) {
                events.push_back({'a', rank});
            }
            if (fails && fault_ == 't' && play.world.at(rank).counts().pending > 0) {
                events.push_back({'t', rank});
            }
        }
        for (const Letter& letter : play.world.letters) {
            events.push_back({'d', letter.to, letter.name});
            if (fails && (fault_ == 'l' || fault_ == 'r') && !letter.is_call) {
                events.push_back({fault_, letter.to, letter.name});
            }
        }
        return events;
    }

    /// Only notes it: judge() looks at what comes of it.
    static Verdict happens(State& state, const Event& event) {
        state.path.push_back(event);
        state.play.reset();
        return {};
    }

    [[nodiscard]] Verdict judge(const State& state) const {
        RefWorld& world = played(state).world;
        if (const Comparison so_far = world.look(); !so_far) {
            return Broken{
                "nothing is freed while it is used, and nothing begins before it is known",
                so_far.text};
        }
        for (const Event& event : events(state)) {
            if (event.what == 'a' || event.what == 'd') {
                return {};
            }
        }
        world.settle();  // from here on nothing is lost
        const Comparison end = world.all_is_over();
        state.play.reset();
        return end ? Verdict() : Broken{"when nobody uses it any more, nothing is kept", end.text};
    }

    [[nodiscard]] static std::string key(const State& state) {
        std::string key[4];  // what has happened to each rank, and what was lost or repeated
        for (const auto& [what, rank, letter] : state.path) {
            key[what == 'l' || what == 'r' ? 3 : rank] += what + letter + " ";
        }
        return key[0] + "|" + key[1] + "|" + key[2] + "|" + key[3];
    }

    [[nodiscard]] std::string text(const State& state, const Event& event) const {
        const ReferencePlay& play = played(state);
        if (event.what == 't') {
            return harness::text("10 s pass on rank ", event.rank);
        }
        if (event.what == 'a') {
            return play.left[event.rank].front()->what;
        }
        const Letter& letter = *std::ranges::find(play.world.letters, event.letter, &Letter::name);
        const std::string way = harness::text(letter.what, " from rank ", letter.from);
        return event.what == 'd'   ? harness::text(way, " comes to rank ", letter.to)
               : event.what == 'l' ? harness::text(way, " to rank ", letter.to, " is lost")
                                   : harness::text(way, " to rank ", letter.to, " comes twice");
    }

  private:
    /// The ranks in this state.
    ReferencePlay& played(const State& state) const {
        if (!state.play) {
            state.play = std::make_shared<ReferencePlay>();
            for (const Move& move : before_) {
                move.act(state.play->world);
                state.play->world.deliver_all();
            }
            for (const Move& move : plan_) {
                state.play->left[move.rank].push(&move);
            }
            for (const Event& event : state.path) {
                step(*state.play, event);
            }
        }
        return *state.play;
    }

    static void step(ReferencePlay& play, const Event& event) {
        auto& letters = play.world.letters;
        const auto letter = std::ranges::find(letters, event.letter, &Letter::name);
        if (event.what == 'a') {
            play.left[event.rank].front()->act(play.world);
            play.left[event.rank].pop();
        } else if (event.what == 't') {
            play.world.pass(event.rank, 10s);
        } else if (event.what == 'd') {
            play.world.deliver(letter - letters.begin());
        } else if (event.what == 'l') {
            play.world.lose(letter - letters.begin());
        } else {
            letters.push_back(Letter(*letter));
        }
    }

    Plan before_;
    Plan plan_;
    char fault_;
};

struct ReferenceWalk {
    std::string name;
    ReferenceGame game;
};

/// Three ranks, whose owner is rank 0. The reference has 242,268 states in all of them.
inline std::vector<ReferenceWalk> reference_walks() {
    std::vector<ReferenceWalk> all;
    const auto add = [&](const std::string& name, const Plan& before, const Plan& plan,
                         const std::string& faults) {
        for (const char fault : faults) {
            const char* const words = fault == 'l'   ? "; a message is lost"
                                      : fault == 'r' ? "; a message comes twice"
                                      : fault == 't' ? "; a rank sends again what was not lost"
                                                     : "";
            all.push_back({name + words, ReferenceGame(before, plan, fault)});
        }
    };
    add("an object made by another rank", {}, {remote(1, 0), drops(1)}, " lrt");
    add("the owner gives a user a use", {}, {creates(0), forks(0, 1), drops(0), drops(1)}, " lrt");
    add("a user gives the owner a use", {}, {remote(1, 0), forks(1, 0), drops(1), drops(0)},
        " lrt");
    add("a user gives itself a use", {remote(1, 0)}, {forks(1, 1), drops(1), drops(1)}, " lr");
    add("a user gives a user a use", {}, {remote(1, 0), forks(1, 2), drops(1), drops(2)}, " lr");
    add("a user gives a user a use", {remote(1, 0)}, {forks(1, 2), drops(1), drops(2)}, "t");
    add("from who had it made to a user, and from there to the owner", {remote(1, 0)},
        {forks(1, 2), drops(1), forks(2, 0), drops(2), drops(0)}, " ");
    add("a user gives the owner and a user a use", {remote(1, 0)},
        {forks(1, 2), forks(1, 0), drops(1), drops(2), drops(0)}, " ");
    return all;
}

}  // namespace dist::harness
