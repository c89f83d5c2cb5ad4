// bounded_staleness: the table by plain calls, in a time of the test, beside a model of what must
// come; then additions to memory to which others add.
#include "exercises/09_rpc/bounded_staleness.hpp"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <map>
#include <numbers>
#include <optional>
#include <sys/mman.h>
#include <unistd.h>

#include "course/runtime/seeded.hpp"
#include "course/runtime/shared_buffer.hpp"
#include "tests/09_rpc/training.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/world/world.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

/// Workers of one table, in a time of the test, beside a plain model of what the table must do. Element w of the row counts the
/// gradients of worker w that are in it.
class StaleRun {
  public:
    struct Worker {
        std::int64_t clock = 0;
        bool is_there = true;
        bool waits = false;
        std::int64_t leaves_at = -1;  // the step that it does not begin; -1: behind the last
        std::optional<Ms> dies = {};
    };

    StaleRun(int p, std::int64_t staleness)
        : workers(static_cast<std::size_t>(p)),
          staleness_(staleness),
          row_(workers.size()),
          table_(row_, p, staleness, [this](std::span<float> row, std::span<const float> mean) {
              ++steps_taken_;
              std::ranges::transform(row, mean, row.begin(), std::plus());
          }) {}

    std::int64_t steps = 6;
    std::vector<Worker> workers;
    std::function<Ms(int worker, std::int64_t step)> computes = [](int, std::int64_t) {
        return 10ms;
    };

    Comparison play() {
        for (int worker = 0; worker < std::ssize(workers); ++worker) {
            at(0ms, [this, worker] { pull(worker); });
            if (of(worker).dies) {
                at(*of(worker).dies, [this, worker] { leave(worker, "it has died"); });
            }
        }
        while (!events_.empty() && wrong_.empty()) {
            const auto event = events_.extract(events_.begin());
            now_ = event.key();
            event.mapped()();
            look();
        }
        for (int worker = 0; worker < std::ssize(workers); ++worker) {
            if (of(worker).is_there) {
                fail(worker, "it has not come to its end");
            }
        }
        return {wrong_.empty(), wrong_};
    }

    [[nodiscard]] Ms end() const { return end_; }

  private:
    Worker& of(int worker) { return workers[static_cast<std::size_t>(worker)]; }

    void at(Ms when, std::function<void()> event) { events_.emplace(when, std::move(event)); }

    void fail(int worker, const std::string& what) {
        std::string clocks;
        for (const Worker& one : workers) {
            clocks += text(one.clock, one.is_there ? " " : " (gone) ");
        }
        if (wrong_.empty()) {
            wrong_ = text("at ", now_, ", staleness ", staleness_, ", clocks ", clocks);
            wrong_ += text(": worker ", worker, ": ", what);
        }
    }

    [[nodiscard]] std::int64_t slowest() const {
        std::int64_t least = std::numeric_limits<std::int64_t>::max();
        for (const Worker& one : workers) {
            least = one.is_there ? std::min(least, one.clock) : least;
        }
        return least;
    }

    [[nodiscard]] bool may_go_on(const Worker& one) const {
        return slowest() >= one.clock - staleness_;
    }

    [[nodiscard]] Row expected() const {
        Row row;
        for (const Worker& one : workers) {
            row.push_back(static_cast<float>(one.clock - (may_go_on(one) ? 0 : 1)));
        }
        return row;
    }

    void look_at(int worker, const Row& row, const std::string& what) {
        if (row != expected()) {
            fail(worker, text(what, " counts gradients ", row, ", and it must be ", expected()));
        }
    }

    // Nobody waits who may go on, and the row is right.
    void look() {
        for (int worker = 0; worker < std::ssize(workers); ++worker) {
            if (of(worker).is_there && of(worker).waits && may_go_on(of(worker))) {
                fail(worker, "it waits, and may go on");
            }
        }
        look_at(0, row_, "the table's row");
        if (steps_taken_ != steps_expected_) {
            const std::string rule = "gradients that begin to count at the same time are one step";
            fail(0, text(rule, ": they are ", steps_expected_, ", and it took ", steps_taken_));
        }
    }

    // After each call that changes a clock.
    void count_step() {
        steps_expected_ += expected() != before_ ? 1 : 0;
        before_ = expected();
    }

