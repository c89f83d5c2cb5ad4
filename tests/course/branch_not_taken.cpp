// mpirun -n RANKS branch_not_taken: trains a model with a branch that the last rank does not take, by zero3 and by DDP, and
// compares the weights. Each rank has its own inputs.
#include <ATen/ops/full.h>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <torch/nn/modules/linear.h>
#include <torch/utils.h>

#include "course/parallel/optimizer.hpp"
#include "course/parallel/zero3.hpp"
#include "course/runtime/environment.hpp"
#include "exercises/05_data_parallel/broadcast_parameters.hpp"
#include "exercises/06_ddp/autograd_hooks.hpp"

namespace {

using dist::Communicator;
using dist::trainer::ParallelOptions;

/// What a rank leaves out of the second part.
enum class Branch { taken, without_bias, not_taken };

class Branching : public dist::nn::Model {
  public:
    explicit Branching(Branch branch) {
        std::vector<torch::nn::Linear> layers;
        for (const char* const name : {"first", "second", "third"}) {
            layers.push_back(register_module(name, torch::nn::Linear(6, 6)));
        }
        const auto whole = [](torch::nn::Linear layer) {
            return [layer](const at::Tensor& x) mutable { return layer->forward(x); };
        };
        add_part({layers[0].ptr()}, whole(layers[0]));
        add_part({layers[1].ptr()}, [layer = layers[1], branch](const at::Tensor& x) mutable {
            return branch == Branch::taken          ? layer->forward(x)
                   : branch == Branch::without_bias ? x.matmul(layer->weight.t())
                                                    : x;
        });
        add_part({layers[2].ptr()}, whole(layers[2]));
    }

    /// Numbers of the parameters that a backward brings no gradient for.
    static std::vector<std::size_t> unused(Branch branch) {
        return branch == Branch::taken          ? std::vector<std::size_t>{}
               : branch == Branch::without_bias ? std::vector<std::size_t>{3}
                                                : std::vector<std::size_t>{2, 3};
    }
};

at::Tensor input(int rank, int step) {
    return at::full({2, 6}, 1 + rank + 2 * step, at::kFloat).div(8);
}

constexpr int kSteps = 5;
constexpr double kRate = 0.125;

/// The weights after five steps, rank 0's by zero3's state, all in the model's order.
std::vector<at::Tensor> by_zero3(
    const ParallelOptions& options, Branch branch, const Communicator& comm
) {
    torch::manual_seed(1);
    const auto model = std::make_shared<Branching>(branch);
    std::vector<std::string> names;
    for (const auto& named : model->named_parameters()) {
        names.push_back(dist::trainer::model_name(named.key()));
    }
    dist::trainer::ShardedModel strategy(options, model, comm);
    for (int step = 0; step < kSteps; ++step) {
        strategy.zero_gradients();
        const at::Tensor loss = strategy.forward(input(comm.rank(), step)).square().mean();
        strategy.prepare_for_backward(loss);
        loss.backward();
        strategy.exchange_gradients();
        strategy.step(kRate);
    }
    const auto state = strategy.state_dict();
    std::vector<at::Tensor> weights;
    for (const std::string& name : names) {
        if (comm.rank() == 0) {
            weights.push_back(state.at(name));
        }
    }
    return weights;
}

std::vector<at::Tensor> by_ddp(
    const ParallelOptions& options, Branch branch, const Communicator& comm
) {
    torch::manual_seed(1);
    Branching model(branch);
    const std::vector<at::Tensor> parameters = model.parameters();
    dist::broadcast_parameters(parameters, 0, comm);
    const Communicator buckets = comm.dup();
    dist::Reducer reducer(parameters, {1 << 20}, dist::all_reduce_hook(buckets), comm);
    dist::nn::Optimizer optimizer(dist::trainer::optimizer_options(options), parameters);
    for (int step = 0; step < kSteps; ++step) {
        for (const at::Tensor& parameter : parameters) {
            parameter.mutable_grad().zero_();  // a view of its bucket
        }
        const at::Tensor loss = model.forward(input(comm.rank(), step)).square().mean();
        reducer.prepare_for_backward(Branching::unused(branch));
        loss.backward();
        reducer.finalize_backward();
        optimizer.set_rate(kRate);
        optimizer.step();
    }
    return parameters;
}

int compare(const Communicator& comm) {
    for (const Branch branch : {Branch::without_bias, Branch::not_taken}) {
        const Branch mine = comm.rank() == comm.size() - 1 ? branch : Branch::taken;
        const std::vector<at::Tensor> ddp = by_ddp({}, mine, comm);
        const std::vector<at::Tensor> zero3 = by_zero3({}, mine, comm);
        for (std::size_t i = 0; i < zero3.size(); ++i) {
            if (!ddp[i].allclose(zero3[i], 1e-5, 1e-6)) {
                std::printf("parameter %zu of zero3 is another than that of ddp\n", i);
                return 1;
            }
        }
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    return dist::run_main(argc, argv, compare);
}
