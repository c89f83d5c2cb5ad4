// parameter_server: first the table, by plain calls; then workers and servers on the ranks of a world, of which one dies; then on
// processes.
#include "exercises/09_rpc/parameter_server.hpp"

#include <array>
#include <numeric>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "tests/09_rpc/counted.hpp"
#include "tests/09_rpc/training.hpp"
#include "tests/harness/processes/on_transport.hpp"
#include "tests/harness/words/throws.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

constexpr std::size_t kLength = 7;

/// A table that notes its steps, and what its readers are given.
struct Tried {
    explicit Tried(int p)
        : workers(p), table(row, p, [this](std::span<float> weights, std::span<const float> mean) {
              ++steps;
              sgd(weights, mean);
          }) {}

    void push(int worker, std::int64_t step) { table.push(worker, step, gradient_of(worker, row)); }

    void pull(int worker, std::int64_t version) {
        told.emplace_back("nothing");
        table.pull(worker, version, [this, place = told.size() - 1](auto given, const auto& error) {
            told[place] = "a row that is no version";
            for (int made = 0; made < 9 && !error; ++made) {
                if (same(given, trained(kLength, workers, made))) {
                    told[place] = text("version ", made);
                }
            }
            if (error) {
                told[place] = error_of([&] { std::rethrow_exception(error); });
            }
        });
    }

    int workers;
    Row row = first_row(kLength);
    int steps = 0;
    std::vector<std::string> told = {};
    SynchronousTable table;
};

using Told = std::vector<std::string>;

enum class Moment { begins, has_pulled, has_pushed };

/// p workers, and s servers. Rank 0 is neither. Workers have the next ranks, the last one first; then come the servers.
struct Training {
    struct Worker {
        int last = -1;  // version that it pulled
        std::string error = {};
        long most_open = 0;
    };
    struct Server {
        std::int64_t steps = 0;
        Row row = {};
        Tallies ran = {};
    };

    [[nodiscard]] int worker_rank(int worker) const { return p - worker; }
    [[nodiscard]] int server_rank(int server) const { return p + 1 + server; }
    [[nodiscard]] Chunk share(int server) const { return chunk_bounds(n, s, server); }

    void play(World& world, TestLine line = TestLine::here()) {
        world.slowest = 3ms;
        world.play<CountedPlace>(
            [this](CountedPlace& me) {
                me.agent->set_timeout(400ms);
                if (1 <= me.rank && me.rank <= p) {
                    work(me, p - me.rank);
                } else if (me.rank > p) {
                    serve(me, me.rank - p - 1);
                } else {
                    me.agent->shutdown();
                }
            },
            line
        );
    }

    /// Whether this is the last version that the worker could pull, and the error that it was told of then.
    [[nodiscard]] Comparison ends(int worker, int last, const std::string& error) const {
        const Worker& one = workers.at(worker);
        const std::string name = text("worker ", worker, ", on rank ", worker_rank(worker), ": ");
        if (one.error.empty() != error.empty() || one.error.find(error) == std::string::npos) {
            return {
                false,
                text(name, "it must be told \"", error, "\", and is told \"", one.error, "\"")};
        }
        return {
            one.last == last,
            text(name, "its last version is ", one.last, ", and it can have ", last)};
    }

    /// Whether all went well on all ranks.
    [[nodiscard]] Comparison went_well() const {
        for (int worker = 0; worker < p; ++worker) {
            if (Comparison end = ends(worker, steps, ""); !end) {
                return end;
            }
        }
        const Row right = trained(n, p, steps);
        for (int i = 0; i < s; ++i) {
            const Server& one = servers.at(i);
            const Comparison is_right =
                same(one.row, std::span(right).subspan(share(i).begin, share(i).size()));
            if (!is_right || one.steps != steps) {
                return {false, text("server ", i, ": ", one.steps, " steps. ", is_right.text)};
            }
        }
        return {};
    }

    int p;
    int s;
    std::size_t n;
    int steps = 3;
    Ms servers_begin{0};
    std::function<Ms(int worker, int step)> computes = [](int, int) { return 1ms; };
    std::function<bool(int worker, int step)> leaves = [](int, int) { return false; };
    std::function<void(Place& me, int worker, int step, Moment moment)> at =
        [](Place&, int, int, Moment) {};
    std::map<int, Worker> workers = {};
    std::map<int, Server> servers = {};
    int busy = p;  // workers that train

