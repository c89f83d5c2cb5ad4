// rendezvous: who is in, and as which rank. First what a node decides, look by look; then all
// orders of all looks of a few nodes; then the loop, on a store, in threads that go on one at a
// time, and on real stores.
#include "exercises/04_groups_and_rendezvous/rendezvous.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/04_groups_and_rendezvous/rendezvous_walk.hpp"
#include "tests/04_groups_and_rendezvous/store_files.hpp"
#include "tests/04_groups_and_rendezvous/stores.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/words/text.hpp"
#include "tests/harness/world/virtual_time.hpp"
#include "tests/harness/world/watched_store.hpp"

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

    /// The node looks once.
    Action look(const std::string& name, Wish wish = Wish::join) {
        NodeView& view = views[name];
        if (view.name.empty()) {
            view = {.name = name, .settings = settings_, .deadline = settings_.join_timeout};
        }
        view = observe(view, state, now);
        const std::string before = text_of(state);
        const Decision decision = decide(state, view, wish);
        state = decision.state;
        if (decision.action == Action::done && wish == Wish::join) {
            view.round = state.round;
            in_round_.insert(name);
        } else if (decision.action == Action::new_round) {
            view.deadline = view.time + settings_.join_timeout;
            in_round_.erase(name);
        }
        if (const std::string after = text_of(state); after != before) {
            log_ += text("\n  ", now / 1s, " s, ", name, ": ", after);
        }
        return decision.action;
    }

    /// The node looks until there is nothing to write.
    Action act(const std::string& name, Wish wish = Wish::join) {
        Action action = look(name, wish);
        for (int looks = 1; looks < 5 && action == Action::write; ++looks) {
            action = look(name, wish);
        }
        return action;
    }

    /// Whether it comes to that when it acts.
    Comparison acts(const std::string& name, Action expected, Wish wish = Wish::join) {
        return compared(text_of(act(name, wish)), text_of(expected));
    }

    /// Whether these names, "a b" or "none", are in the state.
    [[nodiscard]] Comparison is(
        int round, const std::string& members, const std::string& ranks, const std::string& waiting
    ) const {
        RendezvousState shown = state;
        shown.closed = false;
        return compared(
            text_of(shown),
            text("round ", round, ", members ", members, ", ranks ", ranks, ", waiting ", waiting)
        );
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
        for (const Duration end = now + duration; now < end;) {
            now += 1s;
            all_act(names);
        }
    }

  private:
    /// Says what has been written as well, but for heartbeats.
    [[nodiscard]] Comparison compared(const std::string& got, const std::string& expected) const {
        return {
            got == expected, text(
                                 "expected ", expected, "; got ", got, ". It is second ", now / 1s,
                                 "; what was written:", log_
                             )};
    }

    RendezvousSettings settings_;
    std::set<std::string> in_round_;
    std::string log_;
};

/// Runs what is written with a Scene.
void scene(const RendezvousSettings& settings, const std::function<void(Scene&)>& body) {
    on_ranks({1}, [&](const Communicator&) {
        Scene scene(settings);
        body(scene);
    });
}

std::string text_of(const RendezvousRound& round) {
    return text("round ", round.number, ", rank ", round.rank, " of ", text_of(round.nodes));
}

/// A node, and the rounds that it was in.
struct Node {
    Node(
        Store& store,
        const std::string& key,
        const std::string& its_name,
        const RendezvousSettings& settings,
        VirtualTime& time,
        Duration skew
    )
        : name(its_name), clock(time, skew), rendezvous(store, key, its_name, settings, clock) {}

    RendezvousRound next_round() {
        rounds.push_back(rendezvous.next_round());
        return rounds.back();
    }

    /// Stays in its round for so long, or while it holds. Returns whether it still does.
    bool work(Duration duration) {
        for (Duration worked{0}; worked < duration; worked += 1s) {
            clock.sleep(1s);
            if (!rendezvous.stay()) {
                return false;
            }
        }
        return true;
    }

    std::string name;
    VirtualClock clock;
    Rendezvous rendezvous;
    std::vector<RendezvousRound> rounds;
};

