// What actors on a mesh must do, whoever calls, fails or dies. Actors keep diaries, which show what they have handled. Ranks are
// those of a world, then processes.
#include "exercises/09_rpc/actor_mesh.hpp"

#include <memory>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "course/runtime/seeded.hpp"
#include "tests/09_rpc/counted.hpp"
#include "tests/harness/processes/on_transport.hpp"
#include "tests/harness/words/throws.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

constexpr const char* kLegend =
    "A call brings the diaries of the actors, by place. An actor writes down each word that it is "
    "told; ( is where it calls another "
    "actor, ) where it has that one's answer";

/// Actors, and what they have handled.
struct Cast {
    struct Spawn {
        std::string name;
        int snapshot_every = 0;
    };

    std::vector<ActorDim> dims;
    std::vector<Spawn> spawns = {{"a"}};
    std::set<int> no_room = {};               // places whose actors cannot be made
    std::map<std::string, int> handled = {};  // "a 1 add 7": how often
    long calls = 0;                           // of Rpcs, on all ranks

    void make(ActorMesh& mesh, int rank);
};

/// Writes down what it is told. Endpoints, and what stands in `words`:
///     add   a word; the answer is the diary
///     fail  a word, which it writes down; then it throws that word
///     odd   a number, which it throws
///     pick  places; it fails if its own is among them, and else is as add
///     ask   NAME PLACE ENDPOINT TEXT: it calls that actor, between "(" and ")"
///     try   as ask, and an error is no failure: it writes "!"
///     read  is answered by the diary, where by its rank
class Diary : public Actor {
  public:
    Diary(Cast& cast, ActorMesh& mesh, std::string name, int place, int rank)
        : cast_(cast), mesh_(mesh), name_(std::move(name)), place_(place), rank_(rank) {}

