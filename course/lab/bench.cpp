// bench: measures every implementation of a collective side by side. Run by mpirun on many ranks.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fmt/format.h>
#include <string_view>
#include <system_error>
#include <unistd.h>

#include <mpi.h>

#include "course/files/atomic_file.hpp"
#include "course/lab/bound.hpp"
#include "course/lab/choice.hpp"
#include "course/lab/machine.hpp"
#include "course/lab/measure.hpp"
#include "course/lab/mine.hpp"
#include "course/lab/options.hpp"
#include "course/lab/outputs.hpp"
#include "course/lab/picture.hpp"
#include "course/lab/registry.hpp"
#include "course/lab/report.hpp"
#include "course/lab/units.hpp"
#include "course/plots/gnuplot.hpp"
#include "course/runtime/environment.hpp"
#include "course/runtime/error.hpp"

namespace dist::lab {
namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;
constexpr std::string_view kAuto = "auto";

/// Standard error belongs to rank 0.
void say(const Communicator& comm, const std::string& line) {
    if (comm.rank() == 0) {
        fmt::print(stderr, "bench: {}\n", line);
    }
}

/// One line on standard error that is written over and over, and wiped out at the end.
class Progress {
  public:
    Progress(bool wanted, const Communicator& comm)
        : shown_(comm.rank() == 0 && (wanted || isatty(STDERR_FILENO) != 0)) {}
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    Progress(Progress&&) = delete;
    Progress& operator=(Progress&&) = delete;
    ~Progress() {
        if (shown_) {
            fmt::print(stderr, "\r{:<60}\r", "");
        }
    }

    void show(const std::string& what, double fraction) {
        const int percent = static_cast<int>(fraction * 100);
        if (shown_ && percent != last_) {
            fmt::print(stderr, "\r{:<60}", fmt::format("{}: {} %", what, percent));
            last_ = percent;
        }
    }

  private:
    bool shown_;
    int last_ = -1;
};

/// What is to be measured here: without what cannot be, which is noted.
///
/// Errors  UsageError if nothing is left.
void choose_algorithms(Report& report, const Options& options, const Communicator& comm) {
    report.algorithms = find_algorithms(report.collective, options.algorithms);
    if (const std::string note = load_mine(report.algorithms, options.mine, comm); !note.empty()) {
        report.notes.push_back(note);
    }
    if (report.machine.ranks_per_node < comm.size()) {
        const auto left_out = std::erase_if(report.algorithms, [](const Algorithm& a) {
            return a.means == Means::shared_memory;
        });
        if (left_out > 0) {
            report.notes.emplace_back("shared is left out: the ranks are on several machines");
        }
    }
    if (report.algorithms.empty()) {
        throw UsageError("nothing to measure: " + report.notes.front());
    }
}

Report measure(const Options& options, const Communicator& comm) {
    Report report{
        .collective = find_collective(options.collective),
        .algorithms = {},
        .machine = {},
        .notes = {},
        .bound = {},
        .choices = {},
        .points = {}};
    report.machine = describe_machine(comm);
    report.seed = options.seed;
    const std::vector<std::size_t> sizes_bytes =
        report.collective.moves_data() ? options.sizes_bytes : std::vector{sizeof(float)};
    check_memory(sizes_bytes, report.machine.ranks_per_node);
    check_outputs(options.csv, options.svg, comm);
    choose_algorithms(report, options, comm);
    Progress progress(options.progress, comm);
    progress.show("probing messages and memory", 0.0);
    report.bound = probe_lower_bound(report.collective, sizes_bytes, options.budget_s / 4, comm);
    Workspace workspace(report.collective, sizes_bytes.back() / sizeof(float), comm, options.seed);
    const bool with_auto =
        std::ranges::find(report.algorithms, kAuto, &Algorithm::name) != report.algorithms.end();
    const Effort effort{options.budget_s, options.iterations, report.machine.oversubscribed()};
    for (const std::size_t size_bytes : sizes_bytes) {
        const auto show = [&](double fraction) {
            progress.show(
                fmt::format("{} of {}", report.collective.name, in_words(size_bytes)), fraction
            );
        };
        show(0.0);
        Run chosen = nullptr;
        std::string chose;
        if (with_auto) {
            report.choices.push_back(choose_by_trial(size_bytes, effort, workspace, comm));
            chosen = report.choices.back().best.run;
            chose = report.choices.back().best.name;
        }
        for (Point point :
             measure_size(report.algorithms, size_bytes, effort, workspace, chosen, comm, show)) {
            point.chose = point.algorithm == kAuto ? chose : "";
            report.points.push_back(point);
        }
    }
    if (const std::string note = note_if_busy(report.points); !note.empty()) {
        report.notes.push_back(note);
    }
    return report;
}

/// mpirun takes what it cannot write for written: who wants to know gives a file to write to.
void print(const Options& options, const std::string& text) {
    if (!options.to.empty()) {
        files::write_atomically(options.to, text);
    } else if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
        throw std::system_error(errno, std::generic_category(), "standard output");
    }
}

/// Prints and writes what was asked for.
void publish(const Options& options, const Report& report) {
    const std::string text = options.json         ? to_json(report)
                             : options.csv == "-" ? to_csv(report)
                                                  : to_table(report);
    print(options, text);
    if (!options.csv.empty() && options.csv != "-") {
        files::write_atomically(options.csv, to_csv(report));
    }
    if (!options.svg.empty()) {
        plots::draw(options.svg, gnuplot_script(report));
    }
}

/// Whether rank 0 could publish; if not, it has said why.
bool published(const Options& options, const Report& report, const Communicator& comm) {
    int done = 1;
    if (comm.rank() == 0) {
        try {
            publish(options, report);
        } catch (const std::runtime_error& error) {
            say(comm, error.what());
            done = 0;
        }
    }
    MPI_CHECK(MPI_Bcast(&done, 1, MPI_INT, 0, comm.handle()));
    return done == 1;
}

int run(int argc, char** argv, const Communicator& comm) {
    std::string help;
    try {
        const Options options = parse_options(argc, argv, help);
        if (!help.empty()) {
            if (comm.rank() == 0) {
                print(options, help);
            }
            return 0;
        }
        const Report report = measure(options, comm);
        if (!published(options, report, comm)) {
            return kFailed;
        }
        long wrong = 0;
        for (const Point& point : report.points) {
            wrong += point.wrong;
        }
        if (wrong > 0) {
            say(comm, fmt::format("{} elements are wrong; see the column #wrong", wrong));
        }
        return wrong > 0 ? kFailed : 0;
    } catch (const UsageError& error) {
        say(comm, error.what());
    } catch (const std::invalid_argument& error) {
        say(comm, error.what());
    }
    return kUsage;
}

}  // namespace
}  // namespace dist::lab

int main(int argc, char** argv) {
    return dist::run_main(argc, argv, [&](const dist::Communicator& world) {
        return dist::lab::run(argc, argv, world);
    });
}
