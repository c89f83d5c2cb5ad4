// bench pipeline: the bubble of each schedule, measured beside the formula's. Run by mpirun on many ranks.
#include <ATen/Parallel.h>
#include <ATen/ops/zeros.h>
#include <algorithm>
#include <chrono>
#include <deque>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <mpi.h>

#include "course/lab/outputs.hpp"
#include "course/lab/pipeline/pipeline_results.hpp"
#include "course/lab/steps.hpp"
#include "course/nn/with_backward.hpp"
#include "course/parallel/schedules.hpp"
#include "course/runtime/clock.hpp"
#include "exercises/08_model_parallel/pipeline.hpp"
#include "exercises/08_model_parallel/pipeline_messages.hpp"
#include "exercises/08_model_parallel/pipeline_schedule.hpp"

namespace dist::lab {
namespace {

/// Stages of a rank.
int chunks_of(const std::string& schedule) {
    return schedule == "interleaved" ? 2 : 1;
}

/// A pipeline whose stages sleep instead of computing: ranks need no cores of their own.
class SleepingPipeline {
  public:
    SleepingPipeline(
        const std::string& schedule, int m, const PipelineOptions& options, const Communicator& comm
    );
    SleepingPipeline(const SleepingPipeline&) = delete;  // its stages know where it is

    void step() {
        busy_s_ = 0;
        const auto sum = [](const at::Tensor& output, int) { return output.sum(); };
        (void)run_pipeline(rows_, stages_, inputs_, sum, comm_);
    }

    /// What this rank slept in the last step.
    [[nodiscard]] double busy_s() const { return busy_s_; }

    /// Without what is measured.
    [[nodiscard]] const PipelineResult& formula() const { return formula_; }

  private:
    void sleep(double ms) {
        const double begin_s = now_s();
        std::this_thread::sleep_until(
            std::chrono::steady_clock::now() + std::chrono::duration<double, std::milli>(ms)
        );
        busy_s_ += now_s() - begin_s;
    }

    /// x, whose backward sleeps.
    at::Tensor sleeping(const at::Tensor& x, double ms) {
        return nn::with_backward(x, {x}, [this, ms](const at::Tensor& gradient, const auto&) {
            sleep(ms);
            return std::vector{gradient};
        });
    }

    const Communicator& comm_;
    Schedule rows_;
    std::vector<PipelineStage> stages_;
    std::vector<at::Tensor> inputs_;
    PipelineResult formula_;
    double busy_s_ = 0;
};

SleepingPipeline::SleepingPipeline(
    const std::string& schedule, int m, const PipelineOptions& options, const Communicator& comm
)
    : comm_(comm),
      rows_(insert_messages(
          pipeline_schedule(trainer::find_schedule(schedule), comm.size(), m, chunks_of(schedule))
      )),
      inputs_(static_cast<std::size_t>(m), at::zeros({1})) {
    const int chunks = chunks_of(schedule);
    const auto of_chunk = [&](std::size_t i) { return options.stage_ms[i] / chunks; };
    const PipelineTimes ms = {of_chunk(0), of_chunk(1), of_chunk(2)};
    for (int chunk = 0; chunk < chunks; ++chunk) {
        // the gradients of x and weight have a place each in the graph: I sleeps in the one, W in
        // the other, B in both
        const at::Tensor weight = at::zeros({1}).requires_grad_();
        const auto forward = [this, ms, weight](const at::Tensor& x) {
            sleep(ms.forward);
            return sleeping(x, ms.input_gradient).add(sleeping(weight, ms.weight_gradient));
        };
        stages_.push_back({chunk * comm.size() + comm.rank(), forward, {1}});
    }
    const PipelineRun run = simulate_schedule(rows_, ms);
    const double waits = std::accumulate(run.bubble.begin(), run.bubble.end(), 0.0);
    formula_ = {schedule, m, 1e-3 * run.total, waits / comm.size() / run.total};
}

using Pipelines = std::deque<SleepingPipeline>;  // they stay where they are

Pipelines make_pipelines(const PipelineOptions& options, const Communicator& comm) {
    Pipelines pipelines;
    for (const int m : options.micro_batches) {
        for (const std::string& schedule : options.ways) {
            if (chunks_of(schedule) == 1 || m % comm.size() == 0) {
                pipelines.emplace_back(schedule, m, options, comm);
            }
        }
    }
    if (pipelines.empty()) {
        throw UsageError(
            "interleaved needs --micro-batches that are a multiple of the ranks, here of " +
            std::to_string(comm.size())
        );
    }
    return pipelines;
}

std::string measure(const PipelineOptions& options, const Communicator& comm) {
    at::set_num_threads(1);  // the ranks are the threads
    Pipelines pipelines = make_pipelines(options, comm);
    std::vector<std::vector<double>> busy_s;  // by round: of each pipeline, the mean over ranks
    const auto note_busy = [&] {
        std::vector<double>& mean = busy_s.emplace_back();
        for (const SleepingPipeline& pipeline : pipelines) {
            mean.push_back(pipeline.busy_s() / comm.size());
        }
        const auto n = static_cast<int>(mean.size());
        MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, mean.data(), n, MPI_DOUBLE, MPI_SUM, comm.handle()));
    };
    const std::vector<Block> blocks = time_steps(
        pipelines.size(), options, [&](std::size_t i, const nn::Batch&) { pipelines[i].step(); },
        note_busy, comm
    );
    std::vector<PipelineResult> results;
    for (std::size_t i = 0; i < pipelines.size(); ++i) {
        PipelineResult& result = results.emplace_back(pipelines[i].formula());
        for (std::size_t round = 0; round < blocks.size(); ++round) {
            result.steps_s.push_back(blocks[round].rounds.front()[i].max_s);
            result.bubbles.push_back(1 - busy_s[round][i] / result.steps_s.back());
        }
    }
    if (!options.csv.empty() && options.csv != "-" && comm.rank() == 0) {
        files::write_atomically(options.csv, to_csv(results));
    }
    const auto quiet = std::ranges::count_if(blocks, &Block::quiet);
    return to_text(options, results, comm.size(), std::ssize(blocks) - quiet);
}

int run(int argc, char** argv, const Communicator& comm) {
    return run_bench("bench pipeline", comm, [&](std::string& to) {
        std::string help;
        PipelineOptions options =
            parse_pipeline_options(argc, argv, trainer::schedule_names(), help);
        options.batch = 1;  // time_steps makes one, and nobody looks at it
        to = options.to;
        if (!help.empty()) {
            return help;
        }
        check_outputs({options.csv}, {}, comm);
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
