// trace: a picture of every message of a run.
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

#include "course/cli/command.hpp"
#include "course/cli/passed_on.hpp"
#include "course/cli/train.hpp"
#include "course/files/atomic_file.hpp"
#include "course/judge/explain.hpp"
#include "course/launch/run_test.hpp"
#include "course/manifest/progress.hpp"
#include "course/manifest/select.hpp"
#include "course/process/error.hpp"
#include "course/process/screen.hpp"
#include "course/protocol/counted.hpp"
#include "course/report/drawing.hpp"
#include "course/report/failure_text.hpp"
#include "course/report/fold.hpp"
#include "course/report/player.hpp"
#include "course/report/report.hpp"
#include "course/report/running_line.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostColumns = 1000;  // more is no screen
constexpr std::size_t kPaperColumns = 80;
constexpr int kLinesBesideFiles = 40;  // of a drawing whose whole is in a file
constexpr int kSteps = 12;             // of a training that is traced: ten, from the third on

struct TraceArguments {
    std::string name;
    std::string as;
    std::string out;
    LaunchOptions options = {.ranks = 4, .trace = true};
    bool text = false;
    bool html = false;
};

fs::path folder_of(const TraceArguments& arguments) {
    return arguments.out.empty() ? fs::path("traces") : fs::path(arguments.out);
}

bool writes_files(const TraceArguments& arguments) {
    return !arguments.text || !arguments.out.empty() || arguments.html;
}

void make_folder(const fs::path& folder) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) {
        throw CommandError(
            exit_status::kFailed, fmt::format("{}: {}", folder.string(), error.message())
        );
    }
}

/// The first test that fails, otherwise the first one, that has messages; null: none has.
const TestResult* worth_drawing(const Result& result) {
    const auto failed = [](const TestResult& test) {
        return test.status != State::pass && test.status != State::skipped;
    };
    const TestResult* found = nullptr;
    for (const TestResult& test : result.tests) {
        const bool stands = std::ranges::any_of(test.per_rank, [](const RankResult& rank) {
            return rank.phase == harness::Phase::waiting;
        });
        if (!has_messages(test) && !(failed(test) && stands)) {
            continue;
        }
        if (failed(test)) {
            return &test;
        }
        found = found == nullptr ? &test : found;
    }
    return found;
}

[[noreturn]] void refuse_without_messages(const Result& result, const TraceArguments& arguments) {
    std::string reason = "sends no message";
    for (const TestResult& test : result.tests) {
        if (test.status == State::skipped) {
            reason = fmt::format("has a test that was skipped ({}), and no message", test.message);
        } else if (test.status != State::pass) {
            reason = fmt::format("ended before its first message: {}", name_of(test.status));
            break;
        }
    }
    throw CommandError(
        exit_status::kFailed,
        fmt::format(
            "there is nothing to draw: on {} ranks {} {}. ./shardlings run {} says more",
            arguments.options.ranks, result.exercise, reason, result.exercise
        )
    );
}

std::string text_of(const Drawing& drawing, const TestResult& test, int lines) {
    const std::size_t seen = columns_of(STDOUT_FILENO);
    const auto columns = static_cast<int>(seen > kMostColumns ? kPaperColumns : seen);
    const diagrams::TextSize size = {columns, lines, use_colours()};
    const std::string ranks = harness::counted(test.ranks, "rank");
    std::string out = fmt::format(
        "{}\n{}\n", test.name,
        test.status == State::pass
            ? "pass on " + ranks
            : fmt::format("{} on {}: {}", name_of(test.status), ranks, in_one_line(test))
    );
    out += "\n" + diagrams::lanes(drawing.diagram, drawing.messages, size);
    for (const RankResult& rank : test.per_rank) {
        out += drawing.diagram.stuck.empty() ? "" : rank_line(rank) + "\n";
        out += rank.died.empty() ? "" : fmt::format("rank {}: {}\n", rank.rank, rank.died);
    }
    if (drawing.cut) {
        out += fmt::format("only the first {} steps of a rank are drawn\n", trace::kMostSteps);
    }
    if (drawing.to_themselves > 0) {
        out += fmt::format(
            "not drawn: {} of a rank to itself\n",
            harness::counted(drawing.to_themselves, "message")
        );
    }
    return out;
}

void write_page(const TestResult& test, const std::string& name, const fs::path& folder) {
    const fs::path page = folder / (name + ".html");
    files::write_atomically(page, player_page(test, name));
    fmt::print("\nStep by step: {}   to open in a browser\n", page.string());
}

void write_files(const Drawing& drawing, const TestResult& test, const fs::path& folder) {
    const std::string name = drawing.diagram.name;
    const fs::path picture = folder / (name + ".svg");
    const fs::path events = folder / (name + ".json");
    files::write_atomically(picture, diagrams::svg(drawing.diagram, drawing.messages));
    files::write_atomically(events, chrome_trace(test, name));
    fmt::print(
        "\nThe picture:  {}\nWith times:   {}   to open at https://ui.perfetto.dev\n",
        picture.string(), events.string()
    );
}

