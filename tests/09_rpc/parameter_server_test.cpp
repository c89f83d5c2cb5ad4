// parameter_server: first the table, by plain calls; then workers and servers that are threads of a
// virtual time, whose calls are late, and of which one dies.
#include "exercises/09_rpc/parameter_server.hpp"

#include <array>
#include <cmath>
#include <numeric>

#include "tests/09_rpc/parameter_server_deaths.hpp"
#include "tests/09_rpc/parameter_server_refusals.hpp"
#include "tests/09_rpc/parameter_server_scene.hpp"

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
        const auto note = [this, place = told.size() - 1](
                              std::span<const float> given, const std::exception_ptr& error
                          ) { told[place] = error ? text_of(error) : version_of(given); };
        table.pull(worker, version, note);
    }

    static std::string text_of(const std::exception_ptr& error) {
        try {
            std::rethrow_exception(error);
        } catch (const Error& thrown) {
            return thrown.what();
        }
    }

    // By its values.
    [[nodiscard]] std::string version_of(std::span<const float> given) const {
        for (int version = 0; version < 9; ++version) {
            if (same(given, trained(kLength, workers, version))) {
                return "version " + std::to_string(version);
            }
        }
        return "a row that is no version";
    }

    int workers;
    Row row = first_row(kLength);
    int steps = 0;
    std::vector<std::string> told = {};
    SynchronousTable table;
};

using Told = std::vector<std::string>;

void on_one_rank(const std::function<void()>& test) {
    on_ranks({1}, [&](const Communicator&) { test(); });
}

}  // namespace

TEST_CASE("the table takes a step when all workers have pushed, once, in whatever order they come"
) {
    on_one_rank([] {
        std::array<int, 3> order{};
        std::iota(order.begin(), order.end(), 0);
        do {
            INFO("workers push in this order: " << order[0] << " " << order[1] << " " << order[2]);
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
                const Comparison result = same(tried.row, trained(kLength, 3, step + 1));
                INFO("the mean is (g0 + g1 + g2) / 3, added up in this order");
                REQUIRE(result);
            }
        } while (std::ranges::next_permutation(order).found);
    });
}

TEST_CASE("the table gives each reader the version that it asks for, when it is there") {
    on_one_rank([] {
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
        CHECK(
            tried.told ==
            Told{"version 0", "version 0", "version 1", "version 2", "version 0", "version 2"}
        );
        CHECK_THROWS_AS(tried.pull(1, 1), std::invalid_argument);
        CHECK_THROWS_AS(tried.pull(1, 0), std::invalid_argument);
    });
}

TEST_CASE("the table refuses a push that fits nowhere, and then goes on") {
    on_one_rank([] {
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
        const Comparison result = same(tried.row, trained(kLength, 3, 1));
        CHECK(result);
    });
}

