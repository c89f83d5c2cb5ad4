#include "course/report/report.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <sstream>
#include <unistd.h>

#include "course/process/screen.hpp"
#include "course/report/failure_text.hpp"

namespace dist::cli {
namespace {

constexpr int kAllOutputLines = 1000;  // of a test that passed, where all is asked for

/// The word in front of a test, five letters wide.
std::string_view word_of(State state) {
    switch (state) {
        case State::pass:
            return "pass ";
        case State::hang:
            return "HANG ";
        case State::crash:
            return "CRASH";
        case State::harness_error:
            return "ERROR";
        case State::skipped:
            return "skip ";
        case State::not_started:
            return "todo ";
        case State::not_run:
            return "---- ";
        default:
            return "FAIL ";
    }
}

Colour colour_of(State state) {
    return state == State::pass ? Colour::green
           : state == State::skipped || state == State::not_started || state == State::not_run
               ? Colour::yellow
               : Colour::red;
}

/// "FAIL  sums every element   3 ranks"
std::string headline(const TestResult& test, bool colours) {
    std::string name =
        paint(word_of(test.status), colour_of(test.status), colours) + " " + test.name;
    if (test.status != State::pass && test.status != State::skipped) {
        name += paint(
            fmt::format("   {} rank{}", test.ranks, test.ranks == 1 ? "" : "s"), Colour::dim,
            colours
        );
    }
    return "  " + name + "\n";
}

/// `text` with every line that is not empty moved to the right.
std::string indented(const std::string& text, const std::string& by) {
    std::string out;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        out += line.empty() ? "\n" : by + line + "\n";
    }
    return out;
}

std::string counts(const Result& result) {
    std::map<State, int> by_state;
    for (const TestResult& test : result.tests) {
        ++by_state[test.status];
    }
    std::string text = fmt::format("{} passed", result.passed());
    const auto failed = static_cast<int>(result.tests.size()) - result.passed() -
                        by_state[State::skipped] - by_state[State::not_run];
    text += fmt::format(", {} failed", failed);
    if (by_state[State::not_run] > 0) {
        text += fmt::format(", {} not run", by_state[State::not_run]);
    }
    if (by_state[State::skipped] > 0) {
        text += fmt::format(", {} skipped: not counted as done", by_state[State::skipped]);
    }
    return text + fmt::format("   ({:.1f} s)\n", result.duration_s);
}

/// The same run under the sanitizers, which name the line that wrote where it may not. Empty for one that
/// has another preset already.
std::string with_sanitizers(const std::string& repro) {
    constexpr std::string_view kPlain = "./shardlings run ";
    if (!repro.starts_with(kPlain)) {
        return "";
    }
    return fmt::format(
        "The line at fault:    ./shardlings --preset debug run {}\n", repro.substr(kPlain.size())
    );
}

/// A pass of everything, or of what was asked for.
std::string report_pass(
    const Result& result, const Exercise& exercise, const Telling& telling, bool colours
) {
    if (result.partial) {
        return fmt::format(
            "The tests that you asked for pass. All tests:  ./shardlings run {}\n", exercise.name
        );
    }
    const std::string done = paint("Done: " + exercise.name + ".", Colour::green, colours);
    std::string out =
        fmt::format("{}  One way to write it: ./shardlings solution {}\n", done, exercise.name);
    if (!telling.questions.empty()) {
        out += fmt::format(
            "The chapter is done. Did you understand it?  ./shardlings {}\n", telling.questions
        );
    }
    return out +
           (telling.next.empty() ? "" : fmt::format("Next:  ./shardlings run {}\n", telling.next));
}

/// What to type next; the file to edit is the last line.
std::string next_steps(const Result& result, const Exercise* exercise) {
    std::string out;
    const TestResult* failed = result.first_failed();
    if (failed != nullptr && result.status != State::not_started) {
        out += fmt::format("Again, exactly this:  {}\n", failed->repro);
    }
    if (failed != nullptr && failed->status == State::crash) {
        out += with_sanitizers(failed->repro);
    }
    if (result.status == State::harness_error) {
        return out + "Your code was not judged. Mend first what is said above.\n";
    }
    if (exercise != nullptr && failed != nullptr) {
        out += fmt::format("Stuck?                ./shardlings hint {}\n", exercise->name);
    }
    return out + fmt::format("Edit:                 {}\n", result.source);
}

std::string report_build_error(const Result& result) {
    return fmt::format(
        "{}\n\nIt does not build. The first error is above; the rest often follow from it.\nEdit:  "
        " {}\n",
        result.message, result.source
    );
}

std::string report_not_started(const Result& result, const Exercise& exercise) {
    return fmt::format(
        "  {} is not started: its TODO is still there.\n\nRead:   {}   what it must do\n        {} "
        "  the lesson\nStuck?  ./shardlings hint {}\nEdit:   {}\n",
        exercise.name, exercise.header().string(), exercise.lesson().string(), exercise.name,
        result.source
    );
}

/// Not one test ran: why. Then what the stand-in says of the same file, if it was asked.
std::string report_skipped(const Result& result, const Exercise* exercise, bool colours) {
    std::string out = fmt::format(
        "  {} {}: {}\n        This is no pass, and does not count as done.\n",
        paint(word_of(State::skipped), colour_of(State::skipped), colours), result.exercise,
        result.message
    );
    const bool tried = !result.stand_in.empty();
    return out + "\n" +
           (tried ? report(result.stand_in.front(), exercise, colours) : next_steps(result, nullptr)
           );
}

bool nothing_ran(const Result& result) {
    return result.status == State::skipped &&
           std::all_of(result.tests.begin(), result.tests.end(), [](const TestResult& test) {
               return test.status == State::skipped;
           });
}

}  // namespace