    Bytes call(const std::string& endpoint, std::span<const std::byte> arguments) override {
        const std::string words = to_text(arguments);
        if (endpoint == "where") {
            return to_bytes(text(rank_));
        }
        if (endpoint == "add" || endpoint == "fail" || endpoint == "pick") {
            ++cast_.handled[text(name_, " ", place_, " ", endpoint, " ", words)];
            write(words);
        }
        if (endpoint == "fail") {
            throw std::runtime_error(words);
        }
        if (endpoint == "odd") {
            throw std::stoi(words);
        }
        if (endpoint == "pick" && words.find(text(place_)) != std::string::npos) {
            throw std::runtime_error("out of memory");
        }
        if (endpoint == "ask") {
            ask(words);
        }
        if (endpoint == "try") {
            try {
                ask(words);
            } catch (const MeshError&) {
                write("!");
            }
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

    void ask(const std::string& words) {
        std::istringstream all(words);
        std::string name;
        int place = 0;
        std::string endpoint;
        std::string rest;
        all >> name >> place >> endpoint >> std::ws;
        std::getline(all, rest);
        write("(");
        mesh_.call(name, {{"x", place}}, endpoint, to_bytes(rest));
        write(")");
    }

    Cast& cast_;
    ActorMesh& mesh_;
    std::string name_;
    int place_;
    int rank_;
    std::string diary_;
};

void Cast::make(ActorMesh& mesh, int rank) {
    for (const Spawn& spawn : spawns) {
        const auto diary = [this, &mesh, rank,
                            name = spawn.name](int place) -> std::unique_ptr<Actor> {
            if (no_room.contains(place)) {
                throw std::runtime_error("no room");
            }
            return std::make_unique<Diary>(*this, mesh, name, place, rank);
        };
        mesh.spawn(spawn.name, diary, spawn.snapshot_every);
    }
}

/// What a call brings: "0: 1 2; 1 failed: add: why; 2: 1 2"
std::string text_of(const std::function<std::map<int, Bytes>()>& call) {
    std::map<int, std::string> lines;
    const auto keep = [&](const std::map<int, Bytes>& answers) {
        for (const auto& [place, answer] : answers) {
            lines[place] += text(place, ": ", to_text(answer));
        }
    };
    try {
        keep(call());
    } catch (const MeshError& error) {
        keep(error.answers());
        for (const ActorFailure& one : error.failures()) {
            lines[one.place] += text(one.place, " failed: ", one.reason);
        }
    }
    std::string all;
    for (const auto& [place, line] : lines) {
        all += (all.empty() ? "" : "; ") + line;
    }
    return all;
}

std::string tell(
    ActorMesh& mesh,
    const std::string& name,
    const ActorSlice& slice,
    const std::string& endpoint,
    const std::string& words = ""
) {
    return text_of([&] { return mesh.call(name, slice, endpoint, to_bytes(words)); });
}

/// "" if it went well, else as tell().
std::string restart(ActorMesh& mesh, const std::string& name, int place) {
    return text_of([&] {
        mesh.restart(name, place);
        return std::map<int, Bytes>();
    });
}

const ActorSlice kAll = {};

/// One actor of a mesh with the dimension x.
ActorSlice at(int place) {
    return {{"x", place}};
}

struct ActorPlace : CountedPlace {
    ActorPlace(World& its_world, int its_rank) : CountedPlace(its_world, its_rank) {
        agent->set_timeout(1000ms);
    }

    ActorMesh::Call begin(
        const std::string& name,
        const ActorSlice& slice,
        const std::string& endpoint,
        const std::string& words
    ) {
        return mesh->call_async(name, slice, endpoint, to_bytes(words));
    }
    std::string end(const ActorMesh::Call& call) {
        return text_of([&] { return mesh->wait(call); });
    }
    std::string tell(
        const std::string& name,
        const ActorSlice& slice,
        const std::string& endpoint,
        const std::string& words = ""
    ) {
        return ::tell(*mesh, name, slice, endpoint, words);
    }
    std::string restart(const std::string& name, int place) {
        return ::restart(*mesh, name, place);
    }
    std::string snapshot(const std::string& name) {
        return text_of([&] {
            mesh->snapshot(name);
            return std::map<int, Bytes>();
        });
    }
    void pause(Ms duration) { serve_until(now() + duration); }

    std::unique_ptr<ActorMesh> mesh;
};

void brings(const std::string& got, const std::string& expected, TestLine line = TestLine::here()) {
    must({got == expected, line}, "a call brings \"", got, "\". It has to be \"", expected, "\"");
}

void says_deadlock(const std::string& got, TestLine line = TestLine::here()) {
    const bool does =
        got.find(" failed: ") != std::string::npos && got.find("]: deadlock") != std::string::npos;
    must({does, line}, "a call brings \"", got, "\". It has to say \"deadlock\"");
}

using Drivers = std::map<int, std::function<void(ActorPlace& me)>>;  // by rank

/// All ranks spawn the actors; then drivers call them.
void play(World& world, Cast& cast, const Drivers& drivers, TestLine line = TestLine::here()) {
    INFO(kLegend);
    world.play<ActorPlace>(
        [&](ActorPlace& me) {
            me.mesh = std::make_unique<ActorMesh>(me.rpc, cast.dims);
            cast.make(*me.mesh, me.rank);
            me.sleep(1ms);  // all have spawned
            if (drivers.contains(me.rank)) {
                drivers.at(me.rank)(me);
            }
            me.agent->shutdown();
            for (const auto& [function, tally] : me.rpc.begun) {
                cast.calls += tally.calls;
            }
        },
        line
    );
    std::string twice;
    for (const auto& [message, times] : cast.handled) {
        twice += times > 1 ? text("\"", message, "\" is handled ", times, " times; ") : "";
    }
    CHECK(twice.empty());
}

/// Three ranks, each with one actor of each of these names.
void three(
    const std::vector<Cast::Spawn>& spawns,
    const std::function<void(World& world)>& set,
    const Drivers& drivers,
    TestLine line = TestLine::here()
) {
    worlds({3}, [&](World& world) {
        world.slowest = 2ms;
        set(world);
        Cast cast{{{"x", 3}}, spawns};
        play(world, cast, drivers, line);
    });
}

void as_it_is(World&) {}

/// From rank 1 to rank 2 all takes longer.
void slow_edge(World& world) {
    world.edge(1, 2).delay = 20ms;
}

/// Drivers on all ranks call actors by the seed. What was sent to an actor of a by a caller:
using Sent = std::map<std::pair<int, char>, std::string>;

constexpr int kMessages = 10;  // of each driver

void call_by_seed(ActorPlace& me, Sent& sent) {
    const char name = static_cast<char>('p' + me.rank);
    std::vector<ActorMesh::Call> calls;
    for (std::uint64_t i = 0; i < kMessages; ++i) {
        const auto draw = seeded_bits(me.world.seed * 100 + static_cast<std::uint64_t>(me.rank), i);
        const int place = static_cast<int>(draw % 3);
        const std::string word = text(name, i);
        if (draw / 64 % 2 == 0) {
            calls.push_back(me.begin("a", at(place), "ask", text("b ", draw / 8 % 3, " add ", word))
            );
        } else {
            calls.push_back(me.begin("a", at(place), "add", word));
            sent[{place, name}] += " " + word;
        }
        if (draw / 128 % 4 == 0) {
            me.pause(3ms);
        }
    }
    for (const ActorMesh::Call& call : calls) {
        const std::string line = me.end(call);
        must(line.find("failed") == std::string::npos, "a call brings \"", line, "\"");
    }
}

/// The diary has all that was sent, in the order of each caller, and each ( is followed by its ).
void must_have(int place, const std::string& diary, Sent& sent) {
    std::istringstream words(diary);
    std::map<char, std::string> by_caller;
    bool is_whole = true;
    std::string before;
    std::string word;
    words >> word;  // the place
    while (words >> word) {
        if (word != "(" && word != ")") {
            by_caller[word.front()] += " " + word;
        }
        is_whole = is_whole && (before == "(") == (word == ")");
        before = word;
    }
    is_whole = is_whole && before != "(";
    for (const char caller : {'p', 'q', 'r'}) {
        must(
            is_whole && by_caller[caller] == sent[{place, caller}], "the diary of a[x=", place,
            "] is \"", diary, "\". Each ( has to be followed by its ). ", caller, " has sent it",
            sent[{place, caller}]
        );
    }
}

}  // namespace

TEST_CASE("actor_mesh: a call goes to all actors, to a slice or to one, and to no other") {
    worlds({1, 2, 4, 6, 7}, [](World& world) {
        world.slowest = 2ms;
        Cast cast{{{"hosts", 2}, {"gpus", 3}}};
        const auto driver = [](ActorPlace& me) {
            brings(me.tell("a", kAll, "add", "1"), "0: 1; 1: 1; 2: 1; 3: 1; 4: 1; 5: 1");
            brings(me.tell("a", {{"hosts", 1}}, "add", "2"), "3: 1 2; 4: 1 2; 5: 1 2");
            brings(me.tell("a", {{"gpus", 1}}, "add", "3"), "1: 1 3; 4: 1 2 3");
            brings(me.tell("a", {{"gpus", 2}, {"hosts", 0}}, "add", "4"), "2: 1 4");
            brings(
                me.tell("a", kAll, "add", "5"),
                "0: 1 5; 1: 1 3 5; 2: 1 4 5; 3: 1 2 5; 4: 1 2 3 5; 5: 1 2 5"
            );
            brings(me.tell("a", {{"gpus", 0}, {"hosts", 0}}, "", "the empty endpoint"), "0: 1 5");
            for (int place = 0; place < 6; ++place) {
                const ActorSlice slice = {{"hosts", place / 3}, {"gpus", place % 3}};
                brings(me.tell("a", slice, "where"), text(place, ": ", place % me.p));
            }
        };
        play(world, cast, {{world.size() - 1, driver}});
    });
}

TEST_CASE("actor_mesh costs a request and an answer an actor, and the time of one of each") {
    constexpr int kRanks = 8;
    for (const int snapshot_every : {0, 1}) {
        worlds({kRanks}, [&](World& world) {
            for (int edge = 0; edge < kRanks * kRanks; ++edge) {
                world.edge(edge / kRanks, edge % kRanks).delay = 10ms;
            }
            Cast cast{{{"x", kRanks}}, {{"a", snapshot_every}}};
            Ms took{0};
            const auto driver = [&](ActorPlace& me) {
                const Ms began = me.now();
                me.tell("a", kAll, "add", "1");
                took = me.now() - began;
            };
            play(world, cast, {{0, driver}});
            INFO("actors: 8, on 8 ranks; a message takes 10 ms; snapshots: " << snapshot_every);
            INFO("the call takes " << text(took));
            CHECK(cast.calls == kRanks * (1 + snapshot_every));
            const Ms least = 20ms * (1 + snapshot_every);
            CHECK(took.count() >= least.count());
            CHECK(took.count() <= least.count() + 8);
        });
    }
}

TEST_CASE("actor_mesh: a failed actor is one error that names it, and no other answer is lost") {
    worlds({2, 4}, [](World& world) {
        world.slowest = 2ms;
        world.edge(0, 1).delay = 20ms;
        Cast cast{{{"x", 4}}};
        const auto driver = [](ActorPlace& me) {
            const std::string fails = " failed: pick: out of memory";
            const std::string has = " failed: has failed: pick: out of memory";
            brings(me.tell("a", kAll, "pick", "2"), "0: 2; 1: 2; 2" + fails + "; 3: 2");
            brings(
                me.tell("a", kAll, "pick", "03"), "0" + fails + "; 1: 2 03; 2" + has + "; 3" + fails
            );
            brings(
                me.tell("a", kAll, "add", "b"), "0" + has + "; 1: 2 03 b; 2" + has + "; 3" + has
            );
        };
        play(world, cast, {{0, driver}});
    });
    worlds({3}, [](World& world) {
        world.edge(0, 1).delay = 1001ms;
        Cast cast{{{"x", 3}}};
        const auto driver = [](ActorPlace& me) {
            const std::string line = me.tell("a", kAll, "add", "1");
            const bool is_right = line.starts_with("0: 1; 1 failed: ") &&
                                  line.ends_with("no answer within 1000 ms; 2: 1");
            must(is_right, "rank 1 gives no answer in time, and a call brings \"", line, "\"");
        };
        play(world, cast, {{0, driver}});
    });
    worlds({3}, [](World& world) {
        Cast cast{{{"x", 2}, {"y", 1}, {"z", 2}}};
        const auto driver = [](ActorPlace& me) {
            brings(
                error_of([&] { me.mesh->call("a", kAll, "pick", to_bytes("1 2")); }),
                "2 of 4 actors failed: a[x=0, y=0, z=1]: pick: out of memory; a[x=1, y=0, z=0]: "
                "pick: out of memory"
            );
        };
        play(world, cast, {{0, driver}});
    });
}

TEST_CASE("actor_mesh: a failed actor handles nothing more, and says why it has failed") {
    const std::string has = "1 failed: has failed: fail: first";
    const auto rank_0 = [&](ActorPlace& me) {
        brings(me.tell("a", at(1), "fail", "first"), "1 failed: fail: first");
        brings(me.tell("a", at(1), "fail", "second"), has);
        brings(me.tell("a", at(1), "add", "third"), has);
        brings(me.tell("a", kAll, "add", "fourth"), "0: fourth; " + has + "; 2: fourth");
        brings(me.tell("a", at(0), "odd", "7"), "0 failed: odd: unknown exception");
        brings(me.tell("a", at(0), "read"), "0 failed: has failed: odd: unknown exception");
    };
    const auto rank_2 = [&](ActorPlace& me) {
        me.pause(50ms);
        brings(me.tell("a", at(1), "add", "fifth"), has);
    };
    three({{"a"}}, as_it_is, {{0, rank_0}, {2, rank_2}});
}

TEST_CASE("actor_mesh: what was queued when an actor fails is answered, and not handled") {
    worlds({3}, [](World& world) {
        slow_edge(world);
        Cast cast{{{"x", 3}}, {{"a"}, {"b"}}};
        const auto driver = [](ActorPlace& me) {
            const auto first = me.begin("a", at(1), "ask", "b 2 fail why");
            const auto second = me.begin("a", at(1), "add", "y");
            const auto third = me.begin("a", at(1), "add", "z");
            const std::string reason = "ask: 1 of 1 actors failed: b[x=2]: fail: why";
            brings(me.end(first), "1 failed: " + reason);
            brings(me.end(second), "1 failed: has failed: " + reason);
            brings(me.end(third), "1 failed: has failed: " + reason);
        };
        play(world, cast, {{0, driver}});
        CHECK(cast.handled.count("a 1 add y") == 0);
        CHECK(cast.handled.count("a 1 add z") == 0);
    });
}

TEST_CASE("actor_mesh: an actor handles one message at a time, in the order of its caller") {
    const auto driver = [](ActorPlace& me) {
        const auto first = me.begin("a", at(1), "ask", "b 2 add u");
        const auto second = me.begin("a", at(1), "add", "2");
        const auto third = me.begin("a", at(1), "ask", "b 2 add v");
        const auto fourth = me.begin("a", at(1), "add", "4");
        brings(me.end(fourth), "1: ( ) 2 ( ) 4");
        brings(me.end(third), "1: ( ) 2 ( )");
        brings(me.end(second), "1: ( ) 2");
        brings(me.end(first), "1: ( )");
    };
    three({{"a"}, {"b"}}, slow_edge, {{0, driver}});
}

TEST_CASE("actor_mesh: whoever calls whom, each message is handled once, whole and in order") {
    on_one([] {
        for (std::uint64_t seed = 1; seed <= 12; ++seed) {
            INFO("seed " << seed);
            World world(3, seed);
            world.slowest = 5ms;
            Cast cast{{{"x", 3}}, {{"a", 3}, {"b", 2}}};
            Sent sent;
            int ended = 0;
            const auto driver = [&](ActorPlace& me) {
                call_by_seed(me, sent);
                ++ended;
                if (me.rank == 0) {
                    me.serve_until([&] { return ended == me.p; });
                    for (int place = 0; place < me.p; ++place) {
                        must_have(place, me.tell("a", at(place), "read"), sent);
                    }
                }
            };
            play(world, cast, {{0, driver}, {1, driver}, {2, driver}});
            CHECK(cast.handled.size() == 3 * kMessages);
        }
    });
}

TEST_CASE("actor_mesh: while an actor waits, others of its rank handle messages") {
    worlds({2}, [](World& world) {
        world.slowest = 5ms;
        Cast cast{{{"x", 2}}, {{"a"}, {"b"}, {"c"}}};
        const auto driver = [](ActorPlace& me) {
            const auto one = me.begin("a", at(0), "ask", "b 1 add u");
            const auto other = me.begin("a", at(1), "ask", "b 0 add v");
            brings(me.end(one), "0: ( )");
            brings(me.end(other), "1: ( )");
            brings(me.tell("a", at(0), "ask", "b 1 ask c 0 add w"), "0: ( ) ( )");
            brings(me.tell("a", at(1), "ask", "b 1 ask c 1 add x"), "1: ( ) ( )");
            brings(me.tell("c", kAll, "read"), "0: w; 1: x");
        };
        play(world, cast, {{0, driver}});
    });
}

TEST_CASE("actor_mesh: an actor that calls itself, also through others, is told of the deadlock") {
    for (const char* way :
         {"a 0 add u", "b 1 ask a 0 add u", "b 0 ask a 0 add u", "b 1 ask c 2 ask a 0 add u",
          "b 1 ask c 1 ask b 1 add u"}) {
        worlds({3}, [&](World& world) {
            INFO("a[x=0] is told: ask " << way);
            Cast cast{{{"x", 3}}, {{"a"}, {"b"}, {"c"}}};
            const auto driver = [way](ActorPlace& me) {
                says_deadlock(me.tell("a", at(0), "ask", way));
            };
            play(world, cast, {{1, driver}});
            CHECK(cast.handled.empty());
        });
    }
    const auto driver = [](ActorPlace& me) {
        brings(me.tell("a", at(0), "try", "b 1 ask a 0 add u"), "0: ( !");
        brings(me.tell("a", at(0), "add", "v"), "0: ( ! v");
    };
    three({{"a"}, {"b"}}, as_it_is, {{1, driver}});
}

TEST_CASE("actor_mesh: who calls an actor that waits further down on its rank is told as well") {
    const auto driver = [](ActorPlace& me) {
        const auto below = me.begin("a", at(1), "ask", "c 2 add u");
        me.pause(5ms);
        const auto above = me.begin("b", at(1), "ask", "a 1 add v");
        says_deadlock(me.end(above));
        brings(me.end(below), "1: ( )");
        brings(me.tell("a", at(1), "add", "w"), "1: ( ) w");
    };
    three({{"a"}, {"b"}, {"c"}}, slow_edge, {{0, driver}});
}

TEST_CASE("actor_mesh: who calls an actor whose snapshot is on its way gets an answer") {
    const auto rank_0 = [](ActorPlace& me) {
        const auto one = me.begin("b", at(1), "add", "u");
        me.pause(10ms);
        const auto other = me.begin("a", at(1), "ask", "b 1 add v");
        brings(me.end(one), "1: u");
        brings(me.end(other), "1: ( )");
        brings(me.tell("b", at(1), "read"), "1: u v");
        me.tell("b", at(1), "fail", "why");
        me.serve_until(160ms);
        brings(me.tell("a", at(1), "add", "w"), "1: ( ) w");
    };
    const auto rank_2 = [](ActorPlace& me) {
        me.serve_until(150ms);
        me.restart("b", 1);  // its snapshot is on its way when the last call comes
    };
    three({{"a"}, {"b", 1}}, slow_edge, {{0, rank_0}, {2, rank_2}});
}

TEST_CASE("actor_mesh: a restarted actor goes on from its last snapshot") {
    worlds({1, 2, 3}, [](World& world) {
        INFO("a snapshot after 2 messages");
        world.slowest = 2ms;
        Cast cast{{{"x", 1}}, {{"a", 2}}};
        const auto driver = [](ActorPlace& me) {
            me.tell("a", kAll, "add", "1");
            me.tell("a", kAll, "add", "2");
            brings(me.tell("a", kAll, "add", "3"), "0: 1 2 3");
            brings(me.tell("a", kAll, "fail", "why"), "0 failed: fail: why");
            brings(me.tell("a", kAll, "add", "4"), "0 failed: has failed: fail: why");
            brings(me.restart("a", 0), "");
            brings(me.tell("a", kAll, "add", "5"), "0: 1 2 5");
            brings(me.tell("a", kAll, "add", "6"), "0: 1 2 5 6");
            me.tell("a", kAll, "fail", "again");
            brings(me.restart("a", 0), "");
            brings(me.tell("a", kAll, "add", "7"), "0: 1 2 5 6 7");
        };
        play(world, cast, {{world.size() - 1, driver}});
    });
}

TEST_CASE("actor_mesh: without a snapshot an actor begins anew, on its own rank only") {
    const auto driver = [](ActorPlace& me) {
        me.tell("a", kAll, "add", "1");
        me.tell("a", at(1), "fail", "why");
        brings(me.restart("a", 1), "");
        brings(me.tell("a", at(1), "add", "2"), "1: 2");
        me.world.kill(2);
        brings(me.restart("a", 2).substr(0, 10), "2 failed: ");
        const std::string line = me.tell("a", kAll, "add", "3");
        must(
            line.starts_with("0: 1 3; 1: 2 3; 2 failed: rank 2 has died"), "a call brings \"", line,
            "\""
        );
    };
    three({{"a", 2}}, as_it_is, {{0, driver}});
}

TEST_CASE("actor_mesh: snapshot() is a message like others, and takes its turn") {
    const auto driver = [](ActorPlace& me) {
        me.tell("a", kAll, "add", "1");
        const auto call = me.begin("a", at(1), "ask", "b 2 add u");
        me.pause(10ms);
        brings(me.snapshot("a"), "");  // a[x=1] waits for another actor
        brings(me.end(call), "1: 1 ( )");
        me.tell("a", kAll, "fail", "why");
        const std::string has = " failed: has failed: fail: why";
        brings(me.snapshot("a"), "0" + has + "; 1" + has + "; 2" + has);
        for (const int place : {0, 1, 2}) {
            brings(me.restart("a", place), "");
        }
        brings(me.tell("a", kAll, "add", "2"), "0: 1 2; 1: 1 ( ) 2; 2: 1 2");
        me.tell("a", at(0), "add", "this cannot be saved");
        brings(me.snapshot("a"), "0 failed: snapshot: cannot be saved; 1: ; 2: ");
        brings(me.tell("a", at(0), "add", "3"), "0 failed: has failed: snapshot: cannot be saved");
        brings(me.restart("a", 0), "");
        brings(me.tell("a", kAll, "add", "4"), "0: 1 4; 1: 1 ( ) 2 4; 2: 1 2 4");
    };
    three({{"a"}, {"b"}}, slow_edge, {{0, driver}});
}

TEST_CASE("actor_mesh: restart() leaves an actor alone that has not failed") {
    const auto driver = [](ActorPlace& me) {
        me.tell("a", at(1), "add", "1");
        me.restart("a", 1);
        brings(me.tell("a", at(1), "add", "2"), "1: 1 2");
        me.tell("a", at(1), "add", "3");
        me.restart("a", 1);
        brings(me.tell("a", at(1), "read"), "1: 1 2 3");
        const auto call = me.begin("a", at(1), "ask", "b 2 add u");
        me.pause(10ms);
        me.restart("a", 1);
        brings(me.end(call), "1: 1 2 3 ( )");
    };
    three({{"a", 2}, {"b"}}, slow_edge, {{0, driver}});
}

TEST_CASE("actor_mesh: an actor that cannot be made has failed, until it can") {
    worlds({3}, [](World& world) {
        world.slowest = 2ms;
        Cast cast{{{"x", 3}}};
        cast.no_room = {1};
        const auto driver = [&](ActorPlace& me) {
            const std::string has = "1 failed: has failed: spawn: no room";
            brings(me.tell("a", kAll, "add", "1"), "0: 1; " + has + "; 2: 1");
            brings(me.restart("a", 1), "1 failed: no room");
            brings(me.tell("a", at(1), "add", "2"), has);
            cast.no_room = {};
            brings(me.restart("a", 1), "");
            brings(me.tell("a", kAll, "add", "3"), "0: 1 3; 1: 3; 2: 1 3");
        };
        play(world, cast, {{0, driver}});
    });
}

TEST_CASE("actor_mesh: a rank dies, and its actor goes on elsewhere, where all find it") {
    worlds({4}, [](World& world) {
        world.slowest = 2ms;
        Cast cast{{{"x", 4}}, {{"a", 1}}};
        const auto driver = [&](ActorPlace& me) {
            me.tell("a", kAll, "add", "1");
            world.kill(1);
            brings(
                me.tell("a", kAll, "add", "2"),
                "0: 1 2; 1 failed: rank 1 has died: rank 1 does not answer; 2: 1 2; 3: 1 2"
            );
            brings(me.restart("a", 1), "");
            brings(me.tell("a", kAll, "add", "3"), "0: 1 2 3; 1: 1 3; 2: 1 2 3; 3: 1 2 3");
            brings(me.tell("a", kAll, "where"), "0: 0; 1: 2; 2: 2; 3: 3");
            brings(me.tell("a", at(3), "ask", "a 1 add 4"), "3: 1 2 3 ( )");
            world.kill(2);
            brings(me.restart("a", 1), "");
            brings(me.restart("a", 2), "");
            brings(
                me.tell("a", kAll, "add", "5"), "0: 1 2 3 5; 1: 1 3 4 5; 2: 1 2 3 5; 3: 1 2 3 ( ) 5"
            );
            brings(me.tell("a", kAll, "where"), "0: 0; 1: 3; 2: 3; 3: 3");
        };
        play(world, cast, {{0, driver}});
    });
}

TEST_CASE("actor_mesh: a snapshot lies with the next rank that lives") {
    worlds({4}, [](World& world) {
        world.slowest = 2ms;
        Cast cast{{{"x", 1}}, {{"a", 2}}};
        const auto driver = [&](ActorPlace& me) {
            me.tell("a", kAll, "add", "1");
            world.kill(1);
            brings(me.tell("a", kAll, "add", "2"), "0: 1 2");
            me.tell("a", kAll, "fail", "why");
            world.kill(2);
            brings(me.restart("a", 0), "");
            world.kill(0);
            brings(me.restart("a", 0), "");
            brings(me.tell("a", kAll, "add", "3"), "0: 1 2 3");
            brings(me.tell("a", kAll, "add", "4"), "0: 1 2 3 4");
        };
        play(world, cast, {{3, driver}});
    });
}

TEST_CASE(
    "actor_mesh: with a snapshot after each message no answered one is lost, whenever a rank dies"
) {
    on_one([] {
        for (int when = 2; when < 60; ++when) {
            INFO("rank 0 dies after " << when << " ms");
            World world(3, static_cast<std::uint64_t>(when));
            world.slowest = 4ms;
            world.dies[0] = Ms(when);
            Cast cast{{{"x", 1}}, {{"a", 1}}};
            const auto driver = [&](ActorPlace& me) {
                const auto went_well = [](const std::string& line) {
                    return line.find("failed") == std::string::npos;
                };
                int answered = 0;
                std::string least = "0:";
                while (answered < 5 && went_well(me.tell("a", kAll, "add", text(answered + 1)))) {
                    least += text(" ", ++answered);
                }
                me.serve_until(Ms(when + 1));
                const std::string restored =
                    went_well(me.restart("a", 0)) ? me.tell("a", kAll, "read") : "";
                must(
                    restored == least || restored == text(least, " ", answered + 1) ||
                        (answered == 0 && restored.empty()),
                    "messages answered: ", answered,
                    ". Restarted elsewhere, the actor has handled \"", restored, "\""
                );
            };
            play(world, cast, {{2, driver}});
        }
    });
}

TEST_CASE("actor_mesh: it refuses names and slices that are not there, before any message") {
    worlds({2}, [](World& world) {
        Cast cast{{{"x", 2}, {"y", 2}}};
        const auto driver = [](ActorPlace& me) {
            const auto refused = [&](const char* what, const std::function<void()>& call) {
                must_be(thrown_as(call), "std::invalid_argument", text("what ", what, " throws"));
            };
            ActorMesh& mesh = *me.mesh;
            refused("a call of z", [&] { mesh.call("z", kAll, "add", {}); });
            refused("a call of a[z=0]", [&] { mesh.call("a", {{"z", 0}}, "add", {}); });
            refused("a call of a[x=2]", [&] { mesh.call("a", {{"x", 2}}, "add", {}); });
            refused("a call of a[x=0, y=-1]", [&] {
                mesh.call("a", {{"x", 0}, {"y", -1}}, "add", {});
            });
            refused("restart of place 4 of 4", [&] { mesh.restart("a", 4); });
            refused("snapshot of z", [&] { mesh.snapshot("z"); });
            refused("a second spawn of a", [&] { mesh.spawn("a", [](int) { return nullptr; }); });
            must(me.rpc.begun.empty(), "a call was begun for one of these");
            brings(me.tell("a", kAll, "add", "1"), "0: 1; 1: 1; 2: 1; 3: 1");
        };
        play(world, cast, {{0, driver}});
    });
}

TEST_CASE("actor_mesh on processes: actors are called, call each other, fail and go on") {
    on_one([] {
        const Processes run = on_transport(3, [](Transport& transport, int rank, int) {
            SteadyClock clock;
            RpcAgent agent(transport, 1, clock);
            Cast cast{{{"x", 3}}, {{"a", 1}, {"b"}}};
            ActorMesh mesh(agent, cast.dims);
            cast.make(mesh, rank);
            if (rank == 0) {
                INFO(kLegend);
                CHECK(tell(mesh, "a", kAll, "add", "1") == "0: 1; 1: 1; 2: 1");
                CHECK(tell(mesh, "a", at(1), "ask", "b 2 add u") == "1: 1 ( )");
                CHECK(tell(mesh, "b", at(2), "read") == "2: u");
                CHECK(tell(mesh, "a", at(2), "fail", "why") == "2 failed: fail: why");
                CHECK(restart(mesh, "a", 2).empty());
                CHECK(tell(mesh, "a", kAll, "add", "3") == "0: 1 3; 1: 1 ( ) 3; 2: 1 3");
            }
            agent.shutdown();
        });
        CHECK(run.passed);
    });
}
