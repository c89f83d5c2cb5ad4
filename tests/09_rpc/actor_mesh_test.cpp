// What actors on a mesh must do, whoever calls, fails or dies. Actors keep diaries, which show what they have handled. Ranks are
// those of a world, then processes.
#include "exercises/09_rpc/actor_mesh.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/09_rpc/counted.hpp"
#include "tests/harness/processes/on_transport.hpp"
#include "tests/harness/words/throws.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

constexpr const char* kLegend =
    "A call brings the actors' diaries, by place. An actor writes down each word that it is told; "
    "( "
    "is where it calls another actor, ) where it has that one's answer";

/// Ranks, and their actors: dimensions, names, and after how many messages each takes a snapshot.
struct Cast {
    std::vector<int> sizes = {3};  // of worlds
    std::vector<ActorDim> dims = {{"x", 3}};
    std::map<std::string, int> actors = {{"a", 0}, {"b", 0}, {"c", 0}};
    std::map<int, int> no_room = {};  // places, and how often their actors cannot be made
    std::optional<long> calls = {};   // of Rpcs, on all ranks
    std::vector<int> drivers = {0};   // ranks that call actors
    std::function<void(World& world)> set = [](World&) {};

    void make(ActorMesh& mesh, int rank);
};

/// What an actor is told: "a x=1 add word"; "a add word" is told to all.
struct Line {
    explicit Line(const std::string& line) {
        std::istringstream all(line);
        for (all >> name; all >> endpoint && endpoint.find('=') != std::string::npos;) {
            const std::size_t at = endpoint.find('=');
            slice[endpoint.substr(0, at)] = std::stoi(endpoint.substr(at + 1));
        }
        std::string rest;
        std::getline(all >> std::ws, rest);
        words = to_bytes(rest);
    }

    std::string name;
    ActorSlice slice;
    std::string endpoint;
    Bytes words;
};

/// Writes down what it is told. Endpoints, and what stands in `words`:
///     add   a word; the answer is the diary
///     fail  a word, which it writes down; then it throws that word
///     odd   it throws a number
///     pick  places; it fails if its own is among them, and else is as add
///     ask   a Line: it calls that actor, between "(" and ")"
///     try   as ask, and an error is no failure: it writes "!"
///     read  is answered by the diary, where by its rank
class Diary : public Actor {
  public:
    Diary(ActorMesh& mesh, int place, int rank) : mesh_(mesh), place_(place), rank_(rank) {}

    Bytes call(const std::string& endpoint, std::span<const std::byte> arguments) override {
        const std::string words = to_text(arguments);
        if (endpoint == "where") {
            return to_bytes(text(rank_));
        }
        if (endpoint == "odd") {
            throw 7;
        }
        if (endpoint == "ask" || endpoint == "try") {
            ask(words, endpoint == "try");
        } else if (endpoint == "add" || endpoint == "fail" || endpoint == "pick") {
            write(words);
        }
        if (endpoint == "fail") {
            throw std::runtime_error(words);
        }
        if (endpoint == "pick" && words.find(text(place_)) != std::string::npos) {
            throw std::runtime_error("out of memory");
        }
        return to_bytes(diary_);
    }

    [[nodiscard]] Bytes snapshot() const override {
        if (diary_.ends_with("this cannot be saved")) {
            throw std::runtime_error("cannot be saved");
        }
        return to_bytes(diary_);
    }
    void restore(std::span<const std::byte> snapshot) override { diary_ = to_text(snapshot); }

  private:
    void write(const std::string& word) { diary_ += (diary_.empty() ? "" : " ") + word; }

    void ask(const std::string& words, bool may_fail) {
        const Line line(words);
        write("(");
        try {
            mesh_.call(line.name, line.slice, line.endpoint, line.words);
            write(")");
        } catch (const MeshError&) {
            if (!may_fail) {
                throw;
            }
            write("!");
        }
    }

    ActorMesh& mesh_;
    int place_;
    int rank_;
    std::string diary_;
};

void Cast::make(ActorMesh& mesh, int rank) {
    const auto diary = [this, &mesh, rank](int place) -> std::unique_ptr<Actor> {
        if (no_room[place]-- > 0) {
            throw std::runtime_error("no room");
        }
        return std::make_unique<Diary>(mesh, place, rank);
    };
    for (const auto& [name, snapshot_every] : actors) {
        mesh.spawn(name, diary, snapshot_every);
    }
}

