// rendezvous: who is in, and as which rank. First what a node decides, look by look; then all orders of all looks of a few
// nodes; then the loop, on a store in a virtual time.
#include "exercises/04_groups_and_rendezvous/rendezvous.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <ranges>
#include <regex>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/04_groups_and_rendezvous/rendezvous_walk.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/words/errors.hpp"
#include "tests/harness/words/text.hpp"
#include "tests/harness/world/watched_store.hpp"
#include "tests/harness/world/world.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

using dist::harness::text_of;

/// A rendezvous that is played look by look, without a store: the node whose turn it is looks at the shared state, and its
/// decision is the state for the next one.
class Scene {
  public:
    RendezvousState state;
    std::map<std::string, NodeView> views;
    Duration now = 0s;  // by a clock that nobody has

    explicit Scene(const RendezvousSettings& settings) : settings_(settings) {}

    /// The node looks until there is nothing to write.
    Action act(const std::string& name, Wish wish = Wish::join) {
        NodeView& view = views[name];
        if (view.name.empty()) {
            view = {.name = name, .settings = settings_, .deadline = settings_.join_timeout};
        }
        Decision decision;
        for (int looks = 0; looks == 0 || (looks < 5 && decision.action == Action::write);
             ++looks) {
            view = observe(view, state, now);
            decision = decide(state, view, wish);
            const std::string before = text_of(std::exchange(state, decision.state));
            if (const std::string after = text_of(state); after != before) {
                log_ += text("\n  ", now / 1s, " s, ", name, ": ", after);
            }
        }
        if (decision.action == Action::done && wish == Wish::join) {
            view.round = state.round;
            in_round_.insert(name);
        } else if (decision.action == Action::new_round) {
            view.deadline = view.time + settings_.join_timeout;
            in_round_.erase(name);
        }
        return decision.action;
    }

    /// Whether it comes to that when it acts.
    Comparison acts(const std::string& name, Action expected, Wish wish = Wish::join) {
        return compared(text_of(act(name, wish)), text_of(expected));
    }

    /// Whether these names, "a b" or "none", are in the state.
    [[nodiscard]] Comparison is(
        int round, const std::string& members, const std::string& ranks, const std::string& waiting
    ) const {
        return compared(
            text_of(state).substr(0, text_of(state).find(", closed")),
            text("round ", round, ", members ", members, ", ranks ", ranks, ", waiting ", waiting)
        );
    }

    /// All of these act in turn: who is in the round stays in it, others join.
    void all_act(const Names& names) {
        for (const std::string& name : names) {
            act(name, in_round_.contains(name) ? Wish::stay : Wish::join);
        }
    }

    /// Time goes on, second by second, and these nodes act in each.
    void pass(Duration duration, const Names& names) {
        for (const Duration end = now + duration; now < end;) {
            now += 1s;
            all_act(names);
        }
    }

  private:
    /// Says what has been written as well, but for heartbeats.
    [[nodiscard]] Comparison compared(const std::string& got, const std::string& expected) const {
        const auto told = text("expected ", expected, "; got ", got, ". It is second ", now / 1s);
        return {got == expected, told + "; what was written:" + log_};
    }

    RendezvousSettings settings_;
    std::set<std::string> in_round_;
    std::string log_;
};

std::string text_of(const RendezvousRound& round) {
    return text("round ", round.number, ", rank ", round.rank, " of ", text_of(round.nodes));
}

/// Nodes at one store, in a virtual time. The rank of the world r has the name names[r], and comes when it likes.
struct Game : World {
    explicit Game(const Names& who, const RendezvousSettings& how, std::uint64_t its_seed = 1)
        : World(static_cast<int>(who.size()), its_seed), names(who), settings(how) {
        patience = 24h;
        store.before = [this](const std::string& call) {
            must(
                call != "set" && call != "add" && call != "erase", "the store was asked for ", call,
                "(): what another node has written is lost"
            );
            time.pass();
        };
    }

    [[nodiscard]] std::string states() const {
        std::string all = "the last states in the store, the newest first:";
        for (const std::string& value : store.values | std::views::reverse | std::views::take(12)) {
            all += "\n  " + text_of(RendezvousState::from(value));
        }
        return all;
    }

