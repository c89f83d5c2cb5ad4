// bounded_staleness: the table by plain calls, in a time of the test, beside a model of what must
// come; then additions to memory to which others add.
#include "exercises/09_rpc/bounded_staleness.hpp"

#include <cmath>
#include <numbers>

#include "course/runtime/seeded.hpp"
#include "course/runtime/shared_buffer.hpp"
#include "tests/09_rpc/hogwild_trap.hpp"
#include "tests/09_rpc/staleness_run.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

void on_one_rank(const std::function<void()>& test) {
    on_ranks({1}, [&](const Communicator&) { test(); });
}

/// Of x <- x - a x(p - 1 updates ago): p workers that read and push in turn.
bool converges(int p, double a, std::int64_t staleness) {
    Row x(1, 1);
    StaleTable table(x, p, staleness, [&](std::span<float> row, std::span<const float> mean) {
        row[0] -= static_cast<float>(a * p) * mean[0];
    });
    std::vector<Row> read(static_cast<std::size_t>(p), x);
    for (int update = 0; update < 4000 && std::abs(x[0]) < 1e6F; ++update) {
        const auto worker = static_cast<std::size_t>(update % p);
        const std::int64_t clock = update / p;
        table.push(update % p, clock, read[worker]);
        read[worker].clear();
        table.pull(
            update % p, clock + 1,
            [&](std::span<const float> row, const std::exception_ptr&) {
                read[worker].assign(row.begin(), row.end());
            }
        );
        if (read[worker].empty()) {
            throw Error("a worker that is 1 ahead waits, with a staleness of 1 or more");
        }
    }
    return std::abs(x[0]) < 0.1F;
}

/// Depends on the row, so that a wrong one shows; and is rounded in another way in each order of
/// the sum.
Row rough(int worker, std::span<const float> row) {
    Row gradient;
    for (std::size_t i = 0; i < row.size(); ++i) {
        const auto large = static_cast<float>(4096 * (1 - worker));  // 4096, 0, -4096
        gradient.push_back(
            large + row[i] / static_cast<float>(3 + 4 * worker) + 1 / static_cast<float>(3 * i + 7)
        );
    }
    return gradient;
}

void sgd(std::span<float> row, std::span<const float> gradient) {
    for (std::size_t i = 0; i < row.size(); ++i) {
        row[i] -= 0.25F * gradient[i];
    }
}

/// Three workers push in an order that changes; each read must be the row of synchronous training.
void train_synchronously(std::span<float> row, ParameterTable& table) {
    constexpr int kWorkers = 3;
    Row right(row.begin(), row.end());
    for (std::int64_t step = 0; step < 8; ++step) {
        std::vector<Row> read(kWorkers);
        for (int i = 0; i < kWorkers; ++i) {
            const int worker = (i + static_cast<int>(step)) % kWorkers;
            const auto reader = [&, place = static_cast<std::size_t>(worker
                                    )](std::span<const float> given, const std::exception_ptr&) {
                read[place].assign(given.begin(), given.end());
            };
            table.pull(worker, step, reader);
        }
        Row mean(row.size());
        for (int worker = 0; worker < kWorkers; ++worker) {
            const Comparison result = same(read[static_cast<std::size_t>(worker)], right);
            INFO("step " << step << ", the row that worker " << worker << " reads");
            REQUIRE(result);
            const Row gradient = rough(worker, right);
            std::ranges::transform(mean, gradient, mean.begin(), std::plus());
        }
        for (int i = kWorkers; i > 0; --i) {
            const int worker = (i + static_cast<int>(step)) % kWorkers;
            table.push(worker, step, rough(worker, right));
        }
        for (float& element : mean) {
            element /= static_cast<float>(kWorkers);
        }
        sgd(right, mean);
    }
    const Comparison result = same(row, right);
    CHECK(result);
}

}  // namespace

TEST_CASE("a worker goes on as long as it is at most `staleness` ahead, and not longer") {
    on_one_rank([] {
        for (const std::int64_t staleness : {0, 1, 2, 5}) {
            StaleRun run(3, staleness);
            run.steps = 12;
            run.computes = [](int worker, std::int64_t) { return worker == 1 ? 100ms : 10ms; };
            REQUIRE(run.play());
            INFO(
                "staleness " << staleness << "; worker 1 takes 100 ms for a step, the others 10 ms"
            );
            CHECK(run.pushed_by(0, 99ms) == staleness + 1);
            CHECK(run.pushed_by(2, 99ms) == staleness + 1);
            CHECK(run.workers[0].most_ahead == staleness);
            CHECK(run.workers[1].most_ahead == 0);
        }
    });
}

