// What prove reads of simgrid-mc, and what it says and draws.
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "course/prove/explore.hpp"
#include "course/prove/proof.hpp"
#include "tests/course/cli_support.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist::cli;

TEST_CASE("what simgrid-mc says is read") {
    const std::string stands_still =
        "[0.0] [mc_global/INFO] *** DEADLOCK DETECTED ***\n"
        "[0.0] [mc_session/INFO] You can debug the problem (and see the whole details) by "
        "rerunning out "
        "of simgrid-mc with --cfg=model-check/replay:'1;2;3/1;3'\n"
        "[0.0] [mc_dfs/INFO] DFS exploration ended. 4 unique states visited; 0 explored traces\n";
    const Exploration hangs = read_exploration(stands_still, 2);
    CHECK(hangs.end == Exploration::End::hangs);
    CHECK(hangs.path == "1;2;3/1;3");
    CHECK(hangs.states == 4);
    const Exploration wrong = read_exploration("*** PROPERTY NOT VALID ***\n", 1);
    CHECK(wrong.end == Exploration::End::wrong);
    const Exploration right = read_exploration(
        "DFS exploration ended. 281 unique states visited; 9 explored traces\n", 0
    );
    CHECK(right.end == Exploration::End::right);
    CHECK(right.states == 281);
    // as SimGrid 4.0 says it: such a reduction ends well, with nothing explored
    const Exploration deep = read_exploration(
        "[mc_dfs/ERROR] /!\\ Max depth of 5000 reached! THIS WILL PROBABLY BREAK the dpor "
        "reduction "
        "/!\\\nDFS exploration ended. 5001 unique states visited; 0 explored traces\n",
        0
    );
    CHECK(deep.end == Exploration::End::cut_short);
    CHECK(has(deep.why, "more than 8000 steps"));
    const std::string ended = "DFS exploration ended. 281 unique states visited; 9 traces\n";
    CHECK(
        read_exploration("[mc_dfs/ERROR] something is odd\n" + ended, 0).end ==
        Exploration::End::cut_short
    );
    const Exploration from_anyone =
        read_exploration(std::string(dist::simulation::kFromAnyoneMark) + "\n" + ended, 0);
    CHECK(from_anyone.end == Exploration::End::right);
    CHECK(has(from_anyone.why, "a rank receives from any rank"));
    CHECK(needs_all_orders(dist::simulation::kQuestionMark + ("\n" + ended)));
    CHECK(!needs_all_orders(ended));
    CHECK(read_exploration("Segmentation fault\n", 139).end == Exploration::End::cut_short);
}

TEST_CASE("a wrong order is drawn message by message, with those that wait in the end") {
    WrongOrder wrong;
    wrong.test.name = "everybody is heard";
    wrong.test.status = State::hang;
    wrong.test.ranks = 3;
    for (int rank = 0; rank < 3; ++rank) {
        wrong.test.per_rank.emplace_back();
        wrong.test.per_rank.back().rank = rank;
    }
    wrong.test.per_rank[0].phase = dist::harness::Phase::waiting;
    wrong.test.per_rank[0].peer = 2;
    wrong.messages = {{1, 2, 0, 0, 28, "MPI_Recv"}, {1, 1, 0, 0, 28, "MPI_Recv"}};
    const Drawing drawing = drawing_of(wrong, "gather");
    CHECK(drawing.diagram.accused == std::set<int>{2});
    REQUIRE(drawing.messages.size() == 2);
    CHECK(drawing.messages[0].src == 2);
    CHECK(drawing.messages[1].begin == 1);
    const std::string text = dist::diagrams::lanes(drawing.diagram, drawing.messages);
    INFO(text);
    const std::size_t first = text.find("round 1            |<--------------7---------------|");
    const std::size_t second = text.find("round 2            :<------7-------|");
    REQUIRE(second != std::string::npos);
    CHECK(first < second);
    const std::string svg = dist::diagrams::svg(drawing.diagram, drawing.messages);
    CHECK(has(svg, "2 messages, 2 rounds"));
    CHECK(has(svg, "a red bar: it waits in vain"));
}

TEST_CASE("a proof that was cut short says so, and is none") {
    Claim claim;
    claim.ranks = 4;
    Proof proof;
    proof.explored = {{"it sends", 1, 8, 700, 0.5}, {"it sends", 2, 8, 43, 0.5}};
    proof.repeated = 1;
    CHECK(proof.is_proof());
    const std::string proved = text_of(proof, claim, "./shardlings prove x");
    CHECK(has(proved, "      743 states  it sends, 2 trials\n"));
    CHECK(has(proved, "1 more trial sends the same messages"));
    CHECK(has(proved, "no order of messages goes wrong on 4 ranks: 743 states, "));
    proof.cut_short = "it reached the time limit (--time-limit)";
    CHECK(!proof.is_proof());
    CHECK(has(text_of(proof, claim, ""), "no proof: it reached the time limit (--time-limit)"));
    CHECK(nlohmann::json::parse(json_of(proof, claim, "x"))["proved"] == false);
    const Proof nothing;
    CHECK(!nothing.is_proof());
    CHECK(has(text_of(nothing, claim, ""), "no proof: no test sends a message"));
}
