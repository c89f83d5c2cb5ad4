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
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "exercises/04_groups_and_rendezvous/hash_store.hpp"
#include "tests/04_groups_and_rendezvous/rendezvous_walk.hpp"
#include "tests/04_groups_and_rendezvous/store_files.hpp"
#include "tests/04_groups_and_rendezvous/stores.hpp"
#include "tests/harness/harness.hpp"
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

    /// Whether that is what it comes to when it looks once, and when it acts.
    Comparison looks(const std::string& name, Action expected, Wish wish = Wish::join) {
        return compared(text_of(look(name, wish)), text_of(expected));
    }
    Comparison acts(const std::string& name, Action expected, Wish wish = Wish::join) {
        return compared(text_of(act(name, wish)), text_of(expected));
    }

    /// Whether these names are in the state.
    [[nodiscard]] Comparison members(const Names& expected) const {
        return compared(text_of(names_of(state.members)), text_of(expected), "members: ");
    }
    [[nodiscard]] Comparison waiting(const Names& expected) const {
        return compared(text_of(names_of(state.waiting)), text_of(expected), "waiting: ");
    }
    [[nodiscard]] Comparison ranks(const Names& expected) const {
        return compared(text_of(state.ranks), text_of(expected), "ranks: ");
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

  private:
    /// Says what has been written as well, but for heartbeats.
    [[nodiscard]] Comparison compared(
        const std::string& got, const std::string& expected, const std::string& what = ""
    ) const {
        std::string text = what + "expected " + expected + ", got " + got + ". It is second " +
                           std::to_string(now / 1s) + "; what was written:";
        for (const std::string& line : log_) {
            text += "\n  " + line;
        }
        return {got == expected, text};
    }

    RendezvousSettings settings_;
    std::set<std::string> in_round_;
    std::vector<std::string> log_;
};

/// Runs what is written with a Scene.
void scene(const RendezvousSettings& settings, const std::function<void(Scene&)>& body) {
    on_ranks({1}, [&](const Communicator&) {
        Scene scene(settings);
        body(scene);
    });
}

