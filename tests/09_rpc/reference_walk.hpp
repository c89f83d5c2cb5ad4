// A small model checker: what a few ranks do with references, in all orders of what they do and of
// what arrives, with messages that are lost, come twice, or are sent again too early.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tests/09_rpc/reference_world.hpp"
#include "tests/harness/words/compare.hpp"

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

/// Ranks know of each other by messages alone. So what a rank does depends on what has happened to
/// it, in its order, and on nothing else; and two ways through the game in which this is the same
/// for each rank, and the same messages were lost or repeated, have come to the same state. It is
/// gone through once, whatever the answer keeps in it.
class ReferenceWalk {
  public:
    /// before  what has happened when the game begins, with all that was said.
    ReferenceWalk(int ranks, Plan before, Plan plan, Budget budget, std::function<void()> goes_on)
        : ranks_(ranks),
          before_(std::move(before)),
          plan_(std::move(plan)),
          budget_(budget),
          goes_on_(std::move(goes_on)) {}

    /// Goes through all states. What is wrong in one is told with the way there.
    Comparison all() {
        Game game = begun();
        explore(game);
        return {wrong_.empty(), wrong_};
    }

    [[nodiscard]] std::size_t states() const { return states_; }

  private:
    struct Event {
        char what;  // a: its next action; t: its time goes on; d, l, r: that letter is delivered,
                    // lost, or repeated
        int rank;
        std::string letter = {};
    };

    struct Trace {
        std::vector<std::string> histories;  // of each rank, what has happened to it
        std::vector<std::string> faults;     // sorted

        void add(const Event& event) {
            const std::string text = event.what + event.letter + " ";
            if (event.what == 'l' || event.what == 'r') {
                faults.insert(std::ranges::upper_bound(faults, text), text);
            } else {
                histories.at(static_cast<std::size_t>(event.rank)) += text;
            }
        }

        [[nodiscard]] std::string key() const {
            std::string key;
            for (const std::string& history : histories) {
                key += history + "|";
            }
            for (const std::string& fault : faults) {
                key += fault;
            }
            return key;
        }
    };

    struct Game {
        std::unique_ptr<RefWorld> world;
        std::vector<std::size_t> done;  // how many of its actions each rank has done
        Budget left;
        Trace trace;
    };

    [[nodiscard]] Game begun() const {
        const auto ranks = static_cast<std::size_t>(ranks_);
        auto world = std::make_unique<RefWorld>(ranks_);
        for (const Move& action : before_) {
            act(*world, action);
            world->deliver_all();
        }
        return {
            std::move(world),
            std::vector<std::size_t>(ranks),
            budget_,
            {std::vector<std::string>(ranks), {}}};
    }

    /// The next action of a rank; none: it has no more.
    [[nodiscard]] const Move* next(const Game& game, int rank) const {
        std::size_t skip = game.done.at(static_cast<std::size_t>(rank));
        for (const Move& action : plan_) {
            if (action.rank == rank && skip-- == 0) {
                return &action;
            }
        }
        return nullptr;
    }

    [[nodiscard]] std::vector<Event> possible(const Game& game) const {
        std::vector<Event> events;
        for (const Letter& letter : game.world->letters) {
            if (budget_.final_acks_at_once && letter.control.is_ack &&
                letter.control.kind != ControlKind::fork_request) {
                return {{'d', letter.to, letter.name}};
            }
        }
        for (int rank = 0; rank < ranks_; ++rank) {
            const Move* const action = next(game, rank);
            if (action != nullptr &&
                (action->kind == Move::Kind::create || action->kind == Move::Kind::remote ||
                 !game.world->uses(rank).empty())) {
                events.push_back({'a', rank});
            }
            if (game.left.early > 0 && game.world->at(rank).counts().pending > 0) {
                events.push_back({'t', rank});
            }
        }
        for (const Letter& letter : game.world->letters) {
            events.push_back({'d', letter.to, letter.name});
            if (letter.kind == Letter::Kind::control && game.left.lost > 0) {
                events.push_back({'l', letter.to, letter.name});
            }
            if (letter.kind == Letter::Kind::control && game.left.repeated > 0) {
                events.push_back({'r', letter.to, letter.name});
            }
        }
        return events;
    }

    void step(Game& game, const Event& event) const {
        RefWorld& world = *game.world;
        game.trace.add(event);
        if (event.what == 'a') {
            act(world, *next(game, event.rank));
            ++game.done.at(static_cast<std::size_t>(event.rank));
        } else if (event.what == 't') {
            --game.left.early;
            world.pass(event.rank, std::chrono::seconds(10));
        } else {
            const auto letter = std::ranges::find(world.letters, event.letter, &Letter::name);
            const auto i = static_cast<std::size_t>(letter - world.letters.begin());
            if (event.what == 'd') {
                world.deliver(i);
            } else if (event.what == 'l') {
                --game.left.lost;
                world.lose(i);
            } else {
                --game.left.repeated;
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

    /// The game after path_.
    [[nodiscard]] Game replayed() const {
        Game game = begun();
        for (const Event& event : path_) {
            step(game, event);
        }
        return game;
    }

    /// Goes through all that may follow; the game is anywhere then.
    void explore(Game& game) {
        if (++states_ % 2000 == 0) {
            goes_on_();
        }
        const Trace here = game.trace;
        const std::vector<Event> events = possible(game);
        bool is_here = true;
        bool is_over = true;
        for (const Event& event : events) {
            is_over = is_over && event.what != 'a' && event.what != 'd';
            Trace there = here;
            there.add(event);
            if (!seen_.insert(there.key()).second) {
                continue;
            }
            if (!is_here) {
                game = replayed();
            }
            is_here = false;
            path_.push_back(event);
            step(game, event);
            game.world->look();
            if (game.world->is_wrong()) {
                wrong_ = game.world->result().text + ". The way there: " + way();
            } else {
                explore(game);
            }
            if (!wrong_.empty()) {
                return;
            }
            path_.pop_back();
        }
        if (is_over) {
            end(is_here ? game : (game = replayed()));
        }
    }

    /// From here on nothing is lost.
    void end(const Game& game) {
        game.world->settle();
        game.world->look_at_end();
        if (game.world->is_wrong()) {
            wrong_ = game.world->result().text + ". The way there: " + way();
        }
    }

    [[nodiscard]] std::string way() const {
        std::string way;
        Game game = begun();
        for (const Event& event : path_) {
            way += (way.empty() ? "" : "; ") + text_of(event, game);
            step(game, event);
        }
        return way;
    }

    [[nodiscard]] std::string text_of(const Event& event, const Game& game) const {
        const std::string rank = "rank " + std::to_string(event.rank);
        if (event.what == 't') {
            return "10 s pass on " + rank;
        }
        if (event.what == 'a') {
            const Move& action = *next(game, event.rank);
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
        const Letter& letter = *std::ranges::find(game.world->letters, event.letter, &Letter::name);
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
    std::function<void()> goes_on_;
    std::vector<Event> path_;  // to where it is
    std::unordered_set<std::string> seen_;
    std::size_t states_ = 0;
    std::string wrong_;
};

}  // namespace dist::harness
