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
        std::int64_t most_ahead = 0;  // of the slowest, when it was given a row
        std::vector<Ms> pushed = {};  // when
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

    /// How many gradients it had pushed then.
    [[nodiscard]] long pushed_by(std::size_t worker, Ms when) const {
        return std::ranges::count_if(workers[worker].pushed, [&](Ms one) { return one <= when; });
    }

    [[nodiscard]] Ms end() const { return end_; }

  private:
    Worker& of(int worker) { return workers[static_cast<std::size_t>(worker)]; }

    void at(Ms when, std::function<void()> event) { events_.emplace(when, std::move(event)); }

    void fail(int worker, const std::string& what) {
        if (wrong_.empty()) {
            wrong_ = text(
                "at ", now_, ", staleness ", staleness_, ", clocks ", clocks(), ": worker ", worker,
                ": ", what
            );
        }
    }

    [[nodiscard]] std::string clocks() const {
        std::string all;
        for (const Worker& one : workers) {
            all += text(all.empty() ? "" : " ", one.clock, one.is_there ? "" : " (gone)");
        }
        return all;
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
            fail(
                0, text(
                       "gradients that begin to count at the same time are one step. There were ",
                       steps_taken_, " steps, and it must be ", steps_expected_
                   )
            );
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
        const auto reader = [this,
                             worker](std::span<const float> row, const std::exception_ptr& error) {
            read(worker, {row.begin(), row.end()}, error != nullptr);
        };
        table_.pull(worker, self.clock, reader);
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
        self.most_ahead = std::max(self.most_ahead, self.clock - slowest());
        look_at(worker, row, "its row");
        at(now_ + computes(worker, self.clock), [this, worker] { push(worker); });
    }

    void push(int worker) {
        Worker& self = of(worker);
        if (!self.is_there) {
            return;
        }
        self.pushed.push_back(now_);
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

// Shared memory in which another rank adds between the read and the write of an addition: what is two steps is always seen as two.
/// A row on a page that cannot be written, and one that cannot be touched. The first write fails:
/// then the other rank adds to all elements, through an address of its own, the page can be
/// written, and the write is tried again. An atomic addition sees the new value; a value that was
/// read before is too old.
class Trap {
  public:
    static constexpr float kOthers = 100;  // that the other rank adds

    Trap() : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
        const int file = memfd_create("row", 0);
        if (file < 0 || ftruncate(file, static_cast<off_t>(2 * page_)) != 0) {
            throw std::runtime_error("Trap: there is no memory");
        }
        const auto map = [&](int access) {
            void* address = mmap(nullptr, 2 * page_, access, MAP_SHARED, file, 0);
            return address == MAP_FAILED ? nullptr : static_cast<std::byte*>(address);
        };
        row_ = map(PROT_READ);
        others_ = map(PROT_READ | PROT_WRITE);
        close(file);
        if (row_ == nullptr || others_ == nullptr ||
            mprotect(row_ + page_, page_, PROT_NONE) != 0) {
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
        munmap(row_, 2 * page_);
        munmap(others_, 2 * page_);
    }
    Trap(const Trap&) = delete;
    Trap& operator=(const Trap&) = delete;

    /// The last `before` elements of the first page, and the first `behind` of the second.
    [[nodiscard]] std::span<float> row(std::size_t before, std::size_t behind = 0) const {
        return floats(row_).subspan(first() - before, before + behind);
    }

    /// The same elements, as the other rank sees them.
    [[nodiscard]] std::span<float> seen(std::size_t before) const {
        return floats(others_).subspan(first() - before, before);
    }

    [[nodiscard]] bool was_written() const { return written_ != 0; }
    [[nodiscard]] bool second_was_touched() const { return touched_ != 0; }

  private:
    [[nodiscard]] std::size_t first() const { return page_ / sizeof(float); }

    [[nodiscard]] std::span<float> floats(std::byte* address) const {
        return {reinterpret_cast<float*>(address), 2 * first()};
    }

    [[nodiscard]] bool is_in(std::size_t page, const std::byte* address) const {
        const std::byte* const begin = row_ + page * page_;
        return begin <= address && address < begin + page_;
    }

    static void spring(int signal, siginfo_t* info, void*) {
        const auto* const address = static_cast<const std::byte*>(info->si_addr);
        Trap& self = *armed;
        if (self.written_ == 0 && self.is_in(0, address)) {
            self.written_ = 1;
            for (float& element : self.floats(self.others_).first(self.first())) {
                element += kOthers;
            }
            mprotect(self.row_, self.page_, PROT_READ | PROT_WRITE);
        } else if (self.touched_ == 0 && self.is_in(1, address)) {
            self.touched_ = 1;
            mprotect(self.row_ + self.page_, self.page_, PROT_READ | PROT_WRITE);
        } else {
            sigaction(signal, &self.before_, nullptr);  // a crash of its own
        }
    }

    static inline Trap* armed = nullptr;  // a handler has no argument of its own

    volatile std::sig_atomic_t written_ = 0;
    volatile std::sig_atomic_t touched_ = 0;
    std::size_t page_;
    std::byte* row_ = nullptr;
    std::byte* others_ = nullptr;
    struct sigaction before_ = {};
};

}  // namespace

TEST_CASE("a worker goes on as long as it is at most `staleness` ahead, and not longer") {
    on_one([] {
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
    on_one([] {
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
                table.pull(
                    worker, step,
                    [&](std::span<const float> given, const std::exception_ptr&) {
                        read.assign(given.begin(), given.end());
                    }
                );
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
            Trap trap;
            INFO(
                "n = "
                << n
                << "; when the first element is written, another rank has just added 100 to each"
            );
            hogwild_add(trap.row(n), Row(n, 1));
            CHECK(trap.was_written());
            const auto seen = trap.seen(n);
            const std::vector<Suspicion> lost = {
                {Row(n, 1),
                 "what the other rank added is lost: read, add and write are three steps"},
                {Row(n, 100), "this rank's own update is lost"}};
            CHECK(same(seen, Row(n, 101), 0, lost));
        }
    });
}

TEST_CASE("hogwild_add touches no element whose update is 0") {
    on_one([] {
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
        INFO("each of " << comm.size() << " ranks adds 1 to each element " << kTimes << " times");
        CHECK(same(row, Row(5, static_cast<float>(kTimes * comm.size()))));
    });
}
