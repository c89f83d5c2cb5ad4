// bench: measures every implementation of a collective side by side. Run by mpirun on many ranks.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fmt/format.h>
#include <functional>
#include <iterator>
#include <optional>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include <mpi.h>

#include "course/algorithms/operations.hpp"
#include "course/algorithms/registry.hpp"
#include "course/algorithms/units.hpp"
#include "course/files/atomic_file.hpp"
#include "course/lab/bound.hpp"
#include "course/lab/choice.hpp"
#include "course/lab/formats.hpp"
#include "course/lab/gloo.hpp"
#include "course/lab/machine.hpp"
#include "course/lab/measure.hpp"
#include "course/lab/measured.hpp"
#include "course/lab/mine.hpp"
#include "course/lab/nodes.hpp"
#include "course/lab/options.hpp"
#include "course/lab/outputs.hpp"
#include "course/lab/over_tcp.hpp"
#include "course/lab/page.hpp"
#include "course/lab/picture.hpp"
#include "course/lab/progress.hpp"
#include "course/lab/verdict.hpp"
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
void choose_algorithms(Measured& measured, const Options& options, const Communicator& comm) {
    measured.algorithms = find_algorithms(measured.collective, options.algorithms);
    if (const std::string note = load_mine(measured.algorithms, options.mine, comm);
        !note.empty()) {
        measured.notes.push_back(note);
    }
    if (const std::string note =
            load_over_tcp(measured.algorithms, options.over_tcp, measured.machine.nodes, comm);
        !note.empty()) {
        if (!options.over_tcp.empty() || !options.algorithms.empty()) {
            measured.notes.push_back(note);  // who has not asked for it misses nothing
        }
    }
    if (const std::string note = load_gloo(measured.algorithms, measured.machine.nodes);
        !note.empty()) {
        measured.notes.push_back(note);
    }
    if (measured.op != ReduceOp::sum && combines(measured.collective) &&
        std::erase_if(measured.algorithms, [](const Algorithm& a) { return a.name == "gloo"; }) >
            0) {
        measured.notes.emplace_back("gloo is left out: its row adds up");
    }
    if (ranks_of_a_node(options, measured.machine) == 0) {
        leave_out_nodes(measured, options);
    }
    if (measured.machine.ranks_per_node < comm.size()) {
        const auto left_out = std::erase_if(measured.algorithms, [](const Algorithm& a) {
            return a.means == Means::shared_memory;
        });
        if (left_out > 0) {
            measured.notes.emplace_back("shared is left out: the ranks are on several machines");
        }
    }
    if (measured.algorithms.empty()) {
        throw UsageError("nothing to measure: " + measured.notes.front());
    }
}

/// Measures one number of ranks, size by size.
class Measuring {
  public:
    Measuring(const Options& options, const Communicator& comm)
        : options_(options), comm_(comm), placement_(comm), progress_(options.progress, comm) {}

    Measured measure() {
        prepare();
        for (const std::size_t size_bytes : sizes_bytes_) {
            const std::string ranks =
                options_.ranks.size() > 1 ? fmt::format(" on {} ranks", comm_.size()) : "";
            const auto show = shown_as(
                fmt::format("{} of {}{}", measured_.collective.name, in_words(size_bytes), ranks)
            );
            show(0.0);
            Choice choice;
            if (has(kAuto)) {
                choice = choose_by_trial(size_bytes, effort_, *workspace_, comm_);
                measured_.choices.push_back(choice);
            }
            add(measured_.algorithms, size_bytes, choice, false, show);
        }
        if (options_.iterations == 0) {
            close_in();
        }
        return std::move(measured_);
    }

  private:
    void prepare() {
        measured_.machine = describe_machine(comm_);
        measured_.seed = options_.seed;
        measured_.op = options_.op;
        // ranks that share cores are disturbed by each other as well
        const double usual_limit_s = measured_.machine.oversubscribed() ? 10.0 : 3.0;
        effort_ = {
            .budget_s = options_.budget_s,
            .limit_s = options_.limit_s.value_or(usual_limit_s),
            .iterations = options_.iterations,
            .warm_ups = options_.warm_ups,
            .keep_disturbed = measured_.machine.oversubscribed(),
            .before_block = [this] { placement_.draw(); }};
        check_memory(sizes_bytes_, measured_.machine.ranks_per_node);
        check_outputs({options_.csv, options_.html, options_.raw}, options_.svg, comm_);
        choose_algorithms(measured_, options_, comm_);
        progress_.show("probing messages and memory", 0.0);
        measured_.bound =
            probe_lower_bound(measured_.collective, sizes_bytes_, options_.budget_s / 4, comm_);
        workspace_.emplace(
            measured_.collective, sizes_bytes_.back() / sizeof(float), comm_, options_.seed,
            options_.op
        );
        if (const int per_node = ranks_of_a_node(options_, measured_.machine); per_node > 0) {
            workspace_->deal_out(per_node, comm_);
            if (has("hierarchical")) {
                measured_.notes.push_back(fmt::format(
                    "hierarchical: every {} ranks in a row are taken for a node", per_node
                ));
            }
        }
    }