TEST_CASE("without a bound nobody waits") {
    on_one_rank([] {
        StaleRun run(3, StaleTable::kUnbounded);
        run.steps = 12;
        run.computes = [](int worker, std::int64_t) { return worker == 1 ? 100ms : 10ms; };
        REQUIRE(run.play());
        CHECK(run.pushed_by(0, 120ms) == 12);
        CHECK(run.pushed_by(2, 120ms) == 12);
    });
}

TEST_CASE("workers that are slow in turns keep each other waiting with staleness 0, and not with 1"
) {
    on_one_rank([] {
        for (const std::int64_t staleness : {0, 1}) {
            StaleRun run(2, staleness);
            run.computes = [](int worker, std::int64_t step) {
                return (worker + step) % 2 == 0 ? 10ms : 30ms;
            };
            REQUIRE(run.play());
            INFO("staleness " << staleness << ", 6 steps of 10 and 30 ms in turns");
            CHECK(run.end() == (staleness == 0 ? 180ms : 120ms));
        }
    });
}

TEST_CASE("with staleness 0 all is as in synchronous training, bit for bit") {
    on_one_rank([] {
        Row row(7, 2);
        StaleTable table(row, 3, 0, sgd);
        train_synchronously(row, table);
    });
}

TEST_CASE("who has left or died holds nobody up, and what it has pushed counts") {
    on_one_rank([] {
        for (const std::int64_t staleness : {0, 1, 3}) {
            for (const bool dies : {false, true}) {
                INFO(
                    "worker 1 of 3 is gone after 2 steps of 10 ms: it "
                    << (dies ? "dies" : "leaves")
                );
                StaleRun run(3, staleness);
                run.computes = [](int worker, std::int64_t step) {
                    return worker == 1 && step == 2 ? 1000ms : 10ms;
                };
                if (dies) {
                    run.workers[1].dies = 300ms;
                } else {
                    run.workers[1].leaves_at = 2;
                }
                REQUIRE(run.play());
                CHECK(run.end() == (dies && staleness < 3 ? 300ms + 10ms * (3 - staleness) : 60ms));
            }
        }
    });
}

TEST_CASE("whatever workers do, a row has all gradients that it must have, and no one waits in vain"
) {
    on_one_rank([] {
        for (std::uint64_t seed = 0; seed < 60; ++seed) {
            std::uint64_t drawn = 0;
            const auto draw = [&](std::uint64_t below) {
                return seeded_bits(seed, ++drawn) % below;
            };
            constexpr std::int64_t kBounds[] = {0, 1, 2, 4, StaleTable::kUnbounded};
            const auto p = static_cast<int>(1 + draw(4));
            StaleRun run(p, kBounds[draw(5)]);
            run.steps = 8;
            run.computes = [&](int, std::int64_t) { return Ms(draw(4) == 0 ? 50 : draw(8)); };
            for (StaleRun::Worker& worker : run.workers) {
                worker.leaves_at = draw(4) == 0 ? static_cast<std::int64_t>(draw(8)) : -1;
                if (draw(4) == 0) {
                    worker.dies = Ms(draw(200));
                }
            }
            INFO("seed " << seed);
            REQUIRE(run.play());
        }
    });
}

TEST_CASE("eta lambda = 0.8 converges with delays 0 and 1, and diverges with 2") {
    on_one_rank([] {
        for (const std::int64_t staleness : {std::int64_t{1}, StaleTable::kUnbounded}) {
            INFO("p workers in turn: what one pushes it has read p - 1 updates ago");
            CHECK(converges(1, 0.8, staleness));
            CHECK(converges(2, 0.8, staleness));
            CHECK(!converges(3, 0.8, staleness));
        }
    });
}

TEST_CASE("the limit of eta lambda is 2 sin(pi / (4 delay + 2))") {
    on_one_rank([] {
        for (const int delay : {0, 1, 2, 3, 4}) {
            const double limit = 2 * std::sin(std::numbers::pi / (4 * delay + 2));
            INFO("delay " << delay << ", limit " << limit);
            CHECK(converges(delay + 1, 0.95 * limit, 1));
            CHECK(!converges(delay + 1, 1.05 * limit, 1));
        }
    });
}

