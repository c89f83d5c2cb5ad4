// bench: measures every implementation of a collective side by side. Run by mpirun on many ranks.
#include <cstdio>
#include <fmt/format.h>
#include <unistd.h>

#include <mpi.h>

#include "course/lab/bound.hpp"
#include "course/lab/exchange.hpp"
#include "course/lab/machine.hpp"
#include "course/lab/measure.hpp"
#include "course/lab/mine.hpp"
#include "course/lab/options.hpp"
#include "course/lab/output.hpp"
#include "course/lab/registry.hpp"
#include "course/lab/report.hpp"
#include "course/runtime/environment.hpp"
#include "course/runtime/error.hpp"

namespace dist::lab {
namespace {

constexpr int kUsage = 2;

/// Standard error belongs to rank 0.
void say(const Communicator& comm, const std::string& line) {
    if (comm.rank() == 0) {
        fmt::print(stderr, "bench: {}\n", line);
    }
}

/// Refuses what would be noticed only after a long measurement. Files are rank 0's; all ranks hear.
void check_outputs(const Options& options, const Communicator& comm) {
    std::string refusal;
    if (comm.rank() == 0) {
        try {
            if (!options.csv.empty() && options.csv != "-") {
                check_writable(options.csv);
            }
            if (!options.svg.empty()) {
                check_writable(options.svg);
                check_gnuplot();
            }
        } catch (const UsageError& error) {
            refusal = error.what();
        }
    }
    int refused = refusal.empty() ? 0 : 1;
    MPI_CHECK(MPI_Bcast(&refused, 1, MPI_INT, 0, comm.handle()));
    if (refused != 0) {
        throw UsageError(refusal);
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

Report measure(const Options& options, const Communicator& comm) {
    Report report{
        .collective = find_collective(options.collective),
        .algorithms = {},
        .machine = {},
        .notes = {},
        .bound = {},
        .points = {}};
    report.algorithms = find_algorithms(report.collective, options.algorithms);
    report.machine = describe_machine(comm);
    report.seed = options.seed;
    check_memory(options.sizes_bytes, report.machine.ranks_per_node);
    check_outputs(options, comm);
    if (const std::string note = load_mine(report.algorithms, options.mine, comm); !note.empty()) {
        report.notes.push_back(note);
    }
    if (report.machine.ranks_per_node < comm.size()) {
        const auto left_out =
            std::erase_if(report.algorithms, [](const Algorithm& a) { return a.in_shared_memory; });
        if (left_out > 0) {
            report.notes.emplace_back("shared is left out: the ranks are on several machines");
        }
    }
    if (report.algorithms.empty()) {
        throw UsageError("nothing to measure: " + report.notes.front());
    }
    Progress progress(options.progress, comm);
    progress.show("probing neighbours", 0.0);
    report.bound =
        probe_lower_bound(report.collective, options.sizes_bytes, options.budget_s / 4, comm);
    Workspace workspace(
        report.collective, options.sizes_bytes.back() / sizeof(float), comm, options.seed
    );
    const Effort effort{options.budget_s, options.iterations, report.machine.oversubscribed()};
    for (const std::size_t size_bytes : options.sizes_bytes) {
        const auto show = [&](double fraction) {
            progress.show(
                fmt::format("{} of {} bytes", report.collective.name, size_bytes), fraction
            );
        };
        const LinkCost link = probe_link(size_bytes, options.budget_s / 4, comm);
        for (const Point& point :
             measure_size(report.algorithms, size_bytes, effort, workspace, link, comm, show)) {
            report.points.push_back(point);
        }
    }
    return report;
}

/// On rank 0: prints and writes what was asked for.
void publish(const Options& options, const Report& report) {
    const std::string text = options.json         ? to_json(report)
                             : options.csv == "-" ? to_csv(report)
                                                  : to_table(report);
    fmt::print("{}", text);
    std::fflush(stdout);
    if (!options.csv.empty() && options.csv != "-") {
        write_file(options.csv, to_csv(report));
    }
    if (!options.svg.empty()) {
        write_svg(options.svg, report);
    }
}

int run(int argc, char** argv, const Communicator& comm) {
    std::string help;
    try {
        const Options options = parse_options(argc, argv, help);
        if (!help.empty()) {
            if (comm.rank() == 0) {
                fmt::print("{}", help);
            }
            return 0;
        }
        const Report report = measure(options, comm);
        if (comm.rank() == 0) {
            publish(options, report);
        }
        long wrong = 0;
        for (const Point& point : report.points) {
            wrong += point.wrong;
        }
        if (wrong > 0) {
            say(comm, fmt::format("{} elements are wrong; see the column #wrong", wrong));
        }
        return wrong > 0 ? 1 : 0;
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
