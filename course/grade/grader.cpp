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
#include <fstream>
#include <functional>
#include <unistd.h>

#include "course/grade/evidence.hpp"
#include "course/launch/gpu.hpp"
#include "course/launch/run_test.hpp"
#include "course/manifest/stub.hpp"
#include "course/process/error.hpp"
#include "course/process/orphans.hpp"
#include "course/protocol/shortened.hpp"
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

/// A result of its own for what no test says.
Result& refuse(Result& result, const std::string& name, const std::string& message) {
    result.status = State::forbidden;
    TestResult test;
    test.name = name;
    test.planned = false;
    test.status = State::forbidden;
    test.message = message;
    result.tests.insert(result.tests.begin(), test);
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

/// The longest text of a grade: what a compiler says, or a rank prints.
constexpr std::size_t kMostText = 16384;

/// `text` without `place`NUMBER/, in which an answer lies here, and without --as for all of it.
std::string without_place(const std::string& text, const std::string& place) {
    static constexpr std::string_view kAs = " --as ";
    std::string kept;
    std::size_t done = 0;
    for (std::size_t at = text.find(place); at != std::string::npos; at = text.find(place, done)) {
        const std::size_t number = at + place.size();
        std::size_t end = std::min(text.find_first_not_of("0123456789", number), text.size());
        kept += text.substr(done, at - done);
        if (kept.ends_with(kAs)) {
            kept.resize(kept.size() - kAs.size());
            end = std::min(text.find(' ', end), text.size());
        } else {
            end += end < text.size() && text[end] == '/' ? 1U : 0U;
        }
        done = end;
    }
    return kept + text.substr(done);
}

/// A document without this machine's places, with commands that are the student's own, and with texts that fit.
void make_for_the_student(Grade& value, const std::vector<std::string>& places) {
    if (value.is_string()) {
        auto text = value.get<std::string>();
        for (const std::string& place : places) {
            text = without_place(text, place);
        }
        value = shortened(std::move(text), kMostText);
    } else if (value.is_structured()) {
        for (Grade& part : value) {
            make_for_the_student(part, places);
        }
    }
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

LaunchOptions Grader::options_for(const Reference& reference, std::uint64_t seed) const {
    LaunchOptions options;
    options.seed = seed;
    options.wall_limit_s = options_.time_limit_s;
    options.strictness = Strictness::grader;
    options.sandbox = options_.sandbox ? &reference.sandbox : nullptr;
    return options;
}

fs::path Grader::solution(const Exercise& exercise) const {
    return context_.root / exercise.solution();
}

Caution Grader::caution() const {
    return {options_.sandbox, options_.time_limit_s};
}

void Grader::prepare(const Exercise& exercise, const std::vector<std::string>& answers) {
    const Program program = program_of(exercise);
    Reference& reference = references_[exercise.name];
    reference.stub = given_stub(context_, exercise);
    if (std::ranges::all_of(answers, [&](auto& text) { return text == reference.stub; })) {
        return;
    }
    if (program.for_gpu()) {
        reference.skipped = gpu_code_missing(context_);
        if (!reference.skipped.empty()) {
            return;
        }
    }
    reference.recipe = cli::prepare(context_, program);
    reference.sandbox.readable = library_folders(reference.recipe);
    reference.sandbox.gpu = program.for_gpu();
    reference.built = build_as(context_, reference.recipe, solution(exercise), caution());
    const Built& built = reference.built;
    if (!built.ok) {
        reference.broken = "the reference itself does not build here: " + built.error;
        return;
    }
    for (const std::uint64_t seed : options_.seeds) {
        const Result result = launch(
            context_, program, built.executable, solution(exercise), options_for(reference, seed)
        );
        if (result.status == State::skipped) {
            reference.skipped = result.message;
            return;
        }
        if (result.status != State::pass) {
            const TestResult* failed = result.first_failed();
            reference.broken = fmt::format(
                "the reference itself does not pass here, with seed {}: {}", seed,
                failed == nullptr ? result.message : failed->name + ": " + failed->message
            );
            return;
        }
        reference.checks.push_back(checks_of(result));
    }
    // what was not planned, such as an end that came too early, is no test
    for (const TestResult& test :
         garbled(reference, program, built, solution(exercise), harness::Garble::others).tests) {
        if (test.planned && test.status != State::pass && test.status != State::skipped) {
            reference.needs_messages.insert(test.name);
        }
    }
    for (const std::string& test :
         passed_in(garbled(reference, program, built, solution(exercise), harness::Garble::zeros)
         )) {
        reference.needs_messages.erase(test);
    }
}

Result Grader::garbled(
    const Reference& reference,
    const Program& program,
    const Built& built,
    const fs::path& file,
    harness::Garble way
) {
    LaunchOptions options = options_for(reference, options_.seeds.front());
    options.garble = way;
    return launch(context_, program, built.executable, file, options);
}

std::set<std::string> Grader::right_without_messages(
    const Reference& reference, const Program& program, const Built& built, const fs::path& file
) {
    std::set<std::string> suspects = reference.needs_messages;
    for (const harness::Garble way : {harness::Garble::others, harness::Garble::zeros}) {
        if (suspects.empty()) {
            break;
        }
        const std::set<std::string> passed =
            passed_in(garbled(reference, program, built, file, way));
        std::erase_if(suspects, [&](const std::string& test) { return !passed.contains(test); });
    }
    return suspects;
}

bool Grader::reference_passes(const Reference& reference, const Exercise& exercise) {
    const LaunchOptions options = options_for(reference, options_.seeds.front());
    const Result result = launch(
        context_, program_of(exercise), reference.built.executable, solution(exercise), options
    );
    return result.status == State::pass;
}

Result Grader::run_seeds(
    const Reference& reference,
    const Program& program,
    const Built& built,
    const fs::path& file,
    std::vector<std::string>& flags
) {
    Result result;
    for (std::size_t i = 0; i < options_.seeds.size(); ++i) {
        const LaunchOptions options = options_for(reference, options_.seeds[i]);
        result = launch(context_, program, built.executable, file, options);
        if (result.status != State::pass) {
            return result;
        }
        if (const std::string why = fewer_checks(checks_of(result), reference.checks[i]);
            !why.empty()) {
            return refuse(result, "every check of the tests is made", why);
        }
    }
    const std::set<std::string> suspects = right_without_messages(reference, program, built, file);
    if (!suspects.empty()) {
        const std::string sentence = fmt::format(
            "'{}' passes also when every message is garbled on its way", *suspects.begin()
        );
        // one test alone may be right by chance, or by a way that its author has not thought of
        if (2 * suspects.size() >= reference.needs_messages.size()) {
            return refuse(
                result, "what it gives was in its messages",
                sentence + ": what it gives comes from elsewhere"
            );
        }
        flags.push_back(sentence);
    }
    return result;
}

Result Grader::judge(
    const Exercise& exercise, const std::string& text, std::vector<std::string>& flags
) {
    static std::atomic<int> number = 0;
    const Reference& reference = references_.at(exercise.name);
    if (!reference.skipped.empty()) {
        return result_with(exercise, State::skipped, reference.skipped);
    }
    if (!reference.broken.empty()) {
        return result_with(exercise, State::harness_error, reference.broken);
    }
    const Program program = program_of(exercise);
    const fs::path folder = folder_ / std::to_string(++number);
    fs::create_directories(folder);
    const fs::path file = folder / exercise.source().filename();
    std::ofstream(file, std::ios::binary) << text;
    const Built built = build_as(context_, reference.recipe, file, caution());
    std::vector<Objection> found;
    if (program.looked_at && !built.object.empty()) {
        flags = remarks(context_, built);
        found = objections(context_, program, built, Strictness::grader);
    }
    Result result;
    if (!found.empty()) {
        result = refused(result_of(program, {}, file), found);
    } else if (built.ok) {
        result = run_seeds(reference, program, built, file, flags);
        if (result.status == State::harness_error) {  // once may be chance
            result = run_seeds(reference, program, built, file, flags);
        }
        if (result.status == State::harness_error && reference_passes(reference, exercise)) {
            result.status = State::crash;
            result.message =
                "it cannot be judged, twice, where the reference can: " + what_happened(result);
        } else if (result.status == State::skipped) {
            refuse(result, "no test is left out", "the reference leaves out none here");
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
    } else if (text == references_.at(exercise.name).stub) {
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
