// What `check` tries: series of files, each file in the place of a program's source.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "course/build/build.hpp"
#include "course/manifest/cases.hpp"
#include "course/manifest/manifest.hpp"
#include "course/process/context.hpp"

namespace dist::cli {

/// A case, what it is called, and the seeds it runs with.
struct Trial {
    Case expected;
    std::string what;
    int seeds = 1;

    /// A wrong answer: a run of it may end as soon as it has been refused as it must be.
    [[nodiscard]] bool is_wrong() const {
        return expected.state != State::pass && expected.state != State::not_started;
    }
};

/// All trials of one program.
struct Series {
    Program program;
    const Exercise* exercise = nullptr;  // none: a self test
    std::vector<Trial> trials;
    std::vector<std::string> missing;  // parts that the exercise lacks
    std::string not_here;              // why none can run on this machine; empty: they can
    std::size_t left_out = 0;          // answers, wrong and right, that are not asked for
    std::string host;  // what starts the jobs that its trials share; empty: each has its own
};

/// The `which`-th of `of` equal shares of the wrong answers and the alternatives, from 1 on: every
/// `of`-th of them.
struct Share {
    int which = 1;
    int of = 1;

    /// Whether it has the wrong answer at `place`, from 0 on.
    [[nodiscard]] bool has(int place) const { return place % of == which - 1; }
};

/// "2/3".
/// Errors  UsageError where it is no share
Share share_named(const std::string& text);

struct SeriesOptions {
    bool stubs = true;
    bool mutants = false;
    bool alone = false;  // no answer shares a job with another
    int seeds = 1;
    Share share;
};

/// The series of an exercise: one, or for GPUs two: on the stand-in, and what is right on a GPU.
std::vector<Series> series_of(
    Context& context, const Exercise& exercise, const SeriesOptions& options
);
Series series_of(const Context& context, const SelfTest& self_test, const SeriesOptions& options);

/// Whether a trial need not run again: asked before it is compiled.
using Unchanged = std::function<bool(const Recipe&, const Trial&)>;

struct BuiltSeries {
    std::string error;     // why nothing could be built; no word of the student's
    bool skipped = false;  // the error is something that this machine lacks
    Recipe recipe;
    std::vector<Built> built;     // as Series::trials; with a host, libraries and no programs yet
    std::vector<char> unchanged;  // likewise; true: not built
    double seconds = 0;
};

/// Brings the tests of `next` up to date as well as it can, by one call of the build tool.
/// Errors  Interrupted
void build_ahead(Context& context, std::span<const Series> next);

/// Brings the test up to date, then compiles the trials, some at a time.
/// Errors  Interrupted
BuiltSeries build(Context& context, const Series& series, const Unchanged& unchanged);

}  // namespace dist::cli
