// Whom a diagnosis may accuse, by records that are written down by hand; then what a recorder keeps of its rank.
#include "exercises/10_elastic/flight_recorder.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/harness/harness.hpp"
#include "tests/harness/words/hand_clock.hpp"
#include "tests/harness/words/interleaved.hpp"
#include "tests/harness/words/throws.hpp"
#include "tests/harness/world/world.hpp"

using namespace dist;
using namespace dist::harness;
using enum FlightFault;

namespace {

using Members = std::map<std::string, std::vector<int>>;

/// The operations that texts name by a letter. Each stands in a line of its own.
struct Letter {
    FlightCall call;
    int line = 0;
    bool is_p2p = false;
};

const std::map<char, Letter> kLetters = {
    {'A', {{.name = "all_reduce", .count = 100, .op = "sum"}, 10}},
    {'n', {{.name = "all_reduce", .count = 101, .op = "sum"}, 11}},
    {'m', {{.name = "all_reduce", .count = 100, .op = "max"}, 12}},
    {'t', {{.name = "all_reduce", .count = 100, .type = "float64", .op = "sum"}, 13}},
    {'l', {{.name = "all_reduce", .count = 100, .op = "sum"}, 14}},
    {'B', {{.name = "broadcast", .count = 100, .root = 0}, 20}},
    {'b', {{.name = "broadcast", .count = 100, .root = 1}, 21}},
    {'c', {{.name = "broadcast", .count = 7, .root = 1}, 22}},
    {'C', {{.name = "all_gather", .count = 50}, 30}},
    {'D', {{.name = "reduce_scatter", .count = 200, .op = "sum"}, 40}},
    {'E', {{.name = "barrier", .count = 0}, 50}},
    {'S', {{.name = "send", .count = 8, .root = 1}, 70, true}},
    {'R', {{.name = "recv", .count = 8, .root = 1}, 80, true}}};

/// A rank's record: letters in the order of its calls, in group "dp" until another one stands in brackets. Of the signs, those before a
/// letter:  _ it computed for 5 s   ~ the operation took 5 s longer   ! it took 0 ms, and so does what is behind it
/// behind:  . it is in it still     : it has not started it          | all before has fallen out of the ring
/// So "A_A[tp]C." has called two all_reduce, one 5 s after the other, and is in an all_gather in "tp". No two ranks' clocks agree.
FlightRecord record_of(int rank, const std::string& text, const Members& groups) {
    FlightRecord record;
    record.rank = rank;
    for (const auto& [name, members] : groups) {
        if (std::ranges::count(members, rank) > 0) {
            record.groups[name].members = members;
        }
    }
    Ms now{86'400'000 * ((rank * 5) % 7 - 3)};
    std::string group = "dp";
    Ms inside{2};
    Ms behind_it{1};
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char sign = text[i];
        if (sign == '[') {
            const std::size_t end = text.find(']', i);
            group = text.substr(i + 1, end - i - 1);
            i = end;
        } else if (sign == '_') {
            now += Ms(5000);
        } else if (sign == '~') {
            inside += Ms(5000);
        } else if (sign == '!') {
            inside = behind_it = Ms(0);
        } else if (sign == '.' || sign == ':') {
            FlightEntry& last = record.entries.back();
            last.state = sign == '.' ? FlightState::started : FlightState::scheduled;
            last.started = sign == '.' ? last.started : Ms(0);
            last.completed = Ms(0);
        } else if (sign == '|') {
            record.dropped += std::ssize(record.entries);
            record.entries.clear();
        } else if (const auto known = kLetters.find(sign); known != kLetters.end()) {
            const Letter& letter = known->second;
            FlightGroup& counts = record.groups.at(group);
            ++(letter.is_p2p ? counts.p2ps : counts.collectives);
            record.entries.push_back(
                {.id = record.dropped + std::ssize(record.entries) + 1,
                 .group = group,
                 .is_p2p = letter.is_p2p,
                 .collective_seq = counts.collectives,
                 .p2p_seq = counts.p2ps,
                 .call = letter.call,
                 .where = {"train.cpp", letter.line},
                 .state = FlightState::completed,
                 .scheduled = now,
                 .started = now,
                 .completed = now + inside}
            );
            now += std::exchange(inside, Ms(2)) + std::exchange(behind_it, Ms(1));
        }
    }
    return record;
}

