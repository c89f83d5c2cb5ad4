// Steps of parameters on ranks 1 and 2.
#include "exercises/09_rpc/distributed_optimizer.hpp"
#include "tests/course/remote_calls/autograd_model.hpp"
#include "tests/course/remote_calls/programs.hpp"

namespace dist::remote_calls {
namespace {

constexpr int kSteps = 5;

class SteppedModel : public AutogradModel {
  public:
    explicit SteppedModel(Rank& its_rank)
        : AutogradModel(its_rank),
          owner_(its_rank.rpc, [this](ContextId context) { return autograd.gradients(context); }) {
        owner_.add("w", w);
        owner_.add("unused", unused_);
        rank.define_text("weights", [this](const std::string&) {
            return text_of(std::vector{w, unused_});
        });
    }

    void take_steps(const nn::OptimizerOptions& options) {
        std::vector<RemoteParameter> all;
        for (const int owner : {1, 2}) {
            all.push_back({owner, "w"});
            all.push_back({owner, "unused"});
        }
        DistributedOptimizer optimizer(rank.rpc, options, all);
        const at::Tensor x = floats({0.3F, 0.7F});
        for (int step = 0; step < kSteps; ++step) {
            const ContextId context = autograd.new_context();
            const at::Tensor error = times(2, times(1, x)).sub(1);
            const at::Tensor loss = error.mul(error).sum();
            autograd.backward(context, {loss});
            optimizer.step(context);
            autograd.release(context);
            say("loss", text_of(loss));
        }
        say("rank 1", rank.ask(1, "weights"));
        say("rank 2", rank.ask(2, "weights"));
    }

  private:
    at::Tensor unused_ = floats({5}).requires_grad_();  // never has a gradient
    ParameterOwner owner_;
};

void run_steps(Rank& rank, const nn::OptimizerOptions& options) {
    SteppedModel model(rank);
    if (rank.is(0)) {
        model.take_steps(options);
    }
    rank.rpc.shutdown();
}

void steps_sgd(Rank& rank) {
    run_steps(rank, {.rate = 0.1});
}

void steps_momentum(Rank& rank) {
    run_steps(rank, {.rate = 0.05, .weight_decay = 0.01, .momentum = 0.9});
}

void steps_nesterov(Rank& rank) {
    run_steps(rank, {.rate = 0.05, .momentum = 0.8, .nesterov = true});
}

void steps_adamw(Rank& rank) {
    run_steps(rank, {.kind = nn::OptimizerOptions::Kind::adamw, .rate = 0.02, .weight_decay = 0.1});
}

void step_fails(Rank& rank) {
    SteppedModel model(rank);
    if (rank.is(0)) {
        DistributedOptimizer optimizer(rank.rpc, {}, {{1, "w"}, {2, "w"}});
        const ContextId context = model.autograd.new_context();
        model.autograd.backward(context, {model.times(1, model.w).sum()});
        say("rank 2 has no such context", kind_of_outcome([&] {
                optimizer.step(context);
                return std::string("none");
            }));
        say("rank 1", rank.ask(1, "weights"));
        say("rank 2", rank.ask(2, "weights"));
        model.autograd.release(context);
        say("a context that is over", kind_of_outcome([&] {
                optimizer.step(context);
                return std::string("none");
            }));
    }
    rank.rpc.shutdown();
}

}  // namespace

Programs optimizer_programs() {
    return {
        {"steps_sgd", {3, steps_sgd}},
        {"steps_momentum", {3, steps_momentum}},
        {"steps_nesterov", {3, steps_nesterov}},
        {"steps_adamw", {3, steps_adamw}},
        {"step_fails", {3, step_fails}}};
}

}  // namespace dist::remote_calls
