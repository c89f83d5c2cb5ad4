#include "course/trainer/train.hpp"

#include <ATen/Parallel.h>
#include <cstdlib>
#include <memory>

#include "course/parallel/autocast.hpp"
#include "course/parallel/together.hpp"
#include "course/trainer/account.hpp"
#include "course/trainer/loop_parts.hpp"
#include "course/trainer/quorum_parts.hpp"
#include "course/trainer/sample.hpp"
#include "course/trainer/task.hpp"
#include "course/trainer/timeout.hpp"
#include "exercises/05_data_parallel/resnet_trainer.hpp"

namespace dist::trainer {

void train(const Options& options, const Communicator& comm) {
    if (std::getenv("OMP_NUM_THREADS") == nullptr) {
        at::set_num_threads(1);  // the ranks are the threads
    }
    if (options.sample) {
        return together(comm, [&] {
            if (comm.rank() == 0) {
                print_sample(options);
            }
        });
    }
    if (options.fault_tolerant) {
        return train_replica(options, comm);
    }
    std::unique_ptr<Task> task;
    together(comm, [&] { task = make_task(options, comm.rank()); });
    const Timeout timeout(options.timeout_s, comm);
    Account account(options, task->facts(), comm);
    if (options.dtype == "bf16" && options.device == "cpu") {
        const double fp32_s = convolution_s(/*bf16=*/false);
        account.say(to_dtype_note(fp32_s, convolution_s(/*bf16=*/true)));
    }
    Trace trace(options.trace, comm);
    LoopParts parts(options, *task, account, trace, comm);
    account.begin_run(parts.begun(), parts.all_steps(), parts.epoch_steps());
    resnet_trainer(parts);
    account.end_run(parts.step());
    together(comm, [&] { account.say(trace.write()); });
}

}  // namespace dist::trainer