    void work(CountedPlace& me, int number) {
        std::vector<int> ranks(static_cast<std::size_t>(s));
        std::iota(ranks.begin(), ranks.end(), p + 1);
        ParameterClient client(me.rpc, ranks, n, me.clock);
        {
            // A rank that has died trains no more.
            const std::shared_ptr<void> trains(nullptr, [this](void*) { --busy; });
            train(me, number, client);
            workers[number].most_open = me.rpc.most_open;
        }
        me.serve_until([&] { return busy == 0; });
        client.leave();
        me.agent->shutdown();
    }

    void train(CountedPlace& me, int number, ParameterClient& client) {
        Worker& self = workers[number];
        Row row(n, -1);
        Row before;
        try {
            for (int step = 0; !leaves(number, step); ++step) {
                at(me, number, step, Moment::begins);
                before = row;
                client.pull(step, row);
                const Comparison is_right = same(row, trained(n, p, step));
                must(bool(is_right), "worker ", number, ", version ", step, ": ", is_right.text);
                self.last = step;
                before = row;
                if (step == steps) {
                    break;
                }
                at(me, number, step, Moment::has_pulled);
                me.sleep(computes(number, step));
                client.push(step, gradient_of(number, row));
                at(me, number, step, Moment::has_pushed);
            }
            client.leave();
        } catch (const Error& error) {
            self.error = error.what();
            must(row == before, "the pull that failed has changed the parameters");
        }
    }

    void serve(CountedPlace& me, int number) {
        Server& self = servers[number];
        const Row all = first_row(n);
        const Chunk part = share(number);
        self.row.assign(
            all.begin() + static_cast<long>(part.begin), all.begin() + static_cast<long>(part.end)
        );
        me.sleep(servers_begin);
        SynchronousTable table(self.row, p, sgd);
        std::vector<int> ranks;
        for (int worker = 0; worker < p; ++worker) {
            ranks.push_back(worker_rank(worker));
        }
        ParameterServer server(me.rpc, table, ranks);
        for (int idle = 0; server.serve(); me.sleep(1ms)) {
            idle = busy > 0 ? 0 : idle + 1;
            must(idle < 50, "serve() says that a worker is still there, and all have left");
        }
        self.steps = table.version();
        self.ran = me.rpc.ran;
        me.agent->shutdown();
    }
};

/// Worlds of p workers and s servers.
void trainings(
    int p, int s, std::size_t n, const std::function<void(World& world, Training& training)>& body
) {
    worlds({1 + p + s}, [&](World& world) {
        INFO(p << " workers, " << s << " servers, n = " << n);
        Training training{p, s, n};
        body(world, training);
    });
}

/// Rank 2 is a server with 4 parameters, and rank 1 is its worker.
struct ByHand {
    Row row = first_row(4);
    std::int64_t steps = 0;

    void play(
        const std::vector<int>& servers,
        std::size_t n,
        const std::function<void(CountedPlace& me, ParameterClient& client)>& worker,
        const std::function<void(CountedPlace& me)>& other = [](CountedPlace&) {}
    ) {
        World world(3);
        world.play<CountedPlace>([&](CountedPlace& me) {
            if (me.rank == 0) {
                other(me);
                me.agent->shutdown();
            } else if (me.rank == 1) {
                ParameterClient client(me.rpc, servers, n, me.clock);
                worker(me, client);
                client.leave();
                me.agent->shutdown();
            } else {
                SynchronousTable table(row, 1, sgd);
                ParameterServer server(me.rpc, table, {1});
                me.until([&] { return !server.serve(); });
                me.agent->shutdown();
                steps = table.version();
            }
        });
    }
};

}  // namespace

TEST_CASE("the table takes a step when all workers have pushed, once, in any order") {
    on_one([] {
        std::array<int, 3> order{};
        std::iota(order.begin(), order.end(), 0);
        do {
            INFO("workers push in this order: " << text(order));
            Tried tried(3);
            for (int step = 0; step < 3; ++step) {
                const Row before = tried.row;
                for (const int worker : order) {
                    REQUIRE(tried.row == before);
                    REQUIRE(tried.table.version() == step);
                    tried.push(worker, step);
                }
                REQUIRE(tried.table.version() == step + 1);
                REQUIRE(tried.steps == step + 1);
                INFO("the mean is (g0 + g1 + g2) / 3, added up in this order");
                REQUIRE(same(tried.row, trained(kLength, 3, step + 1)));
            }
        } while (std::ranges::next_permutation(order).found);
    });
}