/// A finding that has to come.
struct Found {
    FlightFault fault;
    int rank;
    std::int64_t number;  // of the collective
    int line;             // of the other rank's call; 0: of any that is another than its own
    int instead;          // line of what the rank did; 0: not known
    std::string group = "dp";
};

Comparison same_findings(
    const std::vector<FlightFinding>& got, const std::vector<Found>& expected
) {
    const auto words = [](const Found& one) {
        const char* const names[] = {
            "skipped",    "other_collective", "other_root", "other_op",  "other_type",
            "other_size", "no_majority",      "behind",     "no_record", "slow"};
        return text(
            names[static_cast<int>(one.fault)], ": rank ", one.rank, ", ", one.group, " ",
            one.number, ", ", one.line == 0 ? "another call" : text("line ", one.line),
            ", instead ", one.instead == 0 ? "nothing" : text("line ", one.instead)
        );
    };
    std::multiset<std::string> found;
    std::multiset<std::string> wanted;
    for (const auto& [fault, rank, other, instead] : got) {
        const bool is_any = fault == no_majority && instead && instead->call != other.call;
        const int line = is_any ? 0 : other.where.line;
        const int own = instead ? instead->where.line : 0;
        found.insert(words({fault, rank, other.collective_seq, line, own, other.group}));
    }
    std::ranges::transform(expected, std::inserter(wanted, wanted.end()), words);
    return {found == wanted, text("expected ", wanted, ", got ", found)};
}

/// What each rank noted, in lines that people can read.
std::string words(const std::vector<FlightRecord>& records) {
    const char* const states[] = {" (scheduled)", " (started)", ""};
    std::string all;
    for (const FlightRecord& record : records) {
        all += text("\n  rank ", record.rank, ":");
        all += record.dropped > 0 ? text(" (", record.dropped, " fell out)") : "";
        for (const FlightEntry& entry : record.entries) {
            all += text(
                " ", entry.group, entry.is_p2p ? "" : text(entry.collective_seq), "=",
                entry.call.name, ":", entry.where.line, states[static_cast<int>(entry.state)]
            );
        }
    }
    return all;
}

/// Ranks by number, each as record_of() reads it, or "?": it left no record.
struct Job {
    std::string what;
    std::string ranks;
    std::vector<Found> expected = {};
    Members groups = {};  // none: all are in "dp"
    Ms slow{1000};
    std::function<void(std::vector<FlightRecord>&)> change = [](auto&) {};
};

/// Diagnoses each, with records in their order, and turned round.
void diagnoses(const std::vector<Job>& jobs) {
    on_one([&] {
        for (const Job& job : jobs) {
            std::istringstream all(job.ranks);
            const std::vector<std::string> ranks(std::istream_iterator<std::string>(all), {});
            Members groups = job.groups;
            if (groups.empty()) {
                groups["dp"].resize(ranks.size());
                std::iota(groups["dp"].begin(), groups["dp"].end(), 0);
            }
            std::vector<FlightRecord> records;
            for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
                if (ranks[rank] != "?") {
                    records.push_back(record_of(static_cast<int>(rank), ranks[rank], groups));
                }
            }
            job.change(records);
            INFO(job.what << words(records));
            REQUIRE(same_findings(diagnose(records, job.slow), job.expected));
            INFO("the same records in another order");
            std::ranges::reverse(records);
            REQUIRE(same_findings(diagnose(records, job.slow), job.expected));
        }
    });
}

/// Compares the lines of their texts: the first that differs is told.
Comparison same_record(const FlightRecord& got, const FlightRecord& expected) {
    std::istringstream all(got.text());
    std::istringstream wanted(expected.text());
    std::string line;
    std::string right;
    while (std::getline(wanted, right) && std::getline(all, line) && line == right) {
    }
    return {got == expected, "expected the line " + right + "\n                  got " + line};
}

const FlightCall kSum{.name = "all_reduce", .count = 1000, .type = "float64", .op = "sum"};
const FlightCall kSend{.name = "send", .count = 8, .root = 3};
const SourceLine kLine{"ddp.cpp", 88};

}  // namespace

TEST_CASE("diagnose: all ranks call the same, and nothing is wrong") {
    diagnoses({
        {"all have completed all", "ABCDE ABCDE ABCDE"},
        {"all wait in the same collective", "ABC. ABC. ABC."},
        {"some have left it already", "ABC ABC. ABC"},
        {"nobody has called any", "- -"},
        {"no record at all", "? ?"},
        {"lines differ, calls do not", "AB. lB. AB."},
        {"nobody has started the last one", "AB: A AB:"},
    });
}