    Names names;
    RendezvousSettings settings;
    WatchedStore store;
    std::map<std::int64_t, Names> rounds = {};  // that nodes were told of, by number
};

struct Node : Place {
    Node(World& its_game, int its_rank)
        : Place(its_game, its_rank),
          game(static_cast<Game&>(its_game)),
          name(game.names[its_rank]),
          rendezvous(game.store, "job", name, game.settings, clock) {}

    /// Each round is newer than the one before, ranks this node, and has the same nodes for all.
    RendezvousRound next_round() {
        const RendezvousRound round = rendezvous.next_round();
        const Names& known = game.rounds.emplace(round.number, round.nodes).first->second;
        const bool is_ranked =
            0 <= round.rank && round.rank < round.size() && round.nodes[round.rank] == name;
        must(
            round.number > last && round.nodes == known && is_ranked, name, " is told ",
            text_of(round), ", after round ", last, "; its nodes are ", text_of(known), "\n",
            game.states()
        );
        last = round.number;
        return round;
    }

    /// Stays in its round for so long, or while it holds. Returns whether it still does.
    bool work(Duration duration) {
        for (const Duration end = now() + duration; now() < end;) {
            sleep(1s);
            if (!rendezvous.stay()) {
                return false;
            }
        }
        return true;
    }

    Game& game;
    std::string name;
    Rendezvous rendezvous;
    std::int64_t last = 0;  // the number of the round that it was told last
};

}  // namespace

TEST_CASE("decide: when min_nodes have been there for a last call, the round is complete") {
    on_one([] {
        Scene scene(nodes(2, 5));
        scene.act("b");
        scene.pass(7s, {"b"});
        scene.act("a");  // the last call begins
        scene.pass(20s, {"a", "b"});
        scene.act("c");
        scene.pass(8s, {"a", "b", "c"});
        scene.act("d");
        scene.pass(1s, {"a", "b", "c", "d"});
        CHECK(scene.is(1, "a b c d", "none", "none"));
        scene.now += 1s;
        CHECK(scene.acts("b", Action::wait));  // it saw the last call begin a second later
        CHECK(scene.acts("a", Action::done));
        CHECK(scene.is(1, "a b c d", "a b c d", "none"));
    });
}

TEST_CASE("decide: fewer than min_nodes end the last call, and the next one takes its whole time") {
    on_one([] {
        Scene scene(nodes(2, 4));
        scene.all_act({"a", "b"});
        scene.pass(20s, {"a", "b"});
        scene.act("b", Wish::leave);
        scene.act("c");  // before "a" has looked again
        scene.pass(29s, {"a", "c"});
        CHECK(scene.is(1, "a c", "none", "none"));
        scene.pass(1s, {"a", "c"});
        CHECK(scene.is(1, "a c", "a c", "none"));
    });
}

TEST_CASE("decide: who comes late waits, and is in the next round, when all have left the last") {
    on_one([] {
        Scene scene(nodes(2, 3));
        scene.all_act({"b", "c"});
        scene.pass(31s, {"b", "c"});
        CHECK(scene.acts("a", Action::wait));
        CHECK(scene.is(1, "b c", "b c", "a"));
        CHECK(scene.acts("b", Action::new_round, Wish::stay));
        CHECK(scene.acts("b", Action::wait));
        CHECK(scene.is(1, "c", "b c", "a b"));
        CHECK(scene.acts("c", Action::wait));
        CHECK(scene.is(2, "c", "none", "a b"));
        scene.all_act({"a", "b", "c"});
        CHECK(scene.is(2, "a b c", "a b c", "none"));
        CHECK(scene.acts("c", Action::done));
    });
}