TEST_CASE("the table gives each reader the version that it asks for, when it is there") {
    on_one([] {
        INFO("what the readers were given, in the order of their calls");
        Tried tried(3);
        tried.pull(0, 0);
        tried.push(0, 0);
        tried.pull(1, 0);
        tried.pull(0, 1);
        tried.pull(0, 2);
        tried.push(2, 0);
        CHECK(tried.told == Told{"version 0", "version 0", "nothing", "nothing"});
        tried.pull(2, 0);
        tried.push(1, 0);
        CHECK(tried.told == Told{"version 0", "version 0", "version 1", "nothing", "version 0"});
        for (const int worker : {2, 1, 0}) {
            tried.push(worker, 1);
        }
        tried.pull(2, 2);
        CHECK(tried.told[3] == "version 2");
        CHECK(tried.told[5] == "version 2");
        CHECK_THROWS_AS(tried.pull(1, 1), std::invalid_argument);
        CHECK_THROWS_AS(tried.pull(1, 0), std::invalid_argument);
    });
}

TEST_CASE("the table refuses a push that fits nowhere, and then goes on") {
    on_one([] {
        CHECK_THROWS_AS(Tried(0), std::invalid_argument);
        Tried tried(3);
        tried.push(1, 0);
        const auto refused = [&](const char* what, int worker, std::int64_t step, std::size_t n) {
            INFO(what);
            CHECK_THROWS_AS(tried.table.push(worker, step, Row(n, 5)), std::invalid_argument);
        };
        refused("a second push in one step", 1, 0, kLength);
        refused("a step that has not begun", 0, 1, kLength);
        refused("a step before the first", 0, -1, kLength);
        refused("a gradient that is too short", 0, 0, kLength - 1);
        refused("a gradient that is too long", 0, 0, kLength + 1);
        refused("worker 3 of 3", 3, 0, kLength);
        refused("worker -1", -1, 0, kLength);
        tried.push(2, 0);
        tried.push(0, 0);
        refused("a step that was taken", 0, 0, kLength);
        CHECK(tried.steps == 1);
        CHECK(same(tried.row, trained(kLength, 3, 1)));
    });
}

TEST_CASE("the table tells all that wait for a worker that is gone, at once") {
    on_one([] {
        INFO("what the readers were given, in the order of their calls");
        Tried tried(3);
        tried.push(0, 0);
        tried.pull(0, 1);
        tried.push(1, 0);
        tried.pull(1, 1);
        CHECK(tried.told == Told{"nothing", "nothing"});
        tried.table.leave(2, "it is gone");
        CHECK(tried.told == Told{"it is gone", "it is gone"});
        tried.pull(0, 1);
        tried.pull(0, 0);
        CHECK(tried.told == Told{"it is gone", "it is gone", "it is gone", "version 0"});
    });
}

TEST_CASE("what a worker has pushed counts, also if it is gone then; what it cannot make is told") {
    on_one([] {
        INFO("what the readers were given, in the order of their calls, after a first step");
        Tried tried(3);
        for (int worker = 0; worker < 3; ++worker) {
            tried.push(worker, 0);
        }
        tried.push(0, 1);
        tried.pull(0, 2);
        tried.pull(2, 3);
        tried.push(2, 1);
        tried.table.leave(2, "it is gone");
        CHECK(tried.told == Told{"nothing", "it is gone"});
        tried.pull(1, 1);
        tried.push(1, 1);
        CHECK(tried.told == Told{"version 2", "it is gone", "version 1"});
        tried.push(0, 2);
        tried.pull(0, 3);
        CHECK(tried.told == Told{"version 2", "it is gone", "version 1", "it is gone"});
    });
}

