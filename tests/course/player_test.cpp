// What a page that plays messages is filled with, and how pages are put together.
#include "course/report/player.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "course/lab/page.hpp"
#include "course/pages/pages.hpp"
#include "course/simulate/simulated_text.hpp"
#include "course/simulate/trained_text.hpp"
#include "course/trace/parts.hpp"
#include "course/trace/step_json.hpp"
#include "course/trace/timeline.hpp"
#include "tests/course/cli_support.hpp"
#include "tests/course/lab_example.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist;
using namespace dist::cli;
using nlohmann::json;
using trace::Did;
using trace::Log;
using trace::Step;

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kData = 0x1000;     // where each rank's data begin
constexpr std::uint64_t kScratch = 0x9000;  // and where it takes in what comes
constexpr int kChunk = 8;                   // bytes: two floats

/// Logs of ranks that have three chunks of data, and send chunks of it.
class Ranks {
  public:
    explicit Ranks(int p) : logs(static_cast<std::size_t>(p)) {
        for (Log& log : logs) {
            log.memory.push_back({"data", kData, 3L * kChunk});
        }
    }

    /// Rank `src` sends a chunk of its data, which `dst` takes in at an address of its own.
    void message(int src, int dst, int chunk, std::uint64_t into, const std::string& values) {
        const int id = lose(src, dst, chunk, values);
        const int own = ++ids_;
        add(dst, {.did = Did::receive, .id = own});
        add(dst, {.did = Did::wait_receive, .id = own, .peer = src, .peer_id = id, .bytes = kChunk},
            {into, values});
        add(src, {.did = Did::wait_send, .id = id});
    }

    /// Nobody takes it.
    int lose(int src, int dst, int chunk, const std::string& values) {
        const int id = ++ids_;
        add(src, {.did = Did::send, .id = id, .peer = dst, .bytes = kChunk},
            {place(chunk), values});
        return id;
    }

    static std::uint64_t place(int chunk) {
        return kData + static_cast<std::uint64_t>(chunk) * kChunk;
    }

    std::vector<Log> logs;

  private:
    void add(int rank, Step step, const trace::Payload& payload = {}) {
        Log& log = logs.at(static_cast<std::size_t>(rank));
        step.thread = 1;
        log.steps.push_back(step);
        if (step.did == Did::send || step.did == Did::wait_receive) {
            log.payloads.push_back(payload);
        }
    }

    int ids_ = 0;
};

TestResult test_of(const std::vector<Log>& logs, State state = State::pass) {
    TestResult test;
    test.name = "everything </script> reaches & everybody";
    test.ranks = static_cast<int>(logs.size());
    test.status = state;
    for (std::size_t rank = 0; rank < logs.size(); ++rank) {
        test.per_rank.emplace_back();
        test.per_rank.back().rank = static_cast<int>(rank);
        test.per_rank.back().log = logs[rank];
    }
    return test;
}

/// Two ranks: one chunk is added at the other rank, and comes back; then one that is too much, and one that nobody takes.
TestResult wrong_run() {
    Ranks ranks(2);
    ranks.message(0, 1, 1, kScratch, "1 2");
    ranks.message(1, 0, 1, Ranks::place(1), "11 22");
    ranks.message(0, 1, 2, kScratch, "3 4");
    ranks.lose(1, 0, 0, "5 6");
    ranks.logs[0].limits.messages = 1;
    ranks.logs[1].limits.rounds = 2;
    TestResult test = test_of(ranks.logs, State::fail);
    test.message = "it sent 2 messages, where at most 1 is right";
    return test;
}

/// Where a browser's test wants pages, they are left there.
void leave(const std::string& name, const std::string& page) {
    if (const char* folder = std::getenv("SHARDLINGS_PAGES")) {
        std::ofstream(fs::path(folder) / name) << page;
    }
}

/// The JSON that a page is filled with.
json data_of(const std::string& page) {
    const std::string begin = R"(<script type="application/json" id="data">)";
    const std::size_t from = page.find(begin) + begin.size();
    return json::parse(page.substr(from, page.find("</script>", from) - from));
}

}  // namespace

TEST_CASE(
    "the part of memory that a message carries is that of the sender, or of the receiver where it "
    "sends all it has"
) {
    Ranks ranks(2);
    ranks.message(0, 1, 1, kScratch, "1 2");
    ranks.logs[1].memory = {{"out", kScratch, 2L * kChunk}};
    ranks.logs[0].memory = {};  // then messages show what there is
    const trace::Timeline timeline = trace::timeline_of(ranks.logs);
    REQUIRE(timeline.parcels.size() == 1);
    const trace::Parcel& parcel = timeline.parcels[0];
    CHECK(parcel.values == "1 2");
    CHECK_FALSE(parcel.from.is_less_than_all());
    CHECK(parcel.from.memory.empty());
    CHECK(parcel.into.memory == "out");
    CHECK(parcel.part.memory == "out");
    CHECK(parcel.part.begin == 0);
    CHECK(parcel.part.end == kChunk);
    CHECK(parcel.part.of == 2L * kChunk);
}

