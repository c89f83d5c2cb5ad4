// Replicas that meet at a store: who waits for whom, and when no more. Clocks say what the test
// wants; the store is real.
#include "course/elastic/lighthouse.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <thread>

#include "exercises/04_groups_and_rendezvous/tcp_store.hpp"
#include "exercises/04_groups_and_rendezvous/tcp_store_server.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist;
using namespace dist::elastic;
using namespace std::chrono_literals;

namespace {

constexpr QuorumSettings kSettings = {.join_timeout = 1h, .dead_after = 50ms};

/// Goes on by so much each time that it is asked, and by what the test adds.
class TestClock : public Clock {
  public:
    std::atomic<std::int64_t> now_ms = 0;
    std::atomic<std::int64_t> each_ms = 0;
    std::atomic<int> looks = 0;

    Duration now() override {
        ++looks;
        return Duration(now_ms += each_ms);
    }
    void sleep(Duration duration) override { now_ms += duration.count(); }
};

/// A process: its own way to the store, and its own clock.
struct Process {
    explicit Process(const TcpStoreServer& server, int replicas = 3)
        : store("127.0.0.1", server.port()), lighthouse(store, "run", replicas, clock, kSettings) {}

    std::future<std::optional<Quorum>> ask(
        const std::string& name, std::int64_t step, bool failed = false
    ) {
        return std::async(std::launch::async, [=, this] {
            return lighthouse.ask(name, step, failed);
        });
    }

    TestClock clock;
    TcpStore store;
    Lighthouse lighthouse;
};

void until(const std::function<bool()>& holds) {
    for (int looks = 0; looks < 10'000 && !holds(); ++looks) {
        std::this_thread::sleep_for(1ms);
    }
    REQUIRE(holds());
}

/// Until this replica has asked, in what stands in the store.
void until_it_asks(Process& process, const std::string& name) {
    until([&] {
        const auto state =
            LighthouseState::from(process.store.compare_set("run/lighthouse", "", ""));
        const auto found = state.replicas.find(name);
        return found != state.replicas.end() && found->second.asks;
    });
}

/// a, b and c are the first quorum.
struct Three {
    Three() {
        auto from_a = a.ask("a", 0);
        until_it_asks(a, "a");
        auto from_b = b.ask("b", 0);
        until_it_asks(a, "b");
        auto from_c = c.ask("c", 0);
        first = from_a.get();
        REQUIRE(from_b.get() == first);
        REQUIRE(from_c.get() == first);
    }

    TcpStoreServer server;
    Process a{server};
    Process b{server};
    Process c{server};
    std::optional<Quorum> first = {};
};

const Quorum kPair = {.number = 2, .members = {"a", "b"}, .step = 1, .sources = {0, 1}};

}  // namespace

TEST_CASE("lighthouse: the first quorum waits for all replicas of the job") {
    Three job;
    const Quorum all = {.number = 1, .members = {"a", "b", "c"}, .step = 0, .sources = {0, 0, 0}};
    CHECK(job.first == all);
}

TEST_CASE("lighthouse: who is said to have died is missed at once, and healed when it comes back") {
    Three job;
    auto from_a = job.a.ask("a", 1, true);
    auto from_b = job.b.ask("b", 1);
    until_it_asks(job.a, "a");
    until_it_asks(job.a, "b");
    job.c.lighthouse.forget("c");
    CHECK(from_a.get() == kPair);
    CHECK(from_b.get() == kPair);
    auto from_c = job.c.ask("c.2", 0);
    until_it_asks(job.a, "c.2");
    from_a = job.a.ask("a", 2);
    from_b = job.b.ask("b", 2);
    const Quorum healed = {
        .number = 3, .members = {"a", "b", "c.2"}, .step = 2, .sources = {0, 1, 0}};
    CHECK(from_a.get() == healed);
    CHECK(from_b.get() == healed);
    CHECK(from_c.get() == healed);
}

TEST_CASE("lighthouse: those that are silent for dead_after are missed, by the clock of who looks"
) {
    Three job;
    job.a.clock.each_ms = 5;
    const Quorum alone = {.number = 2, .members = {"a"}, .step = 1, .sources = {0}};
    CHECK(job.a.ask("a", 1).get() == alone);
}

TEST_CASE("lighthouse: who stood still for an hour takes nobody else for dead") {
    Three job;
    auto from_a = job.a.ask("a", 1);
    auto from_b = job.b.ask("b", 1);
    until_it_asks(job.a, "a");
    until_it_asks(job.a, "b");
    job.a.clock.now_ms += std::chrono::milliseconds(1h).count();
    const int before = job.a.clock.looks;
    until([&] { return job.a.clock.looks > before + 2; });
    const std::optional<Quorum> from_c = job.c.ask("c", 1).get();
    const Quorum all = {.number = 1, .members = {"a", "b", "c"}, .step = 1, .sources = {0, 1, 2}};
    CHECK(from_c == all);
    CHECK(from_a.get() == all);
    CHECK(from_b.get() == all);
}

TEST_CASE("lighthouse: when all steps are taken nobody gets a quorum, nor waits for one") {
    Three job;
    auto late = job.c.ask("c.2", 0);
    until_it_asks(job.a, "c.2");
    job.a.lighthouse.finish();
    CHECK(late.get() == std::nullopt);
    CHECK(job.b.ask("b", 1).get() == std::nullopt);
    CHECK(job.b.lighthouse.is_finished());
}