bool use_colours() {
    const char* refused = std::getenv("NO_COLOR");
    return (refused == nullptr || *refused == '\0') && obeys_escapes(STDOUT_FILENO);
}

std::string paint(std::string_view text, Colour colour, bool colours) {
    if (!colours || colour == Colour::none) {
        return std::string(text);
    }
    static const std::map<Colour, int> codes = {{Colour::red, 31},    {Colour::green, 32},
                                                {Colour::yellow, 33}, {Colour::blue, 34},
                                                {Colour::bold, 1},    {Colour::dim, 2}};
    return fmt::format("\033[{}m{}\033[0m", codes.at(colour), text);
}

std::string report(
    const Result& result, const Exercise* exercise, bool colours, const Telling& telling
) {
    if (result.status == State::build_error) {
        return report_build_error(result);
    }
    if (nothing_ran(result) && exercise != nullptr) {
        return report_skipped(result, exercise, colours);
    }
    const bool untouched = result.passed() == 0 && result.status == State::not_started;
    if (untouched && exercise != nullptr) {
        return report_not_started(result, *exercise);
    }
    std::string out =
        result.on_stand_in
            ? "On the host's stand-in for CUDA and NCCL: the logic only, and never a pass\n"
            : "";
    const TestResult* first = result.first_failed();
    for (const TestResult& test : result.tests) {
        out += headline(test, colours);
        if (&test == first) {
            out += indented(in_full(test), "        ");
        } else if (test.status != State::pass) {
            out += indented(in_one_line(test), "        ");
        } else if (telling.output) {
            out += indented(own_output(test, kAllOutputLines), "        ");
        }
    }
    out += "\n" + counts(result);
    if (result.on_stand_in && first == nullptr) {
        return out + "Right here. It counts as done where it passes on a GPU.\n" +
               next_steps(result, nullptr);
    }
    if (result.status == State::pass && exercise != nullptr && result.as.empty()) {
        return out + report_pass(result, *exercise, telling, colours);
    }
    return result.status == State::pass ? out : out + next_steps(result, exercise);
}

}  // namespace dist::cli
