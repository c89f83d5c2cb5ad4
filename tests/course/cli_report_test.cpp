#include <csignal>
#include <string>
#include <vector>

#include "course/judge/explain.hpp"
#include "course/manifest/manifest.hpp"
#include "course/report/failure_text.hpp"
#include "course/report/report.hpp"
#include "tests/course/cli_support.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist::cli;

namespace {

using dist::harness::CallKind;
using dist::harness::Direction;
using dist::harness::Phase;

RankResult standing(int rank, Phase phase) {
    RankResult result;
    result.rank = rank;
    result.phase = phase;
    return result;
}

RankResult waiting(
    int rank, int peer, const std::string& call, CallKind kind, Direction direction
) {
    RankResult result = standing(rank, Phase::waiting);
    result.state = RankState::blocked;
    result.call = call;
    result.kind = kind;
    result.direction = direction;
    result.peer = peer;
    result.tag = 0;
    return result;
}

RankResult sending(int rank, int peer, int tag = 0) {
    RankResult result = waiting(rank, peer, "MPI_Send", CallKind::message, Direction::send);
    result.tag = tag;
    return result;
}

RankResult receiving(int rank, int peer, int tag = 0) {
    RankResult result = waiting(rank, peer, "MPI_Recv", CallKind::message, Direction::receive);
    result.tag = tag;
    return result;
}

RankResult in_collective(int rank, const std::string& call, long number = 1) {
    RankResult result = waiting(rank, -1, call, CallKind::collective, Direction::none);
    result.collectives = number;
    return result;
}

dist::harness::Slot& died_of(int signal, std::uintptr_t address, int code = 0) {
    static dist::harness::Slot slot;
    slot.end_code = signal;
    slot.fault_address = address;
    slot.fault_stack = 0;
    slot.fault_code = code;
    slot.overrun[0] = '\0';
    return slot;
}

std::string explained(const std::vector<RankResult>& ranks) {
    TestResult test;
    test.per_rank = ranks;
    return explain_hang(test);
}

}  // namespace

TEST_CASE("a circle of sends is explained by its order") {
    const std::string text = explained({sending(0, 1), sending(1, 2), sending(2, 0)});
    CHECK(has(text, "0 waits for 1, 1 waits for 2, 2 waits for 0"));
    CHECK(has(text, "every rank sends first"));
}

TEST_CASE("a circle that starts elsewhere names only its members") {
    const std::string text = explained({receiving(0, 1), receiving(1, 2), receiving(2, 1)});
    CHECK(
        text ==
        "1 waits for 2, 2 waits for 1: each of these ranks receives first, and none has sent to "
        "the one that waits for it"
    );
    CHECK(
        has(explained({sending(0, 1), sending(1, 0), sending(2, 0)}),
            "0 waits for 1, 1 waits for 0: each of these ranks sends first")
    );
}

TEST_CASE("tags that do not match are named before the circle they make") {
    const std::string text = explained({sending(0, 1, 5), receiving(1, 0, 3)});
    CHECK(has(text, "rank 0 sends to rank 1 with tag 5, and rank 1 receives with tag 3"));
}

TEST_CASE("a rank that waits for one that has returned: either of the two may be wrong") {
    CHECK(
        explained({standing(0, Phase::returned), receiving(1, 0)}) ==
        "rank 1 waits for rank 0, which has returned already without sending to it: as if rank 1 "
        "expected one message too many, or rank 0 sent one too few"
    );
    CHECK(
        explained({standing(0, Phase::returned), sending(1, 0)}) ==
        "rank 1 waits for rank 0, which has returned already without receiving from it: as if rank "
        "1 sent one message too many, or rank 0 received one too few"
    );
}