TEST_CASE("diagnose: a rank that left a collective out has skipped it, as its later calls say") {
    diagnoses({
        {"others have scheduled more", "AB.C:D: AB.C:D: AC.D: AB.C:D:", {{skipped, 2, 2, 20, 30}}},
        {"one call behind it is known", "AB.C: AB.C: AC.", {{skipped, 2, 2, 20, 30}}},
        {"another size each, one for each layer", "AnDA. nDA. AnDA.", {{skipped, 1, 1, 10, 11}}},
        {"all behind it are alike", "BAAAA BAAAA AAAA", {{skipped, 2, 1, 20, 10}}},
        {"it left out two", "ABCAD. ABCAD. ACD", {{skipped, 2, 2, 20, 30}}},
    });
}

TEST_CASE("diagnose: a rank that called another collective in the place of one goes on in place") {
    diagnoses({
        {"nothing is known of what follows", "AB. AB. AD.", {{other_collective, 2, 2, 20, 40}}},
        {"what follows is in place", "ABC. ABC. AAC.", {{other_collective, 2, 2, 20, 10}}},
        {"it called the next one twice", "ABC. ABC. ACC.", {{other_collective, 2, 2, 20, 30}}},
        {"all behind are alike, as many", "BAAA BAAA AAAA", {{other_collective, 2, 1, 20, 10}}},
        {"it called one more", "BCD. BCD. EBCD", {{other_collective, 2, 1, 20, 50}}},
        {"another size that the next one has", "AnDA. AnDA. nnDA.", {{other_size, 2, 1, 10, 11}}},
    });
}

TEST_CASE("diagnose: another root, op, type or size, and which of them where several differ") {
    diagnoses({
        {"root", "ABC. ABC. AbC.", {{other_root, 2, 2, 20, 21}}},
        {"op", "CA. CA. Cm.", {{other_op, 2, 2, 10, 12}}},
        {"type", "CA. CA. Ct.", {{other_type, 2, 2, 10, 13}}},
        {"size", "CA. CA. Cn.", {{other_size, 2, 2, 10, 11}}},
        {"root and size", "B. B. c.", {{other_root, 2, 1, 20, 22}}},
        {"name, op and size", "A. A. C.", {{other_collective, 2, 1, 10, 30}}},
    });
}

TEST_CASE("diagnose: the majority is right, whoever comes first") {
    diagnoses({
        {"rank 0 called another one", "AD. AB. AB.", {{other_collective, 0, 2, 20, 40}}},
        {"rank 0 left one out", "AC.D: AB.C:D: AB.C:D:", {{skipped, 0, 2, 20, 30}}},
        {"two ranks of five, each in its way",
         "AD. AB. Ab. AB. AB.",
         {{other_collective, 0, 2, 20, 40}, {other_root, 2, 2, 20, 21}}},
    });
}

TEST_CASE("diagnose: without a majority nobody is accused, and each side is named") {
    diagnoses({
        {"one against one", "AB. AC.", {{no_majority, 0, 2, 0, 20}, {no_majority, 1, 2, 0, 30}}},
        {"one is shifted", "ABCD. ACD.", {{no_majority, 0, 2, 0, 20}, {no_majority, 1, 2, 0, 30}}},
        {"two of four are no majority",
         "A. B. A. C.",
         {{no_majority, 0, 1, 0, 10},
          {no_majority, 1, 1, 0, 20},
          {no_majority, 2, 1, 0, 10},
          {no_majority, 3, 1, 0, 30}}},
        {"of two records", "A. ? n.", {{no_majority, 0, 1, 0, 10}, {no_majority, 2, 1, 0, 11}}},
    });
}

TEST_CASE("diagnose: only the first mismatch of a group counts, and not the newest entries") {
    diagnoses({
        {"the newest entries are alike", "ABCDA. AbCDA. ABCDA.", {{other_root, 1, 2, 20, 21}}},
        {"later calls differ as well", "ABCDEA. ABCDEA. ACDEA", {{skipped, 2, 2, 20, 30}}},
        {"another rank differs later", "ABCD. ABCD. AbCD. ABCA.", {{other_root, 2, 2, 20, 21}}},
        {"another rank is behind later", "ABCD. ABCD. AbCD. ABC", {{other_root, 2, 2, 20, 21}}},
        {"another rank has not called it", "AB. AB. Ab. A", {{other_root, 2, 2, 20, 21}}},
    });
}

