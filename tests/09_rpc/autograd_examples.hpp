// Programs for dist_autograd: what calls what, where leaves lie, and what the loss uses.
#pragma once

#include <ATen/ops/full.h>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/09_rpc/autograd_programs.hpp"

namespace dist::harness {

/// loss = sum(w * x), with w on rank 1.
inline Program one_call() {
    Program program = {"one call", {{leaf({1, 2, 3})}, {leaf({4, 5, 6})}}};
    const auto leaves = program.leaves;
    program.functions["times"] = [=](int rank, const CallFunction&, const Tensors& in) {
        return Tensors{in[0].mul(leaves[static_cast<std::size_t>(rank)][0])};
    };
    program.roots = [=](const CallFunction& call) {
        return Tensors{call(1, "times", {leaves[0][0]})[0].sum()};
    };
    return program;
}

/// Each rank calls the next one, round and round, `hops` times.
inline Program around(int p, int hops) {
    Program program = {
        std::to_string(hops) + " calls within each other, on " + std::to_string(p) + " ranks", {}};
    for (int rank = 0; rank < p; ++rank) {
        program.leaves.push_back({leaf({1, static_cast<float>(rank + 2)})});
    }
    const auto leaves = program.leaves;
    program.functions["hop"] = [=](int rank, const CallFunction& call, const Tensors& in) {
        const at::Tensor y = in[0].mul(leaves[static_cast<std::size_t>(rank)][0]);
        const auto left = in[1].item<std::int64_t>();
        const Tensors next = {y, in[1].sub(1)};
        return left == 0 ? Tensors{y} : Tensors{call((rank + 1) % p, "hop", next)[0].add(y)};
    };
    program.roots = [=](const CallFunction& call) {
        const Tensors first = {leaves[0][0], at::full({}, hops - 1, at::kLong)};
        return Tensors{call(1 % p, "hop", first)[0].sum()};
    };
    return program;
}

/// What rank 0 computes goes to two ranks, of which one calls the other; the loss uses all, and
/// what was sent.
inline Program joining() {
    Program program = {
        "ways that part and join", {{leaf({1, 2}), leaf({3, 1})}, {leaf({2, 5})}, {leaf({4, 3})}}};
    const auto leaves = program.leaves;
    program.functions["b"] = [=](int, const CallFunction& call, const Tensors& in) {
        const at::Tensor h = in[0].mul(leaves[1][0]);
        const at::Tensor back = call(2, "c", {h, in[1]})[0];
        return Tensors{back.add(h), h};
    };
    program.functions["c"] = [=](int, const CallFunction&, const Tensors& in) {
        return Tensors{in[0].mul(leaves[2][0]).add(in[1])};
    };
    program.roots = [=](const CallFunction& call) {
        const at::Tensor h = leaves[0][0].mul(leaves[0][1]);
        const Tensors b = call(1, "b", {h, leaves[0][0]});
        const at::Tensor c = call(2, "c", {b[1], h})[0];
        return Tensors{c.mul(h).add(b[0]).sum()};
    };
    return program;
}

/// The result of each call is the argument of the next one.
inline Program chain() {
    Program program = {"a chain of calls", {{leaf({1, 2})}, {leaf({1, 3})}, {leaf({2, 1})}}};
    const auto leaves = program.leaves;
    program.functions["layer"] = [=](int rank, const CallFunction&, const Tensors& in) {
        return Tensors{in[0].mul(leaves[static_cast<std::size_t>(rank)][0])};
    };
    program.roots = [=](const CallFunction& call) {
        at::Tensor h = leaves[0][0];
        for (const int to : {1, 2, 1, 0, 2, 1}) {
            h = call(to, "layer", {h})[0].add(h);
        }
        return Tensors{h.sum()};
    };
    return program;
}

/// Calls of which the loss uses none, or one result of two.
inline Program unused() {
    Program program = {
        "results that the loss does not use",
        {{leaf({1, 2}), leaf({5, 5})}, {leaf({1, 3})}, {leaf({2, 1}), leaf({7, 7})}}};
    const auto leaves = program.leaves;
    program.functions["two"] = [=](int rank, const CallFunction& call, const Tensors& in) {
        const at::Tensor y = in[0].mul(leaves[static_cast<std::size_t>(rank)][0]);
        if (rank == 1) {
            call(2, "two", {y});
        }
        return Tensors{y, y.mul(3)};
    };
    program.roots = [=](const CallFunction& call) {
        const at::Tensor x = leaves[0][0].mul(2);
        call(1, "two", {x});
        call(2, "two", {leaves[0][1]});
        return Tensors{call(1, "two", {x})[0].mul(x).sum()};
    };
    return program;
}

/// Arguments and results of several dtypes, without gradients and undefined; several roots, of one
/// element each, in zero to two dimensions.
inline Program mixed() {
    Program program = {
        "several dtypes and roots",
        {{leaf({1, 2}), leaf({3, 1}, at::kDouble)}, {leaf({2, 5}, at::kDouble)}}};
    const auto leaves = program.leaves;
    program.functions["mix"] = [=](int, const CallFunction&, const Tensors& in) {
        const at::Tensor wide = in[0].mul(in[1]).mul(leaves[1][0]);
        return Tensors{wide, in[0].mul(in[2]), in[2], in[3], in[0]};
    };
    program.roots = [=](const CallFunction& call) {
        const at::Tensor numbers = at::full({2}, 3, at::kLong);
        const Tensors out = call(1, "mix", {leaves[0][0], leaves[0][1], numbers, {}});
        const at::Tensor loss = out[0].sum();
        return Tensors{
            loss, out[1].mul(out[2]).sum().reshape({1, 1}), loss, out[4].sum(),
            leaves[0][0].mul(2).sum(0, true)};
    };
    return program;
}

/// Only the result has a gradient; and an argument that goes nowhere.
inline Program only_the_result() {
    Program program = {"gradients of the results alone", {{leaf({9})}, {leaf({2, 5})}}};
    const auto leaves = program.leaves;
    program.functions["weight"] = [=](int, const CallFunction&, const Tensors& in) {
        return Tensors{leaves[1][0].mul(in[0])};
    };
    program.roots = [=](const CallFunction& call) {
        return Tensors{call(1, "weight", {filled({2}, {3, 4})})[0].sum()};
    };
    return program;
}

/// The result is a leaf there, an argument, the same tensor twice.
inline Program as_they_are() {
    Program program = {"leaves and arguments as results", {{leaf({1, 2})}, {leaf({2, 5})}}};
    const auto leaves = program.leaves;
    program.functions["all"] = [=](int, const CallFunction&, const Tensors& in) {
        return Tensors{leaves[1][0], in[0], in[1], leaves[1][0], in[0].mul(leaves[1][0])};
    };
    program.roots = [=](const CallFunction& call) {
        const Tensors out = call(1, "all", {leaves[0][0], leaves[0][0]});
        at::Tensor sum = out[0].mul(2);
        for (const at::Tensor& one : out) {
            sum = sum.add(one);
        }
        return Tensors{sum.sum()};
    };
    return program;
}

inline std::vector<Program> all_programs() {
    return {one_call(), around(2, 3), around(3, 7), around(1, 2),      joining(),
            chain(),    unused(),     mixed(),      only_the_result(), as_they_are()};
}

}  // namespace dist::harness
