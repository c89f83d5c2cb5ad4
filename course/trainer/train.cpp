#include "course/trainer/train.hpp"

#include <ATen/Parallel.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>

#include <torch/utils.h>

#include "course/elastic/diagnosis.hpp"
#include "course/parallel/autocast.hpp"
#include "course/parallel/flight.hpp"
#include "course/parallel/ps.hpp"
#include "course/parallel/together.hpp"
#include "course/trainer/account.hpp"
#include "course/trainer/loop_parts.hpp"
#include "course/trainer/quorum_parts.hpp"
#include "course/trainer/sample.hpp"
#include "course/trainer/task.hpp"
#include "course/trainer/timeout.hpp"
#include "exercises/05_data_parallel/resnet_trainer.hpp"

namespace dist::trainer {

namespace {

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

void train_on(const Task& task, const Options& options, const Communicator& comm) {
    std::filesystem::path record;
    together(comm, [&] { record = Flight::file_in(options.flight_records, comm.rank()); });
    Flight flight(record, comm);
    const Timeout timeout(options.timeout_s, comm);
    Account account(options, task.facts(), comm);
    if (options.dtype == "bf16" && options.device == "cpu") {
        const double fp32_s = convolution_s(/*bf16=*/false);
        account.say(to_dtype_note(fp32_s, convolution_s(/*bf16=*/true)));
    }
    Trace trace(options.trace, comm);
    LoopParts parts(options, task, account, trace, comm);
    account.begin_run(parts.begun(), parts.all_steps(), parts.epoch_steps());
    resnet_trainer(parts);
    account.end_run(parts.step());
    together(comm, [&] { account.say(trace.write()); });
}

void train_beside_servers(const Task& task, const Options& options, const Communicator& comm) {
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
        train_on(task, with_rpc, workers);
    });
}

}  // namespace

void train(const Options& options, const Communicator& comm) {
    if (std::getenv("OMP_NUM_THREADS") == nullptr) {
        at::set_num_threads(1);  // the ranks are the threads
    }
    if (!options.diagnose.empty()) {
        return together(comm, [&] {
            if (comm.rank() == 0) {
                print_diagnosis(options.diagnose);
            }
        });
    }
    if (options.sample) {
        const Communicator alone = comm.split(comm.rank());
        return together(comm, [&] {
            if (comm.rank() == 0) {
                print_sample(options, alone);
            }
        });
    }
    if (options.fault_tolerant) {
        return train_replica(options, comm);
    }
    std::unique_ptr<Task> task;
    together(comm, [&] { task = make_task(options, comm.rank()); });
    if (options.parallel == Parallel::ps) {
        train_beside_servers(*task, options, comm);
    } else {
        train_on(*task, options, comm);
    }
}

}  // namespace dist::trainer
