// trace: from what ranks logged to a picture, a text and a file for Perfetto.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "course/report/drawing.hpp"
#include "course/trace/step_json.hpp"
#include "course/trace/timeline.hpp"
#include "tests/course/cli_support.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist;
using namespace dist::cli;
using trace::Did;
using trace::Log;
using trace::Step;

namespace {

/// Logs of ranks that send and receive by blocking calls.
class Ranks {
  public:
    explicit Ranks(int p) : logs(static_cast<std::size_t>(p)), ids_(logs.size()) {}

    /// Both ends of a message of so many floats, in one step: as MPI_Sendrecv would.
    void message(int src, int dst, int floats, bool is_taken = true) {
        const int id = ++ids_.at(static_cast<std::size_t>(src));
        add(src, {.did = Did::send, .id = id, .peer = dst, .bytes = 4 * floats});
        if (is_taken) {
            const int own = 1000 + ++ids_.at(static_cast<std::size_t>(dst));
            add(dst, {.did = Did::receive, .id = own});
            waits_.emplace_back(
                dst,
                Step{
                    .did = Did::wait_receive,
                    .id = own,
                    .peer = src,
                    .peer_id = id,
                    .bytes = 4 * floats}
            );
            waits_.emplace_back(src, Step{.did = Did::wait_send, .id = id});
        }
    }

    /// All wait for what they have begun.
    void wait() {
        for (const auto& [rank, step] : waits_) {
            add(rank, step);
        }
        waits_.clear();
    }

    std::vector<Log> logs;

  private:
    void add(int rank, Step step) {
        step.thread = 1;
        step.since_s = now_s_;
        now_s_ += 1e-5;
        step.at_s = now_s_;
        logs.at(static_cast<std::size_t>(rank)).steps.push_back(step);
    }

    std::vector<int> ids_;
    std::vector<std::pair<int, Step>> waits_;
    double now_s_ = 100;
};

TestResult test_of(const std::vector<Log>& logs) {
    TestResult test;
    test.name = "everything < reaches & everybody";
    test.ranks = static_cast<int>(logs.size());
    test.status = State::pass;
    for (std::size_t rank = 0; rank < logs.size(); ++rank) {
        test.per_rank.emplace_back();
        test.per_rank.back().rank = static_cast<int>(rank);
        test.per_rank.back().log = logs[rank];
    }
    return test;
}

Ranks ring(int p, int steps) {
    Ranks ranks(p);
    for (int step = 0; step < steps; ++step) {
        for (int rank = 0; rank < p; ++rank) {
            ranks.message(rank, (rank + 1) % p, 3);
        }
        ranks.wait();
    }
    return ranks;
}

std::string text_of(const TestResult& test, const diagrams::TextSize& size = {}) {
    const Drawing drawing = drawing_of(test, "some_ring");
    return diagrams::lanes(drawing.diagram, drawing.messages, size);
}

std::string svg_of(const TestResult& test) {
    const Drawing drawing = drawing_of(test, "some_ring");
    return diagrams::svg(drawing.diagram, drawing.messages);
}

long lines_in(const std::string& text) {
    return std::ranges::count(text, '\n');
}

}  // namespace

TEST_CASE("a ring's messages stand in the rounds that they take") {
    const trace::Timeline timeline = trace::timeline_of(ring(4, 3).logs);
    CHECK(timeline.rounds == 3);
    REQUIRE(timeline.messages.size() == 12);
    for (std::size_t i = 0; i < 12; ++i) {
        CHECK(timeline.messages[i].end == 1 + static_cast<int>(i) / 4);
        CHECK(timeline.messages[i].begin == timeline.messages[i].end - 1);
        CHECK_FALSE(timeline.messages[i].is_excess);
        CHECK_FALSE(timeline.messages[i].is_lost);
    }
}

TEST_CASE("a message is too much from the first one on that goes beyond a limit") {
    Ranks ranks = ring(3, 4);
    const auto excess = [&] {
        std::set<std::pair<int, int>> found;  // sender, round
        for (const auto& message : trace::timeline_of(ranks.logs).messages) {
            if (message.is_excess) {
                found.emplace(message.src, message.end);
            }
        }
        return found;
    };
    CHECK(excess().empty());
    ranks.logs[1].limits.messages = 3;
    CHECK(excess() == std::set<std::pair<int, int>>{{1, 4}});
    ranks.logs[1].limits = {};
    ranks.logs[2].limits.bytes = 35;  // of 48
    CHECK(excess() == std::set<std::pair<int, int>>{{2, 3}, {2, 4}});
    ranks.logs[2].limits = {};
    ranks.logs[0].limits.partners = std::set<int>{2};
    CHECK(excess().size() == 4);
}

TEST_CASE("a message that nobody takes is lost, and leaves all the same") {
    Ranks ranks(2);
    ranks.message(0, 1, 5, false);
    const trace::Timeline timeline = trace::timeline_of(ranks.logs);
    REQUIRE(timeline.messages.size() == 1);
    CHECK(timeline.messages[0].is_lost);
    CHECK(timeline.messages[0].end == 1);
}