using Plot = std::function<void(Node& node)>;

void joins(Node& node) {
    node.next_round();
}

/// Nodes that come to a store at a time each, and what they do then. What happens to them is kept for the end: no check is
/// made in a thread.
class Game {
  public:
    WatchedStore store;
    VirtualTime time;
    std::vector<std::unique_ptr<Node>> nodes;

    explicit Game(const RendezvousSettings& settings, std::uint64_t seed = 0)
        : time(seed), settings_(settings) {
        store.before = [this](const std::string&) { time.pass(); };
    }

    Node& add(
        const std::string& name,
        Duration start,
        const Plot& plot,
        Duration skew = 0s,
        const std::string& key = "job"
    ) {
        nodes.push_back(std::make_unique<Node>(store, key, name, settings_, time, skew));
        plots_.emplace_back([this, &node = *nodes.back(), start, plot] {
            time.sleep(start);
            plot(node);
        });
        return *nodes.back();
    }

    /// Plays to the end. Says how each node ended: "", or what was thrown.
    std::vector<std::string> run() { return time.run(plots_); }

    /// Plays to the end. Whether nothing was thrown, each was told its own rank in newer and newer rounds, and all of a round
    /// the same nodes.
    Comparison play() {
        const std::vector<std::string> ends = run();
        std::map<std::int64_t, Names> rounds;
        for (std::size_t i = 0; i < ends.size(); ++i) {
            const Node& node = *nodes[i];
            if (!ends[i].empty()) {
                return {false, text(node.name, ": ", ends[i], "\n", states())};
            }
            std::int64_t last = 0;
            for (const RendezvousRound& round : node.rounds) {
                const Names known = rounds.emplace(round.number, round.nodes).first->second;
                const bool is_ranked = 0 <= round.rank && round.rank < round.size();
                if (round.number <= last || round.nodes != known || !is_ranked ||
                    round.nodes[round.rank] != node.name) {
                    return {
                        false, text(
                                   node.name, " is told ", text_of(round), ", after round ", last,
                                   "; its nodes are ", text_of(known), "\n", states()
                               )};
                }
                last = round.number;
            }
        }
        return {};
    }

    /// The states that stood in the store, one after the other; the last of many.
    [[nodiscard]] std::string states() const {
        constexpr std::size_t kLast = 12;
        const std::size_t n = store.values.size();
        std::string all = "the states in the store, or the last of them:";
        for (std::size_t i = n - std::min(n, kLast); i < n; ++i) {
            all += "\n  " + text_of(RendezvousState::from(store.values[i]));
        }
        return all;
    }

  private:
    RendezvousSettings settings_;
    std::vector<std::function<void()>> plots_;
};

}  // namespace

TEST_CASE(
    "decide: when min_nodes have been there for a last call, the round is complete, and who joins "
    "meanwhile is in"
) {
    scene(nodes(2, 5), [](Scene& scene) {
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
        CHECK(scene.acts("b", Action::done));
        CHECK(scene.state.last_call == 1);
    });
}

TEST_CASE("decide: fewer than min_nodes end the last call, and the next one takes its whole time") {
    scene(nodes(2, 4), [](Scene& scene) {
        scene.all_act({"a", "b"});
        scene.pass(20s, {"a", "b"});
        scene.act("b", Wish::leave);
        scene.act("c");  // before "a" has looked again
        scene.pass(29s, {"a", "c"});
        CHECK(scene.is(1, "a c", "none", "none"));
        scene.pass(1s, {"a", "c"});
        CHECK(scene.is(1, "a c", "a c", "none"));
    });
    scene(nodes(3, 4), [](Scene& scene) {
        scene.all_act({"a", "b", "c"});
        scene.act("b", Wish::leave);
        scene.pass(100s, {"a", "c"});
        CHECK(scene.is(1, "a c", "none", "none"));
    });
}

TEST_CASE("decide: who comes late waits, and is in the next round, when all have left the last") {
    scene(nodes(2, 3), [](Scene& scene) {
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
        CHECK(scene.views["c"].round == 2);
    });
}

