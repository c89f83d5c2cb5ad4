#include "course/trainer/fault_tolerant_options.hpp"

#include <string>

#include "course/parallel/stop.hpp"

namespace dist::trainer {

void declare_fault_tolerance(CLI::App& app, Options& options) {
    app.add_flag(
        "--fault-tolerant", options.fault_tolerant,
        "Under launch, with --global-batch: each rank is a replica. When one dies, the others take "
        "the next step without it; it is started again alone, and copies the weights from one of "
        "them. Each has a log of its own, FILE.REPLICA.LIFE, and a checkpoint in "
        "DIR/replica-REPLICA"
    );
}

void expect_fault_tolerance(const CLI::App& app, const Options& options) {
    if (!options.fault_tolerant) {
        return;
    }
    if (options.parallel != Parallel::average) {
        throw Stop(
            "--fault-tolerant averages the gradients of equal replicas after backward: --parallel "
            "average, the default"
        );
    }
    if (!options.global_batch) {
        throw Stop(
            "--fault-tolerant needs --global-batch: a step has the same examples on any number of "
            "replicas"
        );
    }
    for (const char* const name :
         {"--accumulate", "--async-save", "--clip-norm", "--device", "--dtype", "--flight-records",
          "--sample", "--stop-after", "--timeout", "--trace"}) {
        if (app.count(name) > 0) {
            throw Stop("--fault-tolerant does not go with " + std::string(name));
        }
    }
}

}  // namespace dist::trainer
