#include "course/trainer/other_runs.hpp"

#include <chrono>
#include <cstdio>
#include <stdexcept>

#include <torch/utils.h>

#include "course/elastic/diagnosis.hpp"
#include "course/parallel/ps.hpp"
#include "course/trainer/quorum_parts.hpp"
#include "course/trainer/replica_group.hpp"

namespace dist::trainer {

void print_diagnosis(const std::filesystem::path& folder) {
    const auto records = elastic::read_flight_records(folder);
    if (records.empty()) {
        throw std::runtime_error(
            "--diagnose " + folder.string() +
            ": there are no flight records; train --flight-records DIR writes them"
        );
    }
    const auto findings = elastic::diagnosis_of(records);
    for (const FlightFinding& found : findings) {
        std::printf("%s\n", found.text().c_str());
    }
    if (findings.empty()) {
        std::printf(
            "flight records of %zu ranks: they agree, and nobody is waited for\n", records.size()
        );
    }
}

void train_beside_servers(
    const Task& task,
    const Options& options,
    const Communicator& comm,
    const std::function<void(const Options& with_rpc, const Communicator& workers)>& train
) {
    const auto timeout =
        std::chrono::duration_cast<Clock::Duration>(std::chrono::duration<double>(options.timeout_s)
        );
    const auto weights = [&] {
        torch::manual_seed(options.seed);  // as worker 0 does
        return task.make_model()->parameters();
    };
    with_servers(options, timeout, comm, weights, [&](Rpc& rpc, const Communicator& workers) {
        Options with_rpc = options;
        with_rpc.rpc = &rpc;
        train(with_rpc, workers);
    });
}

void run_replica(const Options& options, const Communicator& alone) {
    train_replica(options, alone);
}

void leave_world_if_replica(int argc, char** argv) {
    leave_world(argc, argv);
}

}  // namespace dist::trainer
