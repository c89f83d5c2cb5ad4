// Tests of exercises on SimGrid's MPI: the same results as on real processes. And prove, where simgrid-mc is.
#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "course/build/build.hpp"
#include "course/manifest/cases.hpp"
#include "course/manifest/manifest.hpp"
#include "course/process/error.hpp"
#include "course/process/subprocess.hpp"
#include "course/prove/proof.hpp"
#include "course/report/failure_text.hpp"
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

/// Those that talk.
std::vector<Exercise> exercises_with_messages() {
    std::vector<Exercise> some = exercises();
    std::erase_if(some, [](const Exercise& exercise) {
        return exercise.name == "chunk_bounds" || exercise.name == "cost_model";
    });
    return some;
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
                CHECK(has(test.message, " not counted in a simulation"));
            } else {
                CHECK(test.status == State::pass);
            }
        }
    }
}

TEST_CASE("a wrong value is refused on simulated ranks", "[simulated]") {
    const SimulatedRun run = on_16_ranks(
        "all_reduce", "tests/mutants/02_naive_collectives/all_reduce.toml:unscaled_mean"
    );
    const TestResult* const wrong = first_wrong(run);
    REQUIRE(wrong != nullptr);
    CHECK(wrong->status == State::fail);
    CHECK(has(wrong->name, "combines by mean, product, min and max"));
    CHECK(has(in_full(*wrong), "that is the sum: the mean is the sum divided by p"));
    const auto trial = std::ranges::find(run.trials, true, &dist::simulation::Trial::failed);
    REQUIRE(trial != run.trials.end());
    CHECK(trial->test == wrong->name);
    CHECK(trial->trial < run.last_trial);  // the tests behind it were run as well
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
        on_16_ranks("ring_shift", "tests/mutants/01_point_to_point/ring_shift.toml:receive_first");
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

namespace {

Ended prove_by_command(const std::vector<std::string>& words) {
    std::vector<std::string> command = {SHARDLINGS_CLI, "prove"};
    command.insert(command.end(), words.begin(), words.end());
    RunOptions options;
    options.environment = {{"SHARDLINGS_ROOT", REPOSITORY}};
    return run(a_context(), command, options);
}

Proof proof_of(
    const std::string& name, const fs::path& file, int ranks, const std::string& test = ""
) {
    Context context = a_context();
    const Built built = build(context, name, kRoot / file);
    Claim claim;
    claim.module = built.executable;
    claim.source = built.source;
    claim.ranks = ranks;
    claim.test = test;
    claim.most_states = 1'000'000;
    claim.time_limit_s = 300;
    return prove(context, claim);
}

}  // namespace

TEST_CASE("references of chapters 01 to 03 are proved on three ranks", "[prove]") {
    for (const Exercise& exercise : exercises_with_messages()) {
        const Proof proof = proof_of(exercise.name, exercise.solution(), 3);
        INFO(exercise.name << ": " << text_of(proof, {}, ""));
        CHECK(proof.is_proof());
    }
}

TEST_CASE("pipelines of three stages are proved, by every schedule", "[prove]") {
    const auto proof_with = [](const fs::path& file) {
        return proof_of("pipeline_messages", file, 3, "three ranks go through each schedule");
    };
    const Proof proof = proof_with("solutions/08_model_parallel/pipeline_messages.cpp");
    INFO(text_of(proof, {}, ""));
    CHECK(proof.is_proof());
    CHECK(proof.explored.size() == 4);
    const Proof circle =
        proof_with("tests/mutants/08_model_parallel/pipeline_messages.toml:right_before_use");
    REQUIRE(circle.wrong);
    CHECK(circle.wrong->test.status == State::hang);
}

TEST_CASE("right answers by another way are not called wrong", "[prove]") {
    const State right = State::pass;
    // what the checker cannot go through
    const std::map<std::string, std::string> without_proof = {
        {"tested_in_a_loop",
         "fails in another way"},  // SimGrid's MPI_Test calls a cut message whole
        {"sent_back_by_hand", "a rank receives from any rank"},
        {"any_source", "a rank receives from any rank"},
        {"thread_sends", "a thread that it has started calls MPI_Send"},
        {"a_thread_each", "a thread that it has started calls MPI_Send"}};
    for (const Exercise& exercise : exercises_with_messages()) {
        for (const Case& other : read_cases(a_context(), kRoot / exercise.alternatives(), &right)) {
            INFO(other.file);
            const auto none = without_proof.find(other.name);
            std::string why;
            try {
                const Proof proof = proof_of(exercise.name, other.file, 3);
                INFO(text_of(proof, {}, ""));
                CHECK(!proof.wrong);
                why = proof.cut_short;
            } catch (const CommandError& error) {
                why = error.what();
            }
            INFO(why);
            const bool is_proved = none == without_proof.end();
            CHECK((is_proved ? why.empty() : has(why, none->second)));
        }
    }
}

TEST_CASE("messages that overtake each other on their ways are no part of a proof", "[prove]") {
    const Proof proof =
        proof_of("scatter", "tests/course/prove/changed.toml:scatter_on_two_ways", 3);
    CHECK(!proof.wrong);  // SimGrid brings each as soon as it is sent
    CHECK(!proof.is_proof());
    CHECK(proof.explored.size() > 3);  // all trials, all the same
    CHECK(has(proof.cut_short, "a rank receives from any rank"));
}

TEST_CASE("a loop that asks for a message is no part of a proof", "[prove]") {
    const Proof proof = proof_of("ring_shift", "tests/course/prove/shift_asks_in_a_loop.cpp", 3);
    CHECK(!proof.wrong);
    CHECK(!proof.is_proof());
    CHECK(has(proof.cut_short, "more than 8000 steps"));
}

TEST_CASE("what a question finds depends on the order, and is found", "[prove]") {
    const Proof proof = proof_of("gather", "tests/course/prove/gather_asks_once.cpp", 3);
    REQUIRE(proof.wrong);
    CHECK(has(text_of(*proof.wrong), "a rank was early"));
}

TEST_CASE("wrong answers that hang are found, with their order", "[prove]") {
    // what eight ranks and fewer do right
    const std::set<std::string> out_of_reach = {"eight_at_most"};
    for (const Exercise& exercise : exercises_with_messages()) {
        for (const Case& wrong : read_cases(a_context(), kRoot / exercise.mutants())) {
            if (wrong.state != State::hang || out_of_reach.contains(wrong.name)) {
                continue;
            }
            INFO(wrong.file);
            Proof proof = proof_of(exercise.name, wrong.file, 3);
            if (!proof.wrong) {
                proof = proof_of(exercise.name, wrong.file, 4);
            }
            REQUIRE(proof.wrong);
            INFO(text_of(*proof.wrong));
            CHECK(has(text_of(*proof.wrong), " waits in "));
        }
    }
}

TEST_CASE("races of receives from anyone are found, and taken again", "[prove]") {
    for (const auto& [name, file] : std::map<std::string, std::string>{
             {"scatter", "tests/course/prove/changed.toml:scatter_from_anyone"},
             {"all_to_all", "tests/course/prove/changed.toml:all_to_all_from_anyone"},
             {"gather", "tests/course/prove/changed.toml:gather_from_anyone_first"}}) {
        const Ended found =
            prove_by_command({name, "-n", "3", "--as", (kRoot / file).string(), "--json"});
        INFO(found.output);
        CHECK(found.status != 0);
        const auto document = nlohmann::json::parse(found.output.substr(found.output.find('{')));
        CHECK(document["proved"] == false);
        const auto& wrong = document["wrong"];
        REQUIRE(wrong.is_object());
        CHECK(has(wrong["messages"].dump(), "MPI_Recv(from any rank"));
        const Ended again = prove_by_command(
            {name, "-n", "3", "--as", (kRoot / file).string(), "--replay",
             wrong["replay"].get<std::string>()}
        );
        INFO(again.output);
        CHECK(again.status == found.status);
        CHECK(has(again.output, wrong["test"].get<std::string>()));
    }
}

TEST_CASE("a wrong value and an exception are found in every order, and fail", "[prove]") {
    const Proof value =
        proof_of("ring_shift", "tests/mutants/01_point_to_point/ring_shift.toml:wrong_way", 3);
    REQUIRE(value.wrong);
    CHECK(value.wrong->test.status == State::fail);
    const Proof thrown = proof_of("ring_shift", "tests/course/prove/throws_on_rank_1.cpp", 3);
    REQUIRE(thrown.wrong);
    CHECK(thrown.wrong->test.status == State::fail);
    CHECK(has(text_of(*thrown.wrong), "my own mistake"));
}

TEST_CASE("bounds end a proof, and it fails", "[prove]") {
    const Ended ended = prove_by_command(
        {"ring_shift", "--as", (kRoot / "solutions/01_point_to_point/ring_shift.cpp").string(),
         "--states", "10"}
    );
    INFO(ended.output);
    CHECK(ended.status == 1);
    CHECK(has(ended.output, "no proof: it reached the limit of states (--states)"));
}

TEST_CASE("an order that is none is refused, and so is what has no messages", "[prove]") {
    const std::string file = (kRoot / "solutions/01_point_to_point/ring_shift.cpp").string();
    CHECK(prove_by_command({"ring_shift", "--as", file, "--replay", "1;2"}).status == 2);
    CHECK(prove_by_command({"ring_shift", "--as", file, "--replay", "1:x"}).status == 2);
    CHECK(prove_by_command({"ring_shift", "-n", "7"}).status == 2);
    CHECK(prove_by_command({"nccl_send_recv"}).status == 2);
    CHECK(prove_by_command({"ring_shift"}).status == 1);  // not started
    const Ended silent = prove_by_command(
        {"chunk_bounds", "--as", (kRoot / "solutions/01_point_to_point/chunk_bounds.cpp").string()}
    );
    CHECK(silent.status == 1);
    CHECK(has(silent.output, "no proof: no test sends a message"));
}