/// What a call brings: "0: 1 2; 1 failed: add: why; 2: 1 2"
std::string text_of(const std::function<void(std::map<int, Bytes>& answers)>& call) {
    std::map<int, std::string> lines;
    std::map<int, Bytes> answers;
    try {
        call(answers);
    } catch (const MeshError& error) {
        answers = error.answers();
        for (const ActorFailure& one : error.failures()) {
            lines[one.place] = text("; ", one.place, " failed: ", one.reason);
        }
    }
    for (const auto& [place, answer] : answers) {
        lines[place] += text("; ", place, ": ", to_text(answer));
    }
    std::string all;
    for (const auto& [place, line] : lines) {
        all += line;
    }
    return all.empty() ? "" : all.substr(2);
}

/// How a rank calls actors, and what it is told.
struct Caller {
    [[nodiscard]] ActorMesh::Call sends(const std::string& words) const {
        const Line line(words);
        return mesh->call_async(line.name, line.slice, line.endpoint, line.words);
    }
    [[nodiscard]] std::string gets(const ActorMesh::Call& call) const {
        return text_of([&](auto& answers) { answers = mesh->wait(call); });
    }
    std::string tell(const std::string& words) const { return gets(sends(words)); }

    /// "" if it went well.
    std::string restart(const std::string& name, int place) const {
        return text_of([&](auto&) { mesh->restart(name, place); });
    }
    std::string snapshot(const std::string& name) const {
        return text_of([&](auto&) { mesh->snapshot(name); });
    }

    std::unique_ptr<ActorMesh> mesh;
};

struct ActorPlace : CountedPlace, Caller {
    ActorPlace(World& its_world, int its_rank) : CountedPlace(its_world, its_rank) {
        agent->set_timeout(1000ms);
    }

    void pause(Ms duration) { serve_until(now() + duration); }
};

void brings(const std::string& got, const std::string& expected, TestLine line = TestLine::here()) {
    must({got == expected, line}, "a call brings \"", got, "\". It has to be \"", expected, "\"");
}

void says_deadlock(const std::string& got, TestLine line = TestLine::here()) {
    const bool does =
        got.find(" failed: ") != std::string::npos && got.find("]: deadlock") != std::string::npos;
    must({does, line}, "a call brings \"", got, "\". It has to say \"deadlock\"");
}

/// All ranks spawn the actors; then drivers call them.
void acts(
    const Cast& cast,
    const std::function<void(ActorPlace& me)>& driver,
    TestLine line = TestLine::here()
) {
    worlds(cast.sizes, [&](World& world) {
        INFO(kLegend);
        world.slowest = 2ms;
        cast.set(world);
        Cast own = cast;
        long calls = 0;
        const auto body = [&](ActorPlace& me) {
            me.mesh = std::make_unique<ActorMesh>(me.rpc, own.dims);
            own.make(*me.mesh, me.rank);
            me.sleep(1ms);  // all have spawned
            if (std::ranges::count(own.drivers, me.rank) > 0) {
                driver(me);
            }
            me.agent->shutdown();
            for (const auto& [function, tally] : me.rpc.begun) {
                calls += tally.calls;
            }
        };
        world.play<ActorPlace>(body, line);
        CHECK(calls == cast.calls.value_or(calls));
    });
}

/// From rank 1 to rank 2 all takes longer.
void slow_edge(World& world) {
    world.edge(1, 2).delay = 20ms;
}

}  // namespace

