// bench: measures every implementation of a collective side by side. Run by mpirun on many ranks.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fmt/format.h>
#include <string_view>
#include <system_error>
#include <unistd.h>

#include <mpi.h>

#include "course/algorithms/registry.hpp"
#include "course/algorithms/units.hpp"
#include "course/files/atomic_file.hpp"
#include "course/lab/bound.hpp"
#include "course/lab/choice.hpp"
#include "course/lab/gloo.hpp"
#include "course/lab/machine.hpp"
#include "course/lab/measure.hpp"
#include "course/lab/mine.hpp"
#include "course/lab/options.hpp"
#include "course/lab/outputs.hpp"
#include "course/lab/picture.hpp"
#include "course/lab/progress.hpp"
#include "course/lab/report.hpp"
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

/// What is to be measured here: without what cannot be, which is noted.
///
/// Errors  UsageError if nothing is left.
void choose_algorithms(Report& report, const Options& options, const Communicator& comm) {
    report.algorithms = find_algorithms(report.collective, options.algorithms);
    if (const std::string note = load_mine(report.algorithms, options.mine, comm); !note.empty()) {
        report.notes.push_back(note);
    }
    if (const std::string note = load_gloo(report.algorithms, report.machine.nodes);
        !note.empty()) {
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
    const std::string ranks =
        options.ranks.size() > 1 ? fmt::format(" on {} ranks", comm.size()) : "";
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
                fmt::format("{} of {}{}", report.collective.name, in_words(size_bytes), ranks),
                fraction
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

/// Waits until all ranks are here, and leaves the core meanwhile to those that measure.
void wait_asleep(const Communicator& comm) {
    constexpr useconds_t kNap = 20'000;
    MPI_Request all_here = MPI_REQUEST_NULL;
    MPI_CHECK(MPI_Ibarrier(comm.handle(), &all_here));
    for (int here = 0;;) {
        MPI_CHECK(MPI_Test(&all_here, &here, MPI_STATUS_IGNORE));
        if (here != 0) {
            return;
        }
        usleep(kNap);
    }
}

/// A report for each number of ranks, of the first ones each; empty on ranks that are not among these. The
/// ranks are the same processes throughout, started once.
///
/// Errors  UsageError, on every rank.
std::vector<Report> measure_all(const Options& options, const Communicator& comm) {
    check_ranks(options.ranks, comm.size());
    std::vector<Report> reports;
    for (const int p : options.ranks.empty() ? std::vector{comm.size()} : options.ranks) {
        const Communicator some = comm.split(comm.rank() < p ? 0 : MPI_UNDEFINED);
        std::string refusal;
        if (some.size() > 0) {
            try {
                reports.push_back(measure(options, some));
            } catch (const UsageError& error) {
                refusal = error.what();
            } catch (const std::invalid_argument& error) {
                refusal = error.what();
            }
        }
        wait_asleep(comm);
        agree_on(refusal, comm);
    }
    return reports;
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
void publish(const Options& options, const std::vector<Report>& reports) {
    const std::string text = options.json         ? to_json(reports)
                             : options.csv == "-" ? to_csv(reports)
                                                  : to_table(reports);
    print(options, text);
    if (!options.csv.empty() && options.csv != "-") {
        files::write_atomically(options.csv, to_csv(reports));
    }
    if (!options.svg.empty()) {
        plots::draw(options.svg, gnuplot_script(reports));
    }
}

/// Whether rank 0 could publish; if not, it has said why.
bool published(
    const Options& options, const std::vector<Report>& reports, const Communicator& comm
) {
    int done = 1;
    if (comm.rank() == 0) {
        try {
            publish(options, reports);
        } catch (const std::runtime_error& error) {
            say(comm, error.what());
            done = 0;
        }
    }
    MPI_CHECK(MPI_Bcast(&done, 1, MPI_INT, 0, comm.handle()));
    return done == 1;
}

/// Elements that rank 0 knows to be wrong.
long count_wrong(const std::vector<Report>& reports, const Communicator& comm) {
    long wrong = 0;
    for (const Report& report : reports) {
        for (const Point& point : report.points) {
            wrong += point.wrong;
        }
    }
    MPI_CHECK(MPI_Bcast(&wrong, 1, MPI_LONG, 0, comm.handle()));
    return wrong;
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
        const std::vector<Report> reports = measure_all(options, comm);
        if (!published(options, reports, comm)) {
            return kFailed;
        }
        const long wrong = count_wrong(reports, comm);
        if (wrong > 0) {
            say(comm, fmt::format("{} elements are wrong; see the column #wrong", wrong));
        }
        return wrong > 0 ? kFailed : 0;
    } catch (const UsageError& error) {
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
