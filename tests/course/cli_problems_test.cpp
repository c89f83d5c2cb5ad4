// Failed tests as the lines that editors read.
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>

#include "course/report/problems.hpp"
#include "tests/course/cli_support.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist::cli;

TEST_CASE("for editors, each failed test is a line as compilers write it") {
    Result result;
    result.source = "exercises/01_point_to_point/ring_shift.cpp";
    result.status = State::fail;
    TestResult passes;
    passes.name = "it passes";
    passes.status = State::pass;
    TestResult fails;
    fails.name = "it fails";
    fails.status = State::fail;
    fails.where = "patterns.cpp:61";  // of the test
    fails.per_rank.resize(1);
    fails.message = "rank 0: wrong\n  7 floats\n";
    TestResult hangs = fails;
    hangs.name = "it hangs";
    hangs.status = State::hang;
    hangs.message = "0 waits for 1";
    hangs.per_rank.back().where = "ring_shift.cpp:20";
    result.tests = {passes, fails, hangs};
    CHECK(
        as_problems(result) ==
        "exercises/01_point_to_point/ring_shift.cpp:1: error: it fails: rank 0: wrong\n"
        "exercises/01_point_to_point/ring_shift.cpp:20: error: it hangs: 0 waits for 1\n"
    );
    result.status = State::not_started;
    CHECK_FALSE(has(as_problems(result), "it hangs"));
    result.as = "tests/mutants/01_point_to_point/ring_shift.toml:receive_first";
    result.tests = {hangs};
    result.tests[0].per_rank.back().where = "receive_first.cpp:8";
    CHECK(has(as_problems(result), "/ring_shift.toml:receive_first:8: error: it hangs"));
    result.tests = {passes};
    result.status = State::harness_error;
    result.message = "no mpirun";
    CHECK(has(as_problems(result), ".toml:receive_first:1: error: no mpirun\n"));
    result.status = State::pass;
    CHECK(as_problems(result).empty());
    result.status = State::build_error;
    result.build_log = "/tmp/bad.cpp:1:9: error: expected\n";
    CHECK(as_problems(result) == result.build_log);
}

TEST_CASE("VS Code's task knows the lines of failed tests and of the compiler") {
    std::ifstream file(std::string(REPOSITORY) + "/.vscode/tasks.json");
    const nlohmann::json task = nlohmann::json::parse(file).at("tasks").at(0);
    CHECK(task.at("command") == "./shardlings run '${fileBasenameNoExtension}' --problems");
    const nlohmann::json pattern = task.at("problemMatcher").at("pattern");
    const std::regex regexp(pattern.at("regexp").get<std::string>());
    const auto read = [&](std::string line) {
        line = line.substr(0, line.find('\n'));
        std::smatch found;
        if (!std::regex_match(line, found, regexp)) {
            return "not known: " + line;
        }
        std::string text;
        for (const char* const part : {"file", "line", "column", "severity", "message"}) {
            text += found[pattern.at(part).get<std::size_t>()].str() + "|";
        }
        return text;
    };
    Result result;
    result.source = "exercises/01_point_to_point/accumulate_kernel.cu";
    result.status = State::fail;
    result.tests.resize(1);
    result.tests[0].name = "it fails";
    result.tests[0].status = State::fail;
    result.tests[0].message = "rank 0: wrong";
    result.tests[0].where = "accumulate_kernel.cu:20";
    CHECK(read(as_problems(result)) == result.source + "|20||error|it fails: rank 0: wrong|");
    result.source = "exercises/03_ring_and_tree/ring_reduce.cpp";
    CHECK(read(as_problems(result)) == result.source + "|1||error|it fails: rank 0: wrong|");
    CHECK(read("a/rpc.hpp:7:9: warning: unused") == "a/rpc.hpp|7|9|warning|unused|");
    CHECK(read("[ 50%] Building ring_reduce.cpp").starts_with("not known"));
}