    void pull(int worker) {
        Worker& self = of(worker);
        if (self.clock == (self.leaves_at < 0 ? steps : self.leaves_at)) {
            end_ = now_;
            leave(worker, "it has left");
            return;
        }
        self.waits = true;
        table_.pull(worker, self.clock, [this, worker](auto row, const auto& error) {
            read(worker, {row.begin(), row.end()}, error != nullptr);
        });
    }

    void read(int worker, const Row& row, bool is_error) {
        Worker& self = of(worker);
        if (!self.is_there) {
            return;
        }
        if (!self.waits || is_error) {
            fail(worker, is_error ? "it is given an error" : "it is given a second row");
        }
        self.waits = false;
        if (!may_go_on(self)) {
            fail(worker, text("it is given a row, and is ", self.clock - slowest(), " ahead"));
        }
        look_at(worker, row, "its row");
        at(now_ + computes(worker, self.clock), [this, worker] { push(worker); });
    }

    void push(int worker) {
        Worker& self = of(worker);
        if (!self.is_there) {
            return;
        }
        ++self.clock;
        Row gradient(workers.size());  // p: divided by p, it counts as one
        gradient[static_cast<std::size_t>(worker)] = static_cast<float>(workers.size());
        table_.push(worker, self.clock - 1, gradient);
        count_step();
        pull(worker);
    }

    void leave(int worker, const std::string& reason) {
        if (of(worker).is_there) {
            of(worker).is_there = false;
            table_.leave(worker, reason);
            count_step();
        }
    }

    std::int64_t staleness_;
    Row row_;
    StaleTable table_;
    std::multimap<Ms, std::function<void()>> events_;
    Ms now_{0};
    Ms end_{0};
    Row before_ = Row(workers.size());
    int steps_taken_ = 0;
    int steps_expected_ = 0;
    std::string wrong_;
};

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
        table.pull(update % p, clock + 1, [&](auto row, const auto&) {
            read[worker].assign(row.begin(), row.end());
        });
        if (read[worker].empty()) {
            throw Error("a worker that is 1 ahead waits, with a staleness of 1 or more");
        }
    }
    return std::abs(x[0]) < 0.1F;
}

/// A row that another rank has, too. Its page cannot be written at first: at the first write the other rank adds to all elements,
/// through an address of its own, the page can be written, and the write is tried again. An atomic addition sees the new value; a
/// value that was read before is too old.
class Trap {
  public:
    explicit Trap(std::size_t n) : n_(n) {
        const int file = memfd_create("row", 0);
        const bool is_there = file >= 0 && ftruncate(file, kPage) == 0;
        row_ = mmap(nullptr, kPage, PROT_READ, MAP_SHARED, file, 0);
        others_ = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        close(file);
        if (!is_there || row_ == MAP_FAILED || others_ == MAP_FAILED) {
            throw std::runtime_error("Trap: there is no memory");
        }
        armed = this;
        struct sigaction action = {};
        action.sa_sigaction = &Trap::spring;
        action.sa_flags = SA_SIGINFO;
        sigaction(SIGSEGV, &action, &before_);
    }
    ~Trap() {
        sigaction(SIGSEGV, &before_, nullptr);
        munmap(row_, kPage);
        munmap(others_, kPage);
    }
    Trap(const Trap&) = delete;
    Trap& operator=(const Trap&) = delete;

    [[nodiscard]] std::span<float> row() const { return {static_cast<float*>(row_), n_}; }

    /// The same elements, as the other rank sees them.
    [[nodiscard]] std::span<float> seen() const { return {static_cast<float*>(others_), n_}; }

    [[nodiscard]] bool was_written() const { return written_ != 0; }

  private:
    static constexpr std::size_t kPage = 4096;

    static void spring(int signal, siginfo_t* info, void*) {
        Trap& self = *armed;
        const auto* const address = static_cast<const std::byte*>(info->si_addr);
        const auto* const page = static_cast<const std::byte*>(self.row_);
        if (self.written_ == 0 && page <= address && address < page + kPage) {
            self.written_ = 1;
            for (float& element : self.seen()) {
                element += 100;
            }
            mprotect(self.row_, kPage, PROT_READ | PROT_WRITE);
        } else {
            sigaction(signal, &self.before_, nullptr);  // a crash of its own
        }
    }

    static inline Trap* armed = nullptr;  // a handler has no argument of its own

