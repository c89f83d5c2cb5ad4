// What dist_autograd must do: gradients as in one process, whichever ranks compute what. Ranks are those of a world, then processes.
#include "exercises/09_rpc/dist_autograd.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <torch/csrc/autograd/autograd.h>

#include "course/nn/with_backward.hpp"
#include "tests/09_rpc/counted.hpp"
#include "tests/harness/processes/on_transport.hpp"
#include "tests/harness/words/tensors.hpp"
#include "tests/harness/words/throws.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

using Tensors = DistAutograd::Tensors;
using CallFunction =
    std::function<Tensors(int to, const std::string& name, const Tensors& arguments)>;

/// What ranks hold and compute. Whole numbers, small enough to be exact.
struct Program {
    std::string name;
    std::vector<Tensors> leaves;  // by rank
    std::
        map<std::string, std::function<Tensors(int rank, const CallFunction& call, const Tensors&)>>
            functions = {};
    std::function<Tensors(const CallFunction& call)> roots = {};  // on rank 0
};

/// By rank and leaf; undefined where the roots do not lead.
std::vector<Tensors> plain_gradients(const Program& program) {
    CallFunction call;
    call = [&](int to, const std::string& name, const Tensors& arguments) {
        return program.functions.at(name)(to, call, arguments);
    };
    const Tensors roots = program.roots(call);
    std::vector<Tensors> gradients;
    for (const Tensors& leaves : program.leaves) {
        gradients.push_back(
            leaves.empty() ? Tensors() : torch::autograd::grad(roots, leaves, {}, true, false, true)
        );
    }
    return gradients;
}

/// A leaf with these numbers.
at::Tensor leaf(const std::vector<float>& values, at::ScalarType dtype = at::kFloat) {
    return filled({static_cast<std::int64_t>(values.size())}, values).to(dtype).requires_grad_();
}