TEST_CASE("decide: who has not counted up for 15 s goes, and its round ends, whose ranks stay") {
    on_one([] {
        Scene scene(nodes(2, 3));
        scene.all_act({"a", "b", "c", "d", "b"});
        scene.pass(14s, {"b"});
        CHECK(scene.is(1, "a b c", "a b c", "d"));
        scene.pass(1s, {"b"});
        CHECK(scene.is(1, "b", "a b c", "none"));
        CHECK(scene.acts("b", Action::new_round, Wish::stay));
        CHECK(scene.acts("a", Action::wait));  // it was slow, and has not seen the round
        CHECK(scene.acts("c", Action::wait));
        scene.act("b");
        CHECK(scene.is(2, "b", "none", "a c"));
    });
}

TEST_CASE("decide: a heartbeat counts one up every 5 s, and a node never takes itself for dead") {
    on_one([] {
        Scene scene(nodes(1, 1));
        scene.all_act({"a", "b"});
        Duration passed = 0s;
        for (const auto& [when, count] : {std::pair{0s, 1}, {4s, 1}, {5s, 2}, {29s, 6}, {30s, 7}}) {
            scene.pass(when - passed, {"a", "b"});
            passed = when;
            INFO("a is a member, and b waits, for " << text(when));
            CHECK(scene.state.members["a"] == count);
            CHECK(scene.state.waiting["b"] == count);
        }
        RendezvousSettings slow = nodes(1, 1);
        slow.heartbeat = 10s;
        Scene other(slow);
        other.act("a");
        for (int looks = 0; looks < 4; ++looks) {
            other.now += 9s;
            CHECK(other.acts("a", Action::done, Wish::stay));
        }
    });
}

TEST_CASE("decide: a round that holds it comes first, also when its deadline is over") {
    on_one([] {
        Scene scene(nodes(2, 2));
        scene.act("a");
        scene.pass(598s, {"a"});
        scene.act("b");
        scene.now += 4s;
        CHECK(scene.acts("a", Action::done));
        CHECK(scene.acts("a", Action::done, Wish::stay));
    });
}

TEST_CASE("decide: a closed rendezvous has no more rounds, and leaves those in one alone") {
    on_one([] {
        Scene scene(nodes(1, 3));
        scene.all_act({"a", "b", "c", "a", "d"});
        scene.act("a", Wish::close);
        CHECK(scene.is(1, "a b c", "a b c", "none"));
        CHECK(scene.acts("d", Action::closed));
        CHECK(scene.acts("a", Action::done, Wish::stay));
        CHECK(scene.acts("b", Action::closed));  // it has not seen the round yet
        Scene other(nodes(3, 3));
        other.all_act({"a", "b"});
        CHECK(other.acts("c", Action::done, Wish::close));
        CHECK(other.acts("a", Action::closed));
        CHECK(other.is(1, "a b", "none", "none"));
    });
}

TEST_CASE("observe: own time goes on by 0 to one heartbeat a look, and new counts are noted") {
    on_one([] {
        NodeView view = {.name = "a", .settings = nodes(1, 2)};
        RendezvousState state;
        const auto looks = [&](Duration now, Duration own, NodeView::Seen b) {
            view = observe(view, state, now);
            INFO("a look when the clock says " << text(now));
            CHECK(view.time == own);
            CHECK(view.seen("b") == b);
        };
        state.members = {{"b", 7}};
        looks(100s, 0s, {7, 0s});
        looks(102s, 2s, {7, 0s});
        state.members["b"] = 8;
        state.waiting["c"] = 1;
        state.last_call = 1;
        looks(107s, 7s, {8, 7s});
        CHECK(view.seen("c") == NodeView::Seen{1, 7s});
        CHECK(view.last_call == NodeView::Seen{1, 7s});
        state.members["b"] = 2;  // smaller, and another one: it lives
        looks(200s, 12s, {2, 12s});
        looks(150s, 12s, {2, 12s});
        looks(151s, 13s, {2, 12s});
    });
}

