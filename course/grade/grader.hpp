// One submission's answer to one exercise: built and run in a sandbox, and held against what the reference
// does. Note [What a grade rests on] in grader.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "course/build/build.hpp"
#include "course/grade/evidence.hpp"
#include "course/grade/record.hpp"
#include "course/grade/submissions.hpp"
#include "course/launch/launch.hpp"
#include "course/manifest/manifest.hpp"
#include "course/process/context.hpp"
#include "course/process/sandbox.hpp"

namespace dist::cli {

struct GradeOptions {
    std::vector<std::uint64_t> seeds;
    double time_limit_s = 120;  // of the compiler, and of one start of the processes
    bool sandbox = true;
};

class Grader {
  public:
    /// Errors  CommandError, when a sandbox is asked for and there can be none.
    Grader(Context& context, GradeOptions options);
    ~Grader();
    Grader(const Grader&) = delete;
    Grader& operator=(const Grader&) = delete;

    /// Builds the test and runs the reference, where one of these answers is more than the stub: once for each exercise, before
    /// grade(), by one thread.
    void prepare(const Exercise& exercise, const std::vector<std::string>& answers);

    /// Any thread may call it. What is no answer's fault is a record, too: harness_error.
    /// Errors  Interrupted
    Grade grade(const Exercise& exercise, const Submission& submission);

  private:
    /// What the reference does, on this machine, with these seeds.
    struct Reference {
        Recipe recipe;
        Built built;
        Sandbox sandbox;
        std::string stub;     // the file as it is handed out
        std::string skipped;  // why nothing can be run here
        std::string broken;   // why nothing can be said of anybody
        /// For each seed the checks that each rank made in each test.
        std::vector<Checks> checks;
        std::set<std::string> needs_messages;  // tests that it fails however messages are garbled
    };

    Result judge(
        const Exercise& exercise, const std::string& text, std::vector<std::string>& flags
    );
    Result run_seeds(
        const Reference& reference,
        const Program& program,
        const Built& built,
        const std::filesystem::path& file,
        std::vector<std::string>& flags
    );
    /// Whether the reference passes now, with the first seed.
    bool reference_passes(const Reference& reference, const Exercise& exercise);
    /// A run in which messages are garbled.
    Result garbled(
        const Reference& reference,
        const Program& program,
        const Built& built,
        const std::filesystem::path& file,
        harness::Garble way
    );
    /// Tests that are passed though no message says what was sent, where the reference fails.
    std::set<std::string> right_without_messages(
        const Reference& reference,
        const Program& program,
        const Built& built,
        const std::filesystem::path& file
    );
    [[nodiscard]] LaunchOptions options_for(const Reference& reference, std::uint64_t seed) const;

    /// The reference's file, from whatever folder the command is called.
    [[nodiscard]] std::filesystem::path solution(const Exercise& exercise) const;
    [[nodiscard]] Caution caution() const;

    Context& context_;
    GradeOptions options_;
    std::filesystem::path folder_;  // for the files under test
    std::map<std::string, Reference> references_;
};

}  // namespace dist::cli