    /// Measures naive and ring between the sizes where one, and where the other is the faster.
    void close_in() {
        std::vector<Algorithm> pair;
        std::ranges::copy_if(
            measured_.algorithms, std::back_inserter(pair),
            [](const Algorithm& one) { return one.name == kFirst || one.name == kSecond; }
        );
        while (const auto size_bytes = next_size(verdict_over_sizes(measured_, kFirst, kSecond))) {
            const auto show = shown_as(
                fmt::format("where {} and {} cross: {}", kFirst, kSecond, in_words(*size_bytes))
            );
            add(pair, *size_bytes, {}, true, show);
        }
        std::ranges::stable_sort(measured_.points, {}, &Point::size_bytes);
    }

    void add(
        const std::vector<Algorithm>& algorithms,
        std::size_t size_bytes,
        const Choice& choice,
        bool between,
        const std::function<void(double)>& show
    ) {
        Measurements calls = measure_size(
            algorithms, size_bytes, effort_, *workspace_, choice.best.run, comm_, show
        );
        for (Point point : points_of(calls, algorithms, size_bytes)) {
            point.chose = point.algorithm == kAuto ? choice.best.name : "";
            point.between = between;
            measured_.points.push_back(point);
        }
        if (!options_.raw.empty() && comm_.rank() == 0) {
            std::vector<std::string> names;
            std::ranges::transform(algorithms, std::back_inserter(names), [](const Algorithm& one) {
                return std::string(one.name);
            });
            measured_.raw.push_back({size_bytes, names, std::move(calls.blocks)});
        }
    }

    [[nodiscard]] bool has(std::string_view algorithm) const {
        return std::ranges::find(measured_.algorithms, algorithm, &Algorithm::name) !=
               measured_.algorithms.end();
    }

    std::function<void(double)> shown_as(const std::string& what) {
        return [this, what](double fraction) { progress_.show(what, fraction); };
    }

    const Options& options_;
    const Communicator& comm_;
    Placement placement_;
    Progress progress_;
    Measured measured_{
        .collective = find_collective(options_.collective),
        .algorithms = {},
        .machine = {},
        .notes = {},
        .bound = {},
        .choices = {},
        .points = {},
        .raw = {}};
    std::vector<std::size_t> sizes_bytes_ =
        measured_.collective.moves_data() ? options_.sizes_bytes : std::vector{sizeof(float)};
    Effort effort_;
    std::optional<Workspace> workspace_;
};

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

/// What was measured on each number of ranks, of the first ones each; empty on ranks that are not among these. The
/// ranks are the same processes throughout, started once.
///
/// Errors  UsageError, on every rank.
std::vector<Measured> measure_all(const Options& options, const Communicator& comm) {
    check_ranks(options.ranks, comm.size());
    std::vector<Measured> measurements;
    for (const int p : options.ranks.empty() ? std::vector{comm.size()} : options.ranks) {
        const Communicator some = comm.split(comm.rank() < p ? 0 : MPI_UNDEFINED);
        std::string refusal;
        if (some.size() > 0) {
            try {
                measurements.push_back(Measuring(options, some).measure());
            } catch (const UsageError& error) {
                refusal = error.what();
            } catch (const std::invalid_argument& error) {
                refusal = error.what();
            }
        }
        wait_asleep(comm);
        agree_on(refusal, comm);
    }
    return measurements;
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
void publish(const Options& options, const std::vector<Measured>& measurements) {
    const std::string text = options.json                ? to_json(measurements)
                             : options.csv == "-"        ? to_csv(measurements)
                             : options.format == "short" ? to_short_table(measurements)
                             : options.format == "nccl"  ? to_nccl_format(measurements)
                             : options.format == "osu"   ? to_osu_format(measurements)
                                                         : to_table(measurements);
    print(options, text);
    if (!options.raw.empty()) {
        files::write_atomically(options.raw, to_raw(measurements));
    }
    if (!options.csv.empty() && options.csv != "-") {
        files::write_atomically(options.csv, to_csv(measurements));
    }
    if (!options.html.empty()) {
        files::write_atomically(options.html, to_html(measurements));
    }
    if (!options.svg.empty()) {
        plots::draw(options.svg, gnuplot_script(measurements));
    }
}

/// Whether rank 0 could publish; if not, it has said why.
bool published(
    const Options& options, const std::vector<Measured>& measurements, const Communicator& comm
) {
    int done = 1;
    if (comm.rank() == 0) {
        try {
            publish(options, measurements);
        } catch (const std::runtime_error& error) {
            say(comm, error.what());
            done = 0;
        }
    }
    MPI_CHECK(MPI_Bcast(&done, 1, MPI_INT, 0, comm.handle()));
    return done == 1;
}

/// Elements that rank 0 knows to be wrong.
long count_wrong(const std::vector<Measured>& measurements, const Communicator& comm) {
    long wrong = 0;
    for (const Measured& measured : measurements) {
        for (const Point& point : measured.points) {
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
        const std::vector<Measured> measurements = measure_all(options, comm);
        if (!published(options, measurements, comm)) {
            return kFailed;
        }
        const long wrong = count_wrong(measurements, comm);
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