TEST_CASE(
    "messages that touch or overlap are taken to be in one piece of memory, and others are not"
) {
    Ranks ranks(2);
    for (const int chunk : {2, 0, 1}) {
        ranks.lose(0, 1, chunk, "");
    }
    ranks.lose(0, 1, 5, "");
    ranks.logs[0].memory = {};
    const trace::MemoryOfMessages memory(ranks.logs[0]);
    CHECK(memory.part_at(Ranks::place(1), kChunk).begin == kChunk);
    CHECK(memory.part_at(Ranks::place(1), kChunk).of == 3L * kChunk);
    CHECK(memory.part_at(Ranks::place(5), kChunk).of == kChunk);
    CHECK_FALSE(memory.part_at(Ranks::place(4), kChunk).is_known());
    CHECK_FALSE(memory.part_at(0, kChunk).is_known());
}

TEST_CASE("what messages carry comes back from a record as it was") {
    const Log log = wrong_run().per_rank[0].log;
    const Log back = trace::log_of(json::parse(trace::to_json(log).dump()));
    REQUIRE(back.payloads.size() == 3);
    CHECK(back.payloads[1].at == Ranks::place(1));
    CHECK(back.payloads[1].values == "11 22");
    REQUIRE(back.memory.size() == 1);
    CHECK(back.memory[0].name == "data");
    CHECK(back.memory[0].at == kData);
    CHECK(back.memory[0].bytes == 3L * kChunk);
}

TEST_CASE(
    "a page plays every message, with its rounds, its part of memory and what is wrong with it"
) {
    const json run = played(wrong_run(), "some_ring");
    CHECK(run["rounds"] == 4);
    CHECK(run["right_rounds"] == 2);
    CHECK(run["state"] == "fail");
    CHECK(has(run["reason"], "where at most 1 is right"));
    REQUIRE(run["memory"].size() == 1);
    CHECK(run["memory"][0] == json{{"name", "data"}, {"bytes", 24}, {"cuts", {0, 8, 16, 24}}});
    const json& messages = run["messages"];
    REQUIRE(messages.size() == 4);
    const json middle = {{"memory", 0}, {"begin", 8}, {"end", 16}, {"of", 24}};
    CHECK(messages[0]["from"] == middle);
    CHECK(messages[0]["into"].is_null());  // in nothing that is known
    CHECK(messages[1]["from"] == middle);
    CHECK(messages[1]["into"] == middle);
    CHECK(messages[1]["values"] == "11 22");
    for (std::size_t i = 0; i < 4; ++i) {
        CHECK(messages[i]["begin"] == i);
        CHECK(messages[i]["end"] == i + 1);
        CHECK(messages[i]["excess"] == (i == 2));
        CHECK(messages[i]["lost"] == (i == 3));
    }
}

TEST_CASE(
    "memory that no message cuts is one cell, also where ranks have more or less of it, and where "
    "none has a name"
) {
    Ranks ranks(2);
    ranks.message(0, 1, 0, kScratch, "1 2");
    ranks.logs[0].memory = {{"data", kData, kChunk}};
    ranks.logs[1].memory = {{"data", kScratch, kChunk}};
    ranks.logs[1].steps.at(1).bytes = kChunk / 2;  // it takes in one float, all that it has
    ranks.logs[1].memory[0].bytes = kChunk / 2;
    const json whole = {{"memory", 0}, {"begin", 0}, {"end", kChunk}, {"of", kChunk}};
    const auto expect_one_cell = [&](const std::string& name) {
        const json run = played(test_of(ranks.logs), "some_copy");
        CHECK(
            run["memory"] ==
            json::array({{{"name", name}, {"bytes", kChunk}, {"cuts", {0, kChunk}}}})
        );
        CHECK(run["messages"][0]["from"] == whole);
    };
    expect_one_cell("data");
    ranks.logs[0].memory.clear();
    ranks.logs[1].memory.clear();
    expect_one_cell("");
}

