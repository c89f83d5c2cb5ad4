#include "course/grade/reference.hpp"

#include <fmt/format.h>

#include "course/launch/gpu.hpp"
#include "course/manifest/stub.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

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

}  // namespace

Reference::Reference(Context& context, const GradeOptions& options, const Exercise& exercise)
    : context_(context),
      options_(options),
      program_(program_of(exercise)),
      solution_(context.root / exercise.solution()),
      stub_(given_stub(context, exercise)) {}

LaunchOptions Reference::options_for(std::uint64_t seed) const {
    LaunchOptions options;
    options.seed = seed;
    options.wall_limit_s = options_.time_limit_s;
    options.strictness = Strictness::grader;
    options.sandbox = options_.sandbox ? &sandbox_ : nullptr;
    return options;
}

Built Reference::build(const fs::path& file) const {
    return build_as(context_, recipe_, file, {options_.sandbox, options_.time_limit_s});
}

void Reference::prepare(const std::string& answers) {
    if (program_.for_gpu()) {
        skipped_ = gpu_code_missing(context_);
        if (!skipped_.empty()) {
            return;
        }
    }
    recipe_ = cli::prepare(context_, program_, references_named(context_, program_, answers));
    sandbox_.readable = library_folders(recipe_);
    sandbox_.gpu = program_.for_gpu();
    built_ = build(solution_);
    if (!built_.ok) {
        broken_ = "the reference itself does not build here: " + built_.error;
        return;
    }
    for (const std::uint64_t seed : options_.seeds) {
        const Result result =
            launch(context_, program_, built_.executable, solution_, options_for(seed));
        if (result.status == State::skipped) {
            skipped_ = result.message;
            return;
        }
        if (result.status != State::pass) {
            const TestResult* failed = result.first_failed();
            broken_ = fmt::format(
                "the reference itself does not pass here, with seed {}: {}", seed,
                failed == nullptr ? result.message : failed->name + ": " + failed->message
            );
            return;
        }
        checks_.push_back(checks_of(result));
    }
    // what was not planned, such as an end that came too early, is no test
    for (const TestResult& test : garbled(built_, solution_, harness::Garble::others).tests) {
        if (test.planned && test.status != State::pass && test.status != State::skipped) {
            needs_messages_.insert(test.name);
        }
    }
    for (const std::string& test : passed_in(garbled(built_, solution_, harness::Garble::zeros))) {
        needs_messages_.erase(test);
    }
}

Result Reference::garbled(const Built& built, const fs::path& file, harness::Garble way) const {
    LaunchOptions options = options_for(options_.seeds.front());
    options.garble = way;
    return launch(context_, program_, built.executable, file, options);
}

std::set<std::string> Reference::right_without_messages(const Built& built, const fs::path& file)
    const {
    std::set<std::string> suspects = needs_messages_;
    for (const harness::Garble way : {harness::Garble::others, harness::Garble::zeros}) {
        if (suspects.empty()) {
            break;
        }
        const std::set<std::string> passed = passed_in(garbled(built, file, way));
        std::erase_if(suspects, [&](const std::string& test) { return !passed.contains(test); });
    }
    return suspects;
}

bool Reference::passes() const {
    const LaunchOptions options = options_for(options_.seeds.front());
    const Result result = launch(context_, program_, built_.executable, solution_, options);
    return result.status == State::pass;
}

Result Reference::run_seeds(
    const Built& built, const fs::path& file, std::vector<std::string>& flags
) const {
    Result result;
    for (std::size_t i = 0; i < options_.seeds.size(); ++i) {
        const LaunchOptions options = options_for(options_.seeds[i]);
        result = launch(context_, program_, built.executable, file, options);
        if (result.status == State::skipped) {
            return refuse(result, "no test is left out", "the reference leaves out none here");
        }
        if (result.status != State::pass) {
            return result;
        }
        if (const std::string why = fewer_checks(checks_of(result), checks_[i]); !why.empty()) {
            return refuse(result, "every check of the tests is made", why);
        }
    }
    const std::set<std::string> suspects = right_without_messages(built, file);
    if (!suspects.empty()) {
        const std::string sentence = fmt::format(
            "'{}' passes also when every message is garbled on its way", *suspects.begin()
        );
        // one test alone may be right by chance, or by a way that its author has not thought of
        if (2 * suspects.size() >= needs_messages_.size()) {
            return refuse(
                result, "what it gives was in its messages",
                sentence + ": what it gives comes from elsewhere"
            );
        }
        flags.push_back(sentence);
    }
    return result;
}

}  // namespace dist::cli
