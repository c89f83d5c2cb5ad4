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

inline void act(RefWorld& world, const Move& move) {
    switch (move.kind) {
        case Move::Kind::create:
            world.create(move.rank);
            break;
        case Move::Kind::remote:
            world.remote(move.rank, move.other);
            break;
        case Move::Kind::fork:
            world.fork(move.rank, move.other);
            break;
        case Move::Kind::drop:
            world.drop(move.rank);
            break;
    }
}

inline std::string text_of(const Move& move) {
    switch (move.kind) {
        case Move::Kind::create:
            return text("rank ", move.rank, " makes an object");
        case Move::Kind::remote:
            return text("rank ", move.rank, " has rank ", move.other, " make an object");
        case Move::Kind::fork:
            return text("rank ", move.rank, " gives a use to rank ", move.other);
        case Move::Kind::drop:
            break;
    }
    return text("rank ", move.rank, " ends a use");
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
        return {.histories = std::vector<std::string>(ranks_), .left = budget_};
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
            if (action != nullptr && can(world, *action)) {
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
            state.histories.at(event.rank) += text;
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
        const ReferencePlay& play = played(state);
        if (event.what == 't') {
            return harness::text("10 s pass on rank ", event.rank);
        }
        if (event.what == 'a') {
            return text_of(*next(play, event.rank));
        }
        const Letter& letter = *std::ranges::find(play.world->letters, event.letter, &Letter::name);
        const std::string what = letter.kind == Letter::Kind::control ? text_of(letter.control)
                                 : letter.kind == Letter::Kind::make  ? "the call that makes it"
                                                                      : "the call with a use";
        return harness::text(
            what, " from rank ", letter.from, event.what == 'd' ? " comes" : "", " to rank ",
            event.rank,
            event.what == 'l'   ? " is lost"
            : event.what == 'r' ? " comes twice"
                                : ""
        );
    }

  private:
    /// The ranks in this state.
    ReferencePlay& played(const State& state) const {
        if (!state.play && state.before && state.before->world) {
            state.play = std::make_shared<ReferencePlay>(std::move(*state.before));
            step(*state.play, state.path->event);
        }
        if (!state.play) {
            state.play = std::make_shared<ReferencePlay>();
            *state.play = {std::make_unique<RefWorld>(ranks_), std::vector<std::size_t>(ranks_)};
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
        std::size_t skip = play.done.at(rank);
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
            ++play.done.at(event.rank);
        } else if (event.what == 't') {
            world.pass(event.rank, std::chrono::seconds(10));
        } else {
            const auto letter = std::ranges::find(world.letters, event.letter, &Letter::name);
            const auto i = letter - world.letters.begin();
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

    /// Whether a rank has the use that the move is about, and may do with it what it is to do.
    [[nodiscard]] static bool can(RefWorld& world, const Move& move) {
        if (move.kind == Move::Kind::create || move.kind == Move::Kind::remote) {
            return true;
        }
        if (world.uses(move.rank).empty()) {
            return false;
        }
        const RemoteRef& use = world.ref(move.rank);
        return move.kind == Move::Kind::drop || use.owner() != move.rank || use.is_confirmed();
    }

    int ranks_;
    Plan before_;
    Plan plan_;
    Budget budget_;
};

struct ReferenceWalk {
    std::string name;
    ReferenceGame game;
};

/// Three ranks, whose owner is rank 0. The numbers are states of the reference.
inline std::vector<ReferenceWalk> reference_walks() {
    std::vector<ReferenceWalk> all;
    const auto add = [&](const std::string& name, const Plan& before, const Plan& plan,
                         const std::vector<Budget>& budgets) {
        for (const Budget& budget : budgets) {
            const char* const fault = budget.lost > 0       ? "; a message is lost"
                                      : budget.repeated > 0 ? "; a message comes twice"
                                      : budget.early > 0 ? "; a rank sends again what was not lost"
                                                         : "";
            all.push_back({name + fault, ReferenceGame(3, before, plan, budget)});
        }
    };
    const Budget none = {};
    const Budget lost = {.lost = 1};
    const Budget repeated = {.repeated = 1};
    const Budget early = {.early = 1};
    add("an object made by another rank", {}, {remote(1, 0), drops(1)},
        {none, lost, repeated, early});  // 12, 18, 55, 135
    add("the owner gives a user a use", {}, {creates(0), forks(0, 1), drops(0), drops(1)},
        {none, lost, repeated, early});  // 14, 19, 51, 68
    add("a user gives the owner a use", {}, {remote(1, 0), forks(1, 0), drops(1), drops(0)},
        {none, lost, repeated, early});  // 610, 1,148, 12,019, 48,954
    add("a user gives itself a use", {remote(1, 0)}, {forks(1, 1), drops(1), drops(1)},
        {none, lost, repeated});  // 626, 1,334, 31,964
    add("a user gives a user a use", {}, {remote(1, 0), forks(1, 2), drops(1), drops(2)},
        {none, lost, repeated});  // 1,486, 3,670, 54,027
    add("a user gives a user a use", {remote(1, 0)}, {forks(1, 2), drops(1), drops(2)},
        {early});  // 29,419
    add("from who had it made to a user, and from there to the owner", {remote(1, 0)},
        {forks(1, 2), drops(1), forks(2, 0), drops(2), drops(0)}, {none});  // 31,145
    // the ACKs that nobody waits for come first, or it would be some millions: 66,486
    add("from the owner to a user, to another one, and back; last ACKs come at once",
        {creates(0), forks(0, 1), drops(0)},
        {forks(1, 2), drops(1), forks(2, 1), drops(2), drops(1)}, {{.final_acks_at_once = true}});
    return all;
}

}  // namespace dist::harness