TEST_CASE("actor_mesh: a call goes to all actors, to a slice or to one, and to no other") {
    for (const int p : {1, 2, 4, 6, 7}) {
        acts(
            {.sizes = {p}, .dims = {{"hosts", 2}, {"gpus", 3}}, .drivers = {p - 1}},
            [](ActorPlace& me) {
                brings(me.tell("a add 1"), "0: 1; 1: 1; 2: 1; 3: 1; 4: 1; 5: 1");
                brings(me.tell("a hosts=1 add 2"), "3: 1 2; 4: 1 2; 5: 1 2");
                brings(me.tell("a gpus=1 add 3"), "1: 1 3; 4: 1 2 3");
                brings(me.tell("a gpus=2 hosts=0 read"), "2: 1");
                const ActorSlice last = {{"gpus", 2}};
                const auto both = [&](auto& answers) {
                    answers = me.mesh->call("a", last, "", {});
                };
                brings(text_of(both), "2: 1; 5: 1 2");
                std::string ranks = text("0: 0");
                for (int place = 1; place < 6; ++place) {
                    ranks += text("; ", place, ": ", place % me.p);
                }
                brings(me.tell("a where"), ranks);
                brings(me.tell("a read"), "0: 1; 1: 1 3; 2: 1; 3: 1 2; 4: 1 2 3; 5: 1 2");
            }
        );
    }
}

TEST_CASE("actor_mesh costs a request and an answer an actor, and the time of one of each") {
    for (const int snapshots : {0, 1}) {
        const Cast cast = {
            .sizes = {8},
            .dims = {{"x", 8}},
            .actors = {{"a", snapshots}},
            .calls = 8 * (1 + snapshots),
            .set = [](World& world) {
                world.slowest = 0ms;
                for (int edge = 0; edge < 8 * 8; ++edge) {
                    world.edge(edge / 8, edge % 8).delay = 10ms;
                }
            }};
        acts(cast, [snapshots](ActorPlace& me) {
            const Ms began = me.now();
            me.tell("a add 1");
            const Ms took = me.now() - began;
            const Ms least = 20ms * (1 + snapshots);
            must(
                took >= least && took <= least + 8ms,
                "8 actors on 8 ranks; a message takes 10 ms; each takes ", snapshots,
                " snapshots; the call takes ", took
            );
        });
    }
}

TEST_CASE("actor_mesh: a failed actor is one error that names it, and no other answer is lost") {
    const auto slow = [](World& world) { world.edge(0, 1).delay = 20ms; };
    acts(
        {.sizes = {2, 4}, .dims = {{"x", 2}, {"y", 1}, {"z", 2}}, .set = slow},
        [](ActorPlace& me) {
            const std::string fails = " failed: pick: out of memory";
            const std::string has = " failed: has failed: pick: out of memory";
            brings(me.tell("a pick 2"), "0: 2; 1: 2; 2" + fails + "; 3: 2");
            brings(me.tell("a pick 03"), "0" + fails + "; 1: 2 03; 2" + has + "; 3" + fails);
            const ActorSlice slice = {{"z", 0}};
            brings(
                error_of([&] { me.mesh->call("a", slice, "add", {}); }),
                "2 of 2 actors failed: a[x=0, y=0, z=0]: has failed: pick: out of memory; "
                "a[x=1, y=0, z=0]: has failed: pick: out of memory"
            );
        }
    );
    const auto late = [](World& world) { world.edge(0, 1).delay = 1001ms; };
    acts({.set = late}, [](ActorPlace& me) {
        const std::string line = me.tell("a add 1");
        const bool is_right = line.starts_with("0: 1; 1 failed: ") &&
                              line.ends_with("no answer within 1000 ms; 2: 1");
        must(is_right, "rank 1 gives no answer in time, and a call brings \"", line, "\"");
    });
}

TEST_CASE("actor_mesh: a failed actor handles nothing more, and says why it has failed") {
    acts({}, [](ActorPlace& me) {
        const std::string has = "1 failed: has failed: fail: first";
        brings(me.tell("a x=1 fail first"), "1 failed: fail: first");
        brings(me.tell("a x=1 fail second"), has);
        brings(me.tell("a add third"), "0: third; " + has + "; 2: third");
        brings(me.tell("a x=0 odd"), "0 failed: odd: unknown exception");
    });
}

TEST_CASE("actor_mesh: what was queued when an actor fails is answered, and not handled") {
    acts({.set = slow_edge}, [](ActorPlace& me) {
        const auto first = me.sends("a x=1 ask b x=2 fail why");
        const auto second = me.sends("a x=1 ask c x=2 add y");
        const auto third = me.sends("a x=1 ask c x=2 add z");
        const std::string reason = "ask: 1 of 1 actors failed: b[x=2]: fail: why";
        brings(me.gets(first), "1 failed: " + reason);
        brings(me.gets(second), "1 failed: has failed: " + reason);
        brings(me.gets(third), "1 failed: has failed: " + reason);
        brings(me.tell("c x=2 read"), "2: ");
    });
}

