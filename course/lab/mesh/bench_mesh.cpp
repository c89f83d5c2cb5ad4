// bench mesh: the trainer's GPT on every mesh of so many ranks: a step's time, what a rank sends and what it holds,
// beside formulas. Run by mpirun on many ranks.
#include <ATen/Parallel.h>
#include <deque>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <mpi.h>

#include "course/lab/machine.hpp"
#include "course/lab/mesh/mesh_results.hpp"
#include "course/lab/mesh/mesh_training.hpp"
#include "course/lab/outputs.hpp"
#include "course/lab/steps.hpp"
#include "course/nn/memory.hpp"
#include "course/parallel/schedules.hpp"
#include "course/parallel/stop.hpp"
#include "exercises/08_model_parallel/pipeline_schedule.hpp"

namespace dist::lab {
namespace {

using trainer::MeshShape;

/// "dp=2,tp=2": without what is not cut.
std::string short_name(const MeshShape& mesh) {
    std::string name;
    for (const auto& [dimension, parts] :
         {std::pair("dp", mesh.dp),
          {"pp", mesh.pp},
          {"cp", mesh.cp},
          {"tp", mesh.tp},
          {"ep", mesh.ep}}) {
        if (parts > 1) {
            name +=
                (name.empty() ? "" : ",") + std::string(dimension) + "=" + std::to_string(parts);
        }
    }
    return name.empty() ? "dp=1" : name;
}

/// All meshes of so many ranks, or those that are asked for.
std::vector<MeshShape> meshes_of(const MeshOptions& options, int ranks) {
    std::vector<MeshShape> meshes;
    for (const std::string& text : options.ways) {
        meshes.push_back(trainer::read_mesh(text));
    }
    if (!meshes.empty()) {
        return meshes;
    }
    for (int dp = ranks; dp >= 1; --dp) {
        for (int pp = ranks / dp; pp >= 1; --pp) {
            for (int cp = ranks / dp / pp; cp >= 1; --cp) {
                const int tp = ranks / dp / pp / cp;
                if (dp * pp * cp * tp == ranks) {
                    meshes.push_back({.tp = tp, .cp = cp, .dp = dp, .pp = pp});
                }
            }
        }
    }
    return meshes;
}

std::vector<MeshBytes> of_all_ranks(const MeshBytes& mine, const Communicator& comm) {
    std::vector<MeshBytes> all(static_cast<std::size_t>(comm.size()));
    const int n = sizeof(MeshBytes);
    MPI_CHECK(MPI_Allgather(mine.data(), n, MPI_BYTE, all.data(), n, MPI_BYTE, comm.handle()));
    return all;
}

MeshResult result_of(const trainer::Options& options, const Communicator& comm) {
    const nn::MemoryBytes before = nn::held_memory();
    MeshTraining training(options, comm);
    const Schedule rows = pipeline_schedule(
        trainer::find_schedule(options.pipeline), options.mesh.pp, options.micro_batches,
        options.chunks
    );
    const PipelineRun run = simulate_schedule(rows);
    const double waits = std::accumulate(run.bubble.begin(), run.bubble.end(), 0.0);
    return {
        .name = short_name(options.mesh),
        .micro_batches = options.micro_batches,
        .bubble = waits / options.mesh.pp / run.total,
        .measured = of_all_ranks(training.measure_bytes(before), comm),
        .formula = of_all_ranks(training.formula(), comm)};
}

/// Steps in turn on all meshes.
void time_meshes(
    const MeshOptions& options,
    const std::vector<trainer::Options>& meshes,
    MeshReport& report,
    const Communicator& comm
) {
    std::deque<MeshTraining> trainings;  // they stay where they are
    for (const trainer::Options& mesh : meshes) {
        trainings.emplace_back(mesh, comm);
    }
    std::vector<std::vector<double>> waited_s;  // by round: on each mesh, the mean over ranks
    const auto note_waits = [&] {
        std::vector<double>& mean = waited_s.emplace_back();
        for (const MeshTraining& training : trainings) {
            mean.push_back(training.waited_s() / comm.size());
        }
        const auto n = static_cast<int>(mean.size());
        MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, mean.data(), n, MPI_DOUBLE, MPI_SUM, comm.handle()));
    };
    report.blocks = time_steps(
        trainings.size(), options, [&](std::size_t i, const nn::Batch&) { trainings[i].step(); },
        note_waits, comm
    );
    for (std::size_t i = 0; i < trainings.size(); ++i) {
        for (std::size_t round = 0; round < report.blocks.size(); ++round) {
            const double step_s = report.blocks[round].rounds.front()[i].max_s;
            report.results[i].waiting.push_back(waited_s[round][i] / step_s);
        }
    }
}

std::string measure(const MeshOptions& options, const Communicator& comm) {
    at::set_num_threads(1);  // the ranks are the threads
    MeshReport report{.ranks = comm.size(), .results = {}, .blocks = {}, .left_out = {}};
    std::vector<trainer::Options> meshes;
    for (const MeshShape& mesh : meshes_of(options, comm.size())) {
        if (ranks_of(mesh) != comm.size()) {
            throw UsageError(
                "--mesh " + short_name(mesh) + " has " + std::to_string(ranks_of(mesh)) +
                " ranks, and here are " + std::to_string(comm.size())
            );
        }
        try {
            meshes.push_back(trainer_options(options, mesh));
        } catch (const trainer::Stop& stop) {
            report.left_out.push_back(short_name(mesh) + ": " + stop.what());
        }
    }
    if (meshes.empty()) {
        throw UsageError("no mesh is left: " + report.left_out.at(0));
    }
    nn::count_memory();
    for (const trainer::Options& mesh : meshes) {
        show_progress(options, "bytes of " + short_name(mesh.mesh), comm);
        report.results.push_back(result_of(mesh, comm));
    }
    time_meshes(options, meshes, report, comm);
    if (!options.csv.empty() && options.csv != "-" && comm.rank() == 0) {
        files::write_atomically(options.csv, to_csv(report));
    }
    return to_text(options, report);
}

int run(int argc, char** argv, const Communicator& comm) {
    return run_bench("bench mesh", comm, [&](std::string& to) {
        std::string help;
        MeshOptions options = parse_mesh_bench(argc, argv, trainer::schedule_names(), help);
        options.shares_cores = describe_machine(comm).oversubscribed();
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
