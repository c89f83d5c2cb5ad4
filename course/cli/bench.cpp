// bench: algorithms side by side on this machine.
#include <algorithm>
#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include "course/build/setup.hpp"
#include "course/cli/command.hpp"
#include "course/cli/passed_on.hpp"
#include "course/launch/mine.hpp"
#include "course/manifest/progress.hpp"
#include "course/process/error.hpp"
#include "course/process/files.hpp"
#include "course/process/lists.hpp"
#include "course/process/subprocess.hpp"

namespace dist::cli {
namespace {

constexpr const char* kOptions =
    "Prints each time next to naive, MPI and a lower bound, and says between which sizes the ring\n"
    "passes naive; with -n 2,4,8 also between which numbers of ranks. What the times leave open\n"
    "is marked with ?, and so is a time that has not settled; then the reason stands below.\n"
    "\n"
    "More words: COLLECTIVE (default: all_reduce), and\n"
    "  --sizes 64K,1M,85M         bytes; or --from 4K --to 64M --factor 4\n"
    "  --algorithms naive,mine    only these; default: all, and mine (your own) once it passes\n"
    "  --limit 10                 seconds for each, where times have not settled before\n"
    "  --per-node 4               hierarchical as well, as if so many ranks were a node\n"
    "  --json | --csv FILE | --svg FILE | --html FILE | --raw FILE | --format nccl|osu\n"
    "./shardlings bench --help-bench lists all collectives, algorithms and options.\n"
    "\n"
    "bench ddp compares a training step by your DDP with PyTorch's own:\n"
    "  --model small, --batch 64, --rounds 15, --json\n"
    "bench zero shows what each stage of ZeRO holds and sends, and its time, beside DDP:\n"
    "  --optimizer adamw, --svg FILE, and the options of bench ddp\n"
    "bench pipeline measures the bubble of each schedule on stages that sleep, beside the "
    "formula:\n"
    "  --micro-batches 4,8,16, --schedule gpipe,1f1b,interleaved,zb, --stage-ms 5, --json\n"
    "bench mesh trains a small GPT on every mesh of -n ranks, 4 if not given: step time, bytes "
    "sent\n"
    "by dimension and bytes held by kind, beside formulas:\n"
    "  --mesh dp=4 dp=2,tp=2, --micro-batches 4, --zero 1, --sequence-parallel, --json\n"
    "bench ps trains on parameter servers beside ddp, with a worker that stands still now and "
    "then,\n"
    "and without; -n counts the servers:\n"
    "  --servers 1, --staleness 0,2, --stall-ms 40, --svg FILE, --json\n"
    "./shardlings bench ddp --help-bench, and so for zero, pipeline, mesh and ps, lists all of "
    "them.\n";

constexpr int kMostProcesses = 65536;

constexpr const char* kMeasured = "ring_all_reduce";  // the exercise that `mine` shows

/// Whether `mine` is among the algorithms; nothing if none is named.
std::optional<bool> names_mine(const std::vector<std::string>& words) {
    std::optional<bool> named;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (words[i].starts_with("--algorithms=") || (i > 0 && words[i - 1] == "--algorithms")) {
            named = named.value_or(false) || words[i].find("mine") != std::string::npos;
        }
    }
    return named;
}

/// The exercises that `mine` is to be made of, when it is named or, where no algorithm is, there is
/// something to measure.
std::optional<std::vector<std::string>> mine_to_measure(
    Context& context, const std::vector<std::string>& words
) {
    const std::optional<bool> named = names_mine(words);
    if (!named.value_or(read_progress(context.root).done.contains(kMeasured))) {
        return std::nullopt;
    }
    const std::vector<std::string> finished = finished_exercises(context, {kMeasured});
    const bool passes = std::ranges::find(finished, kMeasured) != finished.end();
    return named || passes ? std::optional(finished) : std::nullopt;
}

/// The student's exercises that `tcp` is to be made of, once the last of them has passed.
std::vector<std::string> tcp_to_measure(Context& context, const std::vector<std::string>& used) {
    return read_progress(context.root).done.contains(used.back())
               ? finished_exercises(context, used)
               : std::vector<std::string>();
}

bool asks_for_plot(const std::vector<std::string>& words) {
    return std::any_of(words.begin(), words.end(), [](const std::string& word) {
        return word == "--svg" || word.starts_with("--svg=");
    });
}

/// Where the bench leaves what it says, as long as this: mpirun takes what it could not write to a
/// full disk for written, and ends with 0.
class Said {
  public:
    explicit Said(const Context& context)
        : file_(context.build_folder() / fmt::format("bench.{}.txt", getpid())) {}
    ~Said() {
        std::error_code ignored;
        std::filesystem::remove(file_, ignored);
    }
    Said(const Said&) = delete;
    Said& operator=(const Said&) = delete;
    Said(Said&&) = delete;
    Said& operator=(Said&&) = delete;

    [[nodiscard]] std::string file() const { return file_; }
    [[nodiscard]] std::string text() const { return read_text(file_); }

