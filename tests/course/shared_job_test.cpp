// Answers that share a job: each gets the result that it gets alone, whatever those before it did.
#include "course/launch/shared_job.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "course/build/build.hpp"
#include "course/launch/launch.hpp"
#include "course/manifest/cases.hpp"
#include "course/manifest/manifest.hpp"
#include "course/report/report.hpp"
#include "tests/course/cli_support.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist::cli;
namespace fs = std::filesystem;

namespace {

/// Crash, hang, leave early, and leave threads, processes, files, signals, messages and handles behind.
const std::vector<std::string> kNasty = {
    "deadlock_of_two",
    "crash_by_null_pointer",
    "message_left_unread",
    "stack_overflow",
    "exit_0",
    "communicator_never_freed",
    "leaves_a_process",
    "endless_loop",
    "abort_0",
    "exception_on_one_rank",
    "asks_its_group_to_end",
    "closes_all_files",
    "far_from_infinity",
    "many_left_unread",
    "sleeps_for_ever"};

/// The program of tests/harness/states, whose state() is one of its cases.
class States {
  public:
    States() {
        context_.root = REPOSITORY;
        const Manifest manifest = read_manifest(context_.root);
        const SelfTest& states =
            *std::ranges::find(manifest.self_tests, "harness_states", &SelfTest::program);
        program_ = program_of(states);
        host_ = host_of(context_, program_);
        if (!host_.empty()) {
            recipe_ = prepare(context_, program_, {host_});
            cases_ = read_cases(context_, states.cases);
        }
    }

    /// Whether jobs can be shared here: tests/harness/CMakeLists.txt says where not.
    [[nodiscard]] bool can() const { return !host_.empty(); }
    Context& context() { return context_; }

    [[nodiscard]] const Case& named(const std::string& name) const {
        return *std::ranges::find_if(cases_, [&](const Case& one) { return one.name == name; });
    }

    Result run(const Case& one, SharedJobs& jobs) {
        const fs::path as = context_.root / one.file;
        const auto [place, is_new] = libraries_.try_emplace(one.file.string());
        if (is_new) {
            place->second =
                link_library(context_, recipe_, compile_as(context_, recipe_, as)).library;
        }
        LaunchOptions options;
        options.compute_s = 3;
        options.jobs = &jobs;
        return launch(context_, program_, place->second, as, options);
    }

  private:
    Context context_;
    Program program_;
    std::string host_;
    Recipe recipe_;
    std::vector<Case> cases_;
    std::map<std::string, fs::path> libraries_;
};

void has_its_state(const Result& result, const Case& expected) {
    INFO(expected.file.string());
    CHECK(name_of(result.status) == name_of(expected.state));
    const std::string text = report(result, nullptr, false);
    for (const std::string& words : expected.says) {
        CHECK(has(text, words));
    }
}

}  // namespace

TEST_CASE("answers that crash, hang or leave something behind change nothing for their neighbours"
) {
    States states;
    if (!states.can()) {
        WARN("here each answer has a job of its own");
        return;
    }
    SharedJobs jobs(states.context());
    const Case& neighbour = states.named("leaves_much_behind_pass");
    has_its_state(states.run(neighbour, jobs), neighbour);
    for (const std::string& name : kNasty) {
        INFO("after " << name);
        has_its_state(states.run(states.named(name), jobs), states.named(name));
        has_its_state(states.run(neighbour, jobs), neighbour);
    }
}

TEST_CASE("an answer that ends what it can reach does not pass, and the next one is as ever") {
    States states;
    if (!states.can()) {
        return;
    }
    SharedJobs jobs(states.context());
    const Case& neighbour = states.named("leaves_much_behind_pass");
    for (const char* const name :
         {"ends_its_group", "ends_mpirun", "ends_the_loaded_program", "ends_its_watcher",
          "exit_before_main"}) {
        INFO(name);
        const Result result = states.run(states.named(name), jobs);
        const bool pass = result.status == State::pass;
        CHECK_FALSE(pass);
        has_its_state(states.run(neighbour, jobs), neighbour);
    }
}