TEST_CASE("every order: a round has one set of ranks, and one comes, whatever nodes do") {
    const std::vector<Cast> casts = {
        {.min = 1, .max = 1, .names = {"a", "b"}, .deaths = 1},
        {.min = 1, .max = 2, .names = {"a", "b"}, .deaths = 1},
        {.min = 1, .max = 2, .names = {"a", "b"}, .endings = 1},
        {.min = 2, .max = 2, .names = {"a", "b"}},
        {.min = 2, .max = 2, .names = {"a", "b", "c"}, .deaths = 1, .in_turns = true},
    };
    on_ranks_each(
        {1}, [&](int) { return casts.size(); },
        [&](const Communicator& comm, std::size_t number) {
            const Cast& cast = casts[number];
            INFO(text(
                "nodes ", cast.names, ", ", cast.min, " to ", cast.max, " in a round; ",
                cast.deaths, " may die, ", cast.endings, " leaves, closes or gives up"
            ));
            const WalkLimits limits = {.goes_on = [&](std::size_t) {
                same_on_all_ranks({}, comm);  // a gate: the harness sees it move
                return true;
            }};
            CHECK(compared(walk(RendezvousGame(cast), limits)));
        }
    );
}

TEST_CASE("Rendezvous: three nodes find each other in every order of their calls") {
    on_one([] {
        long lost = 0;
        for (std::uint64_t seed = 0; seed < 30; ++seed) {
            RendezvousSettings settings = nodes(2, 3);
            settings.join_timeout = Duration::max();  // for ever
            Game game({"b", "c", "a"}, settings, seed);
            game.play<Node>([&](Node& me) {
                const Duration comes[] = {seed % 3 * 1s, 0s, seed % 2 * 40s};
                game.time.sleep(comes[me.rank]);
                while (me.next_round().number < 3) {
                    me.work(2s);
                }
                me.rendezvous.leave();
            });
            lost += game.store.lost;
        }
        CHECK(lost > 0);  // a compare_set found another value than it expected
    });
}

TEST_CASE("Rendezvous: it changes its one key by compare_set alone, waits by the clock for poll") {
    on_one([] {
        Game game({"a", "b"}, nodes(2, 2));
        std::vector<Duration> sleeps;
        game.play<Node>([&](Node& me) {
            game.time.sleep(me.rank * 20s);
            me.next_round();
            me.rendezvous.stay();
            me.rendezvous.leave();
            if (me.rank == 0) {
                sleeps = me.clock.sleeps;
                Rendezvous(game.store, "other", me.name, nodes(1, 1), me.clock).next_round();
            }
        });
        CHECK(game.store.keys == std::set<std::string>{"job", "other"});
        INFO("a slept " << sleeps.size() << " times while it waited for 20 s");
        CHECK((19 <= sleeps.size() && sleeps.size() <= 21));
        CHECK(std::ranges::count(sleeps, 1s) == std::ssize(sleeps));
        const std::ptrdiff_t writes = std::ssize(game.store.values);
        INFO("a look costs one value of the store, and a write one more: there were " << writes);
        CHECK(game.store.told <= std::ssize(sleeps) + 2 * writes + 8);
    });
}

TEST_CASE("Rendezvous: a compare_set that another node has won is decided anew") {
    on_one([] {
        RendezvousState b_alone;
        b_alone.members = {{"b", 1}};
        b_alone.ranks = {"b"};
        Game first({"a"}, nodes(1, 1));
        int calls = 0;
        first.store.before = [&](const std::string&) {
            first.time.pass();
            if (++calls == 2) {
                first.store.comes("job", b_alone.text());
            }
        };
        first.play<Node>([](Node& me) {
            const RendezvousRound round = me.next_round();
            must(
                round.number == 2 && round.nodes == Names{"a"},
                "before a's join was written, b was in a complete round, and died then; a is told ",
                text_of(round), "\n", me.game.states()
            );
        });
        Game game({"a"}, nodes(2, 2));
        game.store.rival = [](const std::string& value, const std::string& desired) {
            RendezvousState won = RendezvousState::from(value);
            const bool gives_up =
                won.members.contains("a") && !RendezvousState::from(desired).members.contains("a");
            won.members["b"] = 1;
            won.ranks = {"a", "b"};
            return gives_up ? std::optional(won.text()) : std::nullopt;
        };
        INFO("a comes to its deadline, and before its leaving is written, b completes the round");
        game.play<Node>([](Node& me) { must(me.next_round().nodes == Names{"a", "b"}); });
    });
}