/// loss = sum(w * x), with w on rank 1.
Program one_call() {
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
Program around(int p, int hops) {
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
Program joining() {
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
Program chain() {
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
Program unused() {
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
Program mixed() {
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
Program only_the_result() {
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
Program as_they_are() {
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

std::vector<Program> all_programs() {
    return {one_call(), around(2, 3), around(3, 7), around(1, 2),      joining(),
            chain(),    unused(),     mixed(),      only_the_result(), as_they_are()};
}

/// The tensor; backward calls `then` where it comes to it.
at::Tensor with_call(const at::Tensor& x, const std::function<void()>& then) {
    return nn::with_backward(x, {x}, [then](const at::Tensor& gradient, const Tensors&) {
        then();
        return Tensors{gradient};
    });
}

/// On three ranks: rank 0 calls 1, which calls 2, and 2 as well. `at_backward` is called on rank 2
/// when backward is there.
Program two_hops(const std::function<void()>& at_backward) {
    Program program = {"two hops", {{leaf({1, 2})}, {leaf({2, 5})}, {leaf({4, 3})}}};
    const auto leaves = program.leaves;
    program.functions["far"] = [=](int, const CallFunction&, const Tensors& in) {
        return Tensors{with_call(in[0].mul(leaves[2][0]), at_backward)};
    };
    program.functions["near"] = [=](int, const CallFunction& call, const Tensors& in) {
        return Tensors{call(2, "far", {in[0].mul(leaves[1][0])})[0]};
    };
    program.functions["plain"] = [=](int, const CallFunction&, const Tensors& in) {
        return Tensors{in[0].mul(leaves[2][0])};
    };
    program.roots = [=](const CallFunction& call) {
        const at::Tensor near = call(1, "near", {leaves[0][0]})[0];
        return Tensors{call(2, "plain", {leaves[0][0]})[0].add(near).sum()};
    };
    return program;
}

std::string text_of(const at::Tensor& tensor) {
    if (!tensor.defined()) {
        return "none";
    }
    const auto numbers = elements(tensor.to(at::kFloat));
    return text(c10::toString(tensor.scalar_type()), " [", numbers, "]");
}

/// Whether the context's gradients on this rank are `times` those that are expected, and no others.
Comparison has_gradients(
    const Gradients& gradients, const Tensors& leaves, const Tensors& expected, int times = 1
) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
        const auto found = gradients.find(leaves[i]);
        const at::Tensor got = found == gradients.end() ? at::Tensor() : found->second;
        const at::Tensor wanted = expected[i].defined() ? expected[i].mul(times) : at::Tensor();
        count += wanted.defined() ? 1 : 0;
        if (text_of(got) != text_of(wanted)) {
            return {
                false, text(
                           "the gradient of leaf ", i, " is ", text_of(got),
                           ", in one process it is ", text_of(wanted)
                       )};
        }
        if (leaves[i].grad().defined()) {
            return {false, text("leaf ", i, " has a .grad(): it is for the context alone")};
        }
    }
    return {
        gradients.size() == count,
        "there are gradients of tensors that are no leaves of this rank"};
}

struct AutogradPlace : CountedPlace {
    using CountedPlace::CountedPlace;

    DistAutograd autograd{rpc};
};

/// The ranks of a world. Each of them reaches all others' objects: only one goes on at a time.
class Ranks {
  public:
    explicit Ranks(World& its_world)
        : world(its_world), places_(static_cast<std::size_t>(world.size())) {
        world.slowest = 3ms;
    }

    [[nodiscard]] DistAutograd& on(int rank) { return place(rank).autograd; }

    [[nodiscard]] CallFunction call_of(int rank) {
        return [this, rank](int to, const std::string& name, const Tensors& arguments) {
            return on(rank).call(to, name, arguments);
        };
    }

    [[nodiscard]] AutogradPlace& place(int rank) {
        return *places_.at(static_cast<std::size_t>(rank));
    }

    /// When the play begins; or now, in the play.
    void define(int rank, const std::string& name, const DistAutograd::Function& function) {
        if (places_.at(static_cast<std::size_t>(rank)) == nullptr) {
            functions_.emplace_back(rank, [=](DistAutograd& here) { here.define(name, function); });
        } else {
            on(rank).define(name, function);
        }
    }

    /// Every rank has all functions.
    void define(const Program& program) {
        for (int rank = 0; rank < world.size(); ++rank) {
            for (const auto& [name, function] : program.functions) {
                define(rank, name, [this, rank, function](const Tensors& arguments) {
                    return function(rank, call_of(rank), arguments);
                });
            }
        }
    }

    /// These ranks do this, and the others serve.
    void play(
        const std::map<int, std::function<void(AutogradPlace& me)>>& bodies,
        TestLine line = TestLine::here()
    ) {
        world.play<AutogradPlace>(
            [&](AutogradPlace& me) {
                places_[static_cast<std::size_t>(me.rank)] = &me;
                me.rpc.begins = [&](int, const std::string&) {
                    ++calls;
                    at_call(me);
                };
                for (const auto& [rank, define] : functions_) {
                    if (rank == me.rank) {
                        define(me.autograd);
                    }
                }
                me.sleep(1ms);  // all have defined their functions
                if (const auto body = bodies.find(me.rank); body != bodies.end()) {
                    body->second(me);
                }
                me.agent->shutdown();
            },
            line
        );
    }

    void on_rank_0(
        const std::function<void(AutogradPlace& me)>& body, TestLine line = TestLine::here()
    ) {
        play({{0, body}}, line);
    }

    void must_be_clean(TestLine line = TestLine::here()) {
        for (int rank = 0; rank < world.size(); ++rank) {
            must(
                {world.dead(rank) || on(rank).contexts().empty(), line}, "rank ", rank,
                " still has a context"
            );
        }
    }

    World& world;
    long calls = 0;                                                     // of all ranks
    std::function<void(AutogradPlace& caller)> at_call = [](auto&) {};  // before it is sent

  private:
    std::vector<AutogradPlace*> places_;  // by rank
    std::vector<std::pair<int, std::function<void(DistAutograd&)>>> functions_;
};

/// Worlds of p ranks.
void ranks(int p, const std::function<void(Ranks& all)>& body) {
    worlds({p}, [&](World& world) {
        Ranks all(world);
        body(all);
    });
}

/// Plays the program: a context, forward, as many passes. Then all ranks have the gradients of one process.
void as_in_one_process(const Program& program, int passes = 1) {
    const std::vector<Tensors> expected = plain_gradients(program);
    ranks(static_cast<int>(program.leaves.size()), [&](Ranks& all) {
        INFO(program.name);
        all.define(program);
        all.on_rank_0([&](AutogradPlace& me) {
            const ContextId context = me.autograd.new_context();
            const Tensors roots = program.roots(all.call_of(0));
            for (int pass = 0; pass < passes; ++pass) {
                me.autograd.backward(context, roots);
            }
            for (int rank = 0; rank < me.p; ++rank) {
                const auto r = static_cast<std::size_t>(rank);
                const bool is_there = !all.on(rank).contexts().empty();
                const Comparison right = has_gradients(
                    is_there ? all.on(rank).gradients(context) : Gradients(), program.leaves[r],
                    expected[r], passes
                );
                must(bool(right), program.name, ", rank ", rank, ": ", right.text);
            }
        });
    });
}

/// What the program's forward pass has recorded on each rank; each has a context.
std::string recorded(const Program& program) {
    World world(static_cast<int>(program.leaves.size()));
    Ranks all(world);
    all.define(program);
    std::string found;
    all.on_rank_0([&](AutogradPlace& me) {
        const ContextId context = me.autograd.new_context();
        const Tensors kept = program.roots(all.call_of(0));
        for (int rank = 0; rank < me.p; ++rank) {
            const Recorded here = all.on(rank).recorded(context);
            found += text(here.sends, " sends and ", here.recvs, " recvs; ");
        }
    });
    return found;
}

/// Disturbs at each call of a backward in turn, until none is left. backward has to throw a dist::Error, or to be through; no rank
/// may wait for ever. Then something holds on rank 0. How many calls there are is the answer's matter: so this returns whether
/// there was one.
bool disturb_each_call(
    const std::function<void(Ranks& all, AutogradPlace& caller, ContextId context)>& disturb,
    const std::function<void(Ranks& all, ContextId context)>& then
) {
    bool was_disturbed = true;
    long number = 0;
    while (was_disturbed && ++number < 30) {
        was_disturbed = false;
        const Program program = chain();
        World world(3, static_cast<std::uint64_t>(number));
        Ranks all(world);
        all.define(program);
        INFO("at call " << number << " of backward");
        all.on_rank_0([&](AutogradPlace& me) {
            const ContextId context = me.autograd.new_context();
            const Tensors roots = program.roots(all.call_of(0));
            const long begin = all.calls;
            all.at_call = [&](AutogradPlace& caller) {
                if (all.calls == begin + number) {
                    was_disturbed = true;
                    disturb(all, caller, context);
                }
            };
            const bool threw = !error_of([&] { me.autograd.backward(context, roots); }).empty();
            must(
                threw || !me.autograd.contexts().empty(),
                "backward returns as if all were well; the context is gone"
            );
            all.at_call = [](auto&) {};
            then(all, context);
        });
    }
    return number > 1;
}

}  // namespace

TEST_CASE("gradients on all ranks are those of one process") {
    for (const Program& program : all_programs()) {
        as_in_one_process(program);
    }
}

TEST_CASE("two passes in one context add up") {
    for (const Program& program : {one_call(), joining(), chain()}) {
        as_in_one_process(program, 2);
    }
}

TEST_CASE("a call with gradients is a send and a recv on each side, and a call within it as well") {
    on_one([] {
        const std::string one = recorded(one_call());
        CHECK(one == "1 sends and 1 recvs; 1 sends and 1 recvs; ");
        INFO("rank 0 calls 1, which calls 0");
        const std::string nested = recorded(around(2, 2));
        CHECK(nested == "2 sends and 2 recvs; 2 sends and 2 recvs; ");
    });
}

TEST_CASE(
    "where no tensor needs a gradient nothing is recorded, and the context travels all the same"
) {
    on_one([] {
        INFO("only the results need gradients");
        const std::string results = recorded(only_the_result());
        CHECK(results == "0 sends and 1 recvs; 1 sends and 0 recvs; ");
        Program plain = {"plain", {{}, {}, {leaf({2})}}};
        plain.functions["next"] = [=](int rank, const CallFunction& call, const Tensors& in) {
            return rank == 2 ? Tensors{plain.leaves[2][0].mul(in[0]).detach()}
                             : call(rank + 1, "next", in);
        };
        plain.roots = [](const CallFunction& call) { return call(1, "next", {filled({1}, {3})}); };
        INFO("rank 0 calls 1, which calls 2, and nothing needs a gradient");
        const std::string none = recorded(plain);
        CHECK(none == "0 sends and 0 recvs; 0 sends and 0 recvs; 0 sends and 0 recvs; ");
    });
}

TEST_CASE("a tensor requires a gradient on the other side if it does so on this one") {
    on_one([] {
        World world(2);
        Ranks all(world);
        std::string seen;
        const auto note = [&](const Tensors& tensors) {
            for (const at::Tensor& tensor : tensors) {
                seen += tensor.defined() && tensor.requires_grad() ? "1" : "0";
            }
            seen += " ";
        };
        all.define(1, "look", [&](const Tensors& in) {
            note(in);
            return Tensors{in[0], in[1].mul(2), in[1].detach(), in[2], {}};
        });
        const at::Tensor x = leaf({1, 2});
        const Tensors arguments = {filled({2}, {3, 4}), x.mul(2), at::full({}, 1, at::kLong), {}};
        all.on_rank_0([&](AutogradPlace& me) {
            note(me.autograd.call(1, "look", arguments));
            me.autograd.new_context();
            note(me.autograd.call(1, "look", arguments));
            const c10::AutoGradMode off(false);
            note(me.autograd.call(1, "look", arguments));
        });
        INFO(
            "four arguments there, and five results here: without a context, in one, and in one "
            "while gradients are off"
        );
        CHECK(seen == "0000 00000 0100 01000 0000 00000 ");
    });
}

// Rank 0 waits with gradients off, then in a context. Meanwhile rank 2 calls it in a context, then without one.
TEST_CASE("what a rank waits in is not that of the functions which it runs meanwhile") {
    ranks(3, [](Ranks& all) {
        const at::Tensor w = leaf({5, 7});
        const auto slow = [&](Ms time) {
            return [&all, time](const Tensors& in) {
                all.world.time.sleep(time);
                return in;
            };
        };
        all.define(1, "slow", slow(20ms));
        all.define(1, "slower", slow(200ms));
        all.define(0, "layer", [&](const Tensors& in) {
            return all.on(0).call(1, "slow", {in[0].mul(w)});
        });
        int part = 0;  // of what they do
        std::string of_0;
        std::string of_2;
        Recorded outside;
        bool is_plain = false;
        const auto rank_0 = [&](AutogradPlace& me) {
            const ContextId context = me.autograd.new_context();
            {
                const c10::AutoGradMode off(false);
                part = 1;
                me.autograd.call(1, "slow", {w});
            }
            me.serve_until([&] { return part == 2; });
            part = 3;
            const at::Tensor y = me.autograd.call(1, "slower", {w.mul(3)})[0];
            me.autograd.backward(context, {y.sum()});
            of_0 = text_of(me.autograd.gradients(context).at(w));
            outside = me.autograd.recorded(context);
        };
        const auto rank_2 = [&](AutogradPlace& me) {
            const at::Tensor x = leaf({1, 2});
            me.until([&] { return part == 1; });
            const ContextId context = me.autograd.new_context();
            const at::Tensor y = me.autograd.call(0, "layer", {x})[0];
            me.autograd.backward(context, {y.sum()});
            of_2 = text_of(me.autograd.gradients(context).at(x)) + " and " +
                   text_of(all.on(0).gradients(context).at(w));
            me.autograd.release(context);
            part = 2;
            me.until([&] { return part == 3; });
            is_plain = !me.autograd.call(0, "layer", {x})[0].requires_grad();
        };
        all.play({{0, rank_0}, {2, rank_2}});
        INFO(
            "rank 0 waits with gradients off, then in a context; rank 2 calls it in a context, "
            "then without one"
        );
        CHECK(of_2 == "Float [5, 7] and Float [1, 2]");
        CHECK(is_plain);
        INFO("rank 0's own call: y = 3w, by way of rank 1");
        CHECK(of_0 == "Float [3, 3]");
        CHECK(outside == Recorded{1, 1});
    });
}

TEST_CASE("two contexts at the same time share weights, and no gradients") {
    ranks(3, [](Ranks& all) {
        const at::Tensor w = leaf({2});
        all.define(1, "layer", [&](const Tensors& in) { return Tensors{in[0].mul(w)}; });
        std::map<int, std::string> texts;
        const auto train = [&](AutogradPlace& me) {
            for (int round = 1; round <= 5; ++round) {
                const at::Tensor x = leaf({static_cast<float>(10 * me.rank + round)});
                const ContextId context = me.autograd.new_context();
                me.autograd.backward(context, {me.autograd.call(1, "layer", {x})[0].sum()});
                texts[me.rank] += text_of(all.on(1).gradients(context).at(w));
                me.autograd.release(context);
            }
        };
        all.play({{0, train}, {2, train}});
        INFO(
            "loss = w * x; w lies on rank 1. Five rounds each, with x = 1 to 5 on rank 0, and 21 "
            "to 25 on rank 2"
        );
        CHECK(texts[0] == "Float [1]Float [2]Float [3]Float [4]Float [5]");
        CHECK(texts[2] == "Float [21]Float [22]Float [23]Float [24]Float [25]");
    });
}

TEST_CASE(
    "contexts: whose they are, one at a time, known by name, and gone everywhere when released"
) {
    ranks(3, [](Ranks& all) {
        const Program program = around(3, 2);
        all.define(program);
        all.define(1, "nests", [&](const Tensors&) {
            all.on(1).new_context();
            return Tensors{};
        });
        std::set<ContextId> ids;
        const auto must_be_of = [](ContextId id, int rank) {
            must(
                id != 0 && (id >> 48) == rank, "a context of rank ", rank, " is ", id,
                ": its top 16 bits have to be its rank"
            );
        };
        all.on_rank_0([&](AutogradPlace& me) {
            for (int round = 0; round < 3; ++round) {
                const ContextId context = me.autograd.new_context();
                must_be_of(context, 0);
                ids.insert(context);
                must_be(
                    thrown_as([&] { me.autograd.new_context(); }), "std::logic_error",
                    "what a second new_context() throws"
                );
                must_be(
                    thrown_as([&] { me.autograd.call(1, "nests", {}); }), "dist::Error",
                    "what new_context() in a function that is called in a context throws"
                );
                program.roots(all.call_of(0));
                must(
                    all.on(2).contexts() == std::vector{context}, "rank 2 has to have context ",
                    context, " alone, and has ", all.on(2).contexts()
                );
                me.autograd.release(context);
                all.must_be_clean();
                const std::string error =
                    error_of([&] { static_cast<void>(me.autograd.gradients(context)); });
                must(
                    error.find(text(context)) != std::string::npos, "gradients() of context ",
                    context, ", which was released, has to name it, and says: ", error
                );
            }
            const auto refuses = [&](const std::string& what, const std::function<void()>& call) {
                must_be(thrown_as(call), "dist::Error", "what " + what + " of no context throws");
            };
            refuses("backward", [&] { me.autograd.backward(77, {leaf({1}).mul(2)}); });
            refuses("recorded", [&] { static_cast<void>(me.autograd.recorded(77)); });
            refuses("release", [&] { me.autograd.release(77); });
            ids.insert(me.autograd.new_context());
            must(ids.size() == 4, "4 contexts have ", ids.size(), " names");
            must_be_of(all.on(2).new_context(), 2);
        });
    });
}

TEST_CASE("a call that throws there throws here, and its context is released there as well") {
    ranks(2, [](Ranks& all) {
        all.define(1, "bad", [](const Tensors&) -> Tensors {
            throw std::runtime_error("not today");
        });
        all.on_rank_0([&](AutogradPlace& me) {
            const ContextId context = me.autograd.new_context();
            const std::string error = error_of([&] { me.autograd.call(1, "bad", {leaf({1})}); });
            must(error.find("not today") != std::string::npos, "a call throws: ", error);
            ContextId own = 0;
            must_be(
                thrown_as([&] { own = all.on(1).new_context(); }), "nothing",
                "then rank 1 makes a context of its own: its calls are in none. What that throws"
            );
            error_of([&] { all.on(1).release(own); });
            must_be(
                thrown_as([&] { me.autograd.call(2, "no such rank", {}); }),
                "std::invalid_argument", "what a call to rank 2 of 2 throws"
            );
            me.autograd.release(context);
            all.must_be_clean();
            must_be(
                thrown_as([&] { me.autograd.call(1, "no such function", {}); }), "dist::Error",
                "what a call of no function throws"
            );
        });
    });
}

TEST_CASE("a call costs one call, backward at most two for each tensor that matters") {
    on_one([] {
        const auto cost = [](const Program& program) {
            World world(static_cast<int>(program.leaves.size()));
            Ranks all(world);
            all.define(program);
            std::vector<long> calls = {0};
            all.on_rank_0([&](AutogradPlace& me) {
                const ContextId context = me.autograd.new_context();
                const Tensors roots = program.roots(all.call_of(0));
                calls.push_back(all.calls);
                me.autograd.backward(context, roots);
                calls.push_back(all.calls);
                me.autograd.release(context);
                calls.push_back(all.calls);
            });
            return calls;
        };
        const std::vector<long> one = cost(one_call());
        CHECK(one[1] == 1);
        CHECK(one[2] - one[1] <= 4);
        CHECK(one[3] - one[2] == 1);
        INFO("6 calls, each with a tensor and a result");
        const std::vector<long> six = cost(chain());
        CHECK(six[1] == 6);
        CHECK(six[2] - six[1] <= 24);
        INFO("5 calls; the loss uses one of them: a tensor, and a result");
        const std::vector<long> used = cost(unused());
        CHECK(used[1] == 5);
        CHECK(used[2] - used[1] <= 4);
    });
}

TEST_CASE("roots that are none are refused, before anything is sent") {
    on_one([] {
        World world(2);
        Ranks all(world);
        const Program program = one_call();
        all.define(program);
        all.on_rank_0([&](AutogradPlace& me) {
            const ContextId context = me.autograd.new_context();
            const at::Tensor good = program.roots(all.call_of(0))[0];
            const at::Tensor x = leaf({1});
            const long calls = all.calls;
            const auto refuses = [&](const char* what, const Tensors& roots) {
                must_be(
                    thrown_as([&] { me.autograd.backward(context, roots); }),
                    "std::invalid_argument",
                    text("what backward throws for roots of which one is ", what)
                );
                must(all.calls == calls, "a call was made before roots were refused");
            };
            refuses("not there", {});
            refuses("of two elements", {good, leaf({1, 2}).mul(2)});
            refuses("a leaf", {good, x});
            refuses("without gradient", {good, at::zeros({})});
            refuses("undefined", {good, {}});
            must(me.autograd.gradients(context).empty(), "there are gradients of refused roots");
            must_be(
                thrown_as([&] { good.backward(); }), "dist::Error", "what good.backward() throws"
            );
            me.autograd.backward(context, {good});
        });
    });
}

TEST_CASE("what was sent or received may be changed in place afterwards") {
    on_one([] {
        World world(2);
        Ranks all(world);
        const at::Tensor w = leaf({2, 3});
        all.define(1, "layer", [&](const Tensors& in) {
            in[0].add_(1);
            return Tensors{in[0].mul(w)};
        });
        const at::Tensor x = leaf({1, 2});
        std::string of_x;
        std::string of_w;
        all.on_rank_0([&](AutogradPlace& me) {
            const ContextId context = me.autograd.new_context();
            const at::Tensor h = x.mul(3);
            const at::Tensor y = me.autograd.call(1, "layer", {h})[0];
            h.mul_(10);
            y.mul_(2);
            me.autograd.backward(context, {y.sum()});
            of_x = text_of(me.autograd.gradients(context).at(x));
            of_w = text_of(all.on(1).gradients(context).at(w));
        });
        INFO(
            "h = 3x is sent, then multiplied by 10; there y = (h + 1)w, by 1 in place; here y is "
            "doubled"
        );
        CHECK(of_x == "Float [12, 18]");
        CHECK(of_w == "Float [8, 14]");
    });
}

TEST_CASE("gradients share no memory, and what was returned stays as it is") {
    on_one([] {
        World world(1);
        Ranks all(world);
        const at::Tensor a = leaf({1, 2});
        const at::Tensor b = leaf({3, 4});
        all.on_rank_0([&](AutogradPlace& me) {
            const ContextId context = me.autograd.new_context();
            const Tensors roots = {a.add(b).mul(filled({2}, {5, 6})).sum()};
            me.autograd.backward(context, roots);
            const Gradients first = me.autograd.gradients(context);
            first.at(a).mul_(100);
            must_be(text_of(first.at(b)), "Float [5, 6]", "b's gradient, where a's is changed,");
            me.autograd.backward(context, roots);
            must_be(text_of(first.at(b)), "Float [5, 6]", "what was returned before");
            must_be(
                text_of(me.autograd.gradients(context).at(b)), "Float [10, 12]", "b's gradient"
            );
        });
    });
}

// An operation throws on rank 2. Then, in the same context, a pass in which it does not.
TEST_CASE("an error two hops away arrives at the root, and the next pass is as ever") {
    ranks(3, [](Ranks& all) {
        bool throws = false;
        const Program program = two_hops([&] {
            if (throws) {
                throw std::runtime_error("no gradient today");
            }
        });
        const std::vector<Tensors> expected = plain_gradients(program);
        all.define(program);
        std::string error;
        all.on_rank_0([&](AutogradPlace& me) {
            const ContextId context = me.autograd.new_context();
            const auto look = [&](int rank) {
                const at::Tensor& own = program.leaves[static_cast<std::size_t>(rank)][0];
                const Gradients here = all.on(rank).gradients(context);
                return here.contains(own) ? here.at(own).clone() : at::zeros({2});
            };
            const Tensors roots = program.roots(all.call_of(0));
            throws = true;
            error = error_of([&] { me.autograd.backward(context, roots); });
            const Tensors before = {look(0), look(1), look(2)};
            throws = false;
            me.autograd.backward(context, roots);
            for (std::size_t rank = 0; rank < 3; ++rank) {
                must_be(
                    text_of(look(static_cast<int>(rank)).sub(before[rank])),
                    text_of(expected[rank][0]),
                    text("what the pass after the error has added on rank ", rank)
                );
            }
        });
        INFO(
            "an operation on rank 2 throws in backward: \"no gradient today\". backward on rank 0 "
            "throws: "
            << error
        );
        CHECK(error.find("no gradient today") != std::string::npos);
        CHECK(error.find("rank 2") != std::string::npos);
    });
}

TEST_CASE("an error comes out when the other ranks have done their part of the pass") {
    ranks(3, [](Ranks& all) {
        const auto define = [&](int rank, const std::function<void()>& at_backward) {
            all.define(rank, "layer", [=](const Tensors& in) {
                return Tensors{with_call(in[0].mul(2), at_backward)};
            });
        };
        define(1, [] { throw std::runtime_error("no gradient today"); });
        define(2, [&] { all.world.time.sleep(50ms); });
        all.on_rank_0([&](AutogradPlace& me) {
            const at::Tensor x = leaf({1});
            const ContextId context = me.autograd.new_context();
            at::Tensor loss = x;
            for (const int rank : {1, 2}) {
                loss = loss.add(me.autograd.call(rank, "layer", {x})[0]);
            }
            must_be(
                thrown_as([&] { me.autograd.backward(context, {loss.sum()}); }), "dist::Error",
                "what backward throws"
            );
            must(
                me.rpc.open().empty(),
                "rank 1 throws at once, an operation of rank 2 takes 50 ms. Then backward throws, "
                "and ",
                me.rpc.open()
            );
        });
    });
}

TEST_CASE("an operation may call other ranks in backward, while gradients arrive") {
    ranks(3, [](Ranks& all) {
        bool calls = false;
        const Program program = two_hops([&] {
            if (calls) {
                all.on(2).call(1, "other", {});
            }
        });
        const std::vector<Tensors> expected = plain_gradients(program);
        calls = true;
        all.define(program);
        all.define(1, "other", [](const Tensors& in) { return in; });
        all.on_rank_0([&](AutogradPlace& me) {
            const ContextId context = me.autograd.new_context();
            me.autograd.backward(context, program.roots(all.call_of(0)));
            for (int rank = 0; rank < 3; ++rank) {
                const auto r = static_cast<std::size_t>(rank);
                const Comparison right =
                    has_gradients(all.on(rank).gradients(context), program.leaves[r], expected[r]);
                must(bool(right), "rank ", rank, ": ", right.text);
            }
        });
    });
}

TEST_CASE("a context released during backward is an error, and nobody waits for ever") {
    on_one([] {
        for (int who = 0; who < 3; ++who) {
            INFO("rank " << who << " releases the context");
            const bool has_calls = disturb_each_call(
                [who](Ranks& all, AutogradPlace& caller, ContextId context) {
                    const std::string name = text("release ", context);
                    all.place(who).define(name, [&all, who, context](int, const std::string&) {
                        error_of([&] { all.on(who).release(context); });  // or it was released
                        return "";
                    });
                    caller.begin(who, name);
                },
                [](Ranks& all, ContextId context) {
                    error_of([&] { all.on(0).release(context); });
                    all.must_be_clean();
                    const Program again = one_call();
                    const std::vector<Tensors> expected = plain_gradients(again);
                    all.define(again);
                    const ContextId next = all.on(0).new_context();
                    all.on(0).backward(next, again.roots(all.call_of(0)));
                    const Comparison right =
                        has_gradients(all.on(0).gradients(next), again.leaves[0], expected[0]);
                    must(bool(right), right.text);
                }
            );
            CHECK(has_calls);
        }
    });
}

TEST_CASE("a rank dies before or during backward: an error, and nobody waits for ever") {
    on_one([] {
        for (const int who : {1, 2}) {
            INFO("rank " << who << " dies");
            const bool has_calls = disturb_each_call(
                [who](Ranks& all, AutogradPlace&, ContextId) { all.world.kill(who); },
                [](Ranks& all, ContextId context) {
                    all.on(0).release(context);
                    must(all.on(0).contexts().empty(), "a context is there after its release");
                }
            );
            CHECK(has_calls);
        }
        const Program program = two_hops([] {});
        World world(3);
        Ranks all(world);
        all.define(program);
        std::string error;
        all.on_rank_0([&](AutogradPlace& me) {
            const ContextId context = me.autograd.new_context();
            const Tensors roots = program.roots(all.call_of(0));
            world.kill(2);
            error = error_of([&] { me.autograd.backward(context, roots); });
        });
        INFO("rank 2 is dead when backward begins on rank 0, which throws: " << error);
        CHECK(error.find("rank 2 has died") != std::string::npos);
    });
}

TEST_CASE("on processes gradients are those of one process") {
    on_one([] {
        const Program program = joining();
        const std::vector<Tensors> expected = plain_gradients(program);
        const Processes run = on_transport(3, [&](Transport& transport, int rank, int) {
            SteadyClock clock;
            RpcAgent agent(transport, 1, clock);
            DistAutograd autograd(agent);
            const CallFunction call = [&](int to, const std::string& name, const Tensors& arguments
                                      ) { return autograd.call(to, name, arguments); };
            for (const auto& [name, function] : program.functions) {
                autograd.define(name, [&, function](const Tensors& in) {
                    return function(rank, call, in);
                });
            }
            if (rank == 0) {
                const ContextId context = autograd.new_context();
                autograd.backward(context, program.roots(call));
            }
            agent.shutdown();
            const std::vector<ContextId> contexts = autograd.contexts();
            const auto r = static_cast<std::size_t>(rank);
            CHECK(contexts.size() == 1);
            CHECK(has_gradients(
                contexts.empty() ? Gradients() : autograd.gradients(contexts[0]), program.leaves[r],
                expected[r]
            ));
        });
        CHECK(run.passed);
    });
}
