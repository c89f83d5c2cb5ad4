// mpirun -n RANKS mesh_gradients OPTIONS...: trains a small GPT for ten steps with each of these
// options, and compares with one process that trains the whole model with the whole batch, without a
// mesh. Rank 0 prints a line of JSON for each.
#include <ATen/Parallel.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/randint.h>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <torch/utils.h>

#include "course/nn/batch.hpp"
#include "course/nn/gpt.hpp"
#include "course/nn/memory.hpp"
#include "course/nn/rows.hpp"
#include "course/parallel/strategy.hpp"
#include "course/runtime/environment.hpp"
#include "course/trainer/options.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"

namespace {

using dist::Communicator;
using namespace dist::trainer;

constexpr std::int64_t kBatch = 8;  // of all ranks
constexpr int kSteps = 10;

/// What came of a run, on rank 0.
struct Outcome {
    StateDict after_one_step;
    StateDict at_end;
    std::vector<double> losses;
    std::size_t held = 0;  // bytes of this rank, before the first step
};

Options options_of(const std::string& text) {
    std::vector<std::string> words = {"mesh_gradients"};
    // of SGD: after the first step, momentum is the gradient
    std::istringstream all(
        "--model gpt --context 16 --width 16 --heads 4 --layers 4 --rate 0.1 --weight-decay 0 " +
        text
    );
    words.insert(words.end(), std::istream_iterator<std::string>(all), {});
    std::vector<const char*> arguments;
    for (const std::string& word : words) {
        arguments.push_back(word.c_str());
    }
    Options options;
    parse_options(static_cast<int>(arguments.size()), arguments.data(), options);
    return options;
}

dist::nn::Batch batch_of(const Options& options, int step) {
    torch::manual_seed(100 + step);
    const at::Tensor text = at::randint(256, {kBatch, options.gpt.context + 1}, at::kLong);
    return {
        text.narrow(1, 0, options.gpt.context),
        text.narrow(1, 1, options.gpt.context).contiguous()};
}

Judged judge(const at::Tensor& scores, const at::Tensor& labels) {
    return {
        at::cross_entropy_loss(scores.flatten(0, 1), labels.flatten()),
        scores.argmax(2).eq(labels).to(at::kFloat).mean()};
}

Outcome train(const Options& options, const Communicator& comm) {
    const std::size_t before = dist::nn::held_memory().total();
    torch::manual_seed(static_cast<std::uint64_t>(comm.rank() + 1));
    const auto model = dist::nn::make_gpt(options.gpt);
    Trace trace({}, comm);
    const auto strategy = make_strategy(options, model, trace, comm);
    const Communicator& ranks = strategy->data_ranks(comm);
    Outcome outcome;
    outcome.held = dist::nn::held_memory().total() - before;
    for (int step = 0; step < kSteps; ++step) {
        const auto [inputs, labels] = batch_of(options, step);
        const std::int64_t size = kBatch / ranks.size();
        const auto part = [&](const at::Tensor& all) {
            return all.narrow(0, ranks.rank() * size, size);
        };
        strategy->zero_gradients();
        const at::Tensor scores = strategy->forward(part(inputs));
        const at::Tensor loss = strategy->judge(scores, part(labels), judge).loss;
        strategy->prepare_for_backward(loss);
        loss.backward();
        strategy->exchange_gradients();
        strategy->step(options.rate);
        strategy->expect_equal(static_cast<std::size_t>(step));
        const at::Tensor mean = loss.detach().clone();
        dist::ring_all_reduce(dist::nn::floats(mean), dist::ReduceOp::mean, ranks);
        outcome.losses.push_back(mean.item<double>());
        if (step == 0) {
            for (const auto& [name, tensor] : strategy->state_dict()) {
                outcome.after_one_step[name] = tensor.clone();  // the next step changes momentum
            }
        }
    }
    outcome.at_end = strategy->state_dict();
    return outcome;
}

/// Of all tensors whose names begin so. A difference that is NaN, or a tensor that is missing, is 1e9.
double largest_difference(const StateDict& one, const StateDict& other, const std::string& prefix) {
    constexpr double kMissing = 1e9;
    double largest = 0;
    for (const auto& [name, tensor] : one) {
        const auto found = other.find(name);
        if (!name.starts_with(prefix)) {
            continue;
        }
        const double difference =
            found == other.end() ? kMissing : (tensor - found->second).abs().max().item<double>();
        largest = difference >= 0 ? std::max(largest, difference) : kMissing;
    }
    return largest;
}

double largest_in(const StateDict& state, const std::string& prefix) {
    StateDict zeros;
    for (const auto& [name, tensor] : state) {
        zeros[name] = tensor.mul(0);
    }
    return largest_difference(state, zeros, prefix);
}

/// The same for the same bits.
std::size_t digest_of(const StateDict& state) {
    std::string all;
    for (const auto& [name, tensor] : state) {
        const at::Tensor whole = tensor.add(0).contiguous();  // 0 and -0 are one
        all += name;
        all += std::string_view(static_cast<const char*>(whole.data_ptr()), whole.nbytes());
    }
    return std::hash<std::string>()(all);
}

int run(const std::vector<std::string>& texts, const Communicator& comm) {
    at::set_num_threads(1);
    dist::nn::count_memory();
    const Communicator alone = comm.split(comm.rank());
    std::vector<std::pair<dist::nn::GptShape, Outcome>> of_one;  // of each model that was asked for
    for (const std::string& text : texts) {
        const Options options = options_of("--parallel 3d " + text);
        const Outcome got = train(options, comm);
        auto known =
            std::ranges::find(of_one, options.gpt, [](const auto& one) { return one.first; });
        if (known == of_one.end()) {
            Options one = options;
            one.parallel = Parallel::none;
            known = of_one.insert(known, {one.gpt, train(one, alone)});
        }
        const Outcome& wanted = known->second;
        if (comm.rank() != 0) {
            continue;
        }
        const nlohmann::ordered_json line = {
            {"options", text},
            {"gradients",
             largest_difference(wanted.after_one_step, got.after_one_step, "optimizer.")},
            {"weights", largest_difference(wanted.at_end, got.at_end, "model.")},
            {"largest", largest_in(wanted.after_one_step, "optimizer.")},
            {"names", wanted.at_end.size() == got.at_end.size()},
            {"held", got.held},
            {"digest", digest_of(got.at_end)},
            {"losses", got.losses},
            {"of_one", wanted.losses}};
        std::printf("%s\n", line.dump().c_str());
        std::fflush(stdout);
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    return dist::run_main(argc, argv, [&](const Communicator& comm) {
        return run({argv + 1, argv + argc}, comm);
    });
}