TEST_CASE("Rendezvous: without enough nodes Timeout comes after join_timeout, each time") {
    on_one([] {
        Game game({"a", "b", "c"}, nodes(3, 3));
        game.play<Node>([](Node& me) {
            me.game.time.sleep(me.rank * 250s);
            me.next_round();
            me.work(100s);
            if (me.name == "c") {
                return me.rendezvous.leave();
            }
            me.sleep(me.rank * 3s);
            me.rendezvous.stay();  // a look: own time is that of the clock
            const Duration start = me.now();
            std::string told;
            try {
                me.next_round();
            } catch (const Timeout& timeout) {
                told = timeout.what();
            }
            const Duration waited = me.now() - start;
            must(600s <= waited && waited <= 603s, me.name, " said after ", waited, ": ", told);
            must(told.find("job") != std::string::npos, "the text has to name job: ", told);
            must(
                std::regex_search(told, std::regex(me.rank == 0 ? "\\b1\\b" : "\\b0\\b")),
                "how many others were there: b, when a gave up, and then nobody; the text: ", told
            );
        });
        CHECK(RendezvousState::from(game.store.values.back()).members.empty());
    });
}

TEST_CASE("Rendezvous: close ends it for those that come, and not for those that are in a round") {
    on_one([] {
        Game game({"a", "b"}, nodes(1, 1));
        game.play<Node>([](Node& me) {
            if (me.name == "a") {
                me.next_round();
                me.rendezvous.close();
                must(me.work(20s), "the round of a holds, also when it has closed");
            }
            me.sleep(me.rank * 10s);
            for (int times = 0; times < 2; ++times) {
                const auto end = throws_error<RendezvousClosed>([&] { me.next_round(); }, {"job"});
                must(end.equal, me.name, ": ", end.text);
            }
        });
    });
}

TEST_CASE("Rendezvous: stay and leave say and do what holds before, in and after a round") {
    on_one([] {
        Game game({"a"}, nodes(1, 1));
        game.play<Node>([](Node& me) {
            for (int round = 1; round <= 2; ++round) {
                must(!me.rendezvous.stay(), "stay() before round ", round);
                me.rendezvous.leave();
                must(me.next_round().number == round, "this is round ", round);
                must(me.rendezvous.stay(), "stay() in round ", round);
                me.rendezvous.leave();
            }
        });
        CHECK(game.time.now() == 0s);
    });
}

TEST_CASE("Rendezvous: it refuses numbers of nodes and times that make no sense") {
    on_one([] {
        WatchedStore store;
        SteadyClock clock;
        const auto makes = [&](int min, int max, Duration poll, Duration dead_after) {
            RendezvousSettings settings = nodes(min, max);  // a heartbeat of 5 s
            settings.poll = poll;
            settings.dead_after = dead_after;
            const Rendezvous node(store, "job", "a", settings, clock);
        };
        const std::vector<std::tuple<int, int, Duration, Duration>> refused = {
            {0, 1, 1s, 15s},     {3, 2, 1s, 15s}, {1, 2, 0s, 15s}, {1, 2, -1s, 15s},
            {1, 2, 5001ms, 15s}, {1, 2, 5s, 5s},  {1, 2, 1s, 4s}};
        for (const auto& settings : refused) {
            const auto& [min, max, poll, dead] = settings;
            INFO(text(min, " to ", max, " nodes, poll ", poll, ", dead_after ", dead));
            CHECK(throws_error<std::invalid_argument>([&] { std::apply(makes, settings); }));
        }
        CHECK(error_of([&] { makes(1, 1, 5s, 5001ms); }) == "");
        CHECK(store.calls.empty());
    });
}

TEST_CASE("Rendezvous: what the store throws comes out, and the next call goes on") {
    on_one([] {
        Game game({"a"}, nodes(1, 1));
        int calls = 0;
        game.store.before = [&](const std::string&) {
            game.time.pass();
            if (++calls == 2) {
                throw Error("the store is gone");
            }
        };
        game.play<Node>([](Node& me) {
            const std::string told = error_of([&] { me.next_round(); });
            must(told == "the store is gone", "the store throws, and what comes out is: ", told);
            me.next_round();
        });
    });
}