TEST_CASE("a log comes back from its record as it was") {
    Log log = ring(3, 2).logs[1];
    log.limits.messages = 7;
    log.limits.partners = std::set<int>{0, 2};
    log.stacks = {{16, 32}, {48}};
    const Log back = trace::log_of(nlohmann::json::parse(trace::to_json(log).dump()));
    REQUIRE(back.steps.size() == log.steps.size());
    for (std::size_t i = 0; i < log.steps.size(); ++i) {
        CHECK(back.steps[i].did == log.steps[i].did);
        CHECK(back.steps[i].peer_id == log.steps[i].peer_id);
        CHECK(back.steps[i].at_s == log.steps[i].at_s);
    }
    CHECK(back.limits.messages == 7);
    CHECK(back.limits.partners == log.limits.partners);
    CHECK(back.stacks == log.stacks);
    CHECK_FALSE(back.cut);
    log.steps.resize(trace::kMostSteps + 1);
    const Log longer = trace::log_of(trace::to_json(log));
    CHECK(longer.cut);
    CHECK(longer.steps.size() == trace::kMostSteps);
    CHECK_THROWS_AS(trace::log_of(nlohmann::json{{"steps", {{1, 2}}}}), nlohmann::json::exception);
}

TEST_CASE("as text a ring step is an arrow to each neighbour") {
    CHECK(
        text_of(test_of(ring(3, 1).logs)) ==
        "                rank 0          rank 1          rank 2\n"
        "round 1            |------3------->|------3------->|\n"
        "                   |<--------------3---------------|\n"
        "numbers: floats\n"
    );
}

TEST_CASE("as text it says who waits, what is too much and what nobody took") {
    Ranks ranks(3);
    for (const int dst : {1, 2, 1}) {
        ranks.message(0, dst, 2);
        ranks.wait();
    }
    ranks.message(0, 2, 1, false);
    ranks.logs[0].limits.messages = 2;
    const std::string text = text_of(test_of(ranks.logs));
    INFO(text);
    CHECK(has(text, "|------2------->|               :"));
    CHECK(has(text, "|!!!!!!2!!!!!!!>|"));
    CHECK(has(text, "x"));
    CHECK(has(text, "a colon: the rank waits; x: nobody took it; !: more than is right"));
    const std::string coloured = text_of(test_of(ranks.logs), {.colours = true});
    CHECK(has(coloured, "\033[31m!!!!!!2!!!!!!!>\033[0m"));
}

TEST_CASE("as text it fits into the columns and lines that there are, and shows what is red") {
    for (const int p : {2, 4, 8, 12, 16}) {
        std::istringstream lines(text_of(test_of(ring(p, 3).logs), {.columns = 80}));
        for (std::string line; std::getline(lines, line);) {
            INFO(line);
            CHECK(line.size() <= 80);
        }
    }
    Ranks ranks = ring(4, 60);
    const std::string begin = text_of(test_of(ranks.logs), {.lines = 20});
    INFO(begin);
    CHECK(lines_in(begin) <= 20);
    CHECK(has(begin, "round 1 "));
    CHECK(has(begin, "more rounds"));
    for (Log& log : ranks.logs) {
        log.limits.rounds = 40;
    }
    const std::string late = text_of(test_of(ranks.logs), {.lines = 20});
    INFO(late);
    CHECK(lines_in(late) <= 20);
    CHECK(has(late, "round 41 "));
    CHECK_FALSE(has(late, "round 1 "));
    CHECK(has(late, "at most 40 rounds are right"));
}

TEST_CASE("of many rounds those that repeat are drawn once, one alone or several together") {
    Ranks ranks(3);
    const auto ring_round = [&](int floats) {
        for (int rank = 0; rank < 3; ++rank) {
            ranks.message(rank, (rank + 1) % 3, floats);
        }
        ranks.wait();
    };
    ring_round(9);
    for (int step = 0; step < 10; ++step) {
        for (const int floats : {3, 3, 5}) {
            ring_round(floats);
        }
    }
    CHECK(has(text_of(test_of(ring(3, 24).logs)), "round 24"));  // a screen holds them
    const std::string again = "the 3 rounds since round 2 again, 9 more times, to round 31";
    const std::string text = text_of(test_of(ranks.logs), {.columns = 80});
    INFO(text);
    CHECK(has(text, "round 4 "));
    CHECK_FALSE(has(text, "round 5 "));
    CHECK(text.ends_with("    ...   " + again + "\nnumbers: floats\n"));
    for (int step = 0; step < 7; ++step) {
        ring_round(2);
    }
    const std::string longer = text_of(test_of(ranks.logs));
    CHECK(has(longer, "    ...   " + again + "\nround 32 "));
    CHECK(longer.ends_with("    ...   6 more rounds alike, to round 38\nnumbers: floats\n"));
    const std::string svg = svg_of(test_of(ranks.logs));
    CHECK(has(svg, ">round 32<"));
    CHECK_FALSE(has(svg, ">round 5<"));
    CHECK(has(svg, ">... " + again + "<"));
    CHECK(has(svg, "114 messages, 38 rounds; a rank sends at most 133 floats"));
    ranks.logs[0].limits.rounds = 30;  // each round counts where some are too many
    CHECK(has(text_of(test_of(ranks.logs)), "round 38"));
}

