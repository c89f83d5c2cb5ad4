// A small network, whose backward needs its weights.
#pragma once

#include <ATen/ops/linear.h>
#include <functional>
#include <vector>

#include "tests/07_zero/stages.hpp"

namespace dist::harness {

/// Two linear layers between input and loss, whose weights backward needs: y = w1 relu(w0 x + b0), x for each rank.
struct Net {
    Tensors parameters = {
        filled({6, 5}, 0, 1).div(16).requires_grad_(), filled({6}, 0, 2).div(16).requires_grad_(),
        filled({3, 6}, 0, 3).div(16).requires_grad_()};

    static at::Tensor input(int rank, int step) {
        return filled({4, 5}, rank, 10 + static_cast<std::uint64_t>(step)).div(16);
    }
    [[nodiscard]] at::Tensor first(const at::Tensor& x) const {
        return at::linear(x, parameters[0], parameters[1]).relu();
    }
    [[nodiscard]] at::Tensor second(const at::Tensor& h) const {
        return at::linear(h, parameters[2]);
    }
    static at::Tensor loss(const at::Tensor& y) { return y.mul(y).mean(); }
};

/// The net's weights after so many steps of one process that has everybody's pictures.
inline std::vector<float> net_trained(const nn::OptimizerOptions& options, int steps, int p) {
    const Net net;
    nn::Optimizer optimizer(options, net.parameters);
    for (int step = 1; step <= steps; ++step) {
        optimizer.zero_grad();
        for (int rank = 0; rank < p; ++rank) {
            const at::Tensor y = net.second(net.first(Net::input(rank, step)));
            Net::loss(y).div(p).backward();
        }
        optimizer.step();
    }
    return all_elements(net.parameters);
}

/// A step of the net in the hands of a stage, with this input; returns the loss.
using NetStep = std::function<float(const at::Tensor& x)>;
using TrainNet = std::function<
    NetStep(const Net& net, const nn::OptimizerOptions& options, const Communicator& comm)>;

/// By zero_grad, backward and step.
///
/// make  a pointer to what has zero_grad() and step().
template <class Make>
TrainNet net_trained_by(const Make& make) {
    return [=](const Net& net, const nn::OptimizerOptions& options, const Communicator& comm) {
        const auto optimizer = make(net.parameters, options, comm);
        return [=](const at::Tensor& x) {
            optimizer->zero_grad();
            const at::Tensor loss = Net::loss(net.second(net.first(x)));
            loss.backward();
            optimizer->step();
            return elements(loss)[0];
        };
    };
}

/// The losses of 20 steps beside those of DDP, whose buckets are these groups.
inline Comparison losses_beside_ddp(
    const TrainNet& train,
    const nn::OptimizerOptions& options,
    const Groups& groups,
    Divided divided,
    const Communicator& comm
) {
    const Net net;
    const NetStep step_of_net = train(net, options, comm);
    const Net whole;
    nn::Optimizer all(options, whole.parameters);
    std::vector<float> got;
    std::vector<float> expected;
    for (int step = 1; step <= 20; ++step) {
        const at::Tensor x = Net::input(comm.rank(), step);
        const at::Tensor loss = Net::loss(whole.second(whole.first(x)));
        all.zero_grad();
        loss.backward();
        Tensors own;
        for (const at::Tensor& parameter : whole.parameters) {
            own.push_back(parameter.grad());
        }
        set_to_ddps_mean(whole.parameters, own, groups, divided, comm);
        all.step();
        got.push_back(step_of_net(x));
        expected.push_back(elements(loss)[0]);
    }
    return same(got, expected);
}

/// 20 steps beside DDP with these groups for buckets: in each step the same loss, to the bit.
inline void gives_ddps_losses(const TrainNet& train, const Groups& groups) {
    on_ranks({2, 3, 4}, [&](const Communicator& comm) {
        for (const nn::OptimizerOptions& options : kOptions) {
            INFO(name_of(options) << ": the losses of 20 steps, from the first one on");
            const Comparison result = either([&](Divided divided) {
                return losses_beside_ddp(train, options, groups, divided, comm);
            });
            CHECK(result);
        }
    });
}

}  // namespace dist::harness
