// Flight records as text, and findings as lines for people.
#include "course/runtime/flight_record.hpp"

#include <limits>
#include <string>

#include "course/runtime/error.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist;

namespace {

const std::string kText =
    "rank 2 dropped 17\n"
    "group \"dp\" collectives 9 p2ps 1 members 4 0 1 2 3\n"
    "group \"tp 1\" collectives 0 p2ps 0 members 0\n"
    "18 \"dp\" p2p 8 1 \"send\" 8 \"float32\" \"\" 3 \"pipeline.cpp\" 41 scheduled 39 0 0\n"
    "19 \"dp\" collective 9 1 \"all_reduce\" 100 \"float32\" \"sum\" -1 \"ddp.cpp\" 88 started 40 "
    "41 "
    "0\n"
    "end\n";

FlightEntry sum_at(int line) {
    FlightEntry entry;
    entry.group = "dp";
    entry.collective_seq = 9;
    entry.call = {.name = "all_reduce", .count = 100, .op = "sum"};
    entry.where = {"ddp.cpp", line};
    return entry;
}

}  // namespace

TEST_CASE("a flight record is in its text, a line for each thing") {
    const FlightRecord record = FlightRecord::from(kText);
    CHECK(record.text() == kText);
    CHECK(record.rank == 2);
    CHECK(record.dropped == 17);
    CHECK(record.groups.at("dp").members == std::vector{0, 1, 2, 3});
    REQUIRE(record.entries.size() == 2);
    const FlightEntry& entry = record.entries.back();
    CHECK(entry.id == 19);
    CHECK(entry.call == sum_at(88).call);
    CHECK(entry.where == SourceLine{"ddp.cpp", 88});
    CHECK(entry.state == FlightState::started);
    CHECK(entry.started == Clock::Duration(41));
    CHECK(record.entries.front().is_p2p);
    CHECK(FlightRecord::from(FlightRecord().text()) == FlightRecord());
}

TEST_CASE("a flight record is in its text, whatever names and numbers it has") {
    FlightRecord record;
    record.groups["end"].members = {0};
    record.groups["a \"b\" \\\n"].collectives = std::numeric_limits<std::int64_t>::max();
    FlightEntry entry = sum_at(1);
    entry.group = "end";
    entry.call.name = "group \"x\"\nend";
    entry.call.count = -1;
    entry.where.file = "a folder/b.cpp";
    entry.scheduled = Clock::Duration(-5);
    entry.state = FlightState::completed;
    record.entries = {entry, entry};
    CHECK(FlightRecord::from(record.text()) == record);
}

TEST_CASE("what is no flight record, or a part of one, is refused") {
    for (std::size_t length = 0; length < kText.size(); ++length) {
        INFO(kText.substr(0, length));
        CHECK_THROWS_AS(FlightRecord::from(kText.substr(0, length)), Error);
    }
    CHECK_THROWS_AS(FlightRecord::from(kText + "end\n"), Error);
    CHECK_THROWS_AS(FlightRecord::from("rank x dropped 0\nend\n"), Error);
    std::string text = kText;
    text.replace(text.find("started"), 7, "stopped");
    CHECK_THROWS_AS(FlightRecord::from(text), Error);
}

TEST_CASE("a finding says rank, collective and lines") {
    FlightEntry own = sum_at(90);
    own.call = {.name = "broadcast", .count = -1, .root = 0};
    own.state = FlightState::started;
    FlightFinding finding{FlightFault::skipped, 3, sum_at(88), own};
    CHECK(
        finding.text() ==
        "group dp, collective 9: rank 3 skipped all_reduce(100 float32, sum) at ddp.cpp:88, and "
        "went on with broadcast(float32, root 0) at ddp.cpp:90"
    );
    finding.fault = FlightFault::behind;
    CHECK(
        finding.text() ==
        "group dp, collective 9: rank 3 did not start all_reduce(100 float32, sum) at ddp.cpp:88, "
        "as others did; newest: broadcast(float32, root 0) at ddp.cpp:90, group dp, started"
    );
    finding.instead.reset();
    CHECK(finding.text().ends_with("as others did; no operation before it"));
    for (const FlightFault fault :
         {FlightFault::other_size, FlightFault::no_majority, FlightFault::no_record,
          FlightFault::slow}) {
        finding = {fault, 3, sum_at(88), sum_at(90)};
        INFO(finding.text());
        CHECK(finding.text().starts_with("group dp, collective 9: rank 3 "));
        CHECK(finding.text().find("ddp.cpp:88") != std::string::npos);
    }
}