TEST_CASE("actor_mesh: an actor handles one message at a time, in the order of its caller") {
    acts({.set = slow_edge}, [](ActorPlace& me) {
        const auto first = me.sends("a x=1 ask b x=2 add u");
        const auto second = me.sends("a x=1 add 2");
        const auto third = me.sends("a x=1 ask b x=2 add v");
        const auto fourth = me.sends("a x=1 add 4");
        brings(me.gets(fourth), "1: ( ) 2 ( ) 4");
        brings(me.gets(third), "1: ( ) 2 ( )");
        brings(me.gets(second), "1: ( ) 2");
        brings(me.gets(first), "1: ( )");
    });
}

TEST_CASE("actor_mesh: while an actor waits, others of its rank handle messages") {
    acts({.sizes = {2}, .dims = {{"x", 2}}}, [](ActorPlace& me) {
        const auto one = me.sends("a x=0 ask b x=1 add u");
        const auto other = me.sends("a x=1 ask b x=0 add v");
        brings(me.gets(one), "0: ( )");
        brings(me.gets(other), "1: ( )");
        brings(me.tell("a x=0 ask b x=1 ask c x=0 add w"), "0: ( ) ( )");
        brings(me.tell("a x=1 ask b x=1 ask c x=1 add x"), "1: ( ) ( )");
        brings(me.tell("c read"), "0: w; 1: x");
    });
}

TEST_CASE("actor_mesh: an actor that calls itself, also through others, is told of the deadlock") {
    for (const char* way :
         {"a x=0 add u", "b x=1 ask a x=0 add u", "b x=0 ask a x=0 add u",
          "b x=1 ask c x=2 ask a x=0 add u", "b x=1 ask c x=1 ask b x=1 add u"}) {
        INFO("a[x=0] is told: ask " << way);
        acts({.drivers = {1}}, [way](ActorPlace& me) {
            says_deadlock(me.tell(text("a x=0 ask ", way)));
        });
    }
    acts({.drivers = {1}}, [](ActorPlace& me) {
        brings(me.tell("a x=0 try b x=1 ask a x=0 add u"), "0: ( !");
        brings(me.tell("a x=0 add v"), "0: ( ! v");
    });
}

TEST_CASE("actor_mesh: who calls an actor that waits further down on its rank is told as well") {
    acts({.set = slow_edge}, [](ActorPlace& me) {
        const auto below = me.sends("a x=1 ask c x=2 add u");
        me.pause(5ms);
        const auto above = me.sends("b x=1 ask a x=1 add v");
        says_deadlock(me.gets(above));
        brings(me.gets(below), "1: ( )");
        brings(me.tell("a x=1 add w"), "1: ( ) w");
    });
}

TEST_CASE("actor_mesh: who calls an actor whose snapshot is on its way gets an answer") {
    const Cast cast = {.actors = {{"a", 0}, {"b", 1}}, .drivers = {0, 2}, .set = slow_edge};
    acts(cast, [](ActorPlace& me) {
        if (me.rank == 2) {
            me.serve_until(150ms);
            me.restart("b", 1);  // its snapshot is on its way when the last call comes
            return;
        }
        const auto one = me.sends("b x=1 add u");
        me.pause(10ms);
        const auto other = me.sends("a x=1 ask b x=1 add v");
        brings(me.gets(one), "1: u");
        brings(me.gets(other), "1: ( )");
        brings(me.tell("b x=1 read"), "1: u v");
        me.tell("b x=1 fail why");
        me.serve_until(160ms);
        brings(me.tell("a x=1 add w"), "1: ( ) w");
    });
}

TEST_CASE("actor_mesh: a restarted actor goes on from its last snapshot") {
    for (const int p : {1, 2, 3}) {
        INFO("a snapshot after 2 messages");
        const Cast cast = {
            .sizes = {p}, .dims = {{"x", 1}}, .actors = {{"a", 2}}, .drivers = {p - 1}};
        acts(cast, [](ActorPlace& me) {
            me.tell("a add 1");
            me.tell("a add 2");
            brings(me.tell("a add 3"), "0: 1 2 3");
            brings(me.tell("a fail why"), "0 failed: fail: why");
            brings(me.restart("a", 0), "");
            me.tell("a add 5");
            brings(me.tell("a add 6"), "0: 1 2 5 6");
            me.tell("a fail again");
            brings(me.restart("a", 0), "");
            brings(me.tell("a add 7"), "0: 1 2 5 6 7");
        });
    }
}