  private:
    std::filesystem::path file_;
};

/// Runs a program that measures, and prints what it leaves in a file.
void run_and_print(
    Context& context,
    const Ranks& ranks,
    const std::filesystem::path& program,
    std::vector<std::string> passed_on
) {
    if (isatty(STDERR_FILENO) == 1) {
        passed_on.emplace_back("--progress");  // under mpirun it cannot see the terminal
    }
    const Said said(context);
    passed_on.emplace_back("--answer");
    passed_on.emplace_back(said.file());
    context.status = run_ranks(context, ranks, Purpose::measure, program, passed_on);
    fmt::print("{}", said.text());
}

/// A bench of whole steps of training, with LibTorch: a program of its own.
struct OfSteps {
    std::string_view what;
    int ranks = 2;  // where -n does not say
};

constexpr std::array kOfSteps = {
    OfSteps{"ddp"}, OfSteps{"mesh", 4}, OfSteps{"pipeline"}, OfSteps{"ps", 3}, OfSteps{"zero"}};

void bench_steps(
    Context& context,
    const std::string& what,
    const Ranks& ranks,
    const std::vector<std::string>& passed_on
) {
    expect_rank_count(ranks);
    if (asks_for_plot(passed_on)) {
        install(context, "plot");
    }
    ensure_torch(context);
    notice_gloo(context);
    const std::string name = "bench_" + what;
    const auto program = context.build_folder() / "course" / "lab" / what / name;
    build_with_notice(context, name, program, "Building the bench (a few minutes the first time)");
    run_and_print(context, ranks, program, passed_on);
}

/// The names of both lists, each once.
std::vector<std::string> with(
    std::vector<std::string> names, const std::vector<std::string>& more
) {
    std::ranges::copy_if(more, std::back_inserter(names), [&](const std::string& name) {
        return std::ranges::find(names, name) == names.end();
    });
    return names;
}

void bench(Context& context, const Ranks& ranks, std::vector<std::string> passed_on) {
    expect_rank_count(ranks);
    if (asks_for_plot(passed_on)) {
        install(context, "plot");
    }
    const auto mine = mine_to_measure(context, passed_on);
    std::vector<std::string> used = {kMeasured};
    used.insert(used.end(), kOwnTransport.begin(), kOwnTransport.end());
    const auto over_tcp =
        ranks.over_tcp ? tcp_to_measure(context, used) : std::vector<std::string>();
    if (mine || !over_tcp.empty()) {
        const bool none_passes = mine && mine->empty();
        configure_mine(context, none_passes ? *mine : with(mine.value_or(over_tcp), over_tcp));
    }
    if (mine) {
        const auto library = context.build_folder() / "course" / "lab" / "libmine.so";
        build_with_notice(context, "mine", library, "Building your stack");
        passed_on.emplace_back("--mine");
        passed_on.emplace_back(library);
    }
    if (ranks.over_tcp) {
        fmt::print(stderr, "algorithm tcp, {}\n", describe_stack(context, used, over_tcp));
        const std::string target = over_tcp.empty() ? "over_tcp" : "over_tcp_mine";
        const auto library = context.build_folder() / "course" / "lab" / ("lib" + target + ".so");
        build_with_notice(context, target, library, "Building the transport");
        passed_on.emplace_back("--over-tcp");
        passed_on.emplace_back(library);
    }
    notice_gloo(context);
    const auto program = context.build_folder() / "course" / "lab" / "bench";
    build_with_notice(context, "bench", program, "Building the bench");
    run_and_print(context, ranks, program, std::move(passed_on));
}

/// The words of bench itself.
struct BenchWords {
    std::string ranks = "2";
    std::string hostfile;
    std::string transport = "mpi";
    bool help = false;
};

/// Measures what `words` name: steps of training, or a collective. `counted` tells whether -n stands there.
void measure(
    Context& context, const BenchWords& asked, bool counted, std::vector<std::string> words
) {
    const auto* const steps =
        words.empty() ? kOfSteps.end() : std::ranges::find(kOfSteps, words.front(), &OfSteps::what);
    const bool of_steps = steps != kOfSteps.end();
    if (of_steps) {
        words.erase(words.begin());
    }
    if (asked.help) {
        words = {"--help"};
    }
    const std::vector<int> counts = ranks_between_commas(asked.ranks, 1, kMostProcesses);
    Ranks ranks{
        asked.help ? 1 : counts.back(), asked.help ? Hosts{} : find_hosts(asked.hostfile),
        asked.transport == "tcp"};
    if (ranks.over_tcp && (!ranks.hosts.none() || of_steps)) {
        throw UsageError(
            "bench: --transport tcp measures collectives on this machine: without hosts, ddp, "
            "mesh, pipeline, ps and zero"
        );
    }
    if (!counted && !ranks.hosts.none()) {
        ranks.count = 0;
    } else if (!counted && of_steps && !asked.help) {
        ranks.count = steps->ranks;
    }
    if (!of_steps) {
        if (counts.size() > 1 && !asked.help) {
            words.insert(words.end(), {"--ranks", asked.ranks});
        }
        bench(context, ranks, words);
    } else if (counts.size() > 1) {
        throw UsageError(fmt::format("bench {} takes one number of ranks", steps->what));
    } else {
        bench_steps(context, std::string(steps->what), ranks, words);
    }
}

}  // namespace

void add_bench(Command& app, Context& context) {
    auto command = app.add_subcommand("bench", "Measure algorithms side by side");
    auto asked = std::make_shared<BenchWords>();
    Option count = command.add_option(
        "-n,--ranks", asked->ranks, "Number of processes; 2,4,8: measure on each of these"
    );
    count.capture_default_str();
    command.add_option("--hostfile", asked->hostfile, kHostfileHelp);
    command
        .add_option(
            "--transport", asked->transport,
            "tcp: all messages go through sockets, Open MPI's too, and the algorithm tcp is the "
            "ring on the transport "
            "of chapter 04, yours once tcp_transport passes"
        )
        .one_of({"mpi", "tcp"})
        .capture_default_str();
    command.add_flag("--help-bench", asked->help, "List collectives, algorithms and all options");
    command.footer(kOptions);
    pass_on_the_rest(command, context);
    command.callback([&context, command, count, asked] {
        measure(context, *asked, count.count() > 0, command.remaining());
    });
}

}  // namespace dist::cli