TEST_CASE("decide: who leaves is off both lists, and the round of those that are left holds no more"
) {
    scene(nodes(1, 3), [](Scene& scene) {
        CHECK(scene.acts("a", Action::done, Wish::leave));
        CHECK(scene.state == RendezvousState());
        scene.all_act({"a", "b", "c", "a", "d"});
        CHECK(scene.is(1, "a b c", "a b c", "d"));
        scene.act("d", Wish::leave);
        CHECK(scene.acts("a", Action::done, Wish::stay));
        scene.act("b", Wish::leave);
        CHECK(scene.is(1, "a c", "a b c", "none"));
        CHECK(scene.acts("a", Action::new_round, Wish::stay));
        CHECK(scene.acts("b", Action::new_round, Wish::stay));
        scene.act("c", Wish::leave);
        scene.act("a", Wish::leave);
        CHECK(scene.is(2, "none", "none", "none"));
    });
}

TEST_CASE(
    "decide: who has not counted up for 15 s goes, and a member ends its round, whose ranks stay"
) {
    scene(nodes(2, 3), [](Scene& scene) {
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

TEST_CASE("decide: a heartbeat counts one up every 5 s, for members and for those that wait") {
    scene(nodes(1, 1), [](Scene& scene) {
        scene.all_act({"a", "b"});
        Duration passed = 0s;
        for (const auto& [when, count] : {std::pair{0s, 1}, {4s, 1}, {5s, 2}, {29s, 6}, {30s, 7}}) {
            scene.pass(when - passed, {"a", "b"});
            passed = when;
            INFO("a is a member, and b waits, for " << text(when));
            CHECK(scene.state.members["a"] == count);
            CHECK(scene.state.waiting["b"] == count);
        }
    });
}

TEST_CASE("decide: a node never takes itself for dead, however long ago it has looked") {
    RendezvousSettings slow = nodes(1, 1);
    slow.heartbeat = 10s;
    scene(slow, [](Scene& scene) {
        scene.act("a");
        for (int looks = 0; looks < 4; ++looks) {
            scene.now += 9s;
            CHECK(scene.acts("a", Action::done, Wish::stay));
        }
    });
}

TEST_CASE(
    "decide: no count of a node comes twice, whether it goes to another list, or leaves and comes "
    "back"
) {
    scene(nodes(1, 1), [](Scene& scene) {
        scene.act("a");
        scene.pass(12s, {"a"});
        CHECK(scene.state.members["a"] == 3);
        scene.act("b");
        scene.look("a", Wish::leave);
        CHECK(scene.state.round == 2);
        scene.all_act({"b", "b"});
        scene.act("a");
        CHECK(scene.state.waiting["a"] == 4);
        scene.act("b", Wish::leave);
        scene.act("a");
        CHECK(scene.state.members["a"] == 5);
    });
}

TEST_CASE(
    "decide: past its deadline a node is off the list before it gives up; a round that holds it "
    "comes first"
) {
    scene(nodes(2, 3), [](Scene& scene) {
        scene.act("a");
        scene.pass(599s, {"a"});
        CHECK(scene.acts("a", Action::wait));
        scene.now += 1s;
        CHECK(scene.acts("a", Action::timed_out));
        CHECK(scene.is(1, "none", "none", "none"));
    });
    scene(nodes(2, 2), [](Scene& scene) {
        scene.act("a");
        scene.pass(598s, {"a"});
        scene.act("b");
        scene.now += 4s;
        CHECK(scene.acts("a", Action::done));
        CHECK(scene.acts("c", Action::wait));
        scene.pass(600s, {"a", "b", "c"});
        CHECK(scene.is(1, "a b", "a b", "none"));
        CHECK(scene.acts("a", Action::done, Wish::stay));
    });
}

TEST_CASE("decide: a closed rendezvous has no more rounds, and leaves those that are in one alone"
) {
    scene(nodes(1, 3), [](Scene& scene) {
        scene.all_act({"a", "b", "c", "a", "d"});
        scene.act("a", Wish::close);
        CHECK(scene.is(1, "a b c", "a b c", "none"));
        CHECK(scene.acts("d", Action::closed));
        CHECK(scene.acts("a", Action::done, Wish::stay));
        CHECK(scene.acts("a", Action::closed));
        CHECK(scene.acts("b", Action::closed));  // it has not seen the round yet
        CHECK(scene.is(1, "a b c", "a b c", "none"));
        for (const std::string name : {"a", "b", "c"}) {
            scene.act(name, Wish::leave);
        }
        CHECK(scene.acts("a", Action::closed));
        CHECK(scene.is(2, "none", "none", "none"));
    });
    scene(nodes(3, 3), [](Scene& scene) {
        scene.all_act({"a", "b"});
        CHECK(scene.acts("c", Action::done, Wish::close));
        CHECK(scene.acts("a", Action::closed));
        CHECK(scene.is(1, "a b", "none", "none"));
    });
}

TEST_CASE(
    "observe: own time goes on by 0 to one heartbeat a look, and counts are noted when they change"
) {
    on_ranks({1}, [](const Communicator&) {
        NodeView view = {.name = "a", .settings = nodes(1, 2)};
        RendezvousState state;
        const auto look = [&](Duration now) { view = observe(view, state, now); };
        state.members = {{"b", 7}};
        look(100s);
        CHECK(view.time == 0s);
        CHECK(view.seen("b") == NodeView::Seen{7, 0s});
        look(102s);
        CHECK(view.time == 2s);
        CHECK(view.seen("b") == NodeView::Seen{7, 0s});
        state.members["b"] = 8;
        state.waiting["c"] = 1;
        state.last_call = 1;
        look(107s);
        CHECK(view.seen("b") == NodeView::Seen{8, 7s});
        CHECK(view.seen("c") == NodeView::Seen{1, 7s});
        CHECK(view.last_call == NodeView::Seen{1, 7s});
        state.members["b"] = 2;  // smaller, and another one: it lives
        look(200s);
        CHECK(view.time == 12s);
        CHECK(view.seen("b") == NodeView::Seen{2, 12s});
        look(150s);
        CHECK(view.time == 12s);
        look(151s);
        CHECK(view.time == 13s);
        CHECK(view.seen("d") == NodeView::Seen{});
    });
}

TEST_CASE("observe and decide: the same arguments have the same result, whatever was decided before"
) {
    on_ranks({1}, [](const Communicator&) {
        RendezvousState state;
        state.members = {{"a", 3}, {"b", 4}};
        NodeView view = {.name = "a", .settings = nodes(2, 3), .deadline = 600s};
        view = observe(view, state, 100s);
        NodeView later = view;
        for (int look = 1; look <= 3; ++look) {
            later = observe(later, state, 100s + look * 5s);
        }
        for (const Wish wish : {Wish::join, Wish::stay, Wish::leave, Wish::close}) {
            const Decision first = decide(state, view, wish);
            const Decision other = decide(state, later, wish);
            const Decision again = decide(state, view, wish);
            const Decision other_again = decide(state, later, wish);
            CHECK(first.state == again.state);
            CHECK(first.action == again.action);
            CHECK(other.state == other_again.state);
            INFO("in between, b had not counted up for 15 s: it goes, and a stays");
            CHECK(!(first.state == other.state));
            CHECK(observe(view, other.state, 101s) == observe(view, other.state, 101s));
        }
    });
}

TEST_CASE("every order: whatever two or three nodes do, a round has one set of ranks, and one comes"
) {
    const std::vector<Cast> casts = {
        {.min = 1, .max = 1, .names = {"a", "b"}, .deaths = 1},
        {.min = 1, .max = 2, .names = {"a", "b"}, .deaths = 1},
        {.min = 2, .max = 2, .names = {"a", "b"}},
        {.min = 2, .max = 2, .names = {"a", "b", "c"}, .deaths = 1, .move = Cast::Move::turn},
    };
    on_ranks_each(
        {1}, [&](int) { return casts.size(); },
        [&](const Communicator& comm, std::size_t number) {
            const Cast& cast = casts[number];
            INFO(
                cast.names.size() << " nodes, of which " << cast.deaths << " may die; min_nodes "
                                  << cast.min << ", max_nodes " << cast.max
            );
            const WalkLimits limits = {.goes_on = [&](std::size_t) {
                same_on_all_ranks({}, comm);  // a gate: the harness sees it move
                return true;
            }};
            CHECK(compared(walk(RendezvousGame(cast), limits)));
        }
    );
}

TEST_CASE("Rendezvous: three nodes find each other in every order of their calls, round after round"
) {
    on_ranks({1}, [](const Communicator&) {
        long lost = 0;
        for (std::uint64_t seed = 0; seed < 30; ++seed) {
            Game game(nodes(2, 3), seed);
            const auto plot = [](Node& node) {
                while (node.next_round().number < 3) {
                    node.work(2s);
                }
                node.rendezvous.leave();
            };
            game.add("b", seed % 3 * 1s, plot);
            game.add("c", 0s, plot, 24h);
            game.add("a", seed % 2 * 40s, plot, -24h);
            INFO("seed " << seed);
            REQUIRE(game.play());
            lost += game.store.lost;
        }
        INFO("in no game did a compare_set find another value than it expected: is there one?");
        CHECK(lost > 0);
    });
}

TEST_CASE("Rendezvous: it changes its one key by compare_set alone, and waits by the clock for poll"
) {
    on_ranks({1}, [](const Communicator&) {
        Game game(nodes(2, 2), 1);
        const auto plot = [](Node& node) {
            node.next_round();
            node.rendezvous.stay();
            node.rendezvous.leave();
        };
        game.add("a", 0s, plot);
        game.add("b", 20s, plot);
        CHECK(game.store.calls.empty());  // of the constructors
        const Comparison played = game.play();
        for (const std::string call : {"set", "add", "erase"}) {
            INFO("the store was asked for " << call << "(): what another node has written is lost");
            CHECK(!game.store.calls.contains(call));
        }
        CHECK(played);
        CHECK(game.store.keys == std::set<std::string>{"job"});
        const std::vector<Duration>& sleeps = game.nodes[0]->clock.sleeps;
        INFO("a slept " << sleeps.size() << " times while it waited for 20 s");
        CHECK((19 <= sleeps.size() && sleeps.size() <= 21));
        CHECK(std::ranges::count(sleeps, 1s) == std::ssize(sleeps));
        const std::ptrdiff_t writes = std::ssize(game.store.values);
        INFO(
            "a look costs one value of the store, and a write one more: "
            << writes << " writes, and " << game.store.told << " values"
        );
        CHECK(game.store.told <= std::ssize(sleeps) + 2 * writes + 8);
    });
}

TEST_CASE("Rendezvous: a compare_set that another node has won is decided anew") {
    on_ranks({1}, [](const Communicator&) {
        RendezvousState b_alone;
        b_alone.members = {{"b", 1}};
        b_alone.ranks = {"b"};
        for (const bool is_seen : {false, true}) {  // by who reads once more before it writes
            Game game(nodes(1, 1));
            int calls = 0;
            if (is_seen) {
                game.store.before = [&](const std::string&) {
                    game.time.pass();
                    if (++calls == 2) {
                        game.store.comes("job", b_alone.text());
                    }
                };
            } else {
                game.store.rival = [&](const auto&, const auto&) { return b_alone.text(); };
            }
            const Node& a = game.add("a", 0s, joins);
            CHECK(game.play());
            INFO(
                "before a's join was written, b was in a complete round, and died then\n"
                << game.states()
            );
            REQUIRE(a.rounds.size() == 1);
            INFO("a is told " << text_of(a.rounds[0]));
            CHECK(a.rounds[0].number == 2);
            CHECK(a.rounds[0].nodes == Names{"a"});
        }
        Game game(nodes(2, 2));
        game.store.rival = [](const std::string& value, const std::string& desired) {
            RendezvousState won = RendezvousState::from(value);
            const bool gives_up =
                won.members.contains("a") && !RendezvousState::from(desired).members.contains("a");
            won.members["b"] = 1;
            won.ranks = {"a", "b"};
            return gives_up ? std::optional(won.text()) : std::nullopt;
        };
        const Node& a = game.add("a", 0s, joins);
        INFO("a comes to its deadline, and before its leaving is written, b completes the round");
        CHECK(game.play());
        REQUIRE(a.rounds.size() == 1);
        CHECK(a.rounds[0].nodes == Names{"a", "b"});
    });
}

TEST_CASE(
    "Rendezvous: without enough nodes Timeout comes after join_timeout, each time, and leaves "
    "nobody behind"
) {
    on_ranks({1}, [](const Communicator&) {
        Game game(nodes(3, 3));
        std::map<std::string, std::string> texts;
        std::map<std::string, Duration> waited;
        const auto plot = [&](Node& node) {
            const Duration start = game.time.now();
            try {
                node.next_round();
            } catch (const Timeout& timeout) {
                waited[node.name] = game.time.now() - start;
                texts[node.name] = timeout.what();
            }
        };
        game.add("a", 0s, plot);
        game.add("b", 10s, plot);
        CHECK(game.play());
        for (const std::string name : {"a", "b"}) {
            INFO(name << " said after " << text(waited[name]) << ": " << texts[name]);
            CHECK((600s <= waited[name] && waited[name] <= 603s));
            CHECK(texts[name].find("job") != std::string::npos);
            INFO("how many others were there: b, when a gave up, and then nobody");
            CHECK(std::regex_search(texts[name], std::regex(name == "a" ? "\\b1\\b" : "\\b0\\b")));
        }
        CHECK(RendezvousState::from(game.store.values.back()).members.empty());
    });
    on_ranks({1}, [](const Communicator&) {
        Game game(nodes(2, 2));
        const Node& a = game.add("a", 0s, [](Node& node) {
            node.next_round();
            node.work(700s);
            try {
                node.next_round();
            } catch (const Timeout&) {
                node.next_round();
            }
        });
        game.add("b", 500s, [](Node& node) {
            node.next_round();
            node.work(100s);
            node.rendezvous.leave();
            node.clock.sleep(900s);
            node.next_round();
        });
        CHECK(game.play());
        CHECK(a.rounds.size() == 2);
    });
}

TEST_CASE(
    "Rendezvous: close ends it for those that wait and those that come, and not for those that are "
    "in a round"
) {
    on_ranks({1}, [](const Communicator&) {
        Game game(nodes(1, 1), 4);
        int closed = 0;
        bool held = false;
        const auto expect_closed = [&](Node& node) {
            try {
                node.next_round();
            } catch (const RendezvousClosed& error) {
                closed += std::string(error.what()).find("job") != std::string::npos ? 1 : 0;
            }
        };
        game.add("a", 0s, [&](Node& node) {
            node.next_round();
            held = node.work(100s);
            expect_closed(node);
            expect_closed(node);
        });
        game.add("b", 5s, expect_closed);
        game.add("c", 50s, [](Node& node) {
            node.rendezvous.close();
            node.rendezvous.close();
        });
        game.add("d", 90s, expect_closed);
        CHECK(game.play());
        CHECK(held);
        CHECK(closed == 4);
    });
}

TEST_CASE(
    "Rendezvous: stay and leave say and do what holds before, in and after a round, and wait for "
    "nothing"
) {
    on_ranks({1}, [](const Communicator&) {
        Game game(nodes(1, 1));
        std::vector<bool> stays;
        const Node& a = game.add("a", 0s, [&](Node& node) {
            for (int rounds = 0; rounds < 2; ++rounds) {
                stays.push_back(node.rendezvous.stay());
                node.rendezvous.leave();
                node.next_round();
                stays.push_back(node.rendezvous.stay());
                node.rendezvous.leave();
            }
        });
        CHECK(game.play());
        CHECK(stays == std::vector<bool>{false, true, false, true});
        CHECK(a.rounds.back().number == 2);
        CHECK(game.time.now() == 0s);
    });
}

TEST_CASE("Rendezvous: two of them in one store, with keys of their own, know nothing of each other"
) {
    on_ranks({1}, [](const Communicator&) {
        Game game(nodes(2, 2), 5);
        game.add("a", 0s, joins, 0s, "one");
        game.add("a", 0s, joins, 0s, "other");
        game.add("b", 1s, joins, 0s, "other");
        game.add("b \"\n", 2s, joins, 0s, "one");
        const std::vector<std::string> ends = game.run();
        INFO(text_of(ends));
        CHECK(std::ranges::count(ends, "") == 4);
        CHECK(game.nodes[0]->rounds.back().nodes == Names{"a", "b \"\n"});
        CHECK(game.nodes[1]->rounds.back().nodes == Names{"a", "b"});
    });
}

TEST_CASE("Rendezvous: on the machine's own clock four threads find each other through a file") {
    on_ranks({1}, [](const Communicator&) {
        const std::string path = fresh_path().string();
        RendezvousSettings settings = nodes(4, 4);
        settings.poll = 1ms;
        settings.join_timeout = Duration::max();  // for ever
        std::vector<std::future<std::vector<RendezvousRound>>> ends;
        for (int i = 0; i < 4; ++i) {
            ends.push_back(std::async(std::launch::async, [&, i] {
                FileStore store(path, kRun, kPatient);
                SteadyClock clock;
                Rendezvous node(store, "job", text("node", 3 - i), settings, clock);
                std::vector<RendezvousRound> rounds;
                try {
                    while (rounds.size() < 5) {
                        rounds.push_back(node.next_round());
                        if (i % 2 == 1) {
                            node.leave();
                        }
                    }
                } catch (...) {
                    RendezvousState end;
                    end.closed = true;
                    store.set("job", end.text());  // nobody waits for this node
                    throw;
                }
                return rounds;
            }));
        }
        for (int i = 0; i < 4; ++i) {
            const std::vector<RendezvousRound> rounds = ends[i].get();
            for (int r = 0; r < 5; ++r) {
                INFO("node" << 3 - i << " is told " << text_of(rounds[r]));
                CHECK(rounds[r].number == r + 1);
                CHECK(rounds[r].rank == 3 - i);
                CHECK(rounds[r].nodes == Names{"node0", "node1", "node2", "node3"});
            }
        }
        FileStore store(path, kRun, kPatient);
        CHECK(store.num_keys() == 1);
        CHECK(RendezvousState::from(store.get("job")).round >= 5);
    });
}

TEST_CASE("Rendezvous: it refuses numbers of nodes and times that make no sense") {
    on_ranks({1}, [](const Communicator&) {
        const auto refused = [](int min, int max, Duration poll, Duration dead_after) {
            WatchedStore store;
            SteadyClock clock;
            RendezvousSettings settings = nodes(min, max);  // a heartbeat of 5 s
            settings.poll = poll;
            settings.dead_after = dead_after;
            INFO(text(min, " to ", max, " nodes, poll ", poll, ", dead_after ", dead_after));
            CHECK_THROWS_AS(Rendezvous(store, "job", "a", settings, clock), std::invalid_argument);
        };
        refused(0, 1, 1s, 15s);
        refused(3, 2, 1s, 15s);
        refused(1, 2, 0s, 15s);
        refused(1, 2, -1s, 15s);
        refused(1, 2, 5001ms, 15s);
        refused(1, 2, 5s, 5s);
        refused(1, 2, 1s, 4s);
        WatchedStore store;
        SteadyClock clock;
        RendezvousSettings settings = nodes(1, 1);
        settings.poll = 5s;
        settings.dead_after = 5001ms;
        CHECK_NOTHROW(Rendezvous(store, "job", "a", settings, clock));
    });
}

TEST_CASE("Rendezvous: what the store throws comes out, and the next call goes on") {
    on_ranks({1}, [](const Communicator&) {
        Game game(nodes(1, 1));
        std::string text;
        int calls = 0;
        game.store.before = [&](const std::string&) {
            game.time.pass();
            if (++calls == 2) {
                throw Error("the store is gone");
            }
        };
        const Node& a = game.add("a", 0s, [&](Node& node) {
            try {
                node.next_round();
            } catch (const Error& error) {
                text = error.what();
            }
            node.next_round();
        });
        CHECK(game.play());
        INFO("the second call of the store throws. What came out: " << text);
        CHECK(text == "the store is gone");
        CHECK(a.rounds.size() == 1);
    });
}