TEST_CASE("the table tells all that wait for a worker that is gone, at once") {
    on_one_rank([] {
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

TEST_CASE("what a worker has pushed counts, also if it is gone then") {
    on_one_rank([] {
        INFO("what the readers were given, in the order of their calls");
        Tried tried(3);
        tried.push(0, 0);
        tried.pull(0, 1);
        tried.push(2, 0);
        tried.table.leave(2, "it is gone");
        CHECK(tried.told == Told{"nothing"});
        tried.pull(1, 0);
        tried.push(1, 0);
        CHECK(tried.told == Told{"version 1", "version 0"});
        tried.push(0, 1);
        tried.pull(0, 2);
        CHECK(tried.told == Told{"version 1", "version 0", "it is gone"});
    });
}

TEST_CASE("the table tells who wants a version that a gone worker cannot help to make, at once") {
    on_one_rank([] {
        INFO("what the readers were given, in the order of their calls");
        Tried tried(3);
        tried.push(2, 0);
        tried.pull(0, 2);
        tried.table.leave(2, "it is gone");
        CHECK(tried.told == Told{"it is gone"});
        tried.pull(0, 1);
        tried.pull(0, 2);
        CHECK(tried.told == Told{"it is gone", "nothing", "it is gone"});
        Tried silent(2);
        silent.pull(0, 1);
        silent.table.leave(1, "");
        INFO("worker 1 of 2 left with an empty reason");
        CHECK(silent.told == Told{""});
    });
}

TEST_CASE("the mean of -0 is -0") {
    on_one_rank([] {
        Row row(1);
        bool is_negative = false;
        SynchronousTable table(row, 2, [&](std::span<float>, std::span<const float> mean) {
            is_negative = std::signbit(mean[0]);
        });
        table.push(0, 0, Row(1, -0.0F));
        table.push(1, 0, Row(1, -0.0F));
        CHECK(is_negative);
    });
}

TEST_CASE("workers and servers train as one process does, bit for bit") {
    struct Case {
        int p;
        int s;
        std::size_t n;
    };
    for (const Case& one : std::vector<Case>{
             {1, 1, 1}, {2, 1, 7}, {3, 1, 50}, {1, 2, 5}, {2, 2, 7}, {3, 2, 11}, {2, 3, 50}}) {
        with_seeds([&](std::uint64_t seed) {
            INFO(one.p << " workers, " << one.s << " servers, n = " << one.n);
            ParameterScene scene(one.p, one.s, one.n, seed);
            for (Worker& worker : scene.workers) {
                worker.computes = Ms(seed == 0 ? 5 : 3 * (&worker - scene.workers.data()));
            }
            REQUIRE(scene.play());
            REQUIRE(scene.all_well());
        });
    }
}

TEST_CASE("fewer parameters than servers, and none at all: training goes on") {
    with_seeds([](std::uint64_t seed) {
        for (const std::size_t n : {0, 1, 2}) {
            INFO("2 workers, 3 servers, n = " << n);
            ParameterScene scene(2, 3, n, seed);
            REQUIRE(scene.play());
            REQUIRE(scene.all_well());
        }
    });
}

TEST_CASE("a step costs a push and a pull of each server, and 2pn/S floats for each of them") {
    on_one_rank([] {
        for (const int s : {1, 2, 3}) {
            constexpr long kWorkers = 2;
            INFO(kWorkers << " workers, " << s << " servers, n = 11, 3 steps, and a last pull");
            ParameterScene scene(2, s, 11);
            REQUIRE(scene.play());
            for (int i = 0; i < s; ++i) {
                const auto rank =
                    static_cast<std::size_t>(scene.server_rank(static_cast<std::size_t>(i)));
                const Served& served = scene.network.served[rank];
                const auto share =
                    static_cast<long>(scene.share(static_cast<std::size_t>(i)).size());
                INFO("server " << i << ", whose share is " << share);
                const std::map<std::string, long> calls{
                    {kPush, kWorkers * 3}, {kPull, kWorkers * 4}};
                CHECK(served.calls == calls);
                CHECK(served.bytes_in == kWorkers * (3 * (4 * share + 8) + 4L * 8));
                CHECK(served.bytes_out == kWorkers * 16 * share);
            }
        }
    });
}

TEST_CASE("a push, and a pull, is under way to all servers at the same time") {
    on_one_rank([] {
        ParameterScene scene(1, 3, 11);
        REQUIRE(scene.play());
        INFO("calls of one server after the other wait 3 times");
        CHECK(scene.workers[0].most_calls == 3);
    });
}

TEST_CASE("the client refuses a row that has not n elements before any call") {
    on_one_rank(refuse_rows);
}

TEST_CASE("a server refuses what is no gradient, and who is no worker, and goes on") {
    on_one_rank(refuse_calls);
}

TEST_CASE("a worker that dies is named to all that wait for it") {
    with_seeds(lose_a_worker);
}

TEST_CASE("what a worker has pushed before it died counts") {
    with_seeds(lose_a_worker_that_has_pushed);
}

TEST_CASE("a worker that leaves is named to those that it leaves behind") {
    with_seeds(leave_early);
}

TEST_CASE("who leaves before a server asks has left") {
    with_seeds(leave_before_it_asks);
}

TEST_CASE("a server that dies is named to all workers, and changes no row of theirs") {
    with_seeds(lose_a_server);
}

TEST_CASE("a server that dies is named at once, also where another one has no answer yet") {
    with_seeds(lose_a_server_while_others_wait);
}