TEST_CASE("workers and servers train as one process does, bit for bit") {
    const auto train = [](int p, int s, std::size_t n) {
        trainings(p, s, n, [&](World& world, Training& training) {
            training.computes = [&](int worker, int) {
                return world.seed == 0 ? 5ms : Ms(3 * worker);
            };
            training.play(world);
            REQUIRE(training.went_well());
        });
    };
    train(1, 1, 1);
    train(3, 1, 50);
    train(3, 2, 11);
    train(2, 3, 50);
    train(2, 3, 2);  // fewer parameters than servers
    train(2, 3, 0);
}

TEST_CASE("a step costs a push and a pull of all servers at a time, and 2pn/S floats for each") {
    trainings(2, 3, 11, [](World& world, Training& training) {
        training.play(world);
        for (int i = 0; i < 3; ++i) {
            const auto share = static_cast<long>(training.share(i).size());
            const Tallies& ran = training.servers[i].ran;
            INFO("server " << i << ", whose share is " << share);
            CHECK(ran.size() == 2);
            CHECK(ran.at(kPush) == Tally{2L * 3, 2 * 3 * (4 * share + 8), 0});
            CHECK(ran.at(kPull) == Tally{2L * 4, 2L * 4 * 8, 2 * 4 * 4 * share});
        }
        INFO("calls of one server after the other wait 3 times");
        CHECK(training.workers[0].most_open == 3);
    });
}

TEST_CASE("the client refuses a row that has not n elements before any call") {
    on_one([] {
        ByHand().play({2}, 4, [](CountedPlace& me, ParameterClient& client) {
            for (const std::size_t n : {3, 5}) {
                Row row(n, 9);
                const std::string push = thrown_as([&] { client.push(0, row); });
                must_be(push, kInvalidArgument, text("what a push of ", n, " for 4 throws"));
                const std::string pull = thrown_as([&] { client.pull(0, row); });
                must_be(pull, kInvalidArgument, text("what a pull of ", n, " for 4 throws"));
            }
            must(me.rpc.begun.empty(), "a call was made before the refusal");
        });
        // one server in the place of two, whose shares are 4 and 3
        ByHand().play({2, 2}, 7, [](CountedPlace&, ParameterClient& client) {
            Row row(7, 9);
            const std::string pull = error_of([&] { client.pull(0, row); });
            must(!pull.empty(), "is not refused: a row of 4 floats for 3");
            must(row == Row(7, 9), "a pull that failed has changed the row");
            const std::string push = error_of([&] { client.push(0, row); });
            must(!push.empty(), "is not refused: a push of 3 floats for 4");
        });
    });
}

TEST_CASE("a server refuses what is no gradient, and who is no worker, and goes on") {
    on_one([] {
        const auto refused = [](CountedPlace& me, const char* what, const char* function,
                                const Bytes& arguments) {
            const std::string end = end_of(me.rpc, me.rpc.rpc_async(2, function, arguments));
            must(end.starts_with("RemoteError"), "is not refused: ", what, ". It ends by ", end);
        };
        ByHand scene;
        scene.play(
            {2}, 4,
            [&](CountedPlace& me, ParameterClient& client) {
                Bytes torn = arguments_of(0, Row(4));
                torn.pop_back();
                refused(me, "a push without a step", kPush, Bytes(7));
                refused(me, "a push of three floats and three bytes", kPush, torn);
                refused(me, "a push of 3 floats", kPush, arguments_of(0, Row(3)));
                refused(me, "a push of 5 floats", kPush, arguments_of(0, Row(5)));
                refused(me, "a pull without a step", kPull, Bytes(7));
                me.serve_until(30ms);
                client.push(0, Row(4, 1));
                refused(me, "a pull of a version that is gone", kPull, arguments_of(0));
                const std::string again = error_of([&] { client.push(0, Row(4)); });
                must(!again.empty(), "is not refused: a second push");
                Row now(4);
                client.pull(1, now);
                must(now == Row{0.75F, 1.75F, 2.75F, 3.75F}, "the row is wrong then: ", now);
            },
            [&](CountedPlace& me) {
                refused(me, "a push of no worker", kPush, arguments_of(0, Row(4)));
                refused(me, "a pull of no worker", kPull, arguments_of(0));
            }
        );
        CHECK(scene.steps == 1);
    });
}