TEST_CASE("diagnose: who has not started what others have is behind, with what it does instead") {
    diagnoses({
        {"it computes", "ABC. AB ABC.", {{behind, 1, 3, 30, 20}}},
        {"it has called it, and not started it", "ABC. ABC: ABC.", {{behind, 1, 3, 30, 30}}},
        {"it has called nothing", "A. -", {{behind, 1, 1, 10, 0}}},
        {"it waits for a message", "AB. AB. AR.", {{behind, 2, 2, 20, 80}}},
        {"it waits in an older one than its newest", "AB. AR.B: AB.", {{behind, 1, 2, 20, 80}}},
        {"most are behind", "A AB. A", {{behind, 0, 2, 20, 10}, {behind, 2, 2, 20, 10}}},
        {"who waits for it is not behind", "ABC. AB. A", {{behind, 2, 2, 20, 10}}},
        {"a root that ran ahead", "BBBB BB B.", {{behind, 2, 2, 20, 20}}},
    });
}

TEST_CASE("diagnose: a member without a record is named where somebody waits, and has no vote") {
    diagnoses({
        {"others wait", "AB. ? AB.", {{no_record, 1, 2, 20, 0}}},
        {"nobody waits", "AB ? AB"},
        {"one is behind besides", "AB. ? A", {{no_record, 1, 2, 20, 0}, {behind, 2, 2, 20, 10}}},
        {"one has left, one has not come",
         "AB ? A",
         {{no_record, 1, 2, 20, 0}, {behind, 2, 2, 20, 10}}},
        {"of one that has left nothing is known", "AB ? AB|"},
        {"some have left already", "AB. ? AB", {{no_record, 1, 2, 20, 0}}},
        {"one called another one", "AB. ? Ab. AB.", {{other_root, 2, 2, 20, 21}}},
        {"it is in a group of two",
         "[a]A[b]C. [a]A ?",
         {{no_record, 2, 1, 30, 0, "b"}},
         {{"a", {0, 1}}, {"b", {0, 2}}}},
    });
}

TEST_CASE("diagnose: what has fallen out of a ring was called") {
    diagnoses({
        {"rings of different lengths", "ABCDA. ABC|DA. ABCD|A."},
        {"a ring full of messages", "ABC ABC|SSSS ABC"},
        {"nothing of one is left", "ABC. ABC| ABC."},
        {"nobody knows what all have called", "AB|C. ABC| |ABC."},
        {"one is behind for all that", "ABC. AB|SSR. ABC.", {{behind, 1, 3, 30, 80}}},
        {"it left one out for all that", "ABCDE. ABC|DE. A|CDE ABCDE.", {{skipped, 2, 2, 20, 30}}},
        {"another one in the rest", "ABC. AB|D. ABC. |ABC.", {{other_collective, 1, 3, 30, 40}}},
    });
}

TEST_CASE("diagnose: collectives are paired by group and number, among the members") {
    const Members rows = {{"a", {0, 1}}, {"b", {2, 3}}, {"dp", {0, 1, 2, 3}}};
    diagnoses({
        {"others are no members", "[a]A. [a]A. [b]CB [b]CB", {}, rows},
        {"groups in turns", "[a]A[dp]B[a]C [a]AC[dp]B [dp]B[b]C [b]C[dp]B", {}, rows},
        {"messages count for nothing", "SASB. RA.RRRB: ASSSB.", {{behind, 1, 2, 20, 10}}},
        {"messages between collectives", "ASB RAB ABRR"},
        {"faults in two groups",
         "[a]AB. [a]Ab. [a]AB. [b]D. [b]C. [b]C.",
         {{other_root, 1, 2, 20, 21, "a"}, {other_collective, 3, 1, 30, 40, "b"}},
         {{"a", {0, 1, 2}}, {"b", {3, 4, 5}}}},
        {"two groups in different orders",
         "[a]A. [b]C.",
         {{behind, 0, 1, 30, 10, "b"}, {behind, 1, 1, 10, 30, "a"}},
         {{"a", {0, 1}}, {"b", {0, 1}}}},
        {"who waits in one group is missed in another",
         "[dp]A. [a]C. -",
         {{behind, 1, 1, 10, 30, "dp"}, {behind, 2, 1, 10, 0, "dp"}, {behind, 2, 1, 30, 0, "a"}},
         {{"dp", {0, 1, 2}}, {"a", {1, 2}}}},
        {"rank 1 has not made group a yet",
         "[a]A. [b]C [b]C",
         {{behind, 1, 1, 10, 30, "a"}},
         {{"a", {0, 1}}, {"b", {1, 2}}},
         Ms(1000),
         [](auto& records) { records[1].groups.erase("a"); }},
    });
}

