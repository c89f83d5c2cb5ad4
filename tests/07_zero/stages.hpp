// What every stage of ZeRO owes: tests that are tried on each of them.
#pragma once

#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "course/protocol/counted.hpp"
#include "exercises/06_ddp/autograd_hooks.hpp"
#include "tests/07_zero/models.hpp"
#include "tests/harness/words/refusals.hpp"
#include "tests/harness/words/two_alive.hpp"
#include "tests/harness/words/zoo.hpp"

namespace dist::harness {

/// A model in the hands of a stage.
struct Training {
    std::function<void(const Tensors& gradients)> step;  // whose backward brings these gradients
    std::function<std::vector<float>()> weights;         // all elements, in the model's order
};

/// Takes parameters over.
using Stage = std::function<Training(
    const Tensors& parameters, const nn::OptimizerOptions& options, const Communicator& comm
)>;

/// Trains by zero_grad, backward and step.
///
/// make  a pointer to what has zero_grad() and step().
template <class Make>
Stage trained_by(const Make& make) {
    return [=](const Tensors& parameters, const nn::OptimizerOptions& options,
               const Communicator& comm) -> Training {
        const auto optimizer = make(parameters, options, comm);
        const auto step = [=](const Tensors& gradients) {
            optimizer->zero_grad();
            backward(parameters, gradients);
            optimizer->step();
        };
        return {.step = step, .weights = [=] { return all_elements(parameters); }};
    };
}

/// Three steps with mean gradients end where those of one process do.
inline void trains(
    const Stage& stage,
    const Shapes& shapes,
    const nn::OptimizerOptions& options,
    const Communicator& comm
) {
    const Tensors parameters = model(shapes);
    const std::size_t n = count(parameters);
    const Training training = stage(parameters, options, comm);
    for (int step = 1; step <= 3; ++step) {
        INFO(name_of(options) << ", " << counted(n, "element") << ", step " << step);
        training.step(gradients(model(shapes), comm.rank(), step));
        const std::vector<float> weights = training.weights();
        const Comparison result = as_trained(weights, shapes, options, step, comm);
        REQUIRE(result);
        CHECK(same_on_all_ranks(weights, comm));
    }
}

/// With all models, and both optimizers.
inline void trains_as_one_process(const Stage& stage) {
    on_ranks({3, 1, 2, 4, 5}, [&](const Communicator& comm) {
        for (const Shapes& shapes : kModels) {
            for (const nn::OptimizerOptions& options : kOptions) {
                trains(stage, shapes, options, comm);
            }
        }
    });
}

inline void trains_on_11_ranks(const Stage& stage) {
    on_ranks({11}, [&](const Communicator& comm) { trains(stage, kShapes, kOptions[1], comm); });
}

/// Numbers of parameters that lie in a row together.
using Groups = std::vector<std::vector<std::size_t>>;

/// How a gradient becomes a p-th of itself: times 1 / p, or divided by p. The last bits differ, and a stage may take either.
enum class Divided { times_reciprocal, by_p };

/// What `compare` finds with one of the two: the one that is equal, if there is one.
template <class Compare>
Comparison either(const Compare& compare) {
    Comparison multiplied = compare(Divided::times_reciprocal);
    Comparison divided = compare(Divided::by_p);  // always: all ranks make the same calls
    return divided ? divided : multiplied;
}

/// As DDP, whose buckets are these groups, filled up as rows are: a p-th of each gradient, added up around
/// the ring.
inline void set_to_ddps_mean(
    const Tensors& parameters,
    const Tensors& own,
    const Groups& groups,
    Divided divided,
    const Communicator& comm
) {
    for (const std::vector<std::size_t>& group : groups) {
        std::int64_t n = 0;
        for (const std::size_t i : group) {
            n += own[i].numel();
        }
        const int p = comm.size();
        const at::Tensor row = at::zeros({(n + p - 1) / p * p}, at::kFloat);  // chunks are shards
        std::int64_t begin = 0;
        for (const std::size_t i : group) {
            const at::Tensor part = row.narrow(0, begin, own[i].numel()).view(own[i].sizes());
            part.copy_(divided == Divided::by_p ? own[i].div(p) : own[i].mul(1.0 / p));
            parameters[i].mutable_grad() = part;
            begin += own[i].numel();
        }
        all_reduce_hook(comm)(row).wait();
    }
}

/// The weights after 20 steps beside DDP's, whose buckets are these groups.
inline Comparison beside_ddp(
    const Stage& stage,
    const Shapes& shapes,
    const nn::OptimizerOptions& options,
    const Groups& groups,
    Divided divided,
    const Communicator& comm
) {
    const Training training = stage(model(shapes), options, comm);
    const Tensors whole = model(shapes);
    nn::Optimizer all(options, whole);
    constexpr double kManyBits = 7;
    for (int step = 1; step <= 20; ++step) {
        const Tensors own = gradients(whole, comm.rank(), step, kManyBits);
        training.step(own);
        set_to_ddps_mean(whole, own, groups, divided, comm);
        all.step();
    }
    return same(training.weights(), all_elements(whole));
}

/// 20 steps beside DDP with these groups for buckets: the same bits, as sums are added up in the same order.
inline void gives_ddps_bits(
    const Stage& stage,
    const Shapes& shapes,
    const Groups& groups,
    const std::vector<int>& worlds = {2, 1, 3, 4}
) {
    on_ranks(worlds, [&](const Communicator& comm) {
        for (const nn::OptimizerOptions& options : kOptions) {
            INFO(name_of(options) << ": divided by p before the sum, and added up around the ring");
            const Comparison result = either([&](Divided divided) {
                return beside_ddp(stage, shapes, options, groups, divided, comm);
            });
            CHECK(result);
        }
    });
}

inline void divides_before_the_sum(const Stage& stage) {
    on_ranks({2, 4}, [&](const Communicator& comm) {
        const Training training =
            stage({filled({1}, {1}).requires_grad_()}, {.rate = 0x1p-120}, comm);
        training.step({filled({1}, {0x1p+127F})});
        INFO("every rank's gradient is 2^127, and no float holds twice as much");
        CHECK(same(training.weights(), std::vector<float>{1 - 128}));
    });
}

inline void works_in_groups(const Stage& stage) {
    on_ranks({4}, [&](const Communicator& comm) {
        INFO("two groups of two, numbered backwards");
        trains(stage, kShapes, kOptions[0], comm.split(comm.rank() % 2, -comm.rank()));
    });
}

/// `make` refuses parameters that it cannot train, before anything is changed.
inline void refuses_other_parameters(
    const std::function<void(const Tensors&, const Communicator&)>& make
) {
    on_ranks({2, 1}, [&](const Communicator& comm) {
        const at::Tensor good = filled({2}, {1, 2}).requires_grad_();
        good.mutable_grad() = filled({2}, {3, 4});
        const auto as_before = as_now({good});
        const auto refused = [&](const std::string& what, const at::Tensor& bad) {
            for (const Tensors& parameters : {Tensors{good, bad}, Tensors{bad, good}}) {
                refuses(
                    comm, what, [&] { make(parameters, comm); }, as_before
                );
            }
            const Tensors only_here = comm.rank() == 0 ? Tensors{good, bad} : Tensors{};
            const auto call = [&] { make(only_here, comm); };
            refuses(comm, what + ", on rank 0 alone", call, as_before, {0});
        };
        refused("a parameter that is frozen", filled({2}, {1, 2}));
        refused("no leaf", good.mul(2));
        refused("an undefined tensor", at::Tensor());
        refused("double", filled({2}, {1, 2}).to(at::kDouble).requires_grad_());
        const CrashMeans crash("as if tied weights, one tensor twice, were taken for two parameters"
        );
        refused("tied weights, one tensor twice", good);
    });
}

/// Two at a time, called by zero_grad, backward and step: each trains as if it were alone.
///
/// make  a pointer to what has zero_grad() and step().
template <class Make>
void two_trained_at_a_time(const std::string& what, const Make& make) {
    two_alive(what, [&](std::size_t which, const Communicator& comm) {
        // of as many elements, since memory may be shared by what is as long
        const Shapes shapes = which == 0 ? Shapes{{2, 3}, {4}} : Shapes{{4}, {3, 2}};
        const nn::OptimizerOptions& options = kOptions[which];
        const Tensors parameters = model(shapes);
        const auto optimizer = make(parameters, options, comm);
        Life life;
        constexpr int kSteps = 2;
        for (int step = 1; step <= kSteps; ++step) {
            life.calls.push_back([=] { optimizer->zero_grad(); });
            const Tensors own = gradients(parameters, comm.rank(), step);
            life.calls.push_back([=] { backward(parameters, own); });
            life.calls.push_back([=] { optimizer->step(); });
        }
        life.outcome = [=, &comm] {
            return as_trained(all_elements(parameters), shapes, options, kSteps, comm);
        };
        return life;
    });
}

}  // namespace dist::harness
