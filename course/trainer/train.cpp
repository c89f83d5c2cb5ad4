#include "course/trainer/train.hpp"

#include <ATen/Parallel.h>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "course/parallel/autocast.hpp"
#include "course/parallel/flight.hpp"
#include "course/parallel/together.hpp"
#include "course/trainer/account.hpp"
#include "course/trainer/loop_parts.hpp"
#include "course/trainer/other_runs.hpp"
#include "course/trainer/sample.hpp"
#include "course/trainer/task.hpp"
#include "course/trainer/timeout.hpp"
#include "exercises/05_data_parallel/resnet_trainer.hpp"

namespace dist::trainer {

namespace {

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
        return run_replica(options, comm);
    }
    std::unique_ptr<Task> task;
    together(comm, [&] { task = make_task(options, comm.rank()); });
    if (options.parallel == Parallel::ps) {
        train_beside_servers(
            *task, options, comm,
            [&](const Options& with_rpc, const Communicator& workers) {
                train_on(*task, with_rpc, workers);
            }
        );
    } else {
        train_on(*task, options, comm);
    }
}

}  // namespace dist::trainer
