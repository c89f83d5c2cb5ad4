// demo: the course in a few minutes. Every part is a command that a reader can type.
#include <fmt/format.h>
#include <fstream>
#include <string>
#include <vector>

#include "course/build/setup.hpp"
#include "course/cli/command.hpp"
#include "course/process/error.hpp"
#include "course/process/subprocess.hpp"
#include "course/report/report.hpp"

namespace dist::cli {
namespace {

struct DemoPart {
    std::string heading;
    std::vector<std::string> command;
    int expected_status;
};

constexpr const char* kLog = ".shardlings/demo.jsonl";

std::vector<DemoPart> parts() {
    return {
        {"This machine: what the course found", {"doctor"}, exit_status::kDone},
        {"A ring all-reduce, tested on four processes: the sum, and the bytes each one sends",
         {"run", "ring_all_reduce", "--as", "solutions/03_ring_and_tree/ring_all_reduce.cpp", "-n",
          "4"},
         exit_status::kDone},
        {"A deadlock: everyone sends first, nobody receives. It is named, not waited for",
         {"run", "ring_shift", "--as",
          "tests/mutants/01_point_to_point/ring_shift.toml:send_first"},
         exit_status::kHang},
        {"Naive, ring and MPI's own all-reduce, side by side on two processes",
         {"bench", "all_reduce", "-n", "2", "--sizes", "64K,1M,16M", "--algorithms",
          "naive,ring,mpi", "--format", "short"},
         exit_status::kDone},
        {"ResNet34 on two processes, its gradients averaged by that ring",
         {"train", "-n", "2", "--model", "resnet34-imagenet", "--batch", "16", "--steps", "40",
          "--rate", "0.02", "--test-size", "200", "--log", kLog},
         exit_status::kDone},
    };
}

constexpr const char* kNext =
    "What to type next:\n"
    "  ./shardlings            the first exercise; edit the file it names and save\n"
    "  ./shardlings list       all of them\n"
    "  notebooks_md/           the lessons, one for each chapter\n";

// Errors  Interrupted
bool show(Context& context, const DemoPart& part, std::size_t number, std::size_t total) {
    const bool colours = use_colours();
    const std::string heading = fmt::format("{} of {}  {}", number, total, part.heading);
    fmt::print("\n{}\n", paint(heading, Colour::bold, colours));
    fmt::print("{}\n\n", paint("$ ./shardlings " + shell_line(part.command), Colour::dim, colours));
    std::vector<std::string> command = {(context.root / "shardlings").string()};
    command.insert(command.end(), part.command.begin(), part.command.end());
    RunOptions options;
    options.attached = true;
    const Ended ended = run(context, command, options);
    fmt::print("\n[{:.0f} s]\n", ended.seconds);
    if (ended.status != part.expected_status) {
        fmt::print(
            "{}\n", paint(
                        fmt::format(
                            "This part should have ended with status {}, not {}.",
                            part.expected_status, ended.status
                        ),
                        Colour::red, colours
                    )
        );
    }
    return ended.status == part.expected_status;
}

void print_log(const Context& context) {
    std::ifstream log(context.root / kLog);
    std::string line;
    std::string last;
    while (std::getline(log, line)) {
        last = line;
    }
    fmt::print("The last line of its log ({}), JSON objects all:\n{}\n", kLog, last);
}

void demo(Context& context) {
    ensure_torch(context);
    const std::vector<DemoPart> all = parts();
    std::size_t good = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        good += show(context, all[i], i + 1, all.size()) ? 1U : 0U;
    }
    print_log(context);
    fmt::print("\n{} of {} parts did what they should.\n\n{}", good, all.size(), kNext);
    context.status = good == all.size() ? exit_status::kDone : exit_status::kFailed;
}

}  // namespace

void add_demo(Command& app, Context& context) {
    auto command = app.add_subcommand("demo", "See the course in a few minutes");
    command.callback([&context] { demo(context); });
}

}  // namespace dist::cli