TEST_CASE("the table refuses a push or a pull that is not the worker's next, and then goes on") {
    on_one_rank([] {
        Row row(4);
        const auto make = [&](int p, std::int64_t staleness) {
            return StaleTable(row, p, staleness, sgd);
        };
        CHECK_THROWS_AS(make(0, 1), std::invalid_argument);
        CHECK_THROWS_AS(make(2, -1), std::invalid_argument);
        int reads = 0;
        const auto reader = [&](std::span<const float>, const std::exception_ptr&) { ++reads; };
        StaleTable table(row, 2, 1, sgd);
        const auto refused = [&](const char* what, int worker, std::int64_t step, std::size_t n) {
            INFO(what);
            CHECK_THROWS_AS(table.push(worker, step, Row(n, 8)), std::invalid_argument);
        };
        table.push(0, 0, Row(4, 8));
        refused("a second push of one step", 0, 0, 4);
        refused("a step that has not begun", 0, 2, 4);
        refused("a gradient that is too short", 0, 1, 3);
        refused("a gradient that is too long", 0, 1, 5);
        refused("worker 2 of 2", 2, 0, 4);
        refused("worker -1", -1, 1, 4);
        table.push(0, 1, Row(4, 8));
        refused("it would be 2 ahead", 0, 2, 4);
        CHECK_THROWS_AS(table.pull(0, 1, reader), std::invalid_argument);
        CHECK_THROWS_AS(table.pull(0, 3, reader), std::invalid_argument);
        CHECK_THROWS_AS(table.pull(2, 0, reader), std::invalid_argument);
        CHECK_THROWS_AS(table.pull(-1, 2, reader), std::invalid_argument);
        CHECK(row == Row(4, -1));
        table.pull(0, 2, reader);
        CHECK(reads == 0);
        table.push(1, 0, Row(4, 8));
        CHECK(reads == 1);
        CHECK(row == Row(4, -3));
    });
}

TEST_CASE("hogwild_add loses nothing that another rank adds between its read and its write") {
    on_one_rank([] {
        for (const std::size_t n : {1, 5, 64}) {
            Trap trap;
            INFO(
                "n = "
                << n
                << "; when the first element is written, another rank has just added 100 to each"
            );
            hogwild_add(trap.row(n), Row(n, 1));
            CHECK(trap.was_written());
            const auto seen = trap.seen(n);
            const Comparison result = same(
                seen, Row(n, 101), 0,
                {{Row(n, 1),
                  "what the other rank added is lost: read, add and write are three steps"},
                 {Row(n, 100), "this rank's own update is lost"}}
            );
            CHECK(result);
        }
    });
}

TEST_CASE("hogwild_add touches no element whose update is 0") {
    on_one_rank([] {
        Trap trap;
        Row update(8);
        update[0] = 2;
        update[3] = -3;
        hogwild_add(trap.row(4, 4), update);
        CHECK(!trap.second_was_touched());
        const auto seen = trap.seen(4);
        CHECK(Row(seen.begin(), seen.end()) == Row{102, 100, 100, 97});
        CHECK_THROWS_AS(hogwild_add(trap.row(4), Row(3)), std::invalid_argument);
        CHECK_THROWS_AS(hogwild_add(trap.row(4), Row(5)), std::invalid_argument);
    });
}

TEST_CASE("p ranks add ones to a shared window, and the sum is exact") {
    on_ranks({2, 3, 4, 1}, [](const Communicator& comm) {
        constexpr int kTimes = 2000;
        SharedBuffer shared(5, comm);
        const std::span<float> row = shared.of(0);
        if (comm.rank() == 0) {
            std::ranges::fill(row, 0.0F);
        }
        shared.synchronize();
        for (int i = 0; i < kTimes; ++i) {
            hogwild_add(row, Row(5, 1));
        }
        shared.synchronize();
        const Row sum(row.begin(), row.end());
        const Comparison result = same(sum, Row(5, static_cast<float>(kTimes * comm.size())));
        INFO("each of " << comm.size() << " ranks adds 1 to each element " << kTimes << " times");
        CHECK(result);
    });
}