void trace_exercise(Context& context, const TraceArguments& arguments) {
    expect_rank_count(arguments.options.ranks);
    const Manifest manifest = read_manifest(context.root);
    const Progress progress = read_progress(context.root);
    const Exercise& exercise = select_exercise(manifest, progress, arguments.name);
    const fs::path folder = folder_of(arguments);
    if (writes_files(arguments)) {
        make_folder(folder);
    }
    const Result result = [&] {
        const RunningLine line(context);
        return arguments.as.empty()
                   ? run_own(context, exercise, arguments.options)
                   : run_anywhere(context, program_of(exercise), arguments.options, arguments.as);
    }();
    if (result.status == State::build_error || result.status == State::not_started) {
        fmt::print("{}", report(result, &exercise, use_colours()));
        context.status = exit_status_of(result.status);
        return;
    }
    const TestResult* test = worth_drawing(result);
    if (test == nullptr) {
        refuse_without_messages(result, arguments);
    }
    const Drawing drawing = drawing_of(*test, exercise.name);
    print_folded(text_of(drawing, *test, arguments.text ? 0 : kLinesBesideFiles));
    if (!arguments.text || !arguments.out.empty()) {
        write_files(drawing, *test, folder);
    }
    if (arguments.html) {
        write_page(*test, exercise.name, folder);
    }
}

void trace_training(
    Context& context,
    const TrainOptions& options,
    const std::string& out,
    std::vector<std::string> words
) {
    const fs::path folder = out.empty() ? fs::path("traces") / "train" : fs::path(out);
    const auto given = [&](const char* option) {
        return std::ranges::any_of(words, [&](const std::string& word) {
            return word == option || word.starts_with(std::string(option) + "=");
        });
    };
    if (given("--trace") && !out.empty()) {
        throw UsageError("trace train: --out and --trace both name the folder; give one of them");
    }
    if (!given("--trace")) {
        make_folder(folder);
        words.insert(words.end(), {"--trace", folder.string()});
    }
    if (!given("--steps")) {
        words.insert(words.end(), {"--steps", std::to_string(kSteps)});
    }
    train(context, options, words);
}

Command add_training(const Command& trace, Context& context) {
    auto command =
        trace.add_subcommand("train", "Draw ten steps of a training, a file for each rank");
    auto options = std::make_shared<TrainOptions>();
    auto out = std::make_shared<std::string>();
    auto ranks = command.add_option("-n,--ranks", options->ranks, "Number of processes");
    ranks.capture_default_str();
    command.add_option("--hostfile", options->hostfile, kHostfileHelp);
    command.add_option("--out", *out, "Folder for the files of all ranks (default: traces/train)");
    command
        .add_option(
            "--stack", options->stack,
            "Whose code averages the gradients: the reference solutions' or yours"
        )
        .one_of({"reference", "mine"})
        .capture_default_str();
    command.footer(
        "Writes forward, backward, each bucket's messages and the optimizer, for\n"
        "Perfetto (https://ui.perfetto.dev) and HTA. With zero1, zero2 and zero3\n"
        "messages have no row: they are part of forward, backward and optimizer.\n"
        "Takes all options of ./shardlings train. Default: --steps 12.\n"
        "  ./shardlings trace train --parallel ddp --bucket-cap-mb 5"
    );
    pass_on_the_rest(command, context);
    command.callback([&context, command, options, out, ranks] {
        options->ranks_given = ranks.count() > 0;
        trace_training(context, *options, *out, command.remaining());
    });
    return command;
}

}  // namespace

void add_trace(Command& app, Context& context) {
    auto command = app.add_subcommand("trace", "Draw every message of a run");
    auto arguments = std::make_shared<TraceArguments>();
    LaunchOptions& options = arguments->options;
    command.add_option("NAME", arguments->name, "Exercise; without it, the current one");
    command.add_option("--as", arguments->as, "Trace this file in place of the exercise's own");
    command.add_option("-n,--ranks", options.ranks, "Number of processes").capture_default_str();
    command.add_option(
        "--test", options.test,
        "Draw a test whose name contains this text: the first that fails, or else the first"
    );
    command.add_option("--seed", options.seed, "Seed of the inputs and delays")
        .capture_default_str();
    command.add_flag("--delays", options.delays, "Delay MPI calls by --seed");
    command.add_flag(
        "--text", arguments->text, "Print the whole drawing; write files only with --out"
    );
    command.add_flag(
        "--html", arguments->html,
        "Also write NAME.html: one page that plays the messages round by round"
    );
    command.add_option(
        "--out", arguments->out, "Folder for NAME.svg, NAME.json and NAME.html (default: traces)"
    );
    command.footer(
        "Each column is a rank, and each arrow a message. Time goes downward in rounds:\n"
        "in each round a rank sends one message and receives one. Above a round stand\n"
        "the collectives of chapters 02 and 03 whose messages follow, and the line that\n"
        "calls them.\n"
        "In red: messages beyond what the test allows, and messages that nobody took.\n"
        "The page of --html needs no network. Arrow keys, Home, End, space and a slider\n"
        "move it; beside the messages it counts them, and their bytes, by rank.\n"
        "  ./shardlings trace ring_all_reduce\n"
        "  ./shardlings trace ring_all_reduce --html\n"
        "  ./shardlings trace ring_shift -n 3 --text\n"
        "  ./shardlings trace train --parallel ddp"
    );
    const Command training = add_training(command, context);
    command.callback([&context, arguments, training] {
        if (!training.parsed()) {
            trace_exercise(context, *arguments);
        }
    });
}

}  // namespace dist::cli
