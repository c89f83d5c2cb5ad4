// The reference of an exercise, run with the seeds of a grading, and answers held against it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "course/build/build.hpp"
#include "course/grade/evidence.hpp"
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

class Reference {
  public:
    Reference(Context& context, const GradeOptions& options, const Exercise& exercise);

    /// Builds the test, with what `answers` call, and runs the reference; by one thread and before what follows.
    void prepare(const std::string& answers);

    /// Builds an answer in the place of the reference.
    [[nodiscard]] Built build(const std::filesystem::path& file) const;
    /// Runs an answer with each seed, and then with messages garbled. It is refused where it makes fewer checks than the
    /// reference, leaves out a test, or needs no messages.
    Result run_seeds(
        const Built& built, const std::filesystem::path& file, std::vector<std::string>& flags
    ) const;
    /// Whether the reference passes now, with the first seed.
    [[nodiscard]] bool passes() const;

    [[nodiscard]] const Program& program() const { return program_; }
    [[nodiscard]] const std::string& stub() const { return stub_; }
    /// Why nothing can be run here; else empty.
    [[nodiscard]] const std::string& skipped() const { return skipped_; }
    /// Why nothing can be said of anybody; else empty.
    [[nodiscard]] const std::string& broken() const { return broken_; }

  private:
    [[nodiscard]] LaunchOptions options_for(std::uint64_t seed) const;
    /// A run in which messages are garbled.
    [[nodiscard]] Result garbled(
        const Built& built, const std::filesystem::path& file, harness::Garble way
    ) const;
    /// Tests that are passed though no message says what was sent, where the reference fails.
    [[nodiscard]] std::set<std::string> right_without_messages(
        const Built& built, const std::filesystem::path& file
    ) const;

    Context& context_;
    const GradeOptions& options_;
    Program program_;
    std::filesystem::path solution_;  // from whatever folder the command is called
    std::string stub_;                // the file as it is handed out
    Recipe recipe_;
    Built built_;
    Sandbox sandbox_;
    std::string skipped_;
    std::string broken_;
    std::vector<Checks> checks_;            // for each seed those that each rank made in each test
    std::set<std::string> needs_messages_;  // tests that it fails however messages are garbled
};

}  // namespace dist::cli
