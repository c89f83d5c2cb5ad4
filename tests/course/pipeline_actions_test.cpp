// Schedules of pipelines, written and read as PyTorch does, and drawn.
#include "course/runtime/pipeline_actions.hpp"

#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/course/error_text.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist;

namespace {

using enum ActionKind;

const Schedule kAll = {
    {{0, forward, 3}, {2, input_gradient, 0}, {2, weight_gradient, 0}, {1, backward, 12}},
    {},
    {{0, send_f, 1}, {1, recv_f, 1}, {10, send_b, 0}, {0, recv_b, 2}}};

const std::string kText =
    "0F3,2I0,2W0,1B12\n"
    "\n"
    "0SEND_F1,1RECV_F1,10SEND_B0,0RECV_B2\n";

}  // namespace

TEST_CASE("write_schedule and read_schedule know every kind of action, and rows without any") {
    CHECK(write_schedule(kAll) == kText);
    CHECK(read_schedule(kText) == kAll);
    CHECK(write_schedule({}).empty());
    CHECK(read_schedule("").empty());
    CHECK(read_schedule(write_schedule({{}, {}})) == Schedule{{}, {}});
    const int most = std::numeric_limits<int>::max();
    CHECK(
        read_schedule(write_schedule({{{most, forward, most}}})) ==
        Schedule{{{most, forward, most}}}
    );
}

TEST_CASE("read_schedule leaves empty cells out, and takes both kinds of line ends") {
    const Schedule two = {{{0, forward, 0}, {0, forward, 1}}, {{1, forward, 0}}};
    CHECK(read_schedule("0F0,0F1\n1F0") == two);
    CHECK(read_schedule("0F0,,,0F1,\n,1F0\n") == two);
    CHECK(read_schedule("0F0,0F1\r\n,,1F0,,\r\n") == two);
    CHECK(read_schedule("0F0\n,,\n") == Schedule{{{0, forward, 0}}, {}});
}

TEST_CASE("read_schedule refuses a cell that is no action, and says which") {
    for (const std::string wrong :
         {"0BW3", "F3", "0F", "0F-1", "-1F0", "0F3x", "0f3", " 0F3", "0F 3", "0UNSHARD", "3",
          "0SEND3", "(0F7;7B3)OVERLAP_F_B", "99999999999F0", "0F99999999999"}) {
        INFO(wrong);
        const std::string text = error_text([&] { read_schedule("0F0," + wrong + ",0F1"); });
        CHECK_THROWS_AS(read_schedule(wrong), std::invalid_argument);
        CHECK(text.find("\"" + wrong + "\"") != std::string::npos);
    }
}

TEST_CASE("peer_of finds the other end of a message") {
    CHECK(peer_of({1, send_f, 5}) == PipelineAction{2, recv_f, 5});
    CHECK(peer_of({2, recv_f, 5}) == PipelineAction{1, send_f, 5});
    CHECK(peer_of({2, send_b, 5}) == PipelineAction{1, recv_b, 5});
    CHECK(peer_of({1, recv_b, 5}) == PipelineAction{2, send_b, 5});
}

TEST_CASE("draw_schedule draws a column for each unit, and stages where a rank has several") {
    const std::vector<std::vector<Slot>> one = {
        {{{0, forward, 0}, 0, 1}, {{0, backward, 0}, 3, 5}}, {}, {{{1, forward, 10}, 1, 2}}};
    CHECK(
        draw_schedule(one) ==
        "rank 0  F0  .   .   B0  --\n"
        "rank 1\n"
        "rank 2  .   F10\n"
    );
    const std::vector<std::vector<Slot>> two = {
        {{{0, forward, 0}, 0, 2}, {{2, forward, 0}, 4, 6}}, {{{1, forward, 0}, 2, 4}}};
    CHECK(
        draw_schedule(two, 2) ==
        "rank 0  0F0 .   2F0\n"
        "rank 1  .   F0\n"
    );
}