TEST_CASE("actor_mesh: without a snapshot an actor begins anew, on its own rank only") {
    acts({.actors = {{"a", 2}}}, [](ActorPlace& me) {
        me.tell("a add 1");
        me.tell("a x=1 fail why");
        brings(me.restart("a", 1), "");
        brings(me.tell("a x=1 add 2"), "1: 2");
        me.world.kill(2);
        brings(me.restart("a", 2).substr(0, 10), "2 failed: ");
        const std::string dead = "2 failed: rank 2 has died: rank 2 does not answer";
        brings(me.tell("a add 3"), "0: 1 3; 1: 2 3; " + dead);
    });
}

TEST_CASE("actor_mesh: snapshot() is a message like others, and takes its turn") {
    acts({.set = slow_edge}, [](ActorPlace& me) {
        me.tell("a add 1");
        const auto call = me.sends("a x=1 ask b x=2 add u");
        me.pause(10ms);
        brings(me.snapshot("a"), "");  // a[x=1] waits for another actor
        brings(me.gets(call), "1: 1 ( )");
        me.tell("a fail why");
        const std::string has = " failed: has failed: fail: why";
        brings(me.snapshot("a"), "0" + has + "; 1" + has + "; 2" + has);
        for (const int place : {0, 1, 2}) {
            brings(me.restart("a", place), "");
        }
        brings(me.tell("a add 2"), "0: 1 2; 1: 1 ( ) 2; 2: 1 2");
        me.tell("a x=0 add this cannot be saved");
        brings(me.snapshot("a"), "0 failed: snapshot: cannot be saved; 1: ; 2: ");
        brings(me.tell("a x=0 add 3"), "0 failed: has failed: snapshot: cannot be saved");
    });
}

TEST_CASE("actor_mesh: restart() leaves an actor alone that has not failed") {
    acts({.actors = {{"a", 2}, {"b", 0}}, .set = slow_edge}, [](ActorPlace& me) {
        me.tell("a x=1 add 1");
        me.restart("a", 1);
        brings(me.tell("a x=1 add 2"), "1: 1 2");
        const auto call = me.sends("a x=1 ask b x=2 add u");
        me.pause(10ms);
        me.restart("a", 1);
        brings(me.gets(call), "1: 1 2 ( )");
    });
}

TEST_CASE("actor_mesh: an actor that cannot be made has failed, until it can") {
    acts({.actors = {{"a", 0}}, .no_room = {{1, 2}}}, [](ActorPlace& me) {
        const std::string has = "1 failed: has failed: spawn: no room";
        brings(me.tell("a add 1"), "0: 1; " + has + "; 2: 1");
        brings(me.restart("a", 1), "1 failed: no room");
        brings(me.tell("a x=1 add 2"), has);
        brings(me.restart("a", 1), "");
        brings(me.tell("a add 3"), "0: 1 3; 1: 3; 2: 1 3");
    });
}

TEST_CASE("actor_mesh: a rank dies, and its actor goes on elsewhere, where all find it") {
    acts({.sizes = {4}, .dims = {{"x", 4}}, .actors = {{"a", 1}}}, [](ActorPlace& me) {
        me.tell("a add 1");
        me.world.kill(1);
        brings(
            me.tell("a add 2"),
            "0: 1 2; 1 failed: rank 1 has died: rank 1 does not answer; 2: 1 2; 3: 1 2"
        );
        brings(me.restart("a", 1), "");
        brings(me.tell("a add 3"), "0: 1 2 3; 1: 1 3; 2: 1 2 3; 3: 1 2 3");
        brings(me.tell("a where"), "0: 0; 1: 2; 2: 2; 3: 3");
        brings(me.tell("a x=3 ask a x=1 add 4"), "3: 1 2 3 ( )");
        me.world.kill(2);
        brings(me.restart("a", 1), "");
        brings(me.restart("a", 2), "");
        brings(me.tell("a read"), "0: 1 2 3; 1: 1 3 4; 2: 1 2 3; 3: 1 2 3 ( )");
        brings(me.tell("a where"), "0: 0; 1: 3; 2: 3; 3: 3");
    });
}