TEST_CASE("on another communicator ranks have the numbers that the code sees") {
    // three ranks in reverse order: rank 2 of the job is rank 0
    const auto seen = [](RankResult rank) {
        rank.rank_in_comm = 2 - rank.rank;
        rank.peer_in_comm = 2 - rank.peer;
        return rank;
    };
    const std::string note = " (as the communicator of these calls numbers the ranks)";
    CHECK(
        explained(
            {standing(0, Phase::returned), standing(1, Phase::returned), seen(receiving(2, 0))}
        ) ==
        "rank 0 waits for rank 2, which has returned already without sending to it: as if rank 0 "
        "expected one message too many, or rank 2 sent one too few" +
            note
    );
    CHECK(
        explained({seen(receiving(0, 0)), seen(receiving(1, 0))}) ==
        "rank 2 waits for itself: it receives from rank 2, to which nobody has sent. Which rank "
        "did "
        "you mean?" +
            note
    );
    CHECK(
        explained({seen(sending(0, 2)), seen(sending(2, 0))}) ==
        "2 waits for 0, 0 waits for 2" + note +
            ": every rank sends first, and no send returns before somebody receives"
    );
    CHECK(has(
        explained({seen(sending(0, 2, 5)), seen(receiving(2, 0, 3))}),
        "rank 2 sends to rank 0 with tag 5, and rank 0 receives with tag 3: the tags do not match" +
            note
    ));
    CHECK(
        rank_line(seen(receiving(2, 0))) == "rank 2, rank 0 of its communicator,  waits in MPI_Recv"
    );
    // two communicators that number rank 1 differently: ranks of the job
    RankResult other = sending(1, 2);
    other.rank_in_comm = 1;
    other.peer_in_comm = 0;
    RankResult back = sending(2, 1);
    back.rank_in_comm = 0;
    back.peer_in_comm = 2;
    CHECK(explained({other, back}).starts_with("1 waits for 2, 2 waits for 1: "));
}

TEST_CASE("what no pattern explains says who waits and who has left") {
    TestResult test;
    test.per_rank = {standing(0, Phase::returned), receiving(1, -1), standing(2, Phase::returned)};
    CHECK(explain_hang(test).empty());
    CHECK(
        explain_waiting(test) ==
        "rank 1 receives from any rank (as a source, -1 means that), and no rank sends to it"
    );
    test.per_rank[1].direction = Direction::none;
    CHECK(explain_waiting(test) == "rank 1 waits in vain: ranks 0 and 2 have returned already");
}

TEST_CASE("collectives in different order, and one that a rank leaves out") {
    const RankResult barrier = in_collective(2, "MPI_Barrier");
    const std::string reduce = "MPI_Allreduce(8 bytes)";
    CHECK(
        has(explained({in_collective(0, reduce), in_collective(1, reduce), barrier}),
            "rank 2 is in MPI_Barrier, the others in MPI_Allreduce(8 bytes)")
    );
    CHECK(
        has(explained({standing(0, Phase::returned), standing(1, Phase::returned), barrier}),
            "rank 2 is in MPI_Barrier, and ranks 0 and 1 do not come")
    );
    RankResult one_less = standing(0, Phase::returned);
    one_less.collectives = 1;
    CHECK(
        has(explained({one_less, in_collective(1, "MPI_Barrier", 2)}),
            "rank 1 is in MPI_Barrier, collective number 2 of this call, and rank 0 does not come "
            "after number 1: one of the collectives was left out there")
    );
}

TEST_CASE("an exception on one rank explains why the others wait") {
    RankResult thrower = standing(1, Phase::threw);
    thrower.message = "std::runtime_error was thrown: no";
    const std::string text = explained({receiving(0, 1), thrower});
    CHECK(has(text, "rank 1 left by an exception, and rank 0 waits for it"));
    CHECK(has(text, "std::runtime_error was thrown: no"));
}

TEST_CASE("a crash tells a null pointer from another address, and repeats a sanitizer's line") {
    CHECK(has(
        explain_signal(2, died_of(SIGSEGV, 0), ""), "rank 2 died of SIGSEGV: it used a null pointer"
    ));
    CHECK(has(explain_signal(2, died_of(SIGSEGV, 0xdead000), ""), "0xdead000"));
    const std::string wild = explain_signal(2, died_of(SIGSEGV, 0, SI_KERNEL), "");
    CHECK(has(wild, "as if memory was written outside of a buffer"));
    CHECK_FALSE(has(wild, "null"));
    dist::harness::Slot& on_stack = died_of(SIGSEGV, 0x7ffc00001000);
    on_stack.fault_stack = 0x7ffc00001008;
    CHECK(has(explain_signal(0, on_stack, ""), "its stack is full"));
    on_stack.fault_stack =
        0x7ffc00001000 - 100'000;  // as if an index had passed the stack's other end
    CHECK(has(explain_signal(0, on_stack, ""), "an index went beyond"));
    CHECK(
        has(explain_signal(0, died_of(SIGABRT, 0), "free(): double free detected"),
            "double free detected")
    );
    CHECK(has(
        explain_signal(
            0, died_of(SIGABRT, 0), "=1=ERROR: AddressSanitizer: heap-buffer-overflow on address\n"
        ),
        "AddressSanitizer: heap-buffer-overflow"
    ));
}

