// Calls: values, errors, deadlines, ends.
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <stdexcept>
#include <thread>
#include <unistd.h>

#include "course/nn/tensor_bytes.hpp"
#include "tests/course/remote_calls/programs.hpp"

namespace dist::remote_calls {
namespace {

const Bytes kNothing = {};

void sync_async(Rank& rank) {
    rank.define("add", [](const Tensors& in) { return Tensors{in[0].add(in[1])}; });
    if (rank.is(0)) {
        say("sync", text_of(rank.call(1, "add", {number(2), number(3)})));
        std::vector<RpcFuture> calls;
        for (int i = 0; i < 5; ++i) {
            const Tensors both = {number(i), number(10)};
            calls.push_back(rank.rpc.rpc_async(1, "add", nn::bytes_of(both)));
        }
        for (const RpcFuture& call : calls) {
            say("async", text_of(nn::tensors_of(rank.rpc.wait(call))));
        }
    }
    rank.rpc.shutdown();
}

// Rank 1 answers the first call when the second one asks it to.
void out_of_order(Rank& rank) {
    Rpc::Reply held;
    rank.rpc.define_async("hold", [&](int, auto, Rpc::Reply reply) { held = std::move(reply); });
    rank.define_text("let_go", [&](const std::string& text) {
        held({.answer = to_bytes(text)});
        return std::string("second");
    });
    rank.define_text("other", [](const std::string&) { return "other rank"; });
    if (rank.is(0)) {
        const RpcFuture first = rank.rpc.rpc_async(1, "hold", kNothing);
        const RpcFuture other = rank.rpc.rpc_async(2, "other", kNothing);
        say("other", to_text(rank.rpc.wait(other)));
        say("the first is done before", yes_or_no(rank.rpc.test(first)));
        say("second", rank.ask(1, "let_go", "first"));
        say("first", to_text(rank.rpc.wait(first)));
    }
    rank.rpc.shutdown();
}

void to_oneself(Rank& rank) {
    rank.define("add", [](const Tensors& in) { return Tensors{in[0].add(in[1])}; });
    rank.define("twice", [&](const Tensors& in) {
        return rank.call(rank.number(), "add", {in[0], in[0]});
    });
    say("add", text_of(rank.call(rank.number(), "add", {number(rank.number()), number(1)})));
    say("in each other", text_of(rank.call(rank.number(), "twice", {number(21)})));
    rank.rpc.shutdown();
}

// Each call calls back, until its number is 0.
void there_and_back(Rank& rank) {
    rank.define("bounce", [&](const Tensors& in) {
        if (number_of(in[0]) == 0) {
            return Tensors{number(rank.number())};
        }
        const Tensors less = {in[0].sub(1)};
        const at::Tensor below = rank.call(1 - rank.number(), "bounce", less)[0];
        return Tensors{below.mul(10).add(rank.number())};
    });
    if (rank.is(0)) {
        for (const int depth : {0, 1, 2, 7}) {
            const std::string what = "depth " + std::to_string(depth);
            say(what, text_of(rank.call(1, "bounce", {number(depth)})));
        }
    }
    rank.rpc.shutdown();
}

// All ranks call at once, once around.
void ring(Rank& rank) {
    const int next = (rank.number() + 1) % rank.rpc.size();
    rank.define("around", [&](const Tensors& in) {
        const at::Tensor row = in[1].mul(10).add(rank.number());
        return number_of(in[0]) == 0 ? Tensors{row}
                                     : rank.call(next, "around", {in[0].sub(1), row});
    });
    say("came by", text_of(rank.call(next, "around", {number(rank.rpc.size() - 1), number(7)})));
    rank.rpc.shutdown();
}

void dtypes(Rank& rank) {
    rank.define("plus_itself", [](const Tensors& in) { return Tensors{in[0].add(in[0])}; });
    rank.define("echo", [](const Tensors& in) { return in; });
    if (rank.is(0)) {
        for (const auto dtype :
             {at::kByte, at::kChar, at::kShort, at::kInt, at::kLong, at::kHalf, at::kBFloat16,
              at::kFloat, at::kDouble, at::kComplexFloat}) {
            const at::Tensor tensor = floats({1, 2, 3.5, 0, 100}).to(dtype);
            say("sum", text_of(rank.call(1, "plus_itself", {tensor})));
        }
        say("bool", text_of(rank.call(1, "echo", {floats({1, 0, 2}).to(at::kBool)})));
    }
    rank.rpc.shutdown();
}

void shapes(Rank& rank) {
    rank.define("echo", [](const Tensors& in) { return in; });
    if (rank.is(0)) {
        const at::Tensor row = floats({1, 2, 3, 4, 5, 6});
        const at::Tensor transposed = row.view({2, 3}).t();
        const Tensors all = {
            at::full({}, 8.0), row.view({1, 2, 3, 1}), row.view({2, 3}).slice(0, 0, 0),
            row.slice(0, 1, 6, 2), transposed};
        for (const at::Tensor& tensor : all) {
            say("echo", text_of(rank.call(1, "echo", {tensor})));
        }
        const at::Tensor back = rank.call(1, "echo", {transposed})[0];
        say("strides of a transposed one", text_of(at::tensor(back.strides())));
        const Tensors many(100, row);
        say("a hundred tensors", std::to_string(rank.call(1, "echo", many).size()));
        const at::Tensor wanted = floats({1}).requires_grad_();
        const bool requires_grad = rank.call(1, "echo", {wanted})[0].requires_grad();
        say("requires a gradient without a context", yes_or_no(requires_grad));
    }
    rank.rpc.shutdown();
}

void both_ways(Rank& rank) {
    rank.define("plus_one", [](const Tensors& in) { return Tensors{in[0].add(1)}; });
    const at::Tensor large = at::full({4 << 20}, rank.number() + 1.0);
    const int other = 1 - rank.number();
    std::vector<RpcFuture> calls;
    for (int i = 0; i < 2; ++i) {
        calls.push_back(rank.rpc.rpc_async(other, "plus_one", nn::bytes_of(Tensors{large})));
    }
    for (const RpcFuture& call : calls) {
        const at::Tensor back = nn::tensors_of(rank.rpc.wait(call))[0];
        say("16 MB", text_of(at::full({}, back.sum(at::kDouble).item<double>(), at::kDouble)));
    }
    rank.rpc.shutdown();
}

void remote_error(Rank& rank) {
    rank.define_text("divide", [](const std::string&) -> std::string {
        throw std::invalid_argument("by zero");
    });
    rank.define_text("relay", [&](const std::string& text) { return rank.ask(2, "divide", text); });
    rank.define_text("greet", [](const std::string& text) { return "hello " + text; });
    if (rank.is(0)) {
        say("one hop", outcome([&] { return rank.ask(1, "divide"); }));
        say("two hops", outcome([&] { return rank.ask(1, "relay"); }));
        say("to oneself", outcome([&] { return rank.ask(0, "divide"); }));
        say("afterwards", outcome([&] { return rank.ask(1, "greet", "you"); }));
        try {
            rank.ask(1, "divide");
        } catch (const RemoteError&) {
            say("its type here", "RemoteError");
        }
        try {
            rank.ask(1, "relay");
        } catch (const RemoteError& error) {
            say("ranks that it names", std::to_string(error.rank()));
        }
    }
    rank.rpc.shutdown();
}

void unknown_function(Rank& rank) {
    rank.define_text("greet", [](const std::string& text) { return "hello " + text; });
    if (rank.is(0)) {
        say("unknown there", kind_of_outcome([&] { return rank.ask(1, "only_here"); }));
        say("afterwards", outcome([&] { return rank.ask(1, "greet", "you"); }));
    }
    rank.rpc.shutdown();
}

// What takes 400 ms, with deadlines of 100 ms.
void deadlines(Rank& rank) {
    int runs = 0;
    rank.define_text("slow", [&](const std::string&) {
        std::this_thread::sleep_for(400ms);
        return std::to_string(++runs);
    });
    rank.define_text("runs", [&](const std::string&) { return std::to_string(runs); });
    if (rank.is(0)) {
        const auto slow = [&](std::optional<std::chrono::milliseconds> timeout) {
            return outcome([&] { return to_text(rank.rpc.rpc_sync(1, "slow", kNothing, timeout)); }
            );
        };
        say("of this call", slow(100ms));
        rank.serve_for(700ms);
        say("it ran there", rank.ask(1, "runs"));
        say("the next call", slow({}));
        const RpcFuture begun = rank.rpc.rpc_async(1, "slow", kNothing);
        rank.rpc.set_timeout(100ms);
        say("begun before the default changed",
            outcome([&] { return to_text(rank.rpc.wait(begun)); }));
        say("by default", slow({}));
        say("none", slow(0ms));
    }
    rank.rpc.shutdown();
}

void refusals(Rank& rank) {
    rank.define_text("greet", [](const std::string& text) { return "hello " + text; });
    if (rank.is(0)) {
        say("no such rank", outcome([&] { return rank.ask(7, "greet"); }));
    }
    rank.rpc.shutdown();
    say("a call after the shutdown", outcome([&] { return rank.ask(1, "greet"); }));
}

void dead_callee(Rank& rank) {
    rank.define_text("die", [](const std::string&) -> std::string { _exit(0); });
    rank.define_text("greet", [](const std::string& text) { return "hello " + text; });
    if (rank.is(0)) {
        say("before", outcome([&] { return rank.ask(1, "greet", "you"); }));
        say("the call under way", outcome([&] { return rank.ask(1, "die"); }));
        say("the next call", outcome([&] { return rank.ask(1, "greet", "you"); }));
        say("another rank", outcome([&] { return rank.ask(2, "greet", "you"); }));
    }
    say("graceful shutdown of the others", outcome([&] {
            rank.rpc.shutdown();
            return std::string("returns");
        }));
}

// Rank 0 calls rank 1 and goes; what it calls calls rank 2, and does not wait.
void graceful_shutdown(Rank& rank) {
    int notes = 0;
    rank.define_text("note", [&](const std::string&) {
        std::this_thread::sleep_for(200ms);
        ++notes;
        return std::string();
    });
    rank.define_text("spread", [&](const std::string&) {
        std::this_thread::sleep_for(200ms);
        for (int i = 0; i < 3; ++i) {
            rank.rpc.rpc_async(2, "note", kNothing);
        }
        return std::string();
    });
    if (rank.is(0)) {
        rank.rpc.rpc_async(1, "spread", kNothing);
    }
    rank.rpc.shutdown();
    say("calls that ran here", std::to_string(notes));
}

}  // namespace

Programs call_programs() {
    return {
        {"sync_async", {2, sync_async}},
        {"out_of_order", {3, out_of_order}},
        {"to_oneself", {2, to_oneself}},
        {"there_and_back", {2, there_and_back}},
        {"ring", {3, ring}},
        {"dtypes", {2, dtypes}},
        {"shapes", {2, shapes}},
        {"both_ways", {2, both_ways}},
        {"remote_error", {3, remote_error}},
        {"unknown_function", {2, unknown_function}},
        {"deadlines", {2, deadlines}},
        {"refusals", {2, refusals}},
        {"dead_callee", {3, dead_callee}},
        {"graceful_shutdown", {3, graceful_shutdown}}};
}

}  // namespace dist::remote_calls
