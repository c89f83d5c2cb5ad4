// For the trainer of equal replicas: the command starts another program for all else (course/cli/train.cpp).
#include <stdexcept>

#include "course/parallel/other_ways.hpp"
#include "course/trainer/other_runs.hpp"

namespace dist::trainer {
namespace {

[[noreturn]] void not_here() {
    throw std::logic_error(
        "this program trains equal replicas alone; start it by ./shardlings train"
    );
}

}  // namespace

std::unique_ptr<Strategy> make_other_way(
    const ParallelOptions& /*options*/,
    std::shared_ptr<nn::Model> /*model*/,
    Trace& /*trace*/,
    const Communicator& /*comm*/
) {
    not_here();
}

void print_diagnosis(const std::filesystem::path& /*folder*/) {
    not_here();
}

void train_beside_servers(
    const Task& /*task*/,
    const Options& /*options*/,
    const Communicator& /*comm*/,
    const std::function<void(const Options& with_rpc, const Communicator& workers)>& /*train*/
) {
    not_here();
}

void run_replica(const Options& /*options*/, const Communicator& /*alone*/) {
    not_here();
}

void leave_world_if_replica(int /*argc*/, char** /*argv*/) {}

}  // namespace dist::trainer