TEST_CASE("an exception names the line under test, and the reference that it called") {
    TestResult test;
    test.status = State::fail;
    test.message = "rank 1: dist::Error was thrown: MPI_Recv failed: message truncated";
    RankResult thrower = standing(1, Phase::threw);
    thrower.message = "dist::Error was thrown: MPI_Recv failed: message truncated";
    thrower.where = "ring_shift.cpp:14";
    test.per_rank = {standing(0, Phase::returned), thrower};
    CHECK(has(in_full(test), "thrown in ring_shift.cpp:14\n"));
    test.per_rank[1].reference = "recv";
    CHECK(has(in_full(test), "thrown in the reference recv, called in ring_shift.cpp:14\n"));
    CHECK(has(in_full(test), "recv is the course's own, and right"));
    test.per_rank[0] = standing(0, Phase::waiting);
    test.per_rank[0].reference = "recv";
    CHECK(has(in_full(test), "rank 1 left by an exception, and the others do not know"));
    CHECK_FALSE(has(in_full(test), "look at what you gave it"));
}

TEST_CASE("a later failure keeps its line of context") {
    TestResult test;
    test.status = State::fail;
    test.per_rank = {standing(0, Phase::absent)};
    test.per_rank[0].failures = {{"CHECK( rounds == 11 )", "10 == 11", "t.cpp", 7, {}}};
    CHECK(in_one_line(test) == "rank 0: 10 == 11   CHECK( rounds == 11 )");
    test.per_rank[0].failures[0].info = {"7 floats over 3 ranks", "one message a step"};
    CHECK(in_one_line(test) == "rank 0: 10 == 11 (7 floats over 3 ranks; one message a step)");
    test.per_rank[0].failures[0].info = {
        "Two models, one after the other, and then a look at both: is some memory shared",
        "by all calls?", "parameter 0"};
    CHECK(has(in_one_line(test), "is some memory shared by all calls? parameter 0)"));
    test.per_rank[0].failures[0].info = {"what arrives last:", "rank 2"};
    CHECK(has(in_one_line(test), "(what arrives last: rank 2)"));
    test.per_rank[0].failures = {{"CHECK( is_sorted )", "false", "t.cpp", 7, {"7 floats"}}};
    CHECK(in_one_line(test) == "rank 0: false   CHECK( is_sorted ) (7 floats)");
    test.per_rank[0].failures = {{"CHECK( result )", "index 0: expected 1, got 2", "t.cpp", 7, {}}};
    CHECK(in_one_line(test) == "rank 0: index 0: expected 1, got 2");
}

TEST_CASE("a check that only names a value with a sentence of its own is not repeated") {
    TestResult test;
    test.status = State::fail;
    test.per_rank = {standing(0, Phase::absent)};
    const auto shown = [&](const Failure& failure) {
        test.per_rank[0].failures = {failure};
        return in_full(test);
    };
    const std::string told = "index 0: expected 1, got 2";
    CHECK(
        shown({"CHECK( result )", told, "tests/harness/words/p.cpp", 7, {}}) ==
        "rank 0: " + told + "\n"
    );
    CHECK(shown({"CHECK( result )", told, "tests/01_x/t_test.cpp", 7, {}}
    ).starts_with("t_test.cpp:7\nrank 0"));
    for (const auto* check : {"CHECK( is_sorted )", "CHECK( sent == 2 )", "CHECK( same(a, b) )"}) {
        CHECK(
            has(shown({check, "false", "tests/harness/words/p.cpp", 7, {}}),
                std::string(check) + "   p.cpp:7")
        );
    }
}

