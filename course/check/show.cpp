#include "course/check/show.hpp"

#include <fmt/format.h>

#include "course/build/changed.hpp"
#include "course/process/error.hpp"
#include "course/process/subprocess.hpp"
#include "course/report/report.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

/// From the first place that differs on: what stands above names files of the build.
std::string difference(const Context& context, const fs::path& base, const fs::path& source) {
    const Ended ended =
        run(context,
            {"git", "diff", "--no-index", use_colours() ? "--color=always" : "--color=never", "--",
             (context.root / base).string(), source.string()});
    if (ended.status > 1) {  // 1 says that they differ
        throw CommandError(exit_status::kUsage, "git diff failed: " + ended.output);
    }
    const std::size_t first = ended.output.find("@@ ");
    return first == std::string::npos ? "Both are the same.\n"
                                      : ended.output.substr(ended.output.rfind('\n', first) + 1);
}

}  // namespace

void show(const Context& context, const Series& series, const Trial& trial) {
    const Case& answer = trial.expected;
    const bool colours = use_colours();
    fmt::print("{}, {}\n", paint(series.program.name, Colour::bold, colours), trial.what);
    fmt::print("{}\n", answer.sentence);
    fmt::print(
        "state: {}{}\n", name_of(answer.state), answer.test.empty() ? "" : " in " + answer.test
    );
    for (const std::string& says : answer.says) {
        fmt::print("says: {}\n", says);
    }
    const fs::path base = answer.base.empty() && series.exercise != nullptr
                              ? series.exercise->solution()
                          : answer.base.empty() ? series.program.source
                                                : answer.base;
    fmt::print(
        "{}\n{}\n", paint("--- " + base.string(), Colour::bold, colours),
        paint("+++ " + answer.file.string(), Colour::bold, colours)
    );
    fmt::print("{}", difference(context, base, make_source(context, context.root / answer.file)));
}

}  // namespace dist::cli