    std::size_t n_;
    volatile std::sig_atomic_t written_ = 0;
    void* row_ = nullptr;
    void* others_ = nullptr;
    struct sigaction before_ = {};
};

}  // namespace

TEST_CASE("a worker goes on as long as it is at most `staleness` ahead, and not longer") {
    on_one([] {
        for (const std::int64_t staleness :
             {std::int64_t{0}, std::int64_t{1}, std::int64_t{5}, StaleTable::kUnbounded}) {
            INFO("staleness " << staleness << "; worker 1 takes 100 ms for a step, others 10 ms");
            StaleRun run(3, staleness);
            run.computes = [](int worker, std::int64_t) { return worker == 1 ? 100ms : 10ms; };
            REQUIRE(run.play());
        }
    });
}

TEST_CASE("workers that are slow in turns keep each other waiting with staleness 0, and not with 1"
) {
    on_one([] {
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
    on_one([] {
        constexpr int kWorkers = 3;
        constexpr std::size_t kLength = 7;
        Row row = first_row(kLength);
        StaleTable table(row, kWorkers, 0, sgd);
        for (std::int64_t step = 0; step < 8; ++step) {
            const Row right = trained(kLength, kWorkers, step);
            std::vector<int> order = {0, 1, 2};  // which changes
            std::ranges::rotate(order, order.begin() + step % kWorkers);
            for (const int worker : order) {
                INFO("step " << step << ", the row that worker " << worker << " reads");
                Row read;
                table.pull(worker, step, [&](auto given, const auto&) {
                    read.assign(given.begin(), given.end());
                });
                REQUIRE(same(read, right));
            }
            std::ranges::reverse(order);
            for (const int worker : order) {
                table.push(worker, step, gradient_of(worker, right));
            }
        }
        CHECK(same(row, trained(kLength, kWorkers, 8)));
    });
}

TEST_CASE("who has left or died holds nobody up, and what it has pushed counts") {
    on_one([] {
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

TEST_CASE("whatever workers do, a row has all gradients that it must have, and who may go on does"
) {
    on_one([] {
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

TEST_CASE("the limit of eta lambda is 2 sin(pi / (4 delay + 2))") {
    on_one([] {
        for (const std::int64_t staleness : {std::int64_t{1}, StaleTable::kUnbounded}) {
            for (const int delay : {0, 1, 2, 3, 4}) {
                const double limit = 2 * std::sin(std::numbers::pi / (4 * delay + 2));
                INFO("p workers in turn: what one pushes it has read p - 1 updates ago");
                INFO("delay " << delay << ", limit " << limit);
                CHECK(converges(delay + 1, 0.95 * limit, staleness));
                CHECK(!converges(delay + 1, 1.05 * limit, staleness));
            }
        }
    });
}

TEST_CASE("the table refuses a push or a pull that is not the worker's next, and then goes on") {
    on_one([] {
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
    on_one([] {
        for (const std::size_t n : {1, 5, 64}) {
            Trap trap(n);
            INFO(
                "n = " << n
                       << "; when the first is written, another rank has just added 100 to each"
            );
            hogwild_add(trap.row(), Row(n, 1));
            CHECK(trap.was_written());
            const std::vector<Suspicion> lost = {
                {Row(n, 1),
                 "what the other rank added is lost: read, add and write are three steps"},
                {Row(n, 100), "this rank's own update is lost"}};
            CHECK(same(trap.seen(), Row(n, 101), 0, lost));
        }
    });
}

TEST_CASE("hogwild_add touches no element whose update is 0") {
    on_one([] {
        Trap trap(4);
        hogwild_add(trap.row(), Row(4));
        {
            INFO("an update of zeros alone is written all the same");
            CHECK(!trap.was_written());
        }
        hogwild_add(trap.row(), Row{2, 0, 0, -3});
        CHECK(same(trap.seen(), Row{102, 100, 100, 97}));
        CHECK_THROWS_AS(hogwild_add(trap.row(), Row(3)), std::invalid_argument);
        CHECK_THROWS_AS(hogwild_add(trap.row(), Row(5)), std::invalid_argument);
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
        INFO("each of " << comm.size() << " ranks adds 1 to each element " << kTimes << " times");
        CHECK(same(row, Row(5, static_cast<float>(kTimes * comm.size()))));
    });
}
