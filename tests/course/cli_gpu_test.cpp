// What the command makes of exercises for GPUs, with and without one.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <unistd.h>

#include "course/launch/gpu.hpp"
#include "course/launch/run_test.hpp"
#include "course/manifest/progress.hpp"
#include "course/process/error.hpp"
#include "course/report/report.hpp"
#include "tests/course/cli_support.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist::cli;

namespace {

namespace fs = std::filesystem;

}  // namespace

TEST_CASE("an exercise for GPUs has a test for GPUs and one for the stand-in") {
    Exercise exercise;
    exercise.name = "kernel";
    exercise.chapter = "03_ring_and_tree";
    exercise.needs = "cuda";
    CHECK(exercise.source() == "exercises/03_ring_and_tree/kernel.cu");
    CHECK(exercise.solution() == "solutions/03_ring_and_tree/kernel.cu");
    CHECK(exercise.header() == "exercises/03_ring_and_tree/kernel.hpp");
    CHECK(program_of(exercise).target() == "kernel_test");
    CHECK(on_stand_in(program_of(exercise)).target() == "kernel_host_test");
    exercise.needs = "nccl";
    CHECK(exercise.source() == "exercises/03_ring_and_tree/kernel.cpp");
    CHECK(exercise.for_gpu());
    exercise.needs = "torch";
    CHECK(!exercise.for_gpu());
}

TEST_CASE("a kind that is none is refused, with all that there are") {
    try {
        needs_named("sockets");
        FAIL("it is not in the table");
    } catch (const CommandError& error) {
        CHECK(
            std::string(error.what()) ==
            "exercises/course.toml: needs = \"sockets\": it is one of \"mpi\", \"torch\", "
            "\"nccl\", \"cuda\""
        );
    }
}

TEST_CASE("where there is no GPU a run says skipped and why, whatever the stand-in said") {
    Exercise exercise;
    exercise.name = "kernel";
    exercise.needs = "cuda";
    Result result = skipped(program_of(exercise), "there is no GPU here", {}, {});
    Result tried;
    tried.exercise = "kernel";
    tried.status = State::pass;
    tried.on_stand_in = true;
    tried.tests.resize(1);
    tried.tests[0].name = "combines every element";
    tried.tests[0].status = State::pass;
    result.stand_in.push_back(tried);
    const std::string text = report(result, &exercise, false);
    CHECK(exit_status_of(result.status) == exit_status::kSkipped);
    CHECK(has(text, "skip  kernel: there is no GPU here"));
    CHECK(has(text, "This is no pass"));
    CHECK(has(text, "never a pass\n  pass  combines every element"));
    CHECK(!has(text, "Done:"));
    const auto document = nlohmann::json::parse(to_json(result));
    CHECK(document["status"] == "skipped");
    CHECK(document["message"] == "there is no GPU here");
    CHECK(document["stand_in"]["on_stand_in"] == true);
}

TEST_CASE("an exercise that cannot run here is passed over, and remembered") {
    const fs::path root = fs::temp_directory_path() / ("cli_gpu_" + std::to_string(getpid()));
    Manifest manifest;
    for (const char* name : {"first", "kernel", "last"}) {
        Exercise exercise;
        exercise.name = name;
        manifest.exercises.push_back(exercise);
    }
    Progress progress;
    progress.done = {"first"};
    progress.current = "kernel";
    CHECK(current_exercise(manifest, progress)->name == "kernel");
    progress.skipped = {"kernel"};
    write_progress(root, progress);
    CHECK(read_progress(root).skipped == progress.skipped);
    CHECK(current_exercise(manifest, read_progress(root))->name == "last");
    fs::remove_all(root);
}

TEST_CASE("without a GPU nobody is sent to an exercise that needs one") {
    Manifest manifest;
    manifest.exercises.resize(2);
    manifest.exercises[0].name = "kernel";
    manifest.exercises[0].needs = "cuda";
    manifest.exercises[1].name = "last";
    Progress progress;
    progress.current = "kernel";
    CHECK(current_exercise(manifest, progress, true)->name == "kernel");
    CHECK(current_exercise(manifest, progress, false)->name == "last");
    CHECK(passed_over(manifest.exercises[0], progress, false) == "needs a GPU");
    CHECK(passed_over(manifest.exercises[0], progress, true).empty());
    CHECK(passed_over(manifest.exercises[1], progress, false).empty());
    progress.skipped = {"last"};
    CHECK(passed_over(manifest.exercises[1], progress, false) == "was skipped when last run");
}
