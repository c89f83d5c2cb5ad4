#include <string>
#include <vector>

#include "course/build/diagnostics.hpp"
#include "course/manifest/manifest.hpp"
#include "course/process/error.hpp"
#include "tests/course/cli_support.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist::cli;

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

TEST_CASE("a wrong argument is shown with the declaration that it does not fit") {
    const std::string log =
        "/repo/exercises/a/b.cpp:17:42: error: invalid initialization of reference\n"
        "   17 |     send(in, root, 0, comm);\n"
        "      |                    ^\n"
        "In file included from /repo/exercises/a/b.cpp:6:\n"
        "/repo/exercises/a/send.hpp:21:9: note: in passing argument 3 of 'void send(...)'\n"
        "   21 | void send(int dst, const Communicator& comm, int tag = 0);\n"
        "      |                    ^~~~\n"
        "/repo/exercises/a/b.cpp:18:42: error: another\n";
    const std::string text = first_error(log, "/repo", "exercises/a/b.cpp");
    CHECK(has(text, "\nexercises/a/send.hpp:21:9: note: in passing argument 3"));
    CHECK(has(text, "   21 | void send("));
    CHECK(!has(text, "another"));
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
    CHECK(has(first_error(log, "/repo", "t.cpp", "void other()"), "t.cpp calls"));
    CHECK(has(first_error(log, "/repo", "t.cpp", "void other()"), "defined nowhere"));
}

TEST_CASE("a function of another exercise, whose header nobody has included, is a sentence") {
    const std::string symbol = "dist::chunk_bounds(unsigned long, int, int)";
    for (const std::string& said :
         {"t.cpp:(.text+0x1): undefined reference to `" + symbol + "'",
          "mold: error: undefined symbol: " + symbol}) {
        const std::string log = said + "\ncollect2: error: ld returned 1 exit status\n";
        CHECK(
            first_error(log, REPOSITORY, "t.cpp", "void other()") ==
            "t.cpp calls chunk_bounds(unsigned long, int, int): include "
            "\"exercises/01_point_to_point/chunk_bounds.hpp\", so that it is built too"
        );
    }
}

TEST_CASE("what the course's own files call in vain is not told of the student's") {
    const std::string log =
        "/usr/bin/ld: a_test.cpp.o: in function `x':\n/repo/tests/a_test.cpp:12: undefined "
        "reference to "
        "`Catch::Session::run()'\ncollect2: error: ld returned 1 exit status\n";
    CHECK(
        has(first_error(log, "/repo", "exercises/a/b.cpp", "void b()"),
            "a_test.cpp calls Catch::Session::run(), ")
    );
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
