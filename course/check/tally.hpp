// What `check` counts and says: a line for each thing that it proved, and where the time went.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "course/process/context.hpp"
#include "course/result/result.hpp"

namespace dist::cli {

class Tally {
  public:
    explicit Tally(std::FILE* out) : out_(out) {}

    void line(bool good, const std::string& name, const std::string& what);
    void skip(const std::string& name, std::size_t trials, const std::string& why);
    void text(const std::string& text) const;
    /// Trials that were not asked for.
    void leave_out(std::size_t trials);
    /// What came of a trial, for document().
    void trial(const std::string& name, const std::string& what, const Result& result);
    /// A trial whose verdict holds, since nothing has changed.
    void unchanged(const std::string& name, const std::string& what);
    /// Seconds that a program's trials took to build, and to run.
    void took(const std::string& name, double build_s, double run_s);

    /// The counts, the seconds by part, and the ten slowest.
    void print(const Context& context) const;
    /// The same as JSON.
    [[nodiscard]] std::string document(const Context& context) const;
    /// What `check` exits with.
    [[nodiscard]] int status() const;

  private:
    struct Took {
        std::string name;
        double build_s = 0;
        double run_s = 0;
    };
    [[nodiscard]] std::vector<Took> slowest() const;
    struct Shown {
        std::string name;
        std::string trial;
        std::string state;
        std::string test;                 // the first that failed
        std::string sentence;             // why
        std::vector<std::string> checks;  // that failed, by file and line
        double seconds = 0;               // from its start to its verdict
    };

    std::FILE* out_;
    int passed_ = 0;
    int failed_ = 0;
    int skipped_ = 0;
    int unchanged_ = 0;
    std::size_t left_out_ = 0;
    std::vector<Took> took_;
    std::vector<Shown> shown_;
};

}  // namespace dist::cli
