// Backward across ranks: gradients, what is recorded, contexts, errors.
#include "course/nn/with_backward.hpp"
#include "tests/course/remote_calls/autograd_model.hpp"
#include "tests/course/remote_calls/programs.hpp"

namespace dist::remote_calls {
namespace {

void gradients_one_call(Rank& rank) {
    AutogradModel model(rank);
    if (rank.is(0)) {
        const ContextId context = model.autograd.new_context();
        const at::Tensor y = model.times(1, model.w);
        model.say_state("called", context, {0, 1});
        model.autograd.backward(context, {y.sum()});
        model.say_state("backward", context, {0, 1});
        say(".grad", yes_or_no(model.w.grad().defined()));
        model.autograd.release(context);
        model.say_contexts("released");
        say("then", kind_of_outcome([&] {
                return std::to_string(model.autograd.gradients(context).size());
            }));
    }
    rank.rpc.shutdown();
}

// 0 calls 1, which calls 0.
void gradients_nested(Rank& rank) {
    AutogradModel model(rank);
    if (rank.is(0)) {
        const ContextId context = model.autograd.new_context();
        const at::Tensor x = model.w.mul(2);
        const at::Tensor y = model.autograd.call(1, "down", {x})[0];
        model.autograd.backward(context, {y.mul(x).sum()});
        model.say_state("backward", context, {0, 1});
        model.autograd.release(context);
        model.say_contexts("released");
    }
    rank.rpc.shutdown();
}

void gradients_three_hops(Rank& rank) {
    AutogradModel model(rank);
    if (rank.is(0)) {
        const ContextId context = model.autograd.new_context();
        const at::Tensor y = model.autograd.call(1, "up", {model.w})[0];
        const at::Tensor z = model.autograd.call(2, "down", {y})[0];
        model.autograd.backward(context, {z.sum(), y.sum()});
        model.say_state("backward", context, {0, 1, 2});
        model.autograd.release(context);
        model.say_contexts("released");
    }
    rank.rpc.shutdown();
}

// Ranks 0 and 2 call rank 1, and go back, at the same time.
void gradients_two_contexts(Rank& rank) {
    AutogradModel model(rank);
    std::vector<Rpc::Reply> met;
    rank.rpc.define_async("meet", [&](int, auto, Rpc::Reply reply) {
        met.push_back(std::move(reply));
        if (met.size() == 2) {
            for (const Rpc::Reply& one : std::exchange(met, {})) {
                one({});
            }
        }
    });
    if (!rank.is(1)) {
        const ContextId context = model.autograd.new_context();
        const at::Tensor y = model.times(1, model.w);
        rank.ask(1, "meet");
        model.autograd.backward(context, {y.mul(rank.number() + 1).sum()});
        rank.ask(1, "meet");
        model.say_state("backward", context, {rank.number(), 1});
        rank.ask(1, "meet");
        model.autograd.release(context);
        rank.ask(1, "meet");
        model.say_contexts("released");
    }
    rank.rpc.shutdown();
}

void gradients_twice(Rank& rank) {
    AutogradModel model(rank);
    if (rank.is(0)) {
        const ContextId context = model.autograd.new_context();
        const at::Tensor loss = model.times(1, model.w.mul(3)).sum();
        model.autograd.backward(context, {loss});
        model.say_state("once", context, {0, 1});
        model.autograd.backward(context, {loss});
        model.say_state("twice, the first retains the graph", context, {0, 1});
        say("a third time, the second does not", outcome([&] {
                model.autograd.backward(context, {loss});
                return std::string("returns");
            }));
        model.autograd.release(context);
    }
    rank.rpc.shutdown();
}

// Without gradients; only of the result; several dtypes and roots; changed in place.
void gradients_kinds(Rank& rank) {
    AutogradModel model(rank);
    const at::Tensor wide = floats({3, 1}).to(at::kDouble).requires_grad_();
    model.autograd.define("plus_one", [](const Tensors& in) { return Tensors{in[0].add(1)}; });
    model.autograd.define("mix", [](const Tensors& in) {
        return Tensors{in[0].mul(in[1]), in[0].mul(in[2])};
    });
    if (rank.is(0)) {
        const auto in_context = [&](const std::string& what, const auto& body) {
            const ContextId context = model.autograd.new_context();
            body(context);
            model.say_state(what, context, {0, 1});
            model.autograd.release(context);
        };
        in_context("no gradients", [&](ContextId) {
            model.autograd.call(1, "plus_one", {floats({1, 2})});
        });
        in_context("of the result alone", [&](ContextId context) {
            model.autograd.backward(context, {model.times(1, floats({5, 6})).sum()});
        });
        in_context("dtypes and roots", [&](ContextId context) {
            const Tensors three = {model.w, wide, floats({2, 7}).to(at::kLong)};
            const Tensors out = model.autograd.call(1, "mix", three);
            model.autograd.backward(context, {out[0].sum(), out[1].sum(), model.w.mul(2).sum()});
            say("of a float64", text_of(model.autograd.gradients(context).at(wide)));
        });
        in_context("changed in place", [&](ContextId context) {
            at::Tensor h = model.w.mul(3);
            const at::Tensor y = model.times(1, h);
            h.mul_(10);
            model.autograd.backward(context, {y.sum()});
        });
    }
    rank.rpc.shutdown();
}

// A call whose result the loss does not use.
void gradients_unused(Rank& rank) {
    AutogradModel model(rank);
    if (rank.is(0)) {
        const ContextId context = model.autograd.new_context();
        const at::Tensor used = model.times(1, model.w);
        const at::Tensor unused = model.times(1, model.w);
        say("backward", outcome([&] {
                model.autograd.backward(context, {used.sum()});
                return std::string("returns");
            }));
        model.say_state("then", context, {0, 1});
        model.autograd.release(context);
    }
    rank.rpc.shutdown();
}

// What is refused, and an error in backward two hops away.
void gradients_errors(Rank& rank) {
    AutogradModel model(rank);
    model.autograd.define("fails_later", [](const Tensors& in) {
        return Tensors{nn::with_backward(in[0].mul(1), in, [](const auto&, const auto&) -> Tensors {
            throw Error("not today");
        })};
    });
    model.autograd.define("relay", [&](const Tensors& in) {
        return model.autograd.call(2, "fails_later", {in[0].mul(2)});
    });
    if (rank.is(0)) {
        const ContextId context = model.autograd.new_context();
        const auto backward = [&](ContextId in, const Tensors& roots) {
            return kind_of_outcome([&] {
                model.autograd.backward(in, roots);
                return std::string("returns");
            });
        };
        const at::Tensor y = model.times(1, model.w);
        say("no roots", backward(context, {}));
        say("two elements", backward(context, {y}));
        say("a leaf", backward(context, {floats({1}).sum().requires_grad_()}));
        say("no gradient", backward(context, {floats({1}).sum()}));
        say("unknown context", backward(context + 12345, {y.sum()}));
        say("a context in a context",
            kind_of_outcome([&] { return std::to_string(model.autograd.new_context()); }));
        const at::Tensor failing = model.autograd.call(1, "relay", {model.w})[0].sum();
        say("two hops away", outcome([&] {
                model.autograd.backward(context, {failing});
                return std::string("returns");
            }));
        model.autograd.release(context);
        model.say_contexts("released");
    }
    rank.rpc.shutdown();
}

}  // namespace

Programs autograd_programs() {
    return {
        {"gradients_one_call", {2, gradients_one_call}},
        {"gradients_nested", {2, gradients_nested}},
        {"gradients_three_hops", {3, gradients_three_hops}},
        {"gradients_two_contexts", {3, gradients_two_contexts}},
        {"gradients_twice", {2, gradients_twice}},
        {"gradients_kinds", {2, gradients_kinds}},
        {"gradients_unused", {2, gradients_unused}},
        {"gradients_errors", {3, gradients_errors}}};
}

}  // namespace dist::remote_calls