TEST_CASE("diagnose: a rank that half of the others waited for, by their own clocks, is slow") {
    diagnoses({
        {"one computed for 5 s longer", "AA~A AA~A AA_A", {{slow, 2, 3, 10, 10}}},
        {"two of four", "A~C A_C A~C A_C", {{slow, 1, 2, 30, 30}, {slow, 3, 2, 30, 30}}},
        {"most were late", "A~C A_C A_C"},
        {"all computed for 5 s", "A_C A_C A_C"},
        {"all took 5 s", "A~C A~C A~C"},
        {"it had an operation of 0 ms behind it", "A~C A_!CS", {{slow, 1, 2, 30, 30}}},
        {"operations of 0 ms on both sides", "A~C A_!S!CS", {{slow, 1, 2, 30, 30}}},
        {"5 s are enough", "A~C A_C", {{slow, 1, 2, 30, 30}}, {}, Ms(5000)},
        {"5 s are not enough", "A~C A_C", {}, {}, Ms(5001)},
        {"the worst of three", "A~A~~C~A A~A~~C~A A_A__C_A", {{slow, 2, 3, 30, 30}}},
        {"late, then one behind",
         "A~AC. A_AC. A~A",
         {{slow, 1, 2, 10, 10}, {behind, 2, 3, 30, 10}}},
        {"behind a fault", "ABA~C ABA~C AbA_C", {{other_root, 2, 2, 20, 21}}},
    });
}

TEST_CASE("diagnose: who waited elsewhere, left early, or may have, is not slow") {
    diagnoses({
        {"a root that leaves before others come", "_B _~B _~B"},
        {"it waited in another group",
         "[dp]~A [a]~C[dp]A [a]_C",
         {{slow, 2, 1, 30, 30, "a"}},
         {{"dp", {0, 1}}, {"a", {1, 2}}}},
        {"it waited for a message", "A~C A~C A~RC"},
        {"it waits for a message all the time", "A~C AR._C"},
        {"the other one stood still inside", "AC A~C"},
        {"one is in it still", "A_C. A~C A~C"},
        {"the other one is in it still", "A~C. A_C"},
        {"what it did before has fallen out", "A~C A~C A|_C"},
        {.what = "it receives in another thread, until after this one",
         .ranks = "A~C AR_C",
         .change =
             [](auto& records) {
                 records[1].entries[1].completed = records[1].entries[2].completed + Ms(1);
             }},
    });
}

TEST_CASE("FlightRecorder notes what was called, where, and when") {
    on_one([] {
        HandClock clock;
        FlightRecorder recorder(2, 8, clock);
        recorder.add_group("dp", {0, 2, 3});
        recorder.add_group("tp", {1, 2});
        clock.now_ms = 1000;
        const int line = __LINE__ + 1;
        CHECK(recorder.schedule("dp", kSum) == 1);
        clock.now_ms = 1010;
        CHECK(recorder.schedule_p2p("dp", kSend) == 2);
        clock.now_ms = 1020;
        CHECK(recorder.schedule("dp", {.name = "barrier"}, kLine) == 3);
        clock.now_ms = 1030;
        recorder.start(2);
        clock.now_ms = 1040;
        recorder.start(1);
        clock.now_ms = 1050;
        recorder.complete(2);
        CHECK(recorder.schedule_p2p("tp", kSend, kLine) == 4);
        FlightRecord expected = FlightRecord::from(R"(rank 2 dropped 0
group "dp" collectives 2 p2ps 1 members 3 0 2 3
group "tp" collectives 0 p2ps 1 members 2 1 2
1 "dp" collective 1 0 "all_reduce" 1000 "float64" "sum" -1 "" 0 started 1000 1040 0
2 "dp" p2p 1 1 "send" 8 "float32" "" 3 "" 0 completed 1010 1030 1050
3 "dp" collective 2 1 "barrier" 0 "float32" "" -1 "ddp.cpp" 88 scheduled 1020 0 0
4 "tp" p2p 0 1 "send" 8 "float32" "" 3 "ddp.cpp" 88 scheduled 1050 0 0
end
)");
        expected.entries[0].where = {__FILE__, line};
        expected.entries[1].where = {__FILE__, line + 2};
        CHECK(same_record(recorder.dump(), expected));
    });
}

