// What a FlightRecorder keeps: held against records written down by hand, or beside a plain list.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "course/runtime/seeded.hpp"
#include "exercises/10_elastic/flight_recorder.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/words/interleaved.hpp"

namespace dist::harness {

/// A clock that says what the test says.
class HandClock : public Clock {
  public:
    std::atomic<std::int64_t> now_ms = 1000;

    Duration now() override { return Duration(now_ms); }
    void sleep(Duration duration) override { now_ms += duration.count(); }
};

/// Compares the lines of their texts: the first that differs is told.
inline Comparison same_record(const FlightRecord& got, const FlightRecord& expected) {
    std::istringstream all(got.text());
    std::istringstream wanted(expected.text());
    std::string line;
    std::string right;
    while (std::getline(wanted, right) && std::getline(all, line) && line == right) {
    }
    return {got == expected, "expected the line " + right + "\n                  got " + line};
}

inline const FlightCall kSum{.name = "all_reduce", .count = 1000, .type = "float64", .op = "sum"};
inline const FlightCall kSend{.name = "send", .count = 8, .root = 3};
inline const SourceLine kLine{"ddp.cpp", 88};

inline void notes_calls() {
    on_ranks({1}, [](const Communicator&) {
        HandClock clock;
        FlightRecorder recorder(2, 8, clock);
        recorder.add_group("dp", {0, 2, 3});
        const int line = __LINE__ + 1;
        const std::int64_t first = recorder.schedule("dp", kSum);
        clock.now_ms = 1010;
        const std::int64_t second = recorder.schedule_p2p("dp", kSend);
        clock.now_ms = 1020;
        const std::int64_t third = recorder.schedule("dp", {.name = "barrier"}, kLine);
        clock.now_ms = 1030;
        recorder.start(second);
        clock.now_ms = 1040;
        recorder.start(first);
        clock.now_ms = 1050;
        recorder.complete(second);
        FlightRecord expected{.rank = 2};
        expected.groups["dp"] = FlightGroup{.members = {0, 2, 3}, .collectives = 2, .p2ps = 1};
        expected.entries = {
            {.id = 1,
             .group = "dp",
             .collective_seq = 1,
             .call = kSum,
             .where = {__FILE__, line},
             .state = FlightState::started,
             .scheduled = Clock::Duration(1000),
             .started = Clock::Duration(1040)},
            {.id = 2,
             .group = "dp",
             .is_p2p = true,
             .collective_seq = 1,
             .p2p_seq = 1,
             .call = kSend,
             .where = {__FILE__, line + 2},
             .state = FlightState::completed,
             .scheduled = Clock::Duration(1010),
             .started = Clock::Duration(1030),
             .completed = Clock::Duration(1050)},
            {.id = 3,
             .group = "dp",
             .collective_seq = 2,
             .p2p_seq = 1,
             .call = {.name = "barrier"},
             .where = kLine,
             .scheduled = Clock::Duration(1020)}};
        const FlightRecord got = recorder.dump();
        const Comparison result = same_record(got, expected);
        CHECK(result);
        CHECK((first == 1 && second == 2 && third == 3));
        const Comparison read = same_record(FlightRecord::from(got.text()), got);
        INFO("the dump as text, and read again");
        CHECK(read);
    });
}

inline void numbers_apart() {
    on_ranks({1}, [](const Communicator&) {
        HandClock clock;
        FlightRecorder recorder(1, 8, clock);
        recorder.add_group("dp", {0, 1});
        recorder.add_group("tp", {1, 2});
        recorder.schedule("dp", kSum, kLine);
        recorder.schedule_p2p("dp", kSend, kLine);
        recorder.schedule("tp", kSum, kLine);
        recorder.schedule_p2p("dp", kSend, kLine);
        recorder.schedule("dp", kSum, kLine);
        recorder.schedule_p2p("tp", kSend, kLine);
        std::string numbers;
        const FlightRecord record = recorder.dump();
        for (const FlightEntry& entry : record.entries) {
            numbers += entry.group + (entry.is_p2p ? " p2p " : " collective ") +
                       std::to_string(entry.collective_seq) + "/" + std::to_string(entry.p2p_seq) +
                       "; ";
        }
        INFO("collectives of the group so far, and messages");
        CHECK(
            numbers ==
            "dp collective 1/0; dp p2p 1/1; tp collective 1/0; dp p2p 1/2; dp collective 2/2; "
            "tp p2p 1/1; "
        );
        const FlightGroup& dp = record.groups.at("dp");
        CHECK((dp.collectives == 2 && dp.p2ps == 2));
        const FlightGroup& tp = record.groups.at("tp");
        CHECK((tp.collectives == 1 && tp.p2ps == 1));
    });
}

/// Random calls beside a list of all operations that there were.
inline void keeps_the_newest() {
    on_ranks({1}, [](const Communicator&) {
        for (const std::size_t capacity : {1, 2, 3, 7, 100}) {
            HandClock clock;
            FlightRecorder recorder(0, capacity, clock);
            FlightRecord all;
            for (const std::string name : {"dp", "tp"}) {
                recorder.add_group(name, {0});
                all.groups[name].members = {0};
            }
            for (std::uint64_t step = 0; step < 60; ++step) {
                INFO("capacity " << capacity << ", after " << step + 1 << " calls");
                const auto draw = [&](std::uint64_t salt, std::size_t end) {
                    return seeded_bits(capacity + salt, step) % end;
                };
                clock.now_ms += static_cast<std::int64_t>(draw(1, 5));
                const std::size_t kind = all.entries.empty() ? 0 : draw(2, 4);
                const std::string group = draw(3, 2) == 0 ? "dp" : "tp";
                if (kind < 2) {
                    FlightGroup& counts = all.groups[group];
                    ++(kind == 0 ? counts.collectives : counts.p2ps);
                    all.entries.push_back(
                        {.id = std::ssize(all.entries) + 1,
                         .group = group,
                         .is_p2p = kind == 1,
                         .collective_seq = counts.collectives,
                         .p2p_seq = counts.p2ps,
                         .call = kSum,
                         .where = kLine,
                         .scheduled = clock.now()}
                    );
                    const std::int64_t id = kind == 0 ? recorder.schedule(group, kSum, kLine)
                                                      : recorder.schedule_p2p(group, kSum, kLine);
                    REQUIRE(id == all.entries.back().id);
                } else {
                    FlightEntry& entry = all.entries[draw(4, all.entries.size())];
                    if (entry.state == FlightState::scheduled) {
                        entry.state = FlightState::started;
                        entry.started = clock.now();
                        recorder.start(entry.id);
                    } else if (entry.state == FlightState::started) {
                        entry.state = FlightState::completed;
                        entry.completed = clock.now();
                        recorder.complete(entry.id);
                    }
                }
                FlightRecord expected = all;
                while (expected.entries.size() > capacity) {
                    expected.entries.pop_front();
                    ++expected.dropped;
                }
                const Comparison result = same_record(recorder.dump(), expected);
                REQUIRE(result);
            }
        }
    });
}

inline void late_for_the_ring() {
    on_ranks({1}, [](const Communicator&) {
        HandClock clock;
        FlightRecorder recorder(0, 2, clock);
        recorder.add_group("dp", {0, 1});
        for (int i = 0; i < 5; ++i) {
            recorder.schedule("dp", kSum, kLine);
        }
        const FlightRecord before = recorder.dump();
        INFO("a ring of 2, 5 operations: those with the ids 1, 2 and 3 have fallen out");
        for (const std::int64_t id : {1, 2, 3}) {
            recorder.start(id);
            recorder.complete(id);
        }
        const Comparison result = same_record(recorder.dump(), before);
        CHECK(result);
    });
}

/// Whether numbers go on without a gap, and the counts are those of the newest entries.
inline Comparison is_one_moment(const FlightRecord& record) {
    const auto wrong = [&](const std::string& what) {
        return Comparison{false, what + ":\n" + record.text()};
    };
    std::int64_t id = record.dropped;
    std::int64_t number = -1;
    for (const FlightEntry& entry : record.entries) {
        if (entry.id != ++id) {
            return wrong("ids do not go on by 1");
        }
        if (number >= 0 && entry.collective_seq != number + 1) {
            return wrong("numbers of collectives do not go on by 1");
        }
        number = entry.collective_seq;
    }
    if (!record.entries.empty() && number != record.groups.at("dp").collectives) {
        return wrong("the count is not the number of the newest collective");
    }
    return {};
}

inline void dumps_between_threads() {
    on_ranks({1}, [](const Communicator&) {
        constexpr std::size_t kThreads = 3;
        constexpr std::size_t kEach = 60;
        HandClock clock;
        FlightRecorder recorder(0, 16, clock);
        recorder.add_group("dp", {0, 1});
        const Interleaved interleaved;
        std::vector<std::future<std::vector<std::int64_t>>> threads;
        threads.reserve(kThreads);
        for (std::size_t thread = 0; thread < kThreads; ++thread) {
            threads.push_back(std::async(std::launch::async, [&] {
                std::vector<std::int64_t> ids;
                for (std::size_t i = 0; i < kEach; ++i) {
                    ids.push_back(recorder.schedule("dp", kSum, kLine));
                    recorder.start(ids.back());
                    recorder.complete(ids.back());
                }
                return ids;
            }));
        }
        const auto is_running = [](const std::future<std::vector<std::int64_t>>& thread) {
            return thread.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
        };
        Comparison moment;
        do {
            moment = is_one_moment(recorder.dump());
        } while (moment && std::ranges::any_of(threads, is_running));
        std::set<std::int64_t> ids;
        for (auto& thread : threads) {
            for (const std::int64_t id : thread.get()) {
                ids.insert(id);
            }
        }
        CHECK(moment);
        INFO("operations of three threads, which have got each id once");
        CHECK(ids.size() == kThreads * kEach);
        const FlightRecord record = recorder.dump();
        CHECK(
            record.dropped == static_cast<std::int64_t>(kThreads * kEach - record.entries.size())
        );
        CHECK(std::ranges::all_of(record.entries, [](const FlightEntry& entry) {
            return entry.state == FlightState::completed;
        }));
    });
}

inline void holds_its_ring() {
    on_ranks({1}, [](const Communicator& comm) {
        HandClock clock;
        FlightRecorder recorder(0, 16, clock);
        recorder.add_group("dp", {0, 1});
        const Memory memory = memory_of(comm, [&] {
            for (int i = 0; i < 20'000; ++i) {
                const std::int64_t id = recorder.schedule("dp", kSum, kLine);
                recorder.start(id);
                recorder.complete(id);
            }
        });
        INFO("bytes that 20000 operations added to a ring of 16");
        CHECK(memory.peak_bytes < 100'000);
    });
}

inline void two_recorders() {
    on_ranks({1}, [](const Communicator&) {
        HandClock clock;
        FlightRecorder one(0, 4, clock);
        FlightRecorder other(1, 4, clock);
        one.add_group("dp", {0, 1});
        other.add_group("dp", {0, 1});
        CHECK(one.schedule("dp", kSum, kLine) == 1);
        CHECK(other.schedule("dp", kSum, kLine) == 1);
        one.start(1);
        CHECK(one.dump().entries.front().state == FlightState::started);
        CHECK(other.dump().entries.front().state == FlightState::scheduled);
        CHECK(other.dump().rank == 1);
    });
}

inline void refuses_strangers() {
    on_ranks({1}, [](const Communicator&) {
        HandClock clock;
        CHECK_THROWS_AS(FlightRecorder(0, 0, clock), std::invalid_argument);
        FlightRecorder recorder(0, 4, clock);
        recorder.add_group("dp", {0, 1});
        recorder.schedule("dp", kSum, kLine);
        const FlightRecord before = recorder.dump();
        CHECK_THROWS_AS(recorder.add_group("tp", {1, 2}), std::invalid_argument);
        CHECK_THROWS_AS(recorder.add_group("dp", {0, 2}), std::invalid_argument);
        CHECK_THROWS_AS(recorder.schedule("tp", kSum), std::invalid_argument);
        CHECK_THROWS_AS(recorder.schedule_p2p("", kSend), std::invalid_argument);
        using Limits = std::numeric_limits<std::int64_t>;
        for (const std::int64_t id :
             {std::int64_t{-1}, std::int64_t{0}, std::int64_t{2}, Limits::min(), Limits::max()}) {
            INFO("one operation, and id " << id);
            CHECK_THROWS_AS(recorder.start(id), std::invalid_argument);
            CHECK_THROWS_AS(recorder.complete(id), std::invalid_argument);
        }
        INFO("what is refused leaves no trace");
        const Comparison result = same_record(recorder.dump(), before);
        CHECK(result);
    });
}

}  // namespace dist::harness
