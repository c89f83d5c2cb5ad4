// simulate: what it reads, and what it makes of times.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "course/process/error.hpp"
#include "course/simulate/held_ranks.hpp"
#include "course/simulate/simulated_text.hpp"
#include "tests/course/cli_support.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist::cli;
using dist::simulation::Timed;

namespace {

Timed timed(const std::string& algorithm, int ranks, std::size_t bytes, double seconds) {
    Timed time;
    time.collective = "all_reduce";
    time.algorithm = algorithm;
    time.ranks = ranks;
    time.size_bytes = bytes;
    time.seconds = seconds;
    time.wrong = 0;
    return time;
}

}  // namespace

TEST_CASE("latencies and rates are read with their units, and nothing is guessed") {
    CHECK(parse_seconds("--x", "2us") == 2e-6);
    CHECK(parse_seconds("--x", "0.5ms") == 5e-4);
    CHECK(parse_seconds("--x", "0s") == 0);
    CHECK(parse_bytes_per_s("--x", "10Gbit") == 1.25e9);
    CHECK(parse_bytes_per_s("--x", "1.25GB") == 1.25e9);
    CHECK(parse_bytes("--x", "64K") == 65536);
    CHECK(parse_bytes("--x", "85M") == 85U << 20U);
    for (const char* const wrong :
         {"", "2", "us", "2 us", "-1us", "2usx", "nans", "infs", "1e400s"}) {
        INFO(wrong);
        CHECK_THROWS_AS(parse_seconds("--x", wrong), UsageError);
    }
    for (const char* const wrong : {"0GB", "10", "Gbit", "-1GB", "1gb"}) {
        INFO(wrong);
        CHECK_THROWS_AS(parse_bytes_per_s("--x", wrong), UsageError);
    }
    for (const char* const wrong : {"0", "3", "1.1K", "9G", "-4", "4KB"}) {
        INFO(wrong);
        CHECK_THROWS_AS(parse_bytes("--x", wrong), UsageError);
    }
}

