#include <string>
#include <vector>

#include "course/cli/build/diagnostics.hpp"
#include "course/cli/exercises/manifest.hpp"
#include "course/cli/judge/explain.hpp"
#include "course/cli/process/error.hpp"
#include "course/cli/report/report.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist::cli;

namespace {

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

RankResult waiting(int rank, int peer, const std::string& call, int tag = 0) {
    RankResult result;
    result.rank = rank;
    result.phase = "waiting";
    result.state = "blocked";
    result.call = call;
    result.peer = peer;
    result.tag = tag;
    return result;
}

RankResult standing(int rank, const std::string& phase) {
    RankResult result;
    result.rank = rank;
    result.phase = phase;
    return result;
}

std::string explained(const std::vector<RankResult>& ranks) {
    TestResult test;
    test.per_rank = ranks;
    return explain_hang(test);
}

}  // namespace

TEST_CASE("the nearest name is found for a slip, a part, and not for anything") {
    const std::vector<std::string> names = {
        "send_recv", "ring_shift", "all_reduce", "ring_all_reduce"};
    CHECK(nearest("send_rcv", names) == "send_recv");
    CHECK(nearest("allreduce", names) == "all_reduce");
    CHECK(nearest("shift", names) == "ring_shift");
    CHECK(nearest("xyzzy", names).empty());
    CHECK(nearest("", names).empty());
}

TEST_CASE("the manifest names every exercise, by name and by path") {
    const Manifest manifest = read_manifest(REPOSITORY);
    REQUIRE(manifest.exercises.size() >= 7);
    const Exercise& ring = manifest.find("ring_all_reduce");
    CHECK(ring.chapter == "03_ring_and_tree");
    CHECK(ring.ranks == 5);
    CHECK(&manifest.find(ring.source().string()) == &ring);
    CHECK(manifest.self_tests.size() == 1);
}

TEST_CASE("an unknown exercise is refused with the nearest name") {
    const Manifest manifest = read_manifest(REPOSITORY);
    try {
        static_cast<void>(manifest.find("ring_al_reduce"));
        FAIL("it was found");
    } catch (const UsageError& error) {
        CHECK(has(error.what(), "Did you mean 'ring_all_reduce'?"));
        CHECK(error.status() == 2);
    }
}

TEST_CASE("of a compiler's errors the first is shown, with its lines, relative to the repository") {
    const std::string log =
        "[1/2 0.3] Building CXX object x.o\nFAILED: x.o\n"
        "/repo/exercises/a/b.cpp: In function 'void f()':\n"
        "/repo/exercises/a/b.cpp:9:5: error: 'foo' was not declared in this scope\n"
        "    9 |     foo();\n      |     ^~~\n"
        "/repo/exercises/a/b.cpp:10:5: error: expected ';' before '}' token\n";
    const std::string text = first_error(log, "/repo", "exercises/a/b.cpp");
    CHECK(text.starts_with("exercises/a/b.cpp:9:5: error: 'foo' was not declared in this scope\n"));
    CHECK(has(text, "    9 |     foo();"));
    CHECK_FALSE(has(text, "expected ';'"));
    CHECK(has(text, "(+1 more: --verbose)"));
}

TEST_CASE("an error inside a library names the line that led there") {
    const std::string log =
        "In file included from /repo/exercises/a/b.cpp:3:\n"
        "/repo/exercises/a/b.cpp:12:20:   required from here\n"
        "/usr/include/c++/12/span:99:3: error: static assertion failed\n";
    const std::string text = first_error(log, "/repo", "exercises/a/b.cpp");
    CHECK(has(text, "static assertion failed"));
    CHECK(has(text, "exercises/a/b.cpp:12:20:   required from here"));
}

TEST_CASE("a function that is not defined is a sentence, spelt as the header spells it") {
    const std::string log =
        "/usr/bin/ld: t.o: in function `x':\nt.cpp:(.text+0x1): undefined reference to "
        "`dist::ring_all_reduce(std::span<float, 18446744073709551615ul>, dist::ReduceOp, "
        "dist::Communicator const&)'\ncollect2: error: ld returned 1 exit status\n";
    const std::string text = first_error(
        log, "/repo", "exercises/a/b.cpp", "void ring_all_reduce(std::span<float> data"
    );
    CHECK(
        text ==
        "exercises/a/b.cpp does not define ring_all_reduce(std::span<float>, ReduceOp, const "
        "Communicator&) as the header declares it"
    );
    CHECK(has(first_error(log, "/repo", "b.cpp", "void other()"), "defined nowhere"));
}

