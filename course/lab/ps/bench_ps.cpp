// bench ps: parameter servers beside ddp, with a worker that stands still now and then, and without. Run by mpirun on many
// ranks.
#include <ATen/Parallel.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include <torch/utils.h>

#include "course/lab/outputs.hpp"
#include "course/lab/ps/ps_results.hpp"
#include "course/lab/steps.hpp"
#include "course/nn/model.hpp"
#include "course/parallel/ps.hpp"
#include "course/plots/gnuplot.hpp"
#include "course/runtime/clock.hpp"
#include "course/runtime/patient_calls.hpp"
#include "course/runtime/seeded.hpp"

namespace dist::lab {
namespace {

constexpr int kClasses = 10;

/// A way, and whether a worker stands still in each step.
struct Contestant {
    std::string name;
    trainer::ParallelOptions options;
    bool stalls = false;
};

std::shared_ptr<nn::Model> make_model(const PsOptions& options) {
    torch::manual_seed(options.seed);
    return nn::make_model(options.model);
}

/// Pictures that can be told apart in a few steps: each class has a colour of its own, under noise.
nn::Batch pictures(const PsOptions& options, int worker, int step) {
    torch::manual_seed(options.seed + 1);
    const at::Tensor classes = at::randn({kClasses, 3, 1, 1});
    torch::manual_seed(seeded_bits(
        options.seed, 1000 * static_cast<std::uint64_t>(step) + static_cast<std::uint64_t>(worker)
    ));
    const at::Tensor labels = at::randint(kClasses, {options.batch}, at::kLong);
    return {
        at::randn({options.batch, 3, 32, 32}).mul(2).add(classes.index_select(0, labels)), labels};
}

/// One worker's steps.
std::vector<PsStep> train(
    const Contestant& one,
    const trainer::ParallelOptions& trainer,
    const PsOptions& options,
    const Communicator& workers
) {
    trainer::Trace trace({}, workers);
    const auto model = make_model(options);
    const auto strategy = trainer::make_strategy(trainer, model, trace, workers);
    std::vector<PsStep> steps;
    MPI_CHECK(MPI_Barrier(workers.handle()));
    const double begin_s = now_s();
    for (int step = 0; step < options.steps; ++step) {
        const auto drawn = seeded_bits(options.seed + 2, static_cast<std::uint64_t>(step)) %
                           static_cast<std::uint64_t>(workers.size());
        if (one.stalls && drawn == static_cast<std::uint64_t>(workers.rank())) {
            std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(options.stall_ms)
            );
        }
        const nn::Batch batch = pictures(options, workers.rank(), step);
        strategy->zero_gradients();
        const at::Tensor loss =
            at::cross_entropy_loss(strategy->forward(batch.inputs), batch.labels);
        strategy->prepare_for_backward(loss);
        loss.backward();
        strategy->exchange_gradients();
        strategy->step(options.rate);
        steps.push_back({now_s() - begin_s, loss.item<double>()});
    }
    return steps;
}

/// What all workers did, on rank 0.
PsRun gather(
    const std::vector<PsStep>& steps,
    double sent,
    const PsOptions& options,
    const Communicator& comm
) {
    std::vector<double> mine(2 * static_cast<std::size_t>(options.steps));
    for (std::size_t i = 0; i < steps.size(); ++i) {
        mine[2 * i] = steps[i].end_s;
        mine[2 * i + 1] = steps[i].loss;
    }
    std::vector<double> all(mine.size() * static_cast<std::size_t>(comm.size()));
    const auto count = static_cast<int>(mine.size());
    MPI_CHECK(
        MPI_Gather(mine.data(), count, MPI_DOUBLE, all.data(), count, MPI_DOUBLE, 0, comm.handle())
    );
    PsRun run;
    run.busiest_bytes = slowest(sent, comm) / options.steps;
    for (int worker = 0; worker < comm.size() - options.servers; ++worker) {
        std::vector<PsStep>& one = run.workers.emplace_back();
        const double* next = all.data() + mine.size() * static_cast<std::size_t>(worker);
        for (int step = 0; step < options.steps; ++step, next += 2) {
            one.push_back({next[0], next[1]});
        }
    }
    return run;
}

PsRun measure_one(const Contestant& one, const PsOptions& options, const Communicator& comm) {
    const bool is_worker = comm.rank() < comm.size() - options.servers;
    std::vector<PsStep> steps;
    const std::size_t sent = bytes_sent();
    if (one.options.parallel == trainer::Parallel::ps) {
        const auto weights = [&] { return make_model(options)->parameters(); };
        constexpr auto kCalls = std::chrono::minutes(10);
        trainer::with_servers(
            one.options, kCalls, comm, weights,
            [&](Rpc& rpc, const Communicator& workers) {
                trainer::ParallelOptions with = one.options;
                with.rpc = &rpc;
                steps = train(one, with, options, workers);
            }
        );
    } else {
        const Communicator same = comm.split(is_worker ? 0 : 1);
        if (is_worker) {
            steps = train(one, one.options, options, same);
        }
    }
    return gather(steps, static_cast<double>(bytes_sent() - sent), options, comm);
}

std::vector<Contestant> contestants(const PsOptions& options) {
    std::vector<Contestant> all;
    const auto add = [&](const std::string& name, trainer::Parallel parallel, std::int64_t old) {
        trainer::ParallelOptions trainer;
        trainer.model = options.model;
        trainer.parallel = parallel;
        trainer.servers = options.servers;
        trainer.staleness = old;
        trainer.rate = options.rate;
        for (const bool stalls : {false, true}) {
            all.push_back({name, trainer, stalls});
        }
    };
    add("ddp", trainer::Parallel::ddp, 0);
    for (const std::int64_t old : options.staleness) {
        add(old == 0 ? "ps" : "ps, " + std::to_string(old) + " steps old", trainer::Parallel::ps,
            old);
    }
    return all;
}

std::string measure(const PsOptions& options, const Communicator& comm) {
    at::set_num_threads(1);  // the ranks are the threads
    const int workers = comm.size() - options.servers;
    if (workers < 1) {
        throw UsageError(
            "--servers " + std::to_string(options.servers) + " leaves no worker of " +
            std::to_string(comm.size()) + " ranks"
        );
    }
    PsReport report{.workers = workers, .parameters = 0, .results = {}};
    for (const at::Tensor& parameter : make_model(options)->parameters()) {
        report.parameters += static_cast<std::size_t>(parameter.numel());
    }
    const std::vector<Contestant> all = contestants(options);
    const double bytes = 4.0 * static_cast<double>(report.parameters);
    for (const Contestant& one : all) {
        const bool ps = one.options.parallel == trainer::Parallel::ps;
        report.results.push_back(
            {one.name, one.stalls,
             ps ? bytes * workers / options.servers : 2 * bytes * (workers - 1) / workers}
        );
    }
    for (int round = 0; round < options.rounds; ++round) {
        for (std::size_t i = 0; i < all.size(); ++i) {
            const std::size_t next = (i + static_cast<std::size_t>(round)) % all.size();
            if (options.progress && comm.rank() == 0) {
                std::fprintf(
                    stderr, "\r%-50s\rround %d of %d: %s", "", round + 1, options.rounds,
                    all[next].name.c_str()
                );
            }
            report.results[next].runs.push_back(measure_one(all[next], options, comm));
        }
    }
    if (options.progress && comm.rank() == 0) {
        std::fprintf(stderr, "\r%-50s\r", "");
    }
    if (!options.svg.empty() && comm.rank() == 0) {
        plots::draw(options.svg, gnuplot_script(options, report));
    }
    return to_text(options, report);
}

int run(int argc, char** argv, const Communicator& comm) {
    return run_bench("bench ps", comm, [&](std::string& to) {
        std::string help;
        const PsOptions options = parse_ps_bench(argc, argv, help);
        to = options.to;
        if (!help.empty()) {
            return help;
        }
        check_outputs({}, options.svg, comm);
        return measure(options, comm);
    });
}

}  // namespace
}  // namespace dist::lab

int main(int argc, char** argv) {
    return dist::run_main(argc, argv, [&](const dist::Communicator& comm) {
        return dist::lab::run(argc, argv, comm);
    });
}