TEST_CASE("a page is one file that asks for nothing, and holds its run whatever is in it") {
    const TestResult test = wrong_run();
    const std::string page = player_page(test, "some_ring");
    leave("wrong.html", page);
    CHECK(data_of(page) == played(test, "some_ring"));
    CHECK(data_of(page)["test"] == test.name);
    CHECK(has(page, "everything &lt;/script&gt; reaches &amp; everybody"));  // in the still picture
    for (const char* const asks : {"src=", "@import", "url(http", "<link rel=\"stylesheet\""}) {
        CHECK_FALSE(has(page, asks));
    }
    CHECK_FALSE(has(page, "{{"));
    CHECK(page.size() < 100'000);
}

TEST_CASE("a run that hangs plays to its end, where the ranks stand that wait") {
    Ranks ranks(2);
    ranks.lose(0, 1, 0, "1 2");
    ranks.lose(1, 0, 0, "3 4");
    TestResult test = test_of(ranks.logs, State::hang);
    for (RankResult& rank : test.per_rank) {
        rank.phase = harness::Phase::waiting;
        rank.call = "MPI_Send(to the other)";
        rank.peer = 1 - rank.rank;
    }
    const json run = played(test, "some_shift");
    leave("hang.html", player_page(test, "some_shift"));
    REQUIRE(run["ends"].size() == 2);
    CHECK(run["ends"][0]["wrong"] == true);
    CHECK(has(run["ends"][0]["text"], "waits in MPI_Send(to the other)"));
    CHECK(run["waits"].back()["forever"] == true);
}

TEST_CASE(
    "the page of simulate has the document of --json, and names an answer that its test refuses"
) {
    Simulated simulated;
    simulated.collective = "all_reduce";
    simulated.refused = "my_ring.cpp does not pass its test";
    for (const int ranks : {4, 16, 64}) {
        for (const std::size_t bytes : {std::size_t{1024}, std::size_t{1} << 20U}) {
            for (const auto& [name, steps] :
                 {std::pair{"naive", 2 * ranks}, {"ring", 6}, {"mine", 3}}) {
                simulation::Timed time;
                time.algorithm = name;
                time.ranks = ranks;
                time.size_bytes = bytes;
                time.seconds = steps * (1e-6 + static_cast<double>(bytes) / 1e9);
                simulated.times.push_back(time);
            }
        }
    }
    const std::string page = page_of(simulated, {});
    leave("simulate.html", page);
    CHECK(data_of(page) == json::parse(json_of(simulated, {})));
    CHECK(has(page, pages::escaped(lines_of(table_of(simulated, {})).front())));
}

TEST_CASE("the page of simulate train has the document of --json, and its table for paper") {
    TrainingSimulation wanted;
    wanted.training.model.name = "small";
    wanted.training.work = {.forward_s = 0.1, .backward_s = 0.2};
    wanted.ways = {trainer::Parallel::average, trainer::Parallel::ddp, trainer::Parallel::ps};
    wanted.ranks = {4, 16, 64};
    wanted.servers = {1, 2};
    Trained trained;
    trained.notes = {"my_ring.cpp does not pass its test"};
    for (const int ranks : wanted.ranks) {
        for (const TrainedWay& line : lines_of(wanted)) {
            const bool is_hidden = line.way == trainer::Parallel::ddp;
            const double exposed_s = is_hidden ? 0 : 0.01 * ranks / line.servers;
            const double step_s = 0.3 + exposed_s;
            trained.steps.push_back(
                {.way = line.way,
                 .ranks = ranks,
                 .time = {.step_s = step_s, .communication_s = 0.7, .exposed_s = exposed_s},
                 .images_per_s = 64 * ranks / step_s,
                 .efficiency = 0.3 / step_s,
                 .servers = line.servers}
            );
        }
    }
    const std::string page = page_of(trained, wanted);
    leave("train.html", page);
    CHECK(data_of(page) == json::parse(json_of(trained, wanted)));
    CHECK(data_of(page).at("steps").at(1).at("name") == "ddp");
    CHECK(data_of(page).at("steps").at(3).at("name") == "ps 2");
    CHECK(has(page, pages::escaped(lines_of(table_of(trained, wanted)).front())));
}

TEST_CASE("the page of a bench has the document of --json, and its table for paper") {
    const std::vector<lab::Measured> measured = {example()};
    const std::string page = lab::to_html(measured);
    leave("bench.html", page);
    CHECK(data_of(page) == json::parse(lab::to_json(measured)));
    CHECK(has(page, pages::escaped(lines_of(lab::to_table(measured)).front())));
}

TEST_CASE("a bench on several numbers of ranks leaves a page for the browser's test") {
    std::vector<lab::Measured> measured = {example(), example()};
    measured[0].machine.ranks = 2;
    for (const auto& [name, naive_over_this] : {std::pair{"naive", 1.0}, {"ring", 0.5}}) {
        lab::Point between = point(name, 32768, 1e-5 / naive_over_this);
        between.between = true;
        between.vs_naive = about(naive_over_this);
        measured[1].points.push_back(between);
    }
    const std::string page = lab::to_html(measured);
    leave("bench_ranks.html", page);
    CHECK(data_of(page) == json::parse(lab::to_json(measured)));
}