TEST_CASE("a main of its own is a sentence") {
    const std::string log =
        "ld: y.o: in function `main':\nmultiple definition of `main'; x.o: first defined here\n";
    CHECK(has(first_error(log, "/repo", "b.cpp"), "b.cpp defines main"));
}

TEST_CASE("what CMake misses is told without its decoration") {
    const std::string log =
        "-- Looking\nCMake Error at scripts/cmake/dependencies.cmake:9 (message):\n"
        "  MPI was not found.  On Debian: apt-get install libopenmpi-dev\n\n\n-- Configuring "
        "incomplete\n";
    CHECK(
        first_error(log, "/repo", "x") ==
        "MPI was not found.  On Debian: apt-get install libopenmpi-dev"
    );
}

TEST_CASE("a circle of sends is explained by its order") {
    const std::string text = explained(
        {waiting(0, 1, "MPI_Send(to rank 1, tag 0, 4 bytes)"),
         waiting(1, 2, "MPI_Send(to rank 2, tag 0, 4 bytes)"),
         waiting(2, 0, "MPI_Send(to rank 0, tag 0, 4 bytes)")}
    );
    CHECK(has(text, "0 waits for 1, 1 waits for 2, 2 waits for 0"));
    CHECK(has(text, "every rank sends first"));
}

TEST_CASE("a circle that starts elsewhere names only its members") {
    const std::string text = explained(
        {waiting(0, 1, "MPI_Recv(from rank 1, tag 0, 4 bytes)"),
         waiting(1, 2, "MPI_Recv(from rank 2, tag 0, 4 bytes)"),
         waiting(2, 1, "MPI_Recv(from rank 1, tag 0, 4 bytes)")}
    );
    CHECK(text == "1 waits for 2, 2 waits for 1: every rank receives first, and nobody has sent");
}

TEST_CASE("tags that do not match are named before the circle they make") {
    const std::string text = explained(
        {waiting(0, 1, "MPI_Send(to rank 1, tag 5, 4 bytes)", 5),
         waiting(1, 0, "MPI_Recv(from rank 0, tag 3, 4 bytes)", 3)}
    );
    CHECK(has(text, "rank 0 sends to rank 1 with tag 5, and rank 1 receives with tag 3"));
}

TEST_CASE("a rank that waits for one that has returned") {
    const std::string text =
        explained({standing(0, "returned"), waiting(1, 0, "MPI_Recv(from rank 0, tag 0, 4 bytes)")}
        );
    CHECK(has(text, "rank 1 waits for rank 0, which has returned already without sending to it"));
}

TEST_CASE("collectives in different order, and one that a rank leaves out") {
    const RankResult barrier = waiting(2, -1, "MPI_Barrier");
    CHECK(
        has(explained(
                {waiting(0, -1, "MPI_Allreduce(8 bytes)"), waiting(1, -1, "MPI_Allreduce(8 bytes)"),
                 barrier}
            ),
            "rank 2 is in MPI_Barrier, the others in MPI_Allreduce(8 bytes)")
    );
    CHECK(
        has(explained({standing(0, "returned"), standing(1, "returned"), barrier}),
            "rank 2 is in MPI_Barrier, and ranks 0 and 1 do not come")
    );
}

TEST_CASE("an exception on one rank explains why the others wait") {
    RankResult thrower = standing(1, "threw");
    thrower.message = "std::runtime_error was thrown: no";
    const std::string text =
        explained({waiting(0, 1, "MPI_Recv(from rank 1, tag 0, 4 bytes)"), thrower});
    CHECK(has(text, "rank 1 left by an exception, and rank 0 waits for it"));
    CHECK(has(text, "std::runtime_error was thrown: no"));
}

TEST_CASE("a crash tells a null pointer from another address, and repeats a sanitizer's line") {
    CHECK(has(explain_signal(2, 11, 0, ""), "rank 2 died of SIGSEGV: it used a null pointer"));
    CHECK(has(explain_signal(2, 11, 0xdead000, ""), "0xdead000"));
    CHECK(has(explain_signal(0, 6, 0, "free(): double free detected"), "double free detected"));
    CHECK(has(
        explain_signal(0, 6, 0, "=1=ERROR: AddressSanitizer: heap-buffer-overflow on address\n"),
        "AddressSanitizer: heap-buffer-overflow"
    ));
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
    RankResult rank = standing(1, "");
    rank.failures = {
        {"same(data, expected)", "index 7: expected 21, got 14", "/x/send_recv_test.cpp", 41, {}}};
    rank.output = "chunk 0\n";
    bad.per_rank = {standing(0, ""), rank};
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