TEST_CASE("a worker that dies is named to all that wait for it; what it has pushed counts") {
    struct Death {
        Moment moment;
        int step;
        int last;  // version of the others
    };
    for (const Death& death :
         {Death{Moment::begins, 0, 0}, Death{Moment::has_pulled, 1, 1},
          Death{Moment::has_pushed, 1, 2}}) {
        for (const int dying : {0, 1, 2}) {
            trainings(3, 2, kLength, [&](World& world, Training& training) {
                const int rank = training.worker_rank(dying);
                INFO("worker " << dying << ", on rank " << rank << ", dies in step " << death.step);
                training.at = [&](Place& me, int worker, int step, Moment now) {
                    if (worker == dying && step == death.step && now == death.moment) {
                        world.kill(me.rank);
                        world.live(me.rank);
                    }
                };
                training.play(world);
                for (const int other : {(dying + 1) % 3, (dying + 2) % 3}) {
                    REQUIRE(training.ends(other, death.last, text("rank ", rank, " has died")));
                }
            });
        }
    }
}

TEST_CASE("a worker that leaves is named to those that it leaves behind, whenever it leaves") {
    trainings(3, 2, kLength, [](World& world, Training& training) {
        training.leaves = [](int worker, int step) { return worker == 1 && step == 1; };
        training.play(world);
        REQUIRE(training.ends(1, 0, ""));
        const std::string end = text("rank ", training.worker_rank(1), " has left");
        REQUIRE(training.ends(0, 1, end));
        REQUIRE(training.ends(2, 1, end));
    });
    trainings(2, 1, kLength, [](World& world, Training& training) {  // before a server asks
        training.steps = 0;
        training.servers_begin = 10ms;
        training.leaves = [](int worker, int) { return worker == 0; };
        training.play(world);
        REQUIRE(training.ends(0, -1, ""));
    });
}

TEST_CASE("a server that dies is named to all workers, and changes no row of theirs") {
    for (const Moment moment : {Moment::begins, Moment::has_pulled, Moment::has_pushed}) {
        for (const int dying : {0, 1}) {
            trainings(3, 2, kLength, [&](World& world, Training& training) {
                training.computes = [](int worker, int) { return Ms(1 + 9 * worker); };
                const int rank = training.server_rank(dying);
                INFO("server " << dying << ", on rank " << rank << ", dies in step 1");
                training.at = [&](Place&, int worker, int step, Moment now) {
                    if (worker == 0 && step == 1 && now == moment) {
                        world.kill(rank);
                    }
                };
                training.play(world);
                const std::string end = text("rank ", rank, " has died");
                REQUIRE(training.ends(0, moment == Moment::begins ? 0 : 1, end));
                for (const int worker : {1, 2}) {
                    REQUIRE(training.ends(worker, training.workers[worker].last, end));
                }
            });
        }
    }
}

// Two workers wait at both servers for the third one, which takes longer than their deadline.
TEST_CASE("a server that dies is named at once, also where another one has no answer yet") {
    for (const int dying : {0, 1}) {
        trainings(3, 2, kLength, [&](World& world, Training& training) {
            training.computes = [](int worker, int step) {
                return worker == 2 && step == 1 ? 600ms : 1ms;
            };
            const int rank = training.server_rank(dying);
            INFO("server " << dying << ", on rank " << rank << ", dies; the other one must wait");
            world.dies[rank] = 100ms;
            training.play(world);
            for (int worker = 0; worker < 3; ++worker) {
                REQUIRE(training.ends(worker, 1, text("rank ", rank, " has died")));
            }
        });
    }
}

TEST_CASE("on processes workers and a server train as one process does") {
    on_one([] {
        const Processes run = on_transport(3, [](Transport& transport, int rank, int) {
            SteadyClock clock;
            RpcAgent agent(transport, 1, clock);
            Row row = first_row(kLength);
            if (rank < 2) {
                ParameterClient client(agent, {2}, kLength, clock);
                for (int step = 0; step < 3; ++step) {
                    client.pull(step, row);
                    CHECK(same(row, trained(kLength, 2, step)));
                    client.push(step, gradient_of(rank, row));
                }
                client.leave();
                agent.shutdown();
            } else {
                SynchronousTable table(row, 2, sgd);
                ParameterServer server(agent, table, {0, 1});
                while (server.serve()) {
                    clock.sleep(1ms);
                }
                agent.shutdown();
                CHECK(same(row, trained(kLength, 2, 3)));
            }
        });
        CHECK(run.passed);
    });
}
