// One submission's answer to one exercise: built and run in a sandbox, and held against what the reference
// does. Note [What a grade rests on] in grader.cpp.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "course/grade/record.hpp"
#include "course/grade/reference.hpp"
#include "course/grade/submissions.hpp"
#include "course/manifest/manifest.hpp"
#include "course/process/context.hpp"

namespace dist::cli {

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
    Result judge(
        const Exercise& exercise, const std::string& text, std::vector<std::string>& flags
    );

    Context& context_;
    GradeOptions options_;
    std::filesystem::path folder_;  // for the files under test
    std::map<std::string, Reference> references_;
};

}  // namespace dist::cli