TEST_CASE("FlightRecorder keeps the newest operations, and says how many fell out") {
    on_one([] {
        for (const std::size_t capacity : {1, 2, 3}) {
            HandClock clock;
            clock.now_ms = 1000;
            FlightRecorder ring(0, capacity, clock);
            FlightRecorder all(0, 100, clock);
            for (FlightRecorder* one : {&ring, &all}) {
                one->add_group("dp", {0});
                one->add_group("tp", {0});
            }
            for (std::int64_t id = 1; id <= 12; ++id) {
                INFO("capacity " << capacity << ", after " << id << " calls");
                const std::string group = id % 3 == 0 ? "tp" : "dp";
                for (FlightRecorder* one : {&ring, &all}) {
                    const std::int64_t got = id % 4 == 0 ? one->schedule_p2p(group, kSum, kLine)
                                                         : one->schedule(group, kSum, kLine);
                    REQUIRE(got == id);
                    if (id > 2) {  // the third newest starts: it may have fallen out
                        one->start(id - 2);
                    }
                }
                ++clock.now_ms;
                FlightRecord expected = all.dump();
                for (; expected.entries.size() > capacity; ++expected.dropped) {
                    expected.entries.pop_front();
                }
                REQUIRE(same_record(ring.dump(), expected));
            }
            const FlightRecord before = ring.dump();
            ring.complete(1);
            INFO("capacity " << capacity << ": operation 1 completes, and has fallen out");
            REQUIRE(same_record(ring.dump(), before));
        }
    });
}

TEST_CASE("FlightRecorder: a dump is what was there at one moment, while threads go on") {
    on_one([] {
        HandClock clock;
        FlightRecorder recorder(0, 16, clock);
        recorder.add_group("dp", {0, 1});
        const Interleaved interleaved;
        using Ids = std::set<std::int64_t>;
        std::vector<std::future<Ids>> threads;
        for (int thread = 0; thread < 3; ++thread) {
            threads.push_back(std::async(std::launch::async, [&] {
                Ids ids;
                for (int i = 0; i < 60; ++i) {
                    const std::int64_t id = recorder.schedule("dp", kSum, kLine);
                    recorder.start(id);
                    recorder.complete(id);
                    ids.insert(id);
                }
                return ids;
            }));
        }
        const auto is_running = [](const std::future<Ids>& thread) {
            return thread.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
        };
        FlightRecord record;
        bool is_one_moment = true;
        do {
            record = recorder.dump();
            std::int64_t id = record.dropped;
            for (const FlightEntry& entry : record.entries) {
                ++id;
                is_one_moment = is_one_moment && entry.id == id && entry.collective_seq == id;
            }
            is_one_moment = is_one_moment && record.groups.at("dp").collectives == id;
        } while (is_one_moment && std::ranges::any_of(threads, is_running));
        Ids ids;
        for (std::future<Ids>& thread : threads) {
            ids.merge(thread.get());
        }
        {
            INFO("ids and numbers must go on by 1, up to the count:\n" << record.text());
            CHECK(is_one_moment);
        }
        INFO("operations of three threads, which have got each id once");
        CHECK(ids.size() == 180);
        CHECK(recorder.dump().dropped == 180 - 16);
    });
}

TEST_CASE("FlightRecorder holds no more than its ring, however long the run") {
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

TEST_CASE("FlightRecorder refuses no capacity, strange groups, and ids that it never gave") {
    on_one([] {
        HandClock clock;
        CHECK(thrown_as([&] { const FlightRecorder none(0, 0, clock); }) == kInvalidArgument);
        FlightRecorder recorder(0, 4, clock);
        recorder.add_group("dp", {0, 1});
        recorder.schedule("dp", kSum, kLine);
        const FlightRecord before = recorder.dump();
        CHECK_THROWS_AS(recorder.add_group("tp", {1, 2}), std::invalid_argument);
        CHECK_THROWS_AS(recorder.add_group("dp", {0, 2}), std::invalid_argument);
        CHECK_THROWS_AS(recorder.schedule("tp", kSum), std::invalid_argument);
        for (const std::int64_t id : {-1L, 0L, 2L, INT64_MAX}) {
            INFO("one operation, and id " << id);
            CHECK_THROWS_AS(recorder.start(id), std::invalid_argument);
            CHECK_THROWS_AS(recorder.complete(id), std::invalid_argument);
        }
        INFO("what is refused leaves no trace");
        CHECK(same_record(recorder.dump(), before));
    });
}