TEST_CASE("a hang says what the test said of the call, once") {
    TestResult test;
    test.status = State::hang;
    test.message = "0 waits for 1, 1 waits for 0";
    test.per_rank = {sending(0, 1), sending(1, 0)};
    test.per_rank[0].info = {"mean of 7 floats, p = 2"};
    test.per_rank[1].info = {"mean of 7 floats, p = 2"};
    CHECK(has(
        in_full(test), "0 waits for 1, 1 waits for 0\n  mean of 7 floats, p = 2\nrank 0  waits in"
    ));
}

TEST_CASE("only a whole run says Done, and names what comes next") {
    const Manifest manifest = read_manifest(REPOSITORY);
    const Exercise& exercise = manifest.find("send_recv");
    Result result;
    result.exercise = "send_recv";
    result.status = State::pass;
    TestResult test;
    test.name = "it sends";
    test.status = State::pass;
    test.per_rank = {standing(0, Phase::absent)};
    test.per_rank[0].output = "chunk 0\n";
    result.tests = {test};
    const std::string whole = report(result, &exercise, false, {.next = "isend_irecv"});
    CHECK(has(whole, "Done: send_recv."));
    CHECK(whole.ends_with("Next:  ./shardlings run isend_irecv\n"));
    CHECK_FALSE(has(whole, "chunk 0"));
    CHECK_FALSE(has(whole, "ask"));
    const std::string last =
        report(result, &exercise, false, {.next = "broadcast", .questions = "ask 01"});
    CHECK(has(last, "./shardlings ask 01\nNext:  ./shardlings run broadcast\n"));
    CHECK(has(report(result, &exercise, false, {.output = true}), "[rank 0] chunk 0"));
    result.partial = true;
    const std::string part = report(result, &exercise, false, {.next = "isend_irecv"});
    CHECK_FALSE(has(part, "Done"));
    CHECK(part.ends_with("All tests:  ./shardlings run send_recv\n"));
}

TEST_CASE("a crash names the run that shows the line at fault") {
    const Manifest manifest = read_manifest(REPOSITORY);
    Result result;
    result.status = State::crash;
    TestResult test;
    test.name = "it sends";
    test.status = State::crash;
    test.repro = "./shardlings run send_recv --seed 1 --test 'it sends'";
    result.tests = {test};
    const std::string text = report(result, &manifest.find("send_recv"), false);
    CHECK(has(text, "./shardlings --preset debug run send_recv --seed 1 --test 'it sends'\n"));
}

TEST_CASE("a failed run is reported with the check, the command to repeat it and the file to edit"
) {
    const Manifest manifest = read_manifest(REPOSITORY);
    Result result;
    result.exercise = "send_recv";
    result.source = "exercises/01_point_to_point/send_recv.cpp";
    result.status = State::fail;
    TestResult good;
    good.name = "it sends";
    good.status = State::pass;
    TestResult bad;
    bad.name = "it receives";
    bad.status = State::fail;
    bad.ranks = 3;
    bad.repro = "./shardlings run send_recv -n 3 --seed 1 --test 'it receives'";
    RankResult rank = standing(1, Phase::absent);
    rank.failures = {
        {"same(data, expected)", "index 7: expected 21, got 14", "/x/send_recv_test.cpp", 41, {}}};
    rank.output = "chunk 0\n";
    bad.per_rank = {standing(0, Phase::absent), rank};
    result.tests = {good, bad};
    const std::string text = report(result, &manifest.find("send_recv"), false);
    CHECK(has(text, "pass  it sends\n"));
    CHECK(has(text, "FAIL  it receives   3 ranks\n"));
    CHECK(has(text, "same(data, expected)   send_recv_test.cpp:41"));
    CHECK(has(text, "rank 1: index 7: expected 21, got 14"));
    CHECK(has(text, "[rank 1] chunk 0"));
    CHECK(has(text, "1 passed, 1 failed"));
    CHECK(has(text, "Again, exactly this:  " + bad.repro));
    CHECK(has(text, "./shardlings hint send_recv"));
    CHECK(text.ends_with("Edit:                 exercises/01_point_to_point/send_recv.cpp\n"));
    CHECK_FALSE(has(text, "\033"));
}