TEST_CASE("actor_mesh: a snapshot lies with the next rank that lives") {
    acts(
        {.sizes = {4}, .dims = {{"x", 1}}, .actors = {{"a", 2}}, .drivers = {3}},
        [](ActorPlace& me) {
            me.tell("a add 1");
            me.world.kill(1);
            brings(me.tell("a add 2"), "0: 1 2");
            me.tell("a fail why");
            me.world.kill(2);
            brings(me.restart("a", 0), "");
            me.world.kill(0);
            brings(me.restart("a", 0), "");
            brings(me.tell("a read"), "0: 1 2");
        }
    );
}

TEST_CASE(
    "actor_mesh: with a snapshot after each message no answered one is lost, whenever a rank dies"
) {
    for (int when = 2; when < 60; ++when) {
        INFO("rank 0 dies after " << when << " ms");
        const auto set = [when](World& world) {
            world.slowest = 4ms;
            world.dies[0] = Ms(when);
        };
        acts(
            {.dims = {{"x", 1}}, .actors = {{"a", 1}}, .drivers = {2}, .set = set},
            [when](ActorPlace& me) {
                const auto went_well = [](const std::string& line) {
                    return line.find("failed") == std::string::npos;
                };
                int answered = 0;
                std::string least = "0:";
                while (answered < 5 && went_well(me.tell(text("a add ", answered + 1)))) {
                    least += text(" ", ++answered);
                }
                me.serve_until(Ms(when + 1));
                const std::string restored = went_well(me.restart("a", 0)) ? me.tell("a read") : "";
                must(
                    restored == least || restored == text(least, " ", answered + 1) ||
                        (answered == 0 && restored.empty()),
                    "messages answered: ", answered,
                    ". Restarted elsewhere, the actor has handled \"", restored, "\""
                );
            }
        );
    }
}

TEST_CASE("actor_mesh: it refuses names and slices that are not there, before any message") {
    acts({.sizes = {2}, .dims = {{"x", 2}, {"y", 2}}}, [](ActorPlace& me) {
        const auto refused = [](const std::string& what, const std::function<void()>& call) {
            must_be(thrown_as(call), kInvalidArgument, text("what ", what, " throws"));
        };
        for (const char* line : {"z add 1", "a z=0 add 1", "a x=2 add 1", "a x=0 y=-1 add 1"}) {
            refused(line, [&] { static_cast<void>(me.sends(line)); });
        }
        refused("restart of place 4 of 4", [&] { me.mesh->restart("a", 4); });
        refused("snapshot of z", [&] { me.mesh->snapshot("z"); });
        refused("a second spawn of a", [&] { me.mesh->spawn("a", [](int) { return nullptr; }); });
        must(me.rpc.begun.empty(), "a call was begun for one of these");
        brings(me.tell("a add 1"), "0: 1; 1: 1; 2: 1; 3: 1");
    });
}

TEST_CASE("actor_mesh on processes: actors are called, call each other, fail and go on") {
    on_one([] {
        const Processes run = on_transport(3, [](Transport& transport, int rank, int) {
            SteadyClock clock;
            RpcAgent agent(transport, 1, clock);
            Cast cast{.actors = {{"a", 1}, {"b", 0}}};
            Caller me;
            me.mesh = std::make_unique<ActorMesh>(agent, cast.dims);
            cast.make(*me.mesh, rank);
            if (rank == 0) {
                INFO(kLegend);
                CHECK(me.tell("a add 1") == "0: 1; 1: 1; 2: 1");
                CHECK(me.tell("a x=1 ask b x=2 add u") == "1: 1 ( )");
                CHECK(me.tell("b x=2 read") == "2: u");
                CHECK(me.tell("a x=2 fail why") == "2 failed: fail: why");
                CHECK(me.restart("a", 2).empty());
                CHECK(me.tell("a add 3") == "0: 1 3; 1: 1 ( ) 3; 2: 1 3");
            }
            agent.shutdown();
        });
        CHECK(run.passed);
    });
}
