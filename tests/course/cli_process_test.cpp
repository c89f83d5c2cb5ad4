#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <unistd.h>

#include "course/cli/launch/launch.hpp"
#include "course/cli/launch/leftovers.hpp"
#include "course/cli/process/error.hpp"
#include "course/cli/process/subprocess.hpp"
#include "course/protocol/protocol.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist::cli;

namespace {

namespace fs = std::filesystem;

Context context() {
    Context result;
    result.root = fs::temp_directory_path();
    return result;
}

/// Whether this process still runs a second from now; what has ended has no program any more, even
/// before its parent has asked for its status.
bool lives(const std::string& line_with_pid) {
    const fs::path program = "/proc/" + std::to_string(std::stoi(line_with_pid)) + "/exe";
    std::error_code gone;
    for (int i = 0; i < 50 && !gone; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        static_cast<void>(fs::read_symlink(program, gone));
    }
    return !gone;
}

}  // namespace

TEST_CASE("a program's output, status and environment come back") {
    RunOptions options;
    options.environment = {{"COLOUR", "blue"}};
    const Ended ended = run(context(), {"sh", "-c", "echo $COLOUR; echo two >&2; exit 7"}, options);
    CHECK(ended.output == "blue\ntwo\n");
    CHECK(ended.status == 7);
    CHECK(run(context(), {"sh", "-c", "kill -SEGV $$"}).status == 128 + 11);
}

TEST_CASE("a program that runs too long is ended, with its children") {
    RunOptions options;
    options.time_limit_s = 0.3;
    const Ended ended = run(context(), {"sh", "-c", "sleep 60 & echo $!; wait"}, options);
    CHECK(ended.timed_out);
    CHECK(ended.seconds < 5);
    CHECK_FALSE(lives(ended.output));
}

TEST_CASE("what a job leaves behind is ended with it, also in a session of its own; nothing else is"
) {
    RunOptions options;
    const auto start = [&](const std::string& folder) {
        options.environment = {{dist::harness::kEnvFolder, folder}};
        return run(context(), {"sh", "-c", "setsid sleep 60 >&- 2>&- & echo $!"}, options).output;
    };
    const std::string another = start("/runs/10");
    std::string left;
    {
        const Leftovers leftovers("/runs/1");
        left = start("/runs/1");
        CHECK(lives(left));
    }
    CHECK_FALSE(lives(left));
    CHECK(lives(another));
    { const Leftovers of_the_other("/runs/10"); }
    CHECK_FALSE(lives(another));
}

TEST_CASE("whoever waits for a program may call it off") {
    Context impatient = context();
    impatient.cancelled = [] { return true; };
    CHECK_THROWS_AS(run(impatient, {"sleep", "60"}), Interrupted);
}

TEST_CASE("a program that is not there is named") {
    try {
        run(context(), {"no_such_program_anywhere"});
        FAIL("it ran");
    } catch (const CommandError& error) {
        CHECK(std::string(error.what()).find("no_such_program_anywhere was not found") == 0);
    }
}

TEST_CASE("a command line is shown as a shell would take it") {
    CHECK(
        shell_line({"run", "--test", "it's one"}, {{"A", "b c"}}) ==
        "A='b c' run --test 'it'\\''s one'"
    );
}

TEST_CASE("rank counts that make no sense are refused") {
    CHECK_THROWS_AS(expect_rank_count(0), UsageError);
    CHECK_THROWS_AS(expect_rank_count(-3), UsageError);
    CHECK_THROWS_AS(expect_rank_count(65), UsageError);
    CHECK_NOTHROW(expect_rank_count(5));
}
