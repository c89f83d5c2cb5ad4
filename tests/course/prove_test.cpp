// Tests of exercises on SimGrid's MPI: the same results as on real processes. And prove, where simgrid-mc is.
#include <filesystem>
#include <string>
#include <vector>

#include "course/cli/build/build.hpp"
#include "course/cli/exercises/manifest.hpp"
#include "course/cli/process/subprocess.hpp"
#include "course/cli/prove/explore.hpp"
#include "course/cli/prove/proof.hpp"
#include "course/cli/report/failure_text.hpp"
#include "tests/course/cli_support.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist::cli;
namespace fs = std::filesystem;

namespace {

const fs::path kRoot = REPOSITORY;

Context a_context() {
    Context context;
    context.root = kRoot;
    return context;
}

/// Those of the first chapters whose ranks talk by messages, if they talk.
std::vector<Exercise> exercises() {
    std::vector<Exercise> all;
    for (const Exercise& exercise : read_manifest(kRoot).exercises) {
        if (exercise.chapter < "04" && exercise.needs == "mpi" &&
            exercise.name != "shared_memory_all_reduce") {
            all.push_back(exercise);
        }
    }
    return all;
}

Built build(Context& context, const std::string& name, const fs::path& file) {
    Program program = program_of(read_manifest(kRoot).find(name));
    program.simulated_test = true;
    Built built = build_test(context, program, file);
    INFO(built.error);
    REQUIRE(built.ok);
    return built;
}

SimulatedRun on_16_ranks(const std::string& name, const fs::path& file) {
    Context context = a_context();
    SimulatedTests tests;
    const Built built = build(context, name, kRoot / file);
    tests.module = built.executable;
    tests.source = built.source;
    tests.ranks = 16;
    tests.order.lengths = {7, 0, 1, 15, 16, 17, 1000};
    tests.time_limit_s = 300;
    return run_simulated_tests(context, tests);
}

const TestResult* first_wrong(const SimulatedRun& run) {
    for (const TestResult& test : run.tests) {
        if (test.status != State::pass && test.status != State::skipped) {
            return &test;
        }
    }
    return nullptr;
}

}  // namespace

TEST_CASE("every reference of chapters 01 to 03 is right on 16 simulated ranks", "[simulated]") {
    for (const Exercise& exercise : exercises()) {
        const SimulatedRun run = on_16_ranks(exercise.name, exercise.solution());
        INFO(exercise.name);
        CHECK(run.tests.size() > 2);
        for (const TestResult& test : run.tests) {
            INFO(test.name << ": " << test.message);
            if (test.status == State::skipped) {
                CHECK(has(test.message, "rounds are not counted in a simulation"));
            } else {
                CHECK(test.status == State::pass);
            }
        }
    }
}

TEST_CASE("a wrong value is refused on simulated ranks", "[simulated]") {
    const SimulatedRun run = on_16_ranks(
        "all_reduce", "tests/mutants/02_naive_collectives/all_reduce/unscaled_mean.diff"
    );
    const TestResult* const wrong = first_wrong(run);
    REQUIRE(wrong != nullptr);
    CHECK(wrong->status == State::fail);
    CHECK(has(wrong->name, "combines by mean, product, min and max"));
    CHECK(has(in_full(*wrong), "that is the sum: the mean is the sum divided by p"));
}

TEST_CASE(
    "an exception is reported on simulated ranks, with who waits for its rank", "[simulated]"
) {
    const SimulatedRun run = on_16_ranks("ring_shift", "tests/course/prove/throws_on_rank_1.cpp");
    const TestResult* const wrong = first_wrong(run);
    REQUIRE(wrong != nullptr);
    const std::string text = in_full(*wrong);
    INFO(text);
    CHECK(has(text, "rank 1 left by an exception"));
    CHECK(has(text, "my own mistake"));
    CHECK(has(
        text, "rank 2  waits in MPI_Sendrecv(from rank 1, tag 0, 28 bytes)   throws_on_rank_1.cpp:"
    ));
}

TEST_CASE("variables are each simulated rank's own", "[simulated]") {
    const SimulatedRun run = on_16_ranks("ring_shift", "tests/course/prove/static_state.cpp");
    const TestResult* const wrong = first_wrong(run);
    INFO((wrong == nullptr ? "" : in_full(*wrong)));
    CHECK(wrong == nullptr);
}

TEST_CASE(
    "a deadlock on simulated ranks is reported, though SimGrid calls it no failure", "[simulated]"
) {
    const SimulatedRun run =
        on_16_ranks("ring_shift", "tests/mutants/01_point_to_point/ring_shift/receive_first.diff");
    const TestResult* const wrong = first_wrong(run);
    REQUIRE(wrong != nullptr);
    CHECK(wrong->status == State::hang);
    const std::string text = in_full(*wrong);
    INFO(text);
    CHECK(has(text, "every rank receives first, and nobody has sent"));
    CHECK(
        has(text, "rank 15  waits in MPI_Recv(from rank 14, tag 0, 28 bytes)   receive_first.cpp:")
    );
}