std::string text_of(const RendezvousRound& round) {
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
        if (round.rank < 0 || round.rank >= round.size() || round.nodes[round.rank] != name) {
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

/// Whether a is in the round after b's, which was first.
void is_after_b(Game& game) {
    const Actor& a = game.add("a", 0s, [](Actor& node) { node.next_round(); });
    CHECK(game.play());
    INFO("before a's join was written, b was in a complete round, and died then\n" << game.text());
    REQUIRE(a.rounds.size() == 1);
    INFO("a is told " << text_of(a.rounds[0]));
    CHECK(a.rounds[0].number == 2);
    CHECK(a.rounds[0].nodes == Names{"a"});
}

std::string with_b_alone() {
    RendezvousState won;
    won.members = {{"b", 1}};
    won.ranks = {"b"};
    return won.text();
}

std::set<long> numbers_in(const std::string& text) {
    constexpr const char* kTen = "0123456789";
    std::set<long> numbers;
    for (std::size_t at = text.find_first_of(kTen); at < text.size();) {
        const std::size_t end = std::min(text.find_first_not_of(kTen, at), text.size());
        numbers.insert(std::stol(text.substr(at, end - at)));
        at = text.find_first_of(kTen, end);
    }
    return numbers;
}

std::string end_of_all() {
    RendezvousState state;
    state.closed = true;
    return state.text();
}

/// Four nodes are in five rounds together. Two of them leave after each, the others ask for the next
/// one at once.
std::vector<std::vector<RendezvousRound>> five_rounds(const OpenStore& open) {
    RendezvousSettings settings = nodes(4, 4);
    settings.poll = 1ms;
    settings.join_timeout = Clock::Duration::max();  // for ever
    std::vector<std::future<std::vector<RendezvousRound>>> ends;
    for (int i = 0; i < 4; ++i) {
        ends.push_back(std::async(std::launch::async, [settings, i, store = open()] {
            SteadyClock clock;
            Rendezvous node(*store, "job", "node" + std::to_string(3 - i), settings, clock);
            std::vector<RendezvousRound> rounds;
            try {
                while (rounds.size() < 5) {
                    rounds.push_back(node.next_round());
                    if (i % 2 == 1) {
                        node.leave();
                    }
                }
            } catch (...) {
                store->set("job", end_of_all());  // nobody waits for this node
                throw;
            }
            return rounds;
        }));
    }
    std::vector<std::vector<RendezvousRound>> rounds;
    for (auto& end : ends) {
        rounds.push_back(end.get());
    }
    return rounds;
}

}  // namespace

TEST_CASE(
    "decide: when min_nodes have been there for a last call, the round is complete, not before"
) {
    scene(nodes(2, 4), [](Scene& scene) {
        scene.act("b");
        scene.pass(7s, {"b"});
        scene.act("a");  // the last call begins
        CHECK(scene.state.last_call == 1);
        scene.pass(29s, {"a", "b"});
        CHECK(scene.ranks({}));
        scene.now += 1s;
        CHECK(scene.acts("b", Action::wait));  // it saw the last call begin at second 8
        CHECK(scene.acts("a", Action::done));
        CHECK(scene.ranks({"a", "b"}));
        CHECK(scene.acts("b", Action::done));
    });
}

TEST_CASE("decide: who joins during the last call is in, and does not extend it") {
    scene(nodes(2, 5), [](Scene& scene) {
        scene.all_act({"a", "b"});
        scene.pass(20s, {"a", "b"});
        scene.act("c");
        scene.pass(8s, {"a", "b", "c"});
        scene.act("d");
        scene.pass(1s, {"a", "b", "c", "d"});
        CHECK(scene.ranks({}));
        scene.pass(1s, {"a", "b", "c", "d"});
        CHECK(scene.ranks({"a", "b", "c", "d"}));
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
        CHECK(scene.ranks({}));
        scene.pass(1s, {"a", "c"});
        CHECK(scene.ranks({"a", "c"}));
    });
    scene(nodes(3, 4), [](Scene& scene) {
        scene.all_act({"a", "b", "c"});
        scene.act("b", Wish::leave);
        scene.pass(100s, {"a", "c"});
        CHECK(scene.ranks({}));
    });
}

TEST_CASE("decide: who comes late waits, and is in the next round, when all have left the last") {
    scene(nodes(2, 3), [](Scene& scene) {
        scene.all_act({"b", "c"});
        scene.pass(31s, {"b", "c"});
        CHECK(scene.ranks({"b", "c"}));
        CHECK(scene.acts("a", Action::wait));
        CHECK(scene.waiting({"a"}));
        CHECK(scene.members({"b", "c"}));
        CHECK(scene.ranks({"b", "c"}));
        CHECK(scene.acts("b", Action::new_round, Wish::stay));
        CHECK(scene.acts("b", Action::wait));
        CHECK(scene.waiting({"a", "b"}));
        CHECK(scene.state.round == 1);
        CHECK(scene.acts("c", Action::wait));
        CHECK(scene.state.round == 2);
        CHECK(scene.ranks({}));
        scene.all_act({"a", "b", "c"});
        CHECK(scene.waiting({}));
        CHECK(scene.ranks({"a", "b", "c"}));
        CHECK(scene.acts("c", Action::done));
        CHECK(scene.views["c"].round == 2);
    });
}

TEST_CASE("decide: who leaves is off both lists, and the round of those that are left holds no more"
) {
    scene(nodes(1, 3), [](Scene& scene) {
        CHECK(scene.acts("a", Action::done, Wish::leave));
        CHECK(scene.state == RendezvousState());
        scene.all_act({"a", "b", "c", "a"});
        scene.act("d");
        CHECK(scene.waiting({"d"}));
        scene.act("d", Wish::leave);
        CHECK(scene.waiting({}));
        CHECK(scene.acts("a", Action::done, Wish::stay));
        scene.act("b", Wish::leave);
        CHECK(scene.members({"a", "c"}));
        CHECK(scene.acts("a", Action::new_round, Wish::stay));
        CHECK(scene.acts("b", Action::new_round, Wish::stay));
        scene.act("c", Wish::leave);
        scene.act("a", Wish::leave);
        CHECK(scene.ranks({}));
        CHECK(scene.state.round == 2);
    });
}

TEST_CASE(
    "decide: a node that dies in a round ends it, and those that have not looked yet get the same "
    "ranks"
) {
    scene(nodes(2, 4), [](Scene& scene) {
        scene.act("c");
        scene.pass(1s, {"c"});
        scene.act("a");  // and dies
        scene.pass(7s, {"c"});
        scene.act("b");
        scene.pass(2s, {"c"});
        scene.act("d");
        scene.pass(7s, {"c", "d"});
        CHECK(scene.members({"b", "c", "d"}));
        CHECK(scene.acts("b", Action::done));  // it has not looked for 9 s
        CHECK(scene.ranks({"a", "b", "c", "d"}));
        for (const std::string name : {"b", "c", "d"}) {
            CHECK(scene.acts(name, Action::new_round, Wish::stay));
        }
    });
    scene(nodes(2, 3), [](Scene& scene) {
        scene.all_act({"a", "b", "c", "b"});
        scene.pass(15s, {"b"});
        CHECK(scene.members({"b"}));  // the others were slow
        CHECK(scene.acts("b", Action::new_round, Wish::stay));
        CHECK(scene.ranks({"a", "b", "c"}));
        CHECK(scene.acts("a", Action::wait));
        CHECK(scene.acts("c", Action::wait));
        scene.act("b");
        CHECK(scene.state.round == 2);
        scene.all_act({"b", "c"});
        scene.pass(31s, {"b", "c"});
        CHECK(scene.ranks({"b", "c"}));
    });
}

TEST_CASE("decide: a waiting node that dies goes as well") {
    scene(nodes(1, 2), [](Scene& scene) {
        scene.all_act({"a", "b", "a"});
        scene.all_act({"c", "a"});
        scene.pass(14s, {"a", "b"});
        CHECK(scene.waiting({"c"}));
        scene.pass(1s, {"a", "b"});
        CHECK(scene.waiting({}));
        CHECK(scene.acts("b", Action::done, Wish::leave));
        CHECK(scene.members({"a"}));
    });
}

TEST_CASE("decide: a heartbeat counts one up every 5 s, for members and for those that wait") {
    scene(nodes(1, 1), [](Scene& scene) {
        scene.act("a");
        scene.act("b");
        const std::int64_t member = scene.state.members["a"];
        const std::int64_t waiting = scene.state.waiting["b"];
        INFO(
            "a is a member, and b waits; the first counts: " << member << " and " << waiting
                                                             << ", then 4, 5 and 30 s later"
        );
        CHECK(member == 1);
        CHECK(waiting == 1);
        scene.pass(4s, {"a", "b"});
        CHECK(scene.state.members["a"] == member);
        CHECK(scene.state.waiting["b"] == waiting);
        scene.pass(1s, {"a", "b"});
        CHECK(scene.state.members["a"] == member + 1);
        CHECK(scene.state.waiting["b"] == waiting + 1);
        scene.pass(25s, {"a", "b"});
        CHECK(scene.state.members["a"] == member + 6);
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
        CHECK(scene.looks("a", Action::wait));
        scene.now += 1s;
        CHECK(scene.acts("a", Action::timed_out));
        CHECK(scene.members({}));
    });
    scene(nodes(2, 2), [](Scene& scene) {
        scene.act("a");
        scene.pass(598s, {"a"});
        scene.act("b");
        scene.now += 4s;
        CHECK(scene.acts("a", Action::done));
        CHECK(scene.acts("c", Action::wait));
        scene.pass(600s, {"a", "b", "c"});
        CHECK(scene.waiting({}));
        CHECK(scene.acts("a", Action::done, Wish::stay));
    });
}

TEST_CASE("decide: a closed rendezvous has no more rounds, and leaves those that are in one alone"
) {
    scene(nodes(1, 3), [](Scene& scene) {
        scene.all_act({"a", "b", "c", "a"});
        scene.act("d");
        scene.act("a", Wish::close);
        CHECK(scene.waiting({}));
        CHECK(scene.state.closed);
        CHECK(scene.acts("d", Action::closed));
        CHECK(scene.acts("a", Action::done, Wish::stay));
        CHECK(scene.acts("a", Action::closed, Wish::join));
        CHECK(scene.acts("b", Action::closed));  // it has not seen the round yet
        CHECK(scene.members({"a", "b", "c"}));
        for (const std::string name : {"a", "b", "c"}) {
            scene.act(name, Wish::leave);
        }
        CHECK(scene.state.round == 2);
        CHECK(scene.acts("a", Action::closed));
    });
    scene(nodes(3, 3), [](Scene& scene) {
        scene.all_act({"a", "b"});
        CHECK(scene.acts("c", Action::done, Wish::close));
        CHECK(scene.members({"a", "b"}));
        CHECK(scene.acts("a", Action::closed));
        CHECK(scene.members({"a", "b"}));
    });
}

TEST_CASE("observe: a clock that jumps, or a machine that stood still, makes nobody look dead") {
    for (const Duration jump : {Duration(1h), Duration(-1h), Duration(24h * 365)}) {
        scene(nodes(3, 4), [&](Scene& scene) {
            INFO("the clock of a jumps by " << jump / 1s << " s");
            scene.all_act({"a", "b", "c"});
            scene.pass(9s, {"a", "b", "c"});
            scene.skew["a"] = jump;
            scene.act("a");
            CHECK(scene.members({"a", "b", "c"}));
            CHECK(scene.ranks({}));
            scene.pass(15s, {"a", "b"});
            CHECK(scene.members({"a", "b"}));  // and who is dead is seen all the same
        });
    }
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
            INFO(
                "decided: " << text_of(first.state) << "; in between: " << text_of(other.state)
                            << "; then: " << text_of(again.state)
            );
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
            const auto plot = [](Actor& node) {
                while (node.next_round().number < 3) {
                    node.work(2s);
                }
                node.leave();
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
        const auto plot = [](Actor& node) {
            node.next_round();
            node.stay();
            node.leave();
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
        const std::vector<Duration>& sleeps = game.actors[0]->clock.sleeps;
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

TEST_CASE("Rendezvous: a compare_set that another node has won is decided anew: join") {
    on_ranks({1}, [](const Communicator&) {
        Game game(nodes(1, 1));
        game.store.rival = [](const std::string&, const std::string&) { return with_b_alone(); };
        is_after_b(game);
    });
}

TEST_CASE(
    "Rendezvous: it expects the text that it has decided by, not the one that stands there by now"
) {
    on_ranks({1}, [](const Communicator&) {
        // Who reads once more before it writes sees what it has not decided by.
        Game game(nodes(1, 1));
        int calls = 0;
        game.store.before = [&](const std::string&) {
            game.time.pass();
            if (++calls == 2) {
                game.store.comes("job", with_b_alone());
            }
        };
        is_after_b(game);
    });
}

TEST_CASE("Rendezvous: a compare_set that another node has won is decided anew: giving up") {
    on_ranks({1}, [](const Communicator&) {
        Game game(nodes(2, 2));
        game.store.rival = [](const std::string& value, const std::string& desired) {
            RendezvousState won = RendezvousState::from(value);
            const bool gives_up =
                won.members.contains("a") && !RendezvousState::from(desired).members.contains("a");
            won.members["b"] = 1;
            won.ranks = {"a", "b"};
            return gives_up ? std::optional(won.text()) : std::nullopt;
        };
        const Actor& a = game.add("a", 0s, [](Actor& node) { node.next_round(); });
        INFO(
            "a has come to its deadline, and before its leaving was written, b completed the round "
            "with it"
        );
        CHECK(game.play());
        REQUIRE(a.rounds.size() == 1);
        CHECK(a.rounds[0].nodes == Names{"a", "b"});
    });
}

TEST_CASE("Rendezvous: who comes late is in the next round, and who has died is not") {
    on_ranks({1}, [](const Communicator&) {
        Game game(nodes(2, 3), 2);
        std::vector<Duration> ends;  // of a's rounds
        Actor& a = game.add("a", 0s, [&](Actor& node) {
            for (int rounds = 0; rounds < 3; ++rounds) {
                node.next_round();
                node.work(300s);
                ends.push_back(game.time.now());
            }
        });
        game.add("b", 0s, [](Actor& node) {
            while (node.next_round().number < 3) {
                node.work(300s);
            }
            node.work(600s);
        });
        game.add("c", 100s, [](Actor& node) {
            node.next_round();
            node.work(50s);  // and dies
        });
        CHECK(game.play());
        REQUIRE(a.rounds.size() == 3);
        CHECK(a.rounds[0].nodes == Names{"a", "b"});
        CHECK(a.rounds[1].nodes == Names{"a", "b", "c"});
        CHECK(a.rounds[2].nodes == Names{"a", "b"});
        INFO(
            "c came after 100 s, and died after about 152 s: a's rounds ended after "
            << ends[0] / 1s << " s and " << ends[1] / 1s << " s"
        );
        CHECK((100s <= ends[0] && ends[0] <= 103s));
        CHECK((150s <= ends[1] && ends[1] <= 175s));
    });
}

TEST_CASE(
    "Rendezvous: a node that stood still for a minute finds that its round holds no more, and "
    "joins the next"
) {
    on_ranks({1}, [](const Communicator&) {
        Game game(nodes(1, 2), 3);
        bool held = true;
        game.add("a", 0s, [](Actor& node) {
            while (node.next_round().nodes != Names{"a"}) {
                node.work(300s);
            }
            node.work(300s);
            node.next_round();
        });
        Actor& b = game.add("b", 0s, [&](Actor& node) {
            node.next_round();
            node.clock.sleep(60s);
            held = node.stay();
            node.next_round();
        });
        CHECK(game.play());
        CHECK(!held);
        REQUIRE(b.rounds.size() == 2);
        CHECK(b.rounds[1].nodes == Names{"a", "b"});
    });
}

TEST_CASE(
    "Rendezvous: without enough nodes Timeout comes after join_timeout, and leaves nobody behind"
) {
    on_ranks({1}, [](const Communicator&) {
        Game game(nodes(3, 3));
        std::map<std::string, std::string> texts;
        std::map<std::string, Duration> waited;
        const auto plot = [&](Actor& node) {
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
            INFO(name << " said after " << waited[name] / 1s << " s: " << texts[name]);
            CHECK((600s <= waited[name] && waited[name] <= 603s));
            CHECK(texts[name].find("job") != std::string::npos);
            INFO("how many others were there: b, when a gave up, and then nobody");
            CHECK(numbers_in(texts[name]).contains(name == "a" ? 1 : 0));
        }
        const RendezvousState last = RendezvousState::from(game.store.values.back());
        CHECK(last.members.empty());
    });
}

TEST_CASE("Rendezvous: next_round has its whole time each time, and a join can be tried again") {
    on_ranks({1}, [](const Communicator&) {
        Game game(nodes(2, 2));
        Actor& a = game.add("a", 0s, [](Actor& node) {
            node.next_round();
            node.work(700s);
            try {
                node.next_round();
            } catch (const Timeout&) {
                node.next_round();
            }
        });
        game.add("b", 500s, [](Actor& node) {
            node.next_round();
            node.work(100s);
            node.leave();
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
        const auto expect_closed = [&](Actor& node) {
            try {
                node.next_round();
            } catch (const RendezvousClosed& error) {
                closed += std::string(error.what()).find("job") != std::string::npos ? 1 : 0;
            }
        };
        game.add("a", 0s, [&](Actor& node) {
            node.next_round();
            held = node.work(100s);
            expect_closed(node);
            expect_closed(node);
        });
        game.add("b", 5s, expect_closed);
        game.add("c", 50s, [](Actor& node) {
            node.close();
            node.close();
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
        const Actor& a = game.add("a", 0s, [&](Actor& node) {
            stays.push_back(node.stay());
            node.leave();
            node.next_round();
            stays.push_back(node.stay());
            node.leave();
            stays.push_back(node.stay());
            node.leave();
            node.next_round();
            stays.push_back(node.stay());
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
        const auto plot = [](Actor& node) { node.next_round(); };
        game.add("a", 0s, plot, "one");
        game.add("a", 0s, plot, "other");
        game.add("b", 1s, plot, "other");
        game.add("b \"\n", 2s, plot, "one");
        const std::vector<std::string> ends = game.run();
        INFO(text_of(ends));
        CHECK(std::ranges::count(ends, "") == 4);
        CHECK(game.actors[0]->rounds.back().nodes == Names{"a", "b \"\n"});
        CHECK(game.actors[1]->rounds.back().nodes == Names{"a", "b"});
    });
}

TEST_CASE(
    "Rendezvous: on the machine's own clock four threads find each other through a HashStore, and "
    "through a file"
) {
    // a TcpStore has no reference on simulated ranks, where this test runs as well
    const StoreKinds kinds = {
        {"a HashStore, which all nodes share",
         [](Store::Duration timeout) {
             const auto store = std::make_shared<HashStore>(timeout);
             return [store]() -> std::shared_ptr<Store> { return store; };
         }},
        {"a FileStore for each node, of the same file", [](Store::Duration timeout) {
             return [path = fresh_path().string(), timeout] {
                 return std::make_shared<FileStore>(path, kRun, timeout);
             };
         }}};
    for_each_kind(kinds, kPatient, [](const OpenStore& open) {
        const auto rounds = five_rounds(open);
        for (std::size_t i = 0; i < 4; ++i) {
            for (std::size_t r = 0; r < 5; ++r) {
                INFO("node" << 3 - i << " is told " << text_of(rounds[i][r]));
                CHECK(rounds[i][r].number == static_cast<std::int64_t>(r) + 1);
                CHECK(rounds[i][r].rank == static_cast<int>(3 - i));
                CHECK(rounds[i][r].nodes == Names{"node0", "node1", "node2", "node3"});
            }
        }
        const auto store = open();
        CHECK(store->num_keys() == 1);
        CHECK(RendezvousState::from(store->get("job")).round >= 5);
    });
}

TEST_CASE("Rendezvous: it refuses numbers of nodes and times that make no sense") {
    on_ranks({1}, [](const Communicator&) {
        const auto make = [](const RendezvousSettings& settings) {
            WatchedStore store;
            SteadyClock clock;
            const Rendezvous node(store, "job", "a", settings, clock);
        };
        CHECK_NOTHROW(make(nodes(1, 1)));
        CHECK_THROWS_AS(make(nodes(0, 1)), std::invalid_argument);
        CHECK_THROWS_AS(make(nodes(3, 2)), std::invalid_argument);
        RendezvousSettings settings = nodes(1, 2);
        settings.poll = 0s;
        CHECK_THROWS_AS(make(settings), std::invalid_argument);
        settings.poll = 5001ms;
        CHECK_THROWS_AS(make(settings), std::invalid_argument);
        settings.poll = 5s;
        CHECK_NOTHROW(make(settings));
        settings.dead_after = 5s;
        CHECK_THROWS_AS(make(settings), std::invalid_argument);
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
        const Actor& a = game.add("a", 0s, [&](Actor& node) {
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