TEST_CASE("above its first round stands the call whose messages come, and the line that made it") {
    Ranks ranks = ring(3, 3);
    for (Log& log : ranks.logs) {
        log.calls = {
            "ring_reduce_scatter   zero2.cpp:40", "ring_reduce_scatter   zero2.cpp:40",
            "ring_all_gather   zero2.cpp:57"};
    }
    const std::string text = text_of(test_of(ranks.logs));
    INFO(text);
    CHECK(has(text, "ring_reduce_scatter   zero2.cpp:40\nround 1 "));
    CHECK(has(text, "ring_all_gather   zero2.cpp:57\nround 3 "));
    CHECK_FALSE(has(text, "zero2.cpp:40\nround 2 "));
    CHECK(has(svg_of(test_of(ranks.logs)), ">ring_all_gather   zero2.cpp:57<"));
}

TEST_CASE("the picture marks the same, and holds what it is given as text") {
    Ranks ranks = ring(3, 3);
    CHECK_FALSE(has(svg_of(test_of(ranks.logs)), "#dc2626"));
    ranks.logs[1].limits.messages = 2;
    ranks.logs[1].limits.rounds = 2;
    const std::string svg = svg_of(test_of(ranks.logs));
    CHECK(has(svg, "everything &lt; reaches &amp; everybody"));
    CHECK(has(svg, "in red: more than is right"));
    CHECK(has(svg, "fill='#dc2626'>round 3<"));
    CHECK_FALSE(has(svg, "fill='#dc2626'>round 2<"));
}

TEST_CASE("below its title the picture of a test that fails says why") {
    TestResult test = test_of(Ranks(2).logs);
    test.status = State::fail;
    test.message = "a < b, and " + std::string(80, 'x') + " and so on";
    const Drawing drawing = drawing_of(test, "ring");
    const std::string svg = diagrams::svg(drawing.diagram, drawing.messages);
    const std::size_t title = svg.find(">ring: 2 ranks, fail</text>");
    const std::size_t reason =
        svg.find("y='50' fill='#dc2626' text-anchor='start'>a &lt; b, and</text>");
    CHECK(title < reason);
    CHECK(reason < svg.find("y='70' fill='#dc2626' text-anchor='start'>xxx"));
    CHECK(has(svg, "y='108'>rank 0</text>"));  // and the lanes begin lower
    CHECK(drawing_of(test_of(Ranks(2).logs), "ring").diagram.reason.empty());
}

TEST_CASE("the picture accuses those that all wait for") {
    Ranks ranks(3);
    TestResult test = test_of(ranks.logs);
    test.status = State::hang;
    const auto waits_for = [&](std::size_t rank, int peer) {
        test.per_rank[rank].phase = harness::Phase::waiting;
        test.per_rank[rank].peer = peer;
        test.per_rank[rank].call = "MPI_Recv(from rank " + std::to_string(peer) + ")";
    };
    waits_for(0, 1);
    waits_for(1, 2);
    test.per_rank[2].phase = harness::Phase::returned;
    CHECK(drawing_of(test, "x").diagram.accused == std::set<int>{2});
    CHECK(has(svg_of(test), "rank 0  waits in MPI_Recv(from rank 1)"));
    waits_for(2, 0);
    CHECK(drawing_of(test, "x").diagram.accused == std::set<int>{0, 1, 2});
    CHECK(has(text_of(test), ":"));
}

TEST_CASE("in the file for Perfetto each message's arrow has two ends, inside of slices") {
    const TestResult test = test_of(ring(4, 3).logs);
    const auto document = nlohmann::json::parse(chrome_trace(test, "some_ring"));
    std::map<std::string, int> ends;
    int slices = 0;
    for (const auto& event : document.at("traceEvents")) {
        const std::string phase = event.at("ph");
        slices += phase == "X" ? 1 : 0;
        if (phase != "s" && phase != "f") {
            continue;
        }
        ends[event.at("id")] += phase == "s" ? 1 : 10;
        const bool inside = std::ranges::any_of(document.at("traceEvents"), [&](const auto& slice) {
            const double at = event.at("ts");
            return slice.at("ph") == "X" && slice.at("pid") == event.at("pid") &&
                   slice.at("tid") == event.at("tid") &&
                   slice.at("ts").template get<double>() <= at &&
                   at <= slice.at("ts").template get<double>() +
                             slice.at("dur").template get<double>();
        });
        CHECK(inside);
    }
    CHECK(ends.size() == 12);
    CHECK(std::ranges::all_of(ends, [](const auto& end) { return end.second == 11; }));
    CHECK(slices == 36);  // sent, waited for by both
}
