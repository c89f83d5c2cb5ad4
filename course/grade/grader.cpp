// Note [What a grade rests on] An answer is linked with the tests that judge it, and runs in their processes. So what
// those processes say is believed only as far as these go, each of which closes what the ones before it leave open:
//
//   1. A sandbox (process/sandbox.hpp): neither compiler nor program sees or touches anything but itself.
//   2. The file may need and define only what is known to be harmless (vet/): without assembler, the kernel, files,
//      processes and the tests' own names, what remains is to compute, and to call MPI;
//      and sockets, where the list of exercises says so: the sandbox has a loopback of its own, and no other network.
//   3. The launcher's plan (launch/plan.hpp): each test that the source has, on each rank. Each line
//      bears a seal, whose key stands in no file and changes with the line (course/protocol/seal.hpp); one line that the tests
//      did not write, and nothing has passed.
//   4. The reference, run with the same seeds, says how many checks each rank makes in each test: a test that was
//      left early made fewer. Between them stand some that have to fail, and count only where they do: checks that were
//      silenced made fewer, too (harness/job/outcome.cpp).
//   5. Each program is linked with functions and variables in another order, and its code stays as it was linked: what an
//      answer knows of one program is not so in the next (build/build.cpp, harness/job/no_new_code.cpp).
//   6. All runs again with messages garbled on their way, in two ways. What the reference can do in
//      neither, an answer cannot do in both, unless what it gives was not in the messages: found in memory, computed again
//      from the inputs' seed, or said by a check that no longer checks. Half of such tests are a verdict; one is shown to
//      the instructor.
//
// The seeds are drawn when grading begins. notebooks_md/grading.md says what is left.
#include "course/grade/grader.hpp"

#include <algorithm>
#include <atomic>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <functional>
#include <unistd.h>

#include "course/grade/for_the_student.hpp"
#include "course/launch/run_test.hpp"
#include "course/process/error.hpp"
#include "course/process/orphans.hpp"
#include "course/vet/vet.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

fs::path all_folders(const Context& context) {
    return context.build_folder() / "grading";
}

Result result_with(const Exercise& exercise, State state, const std::string& message) {
    Result result = result_of(program_of(exercise), {}, {});
    result.status = state;
    result.message = message;
    return result;
}

/// What is known of a run that could not be judged: in which test, why, and what a rank printed last.
std::string what_happened(const Result& result) {
    const TestResult* const test = result.first_failed();
    if (test == nullptr) {
        return result.message;
    }
    std::string text = fmt::format("in '{}', {}", test->name, test->message);
    for (const RankResult& rank : test->per_rank) {
        const std::size_t end = rank.output.find_last_not_of('\n');
        if (end != std::string::npos) {
            const std::size_t begin = rank.output.rfind('\n', end) + 1;
            const std::string line = rank.output.substr(begin, end + 1 - begin);
            return text + fmt::format("\nrank {} printed last: {}", rank.rank, line);
        }
    }
    return text;
}

}  // namespace

Grader::Grader(Context& context, GradeOptions options)
    : context_(context),
      options_(std::move(options)),
      folder_(all_folders(context) / std::to_string(getpid())) {
    if (options_.sandbox) {
        if (const std::string missing = sandbox_missing(context); !missing.empty()) {
            throw CommandError(
                exit_status::kUsage, missing +
                                         ". With --no-sandbox, submissions are compiled and run as "
                                         "you: they can read and "
                                         "write all that you can, and leave processes behind"
            );
        }
    }
    remove_orphans(all_folders(context));
    fs::create_directories(folder_);
}

Grader::~Grader() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
}

void Grader::prepare(const Exercise& exercise, const std::vector<std::string>& answers) {
    Reference& reference =
        references_.try_emplace(exercise.name, context_, options_, exercise).first->second;
    if (!std::ranges::all_of(answers, [&](auto& text) { return text == reference.stub(); })) {
        reference.prepare(fmt::format("{}", fmt::join(answers, "\n")));
    }
}

Result Grader::judge(
    const Exercise& exercise, const std::string& text, std::vector<std::string>& flags
) {
    static std::atomic<int> number = 0;
    const Reference& reference = references_.at(exercise.name);
    if (!reference.skipped().empty()) {
        return result_with(exercise, State::skipped, reference.skipped());
    }
    if (!reference.broken().empty()) {
        return result_with(exercise, State::harness_error, reference.broken());
    }
    const Program& program = reference.program();
    const fs::path folder = folder_ / std::to_string(++number);
    fs::create_directories(folder);
    const fs::path file = folder / exercise.source().filename();
    std::ofstream(file, std::ios::binary) << text;
    const Built built = reference.build(file);
    std::vector<Objection> found;
    if (program.looked_at && !built.object.empty()) {
        flags = remarks(context_, built);
        found = objections(context_, program, built, Strictness::grader);
    }
    Result result;
    if (!found.empty()) {
        result = refused(result_of(program, {}, file), found);
    } else if (built.ok) {
        result = reference.run_seeds(built, file, flags);
        if (result.status == State::harness_error) {  // once may be chance
            result = reference.run_seeds(built, file, flags);
        }
        if (result.status == State::harness_error && reference.passes()) {
            result.status = State::crash;
            result.message =
                "it cannot be judged, twice, where the reference can: " + what_happened(result);
        }
    } else {
        result = result_with(exercise, State::build_error, built.error);
        result.build_log = built.log;
    }
    std::error_code ignored;
    fs::remove_all(folder, ignored);
    if (!built.executable.empty()) {
        fs::remove_all(built.executable.parent_path(), ignored);
    }
    return result;
}

Grade Grader::grade(const Exercise& exercise, const Submission& submission) {
    const auto file = submission.files.find(exercise.name);
    const auto unclear = submission.unclear.find(exercise.name);
    const std::string text = file == submission.files.end() ? "" : file->second;
    std::vector<std::string> flags;
    Result result;
    if (unclear != submission.unclear.end()) {
        result = result_with(exercise, State::not_run, unclear->second);
        flags.push_back(unclear->second);
    } else if (file == submission.files.end()) {
        result = result_with(
            exercise, State::not_run, exercise.source().filename().string() + " was not handed in"
        );
    } else if (text == references_.at(exercise.name).stub()) {
        result = not_started(context_, exercise);
    } else {
        try {
            result = judge(exercise, text, flags);
        } catch (const Interrupted&) {
            throw;
        } catch (const std::exception& error) {
            result = result_with(exercise, State::harness_error, error.what());
        }
    }
    if (!options_.sandbox) {
        flags.emplace_back("graded without a sandbox");
    }
    result.source = exercise.source().string();
    Grade record = Grade::parse(to_json(result));
    make_for_the_student(
        record, {folder_.string() + "/", folder_.lexically_relative(context_.root).string() + "/"}
    );
    record["mode"] = "grade";
    record["submission"] = {{"id", submission.name}, {"digest", digest(text)}};
    if (!submission.canvas_id.empty()) {
        record["submission"]["canvas_id"] = submission.canvas_id;
    }
    record["seeds"] = options_.seeds;
    record["flags"] = flags;
    return record;
}

}  // namespace dist::cli