TEST_CASE("a number that cannot be read names its option") {
    const auto said = [](const auto& parse, const std::string& option, const std::string& text) {
        try {
            parse(option, text);
        } catch (const UsageError& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    CHECK(has(said(parse_seconds, "--latency", "2"), "--latency: \"2\" cannot be read"));
    CHECK(has(said(parse_bytes_per_s, "--bandwidth", "0GB"), "--bandwidth: \"0GB\" is no rate"));
    CHECK(has(said(parse_bytes, "--sizes", "3"), "--sizes: 3 is no size"));
}

TEST_CASE("a machine holds as many ranks as the scarcest of what they take allows") {
    const Supply supply = {.mappings = 65530, .disk_bytes = 1e9, .memory_bytes = 1e9};
    const Demand demand = {.mappings = 6, .disk_bytes = 4e4, .memory_bytes = 1e4};
    CHECK(held_ranks(supply, demand).ranks == (65530 - 300) / 6);
    CHECK(has(held_ranks(supply, demand).limit, "6 of the 65530 mappings"));
    const Held by_disk = held_ranks(supply, {6, 1e6, 1e4});
    CHECK(by_disk.ranks == 1000);
    CHECK(has(by_disk.limit, "1.0 MB of the 1000 MB free in /tmp"));
    const Held by_memory = held_ranks(supply, {6, 1e4, 2e6});
    CHECK(by_memory.ranks == 500);
    CHECK(has(by_memory.limit, "2.0 MB of the 1000 MB of memory"));
}

TEST_CASE("an answer that its test refuses is never the fastest") {
    Simulated simulated;
    simulated.times = {timed("mine", 4, 1024, 1e-6), timed("ring", 4, 1024, 2e-6)};
    CHECK(has(table_of(simulated, {}), "# 4 ranks, fastest: mine\n"));
    simulated.refused = "my_ring.cpp does not pass its test";
    const std::string text = table_of(simulated, {});
    CHECK(has(text, "  fails its test\n"));
    CHECK(has(text, "# 4 ranks, fastest: ring\n"));
    CHECK(has(text, "# mine does not pass its test\n"));
    CHECK(has(json_of(simulated, {}), "\"refused\":\"my_ring.cpp"));
    CHECK(has(picture_of(simulated, {}), "mine (wrong)"));
}

TEST_CASE("the table says who is the fastest, and a wrong result never is") {
    Simulated simulated;
    simulated.collective = "all_reduce";
    simulated.peers = {"ompi"};
    for (const std::size_t bytes : {std::size_t{1024}, std::size_t{1} << 20U}) {
        const double scale = bytes == 1024 ? 1e-6 : 1e-3;
        simulated.times.push_back(timed("naive", 4, bytes, 5 * scale));
        simulated.times.push_back(timed("ring", 4, bytes, (bytes == 1024 ? 6 : 2) * scale));
        simulated.times.push_back(timed("ompi", 4, bytes, 4 * scale));
        simulated.times.push_back(timed("mine", 4, bytes, 1 * scale));
        simulated.times.back().wrong = 3;
        simulated.times.back().wrong_op = "mean";
    }
    const std::string text = table_of(simulated, {});
    INFO(text);
    CHECK(has(text, "# 4 ranks, fastest: ompi at 1 KiB, ring from 1 MiB on\n"));
    CHECK(has(text, "the course's best over the best peer: 1.2500 at 1 KiB, 0.5000 at 1 MiB\n"));
    CHECK(has(text, "# 4 ranks: ring passes naive at "));
    CHECK(has(text, "  3 WRONG in mean\n"));
    CHECK_FALSE(has(picture_of(simulated, {}), "from here mine"));
    const std::string narrow = table_of(simulated, {}, 80);
    CHECK_FALSE(has(narrow, "messages"));
    CHECK(has(
        narrow, "     4    1 KiB ompi                    4 us         -       -     1.25  fastest\n"
    ));
    const auto document = nlohmann::json::parse(json_of(simulated, {}));
    CHECK(document["times"].size() == 8);
    CHECK(document["times"][0]["model_s"].is_null());
    CHECK(document["times"][0]["wrong"] == 0);
    CHECK(has(csv_of(simulated), "all_reduce,ring,4,1048576,0.002,,,,0,\n"));
}

TEST_CASE("on nodes the table has the bytes that cross, and the bus bandwidth") {
    Simulated simulated;
    simulated.collective = "all_reduce";
    Timed ring = timed("ring", 8, 1 << 20, 1e-3);
    ring.bytes = 14 << 20;
    ring.crossing = 3'500'000;
    ring.bus_factor = 1.75;
    simulated.times = {ring, timed("ompi", 8, 1 << 20, 1e-3)};  // which nobody counts
    Cluster cluster;
    cluster.per_node = 4;
    cluster.inside_latency_s = 5e-7;
    cluster.inside_bytes_per_s = 1.25e10;
    for (const std::size_t columns : {std::string::npos, std::size_t{80}}) {
        const std::string table = table_of(simulated, cluster, columns);
        INFO(table);
        CHECK(has(table, "nodes of 4 ranks, 100 Gbit/s for each and 0.5 us inside"));
        CHECK(has(table, "crossing"));
        CHECK(has(table, "3.5 MB"));
        CHECK(has(table, "GB/s"));
        CHECK(has(table, "1.835"));  // 1.75 MiB in a millisecond
        CHECK(has(table, "        -\n"));
        CHECK(!has(table, "vs naive"));
    }
    CHECK(has(csv_of(simulated), "all_reduce,ring,8,1048576,0.001,,,14680064,0,3500000\n"));
    const auto document = nlohmann::json::parse(json_of(simulated, cluster));
    CHECK(document["times"][0]["crossing"] == 3'500'000);
    CHECK(document["cluster"]["per_node"] == 4);
}
