// What dist_autograd must do: gradients as in one process, whichever ranks compute what. Ranks are those of a world, then processes.
#include "exercises/09_rpc/dist_autograd.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/ops/full.h>
#include <algorithm>
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
using Texts = std::vector<std::string>;

constexpr int kRanks = 3;

/// A leaf with these numbers.
at::Tensor leaf(const std::vector<float>& values, at::ScalarType dtype = at::kFloat) {
    return filled({static_cast<std::int64_t>(values.size())}, values).to(dtype).requires_grad_();
}

/// What a rank computes with. Whole numbers, small enough to be exact.
struct Here {
    int rank;
    std::function<Tensors(int to, const std::string& name, const Tensors& arguments)> call;
    at::Tensor w = leaf({1.F + static_cast<float>(rank), 5.F - static_cast<float>(rank)});
    at::Tensor wide = leaf({2, 3.F + static_cast<float>(rank)}, at::kDouble);
    std::function<void(const Here& me)> in_backward = [](auto& me) { me.call(1, "times", {me.w}); };
};
using Function = std::function<Tensors(const Here& me, const Tensors& in)>;

/// What others may call on each rank.
const std::map<std::string, Function> kFunctions = {
    {"times", [](const Here& me, const Tensors& in) { return Tensors{in[0].mul(me.w)}; }},
    {"plus", [](const Here&, const Tensors& in) { return Tensors{in[0].mul(3).add(in[1])}; }},
    // Each rank calls the next one, round and round, in[1] times.
    {"hop",
     [](const Here& me, const Tensors& in) {
         const at::Tensor y = in[0].mul(me.w);
         if (in[1].item<std::int64_t>() == 0) {
             return Tensors{y};
         }
         return Tensors{me.call((me.rank + 1) % kRanks, "hop", {y, in[1].sub(1)})[0].add(y)};
     }},
    {"parts",
     [](const Here& me, const Tensors& in) {
         const at::Tensor h = in[0].mul(me.w);
         return Tensors{me.call(2, "plus", {h, in[1]})[0].add(h), h};
     }},
    {"mix",
     [](const Here& me, const Tensors& in) {
         Tensors out = in;
         out.insert(out.end(), {in[0].mul(in[1]).mul(me.wide), in[0].mul(in[2]), me.w, me.w});
         return out;
     }},
    {"near",
     [](const Here& me, const Tensors& in) { return me.call(2, "far", {in[0].mul(me.w)}); }},
    {"far",
     [](const Here& me, const Tensors& in) {
         const at::Tensor y = in[0].mul(me.w);
         return Tensors{nn::with_backward(y, {y}, [&me](const at::Tensor& dy, const Tensors&) {
             me.in_backward(me);
             return Tensors{dy};
         })};
     }},
};

/// What rank 0 computes: the roots of the loss.
using Program = std::function<Tensors(const Here& me)>;
const std::map<std::string, Program> kPrograms = {
    {"one call", [](const Here& me) { return Tensors{me.call(1, "times", {me.w})[0].sum()}; }},
    {"calls within each other",
     [](const Here& me) {
         return Tensors{me.call(0, "hop", {me.w, at::full({}, 6, at::kLong)})[0].sum()};
     }},
    // What rank 0 computes goes to two ranks, of which one calls the other; the loss uses all, and what was sent.
    {"ways that part and join",
     [](const Here& me) {
         const at::Tensor h = me.w.mul(me.w);
         const Tensors b = me.call(1, "parts", {h, me.w});
         return Tensors{me.call(2, "plus", {b[1], h})[0].mul(h).add(b[0]).sum()};
     }},
    // Of two results the loss uses one, and none of four more calls.
    {"results that the loss does not use",
     [](const Here& me) {
         const at::Tensor x = me.w.mul(2);
         me.call(1, "parts", {x, x});
         me.call(2, "times", {me.wide});
         return Tensors{me.call(1, "parts", {x, x})[1].mul(x).sum()};
     }},
    // Also without gradients, undefined, a leaf, an argument, some twice; roots of zero to two dimensions.
    {"several dtypes and roots",
     [](const Here& me) {
         const at::Tensor numbers = at::full({2}, 3, at::kLong);
         const Tensors out = me.call(1, "mix", {me.w, me.wide, numbers, {}, me.w});
         const at::Tensor same = out[0].add(out[4].mul(3)).add(out[7].mul(2)).add(out[8]).sum();
         const at::Tensor loss = out[5].sum();
         const at::Tensor matrix = out[6].mul(out[2]).sum().reshape({1, 1});
         const at::Tensor vector = me.call(2, "times", {filled({2}, {3, 4})})[0].sum(0, true);
         return Tensors{loss, matrix, loss, same, vector, me.w.mul(2).sum()};
     }},
    {"an operation that calls another rank in backward",
     [](const Here& me) { return Tensors{me.call(1, "near", {me.w})[0].sum()}; }},
};

std::string text_of(const at::Tensor& tensor) {
    return text(c10::toString(tensor.scalar_type()), " [", elements(tensor.to(at::kFloat)), "]");
}

/// All that there are on this rank: "w Float [1, 2]".
std::string text_of(const Gradients& gradients, const Here& here) {
    Texts all;
    for (const auto& [leaf, gradient] : gradients) {
        const char* const name = leaf.is_same(here.wide) ? "wide " : "of no leaf ";
        all.push_back((leaf.is_same(here.w) ? "w " : name) + text_of(gradient));
    }
    std::ranges::sort(all);
    return text(all, here.w.grad().defined() ? ", and w has a .grad()" : "");
}

/// The gradients on each rank, where one process computes all, and goes back so often.
Texts in_one_process(const Program& program, int passes) {
    std::vector<Here> all;
    for (int rank = 0; rank < kRanks; ++rank) {
        all.push_back({rank, [&all](int to, const std::string& name, const Tensors& arguments) {
                           return kFunctions.at(name)(all[static_cast<std::size_t>(to)], arguments);
                       }});
    }
    const Tensors roots = program(all[0]);
    Texts texts;
    for (const Here& here : all) {
        Gradients gradients;
        for (const at::Tensor& leaf : {here.w, here.wide}) {
            const at::Tensor one = torch::autograd::grad(roots, {leaf}, {}, true, false, true)[0];
            if (one.defined()) {
                gradients[leaf] = one.mul(passes);
            }
        }
        texts.push_back(text_of(gradients, here));
    }
    return texts;
}

/// A rank that has all functions.
struct Computing {
    explicit Computing(Rpc& rpc)
        : autograd(rpc),
          here{rpc.rank(), [this](int to, const std::string& name, const Tensors& in) {
                   return autograd.call(to, name, in);
               }} {
        for (const auto& [name, function] : kFunctions) {
            autograd.define(name, [this, f = function](const Tensors& in) { return f(here, in); });
        }
    }

    DistAutograd autograd;
    Here here;
};

struct AutogradPlace : CountedPlace, Computing {
    AutogradPlace(World& its_world, int its_rank)
        : CountedPlace(its_world, its_rank), Computing(rpc) {}
};

/// The ranks of a world. Each of them reaches all others' objects: only one goes on at a time.
struct Ranks {
    [[nodiscard]] DistAutograd& on(int rank) { return place.at(rank)->autograd; }

    /// What is in the context on each rank.
    [[nodiscard]] Texts gradients(ContextId context) {
        Texts all;
        for (const auto& [rank, it] : place) {
            const bool is_there = std::ranges::count(it->autograd.contexts(), context) > 0;
            const Gradients own = is_there ? it->autograd.gradients(context) : Gradients();
            all.push_back(text_of(own, it->here));
        }
        return all;
    }

    /// These ranks do this, and the others serve.
    void play(
        const std::map<int, std::function<void(AutogradPlace& me)>>& bodies,
        TestLine line = TestLine::here()
    ) {
        world.slowest = 3ms;
        world.play<AutogradPlace>(
            [&](AutogradPlace& me) {
                place[me.rank] = &me;
                me.rpc.begins = [&](int, const std::string&) {
                    ++calls;
                    at_call(me);
                };
                me.sleep(1ms);  // all have defined their functions
                if (const auto body = bodies.find(me.rank); body != bodies.end()) {
                    body->second(me);
                }
                me.agent->shutdown();
            },
            line
        );
    }

    void must_be_clean() {
        for (const auto& [rank, it] : place) {
            const bool is_clean = world.dead(rank) || it->autograd.contexts().empty();
            must(is_clean, "rank ", rank, " still has a context");
        }
    }

    World& world;
    std::map<int, AutogradPlace*> place = {};
    long calls = 0;                                                     // of all ranks
    std::function<void(AutogradPlace& caller)> at_call = [](auto&) {};  // before it is sent
};

void ranks(const std::function<void(Ranks& all)>& body) {
    worlds({kRanks}, [&](World& world) {
        Ranks all{world};
        body(all);
    });
}

/// Rank 0 does this, and the others serve.
void on_rank_0(
    const std::function<void(AutogradPlace& me, Ranks& all)>& body, TestLine line = TestLine::here()
) {
    ranks([&](Ranks& all) { all.play({{0, [&](AutogradPlace& me) { body(me, all); }}}, line); });
}

}  // namespace

// First: where gradients were computed, LibTorch computes none in a process that is forked afterwards.
TEST_CASE("on processes gradients are those of one process") {
    on_one([] {
        const Program& program = kPrograms.at("ways that part and join");
        const Processes run = on_transport(kRanks, [&](Transport& transport, int rank, int) {
            SteadyClock clock;
            RpcAgent agent(transport, 1, clock);
            Computing me(agent);
            if (rank == 0) {
                const ContextId context = me.autograd.new_context();
                me.autograd.backward(context, program(me.here));
            }
            agent.shutdown();
            const Gradients own = me.autograd.gradients(me.autograd.contexts().at(0));
            CHECK(text_of(own, me.here) == in_one_process(program, 1)[rank]);
        });
        CHECK(run.passed);
    });
}

TEST_CASE("gradients on all ranks are those of one process, and two passes in one context add up") {
    for (const int passes : {1, 2}) {
        for (const auto& one : kPrograms) {
            on_rank_0([&](AutogradPlace& me, Ranks& all) {
                const ContextId context = me.autograd.new_context();
                const Tensors roots = one.second(me.here);
                for (int pass = 0; pass < passes; ++pass) {
                    me.autograd.backward(context, roots);
                }
                must_be(
                    all.gradients(context), in_one_process(one.second, passes),
                    text(one.first, ", passes: ", passes, ": the gradients on each rank")
                );
            });
        }
    }
}

TEST_CASE("a call is a send and a recv where a tensor needs gradients; its context always travels"
) {
    on_rank_0([](AutogradPlace& me, Ranks& all) {
        const auto records = [&](const std::string& function, const Tensors& in,
                                 const std::string& expected) {
            const ContextId context = me.autograd.new_context();
            const Tensors kept = me.autograd.call(1, function, in);
            std::string found;
            for (const int rank : {0, 1}) {
                const Recorded here = all.on(rank).recorded(context);
                found += text(here.sends, " and ", here.recvs, "; ");
            }
            must_be(
                found, expected, "a call of " + function + ": sends and recvs of rank 0, of rank 1"
            );
            me.autograd.release(context);
        };
        const at::Tensor plain = filled({2}, {3, 4});
        records("times", {me.here.w}, "1 and 1; 1 and 1; ");
        records("hop", {me.here.w, at::full({}, 1, at::kLong)}, "1 and 1; 2 and 2; ");
        records("times", {plain}, "0 and 1; 1 and 0; ");
        records("plus", {plain, plain}, "0 and 0; 0 and 0; ");
    });
}

TEST_CASE("a tensor requires a gradient on the other side if it does so on this one") {
    on_rank_0([](AutogradPlace& me, Ranks& all) {
        const auto marks = [](const Tensors& tensors) {
            std::string row = " ";
            for (const at::Tensor& tensor : tensors) {
                row += tensor.defined() && tensor.requires_grad() ? "1" : "0";
            }
            return row;
        };
        std::string there;
        all.on(1).define("look", [&](const Tensors& in) {
            there = marks(in);
            return Tensors{in[0], in[1].mul(2), in[1].detach(), in[2], {}};
        });
        const Tensors arguments = {
            filled({2}, {3, 4}), me.here.w.mul(2), at::full({}, 1, at::kLong), {}};
        const auto must_see = [&](const std::string& expected, const std::string& where) {
            const std::string here = marks(me.autograd.call(1, "look", arguments));
            must_be(
                there + here, expected, "which arguments and results require gradients " + where
            );
        };
        must_see(" 0000 00000", "without a context");
        me.autograd.new_context();
        must_see(" 0100 01000", "in a context");
        const c10::AutoGradMode off(false);
        must_see(" 0000 00000", "in a context while gradients are off");
    });
}

TEST_CASE("what a rank waits in is not that of the functions which it runs meanwhile") {
    ranks([](Ranks& all) {
        bool waits = false;
        const auto rank_0 = [&](AutogradPlace& me) {
            all.on(2).define("slow", [&](const Tensors& in) {
                all.world.time.sleep(200ms);
                return in;
            });
            const ContextId context = me.autograd.new_context();
            {
                const c10::AutoGradMode off(false);
                waits = true;
                me.autograd.call(2, "slow", {});
            }
            const bool is_left_alone = me.autograd.recorded(context) == Recorded{};
            must(is_left_alone, "what runs outside of rank 0's context is recorded in it");
            me.autograd.call(1, "times", {me.here.w});
            const bool is_there = me.autograd.recorded(context) == Recorded{1, 1};
            must(is_there, "when rank 0 has waited, its own call is not in its context");
        };
        const auto rank_1 = [&](AutogradPlace& me) {
            me.until([&] { return waits; });
            const Tensors arguments = {me.here.w, at::full({}, 1, at::kLong)};
            const ContextId context = me.autograd.new_context();
            me.autograd.backward(context, {me.autograd.call(0, "hop", arguments)[0].sum()});
            must_be(
                all.gradients(context), Texts{"w Float [6, 20]", "w Float [5, 45]", "none"},
                "rank 1's own context, while rank 0 waits in another: the gradients on each rank"
            );
            me.autograd.release(context);
            must(
                !me.autograd.call(0, "hop", arguments)[0].requires_grad(),
                "rank 0 waits in its context, and runs in it what was called outside"
            );
        };
        all.play({{0, rank_0}, {1, rank_1}});
    });
}

TEST_CASE("two contexts at the same time share weights, and no gradients") {
    ranks([](Ranks& all) {
        const auto train = [&](AutogradPlace& me) {
            for (int round = 1; round <= 5; ++round) {
                const auto x = static_cast<float>(10 * me.rank + round);
                const ContextId context = me.autograd.new_context();
                const Tensors y = me.autograd.call(1, "times", {leaf({x, 0})});
                me.autograd.backward(context, {y[0].sum()});
                must_be(
                    all.gradients(context)[1], text("w Float [", x, ", 0]"),
                    text("loss = w * x, and w lies on rank 1. Where x is ", x, ", w's gradient")
                );
                me.autograd.release(context);
            }
        };
        all.play({{0, train}, {2, train}});
    });
}

TEST_CASE("contexts: whose they are, one at a time, known by name, gone everywhere when released") {
    on_rank_0([](AutogradPlace& me, Ranks& all) {
        all.on(1).define("nests", [&](const Tensors&) {
            all.on(1).new_context();
            return Tensors{};
        });
        const auto throws = [](const std::function<void()>& call, const std::string& what,
                               const char* type = "dist::Error") {
            must_be(thrown_as(call), type, "what " + what + " throws");
        };
        std::set<ContextId> ids = {0};
        for (std::size_t round = 1; round <= 3; ++round) {
            const ContextId context = me.autograd.new_context();
            must_be(context >> 48, 0, "a context is one of rank 0: its top 16 bits");
            must(ids.insert(context).second, "a context has the name of an older one, or 0");
            throws(
                [&] { me.autograd.new_context(); }, "a second new_context()", "std::logic_error"
            );
            throws([&] { me.autograd.call(1, "nests", {}); }, "new_context() in a context's call");
            me.autograd.call(1, "near", {me.here.w});  // which calls rank 2
            must_be(text(all.on(2).contexts()), text(context), "what contexts() of rank 2 returns");
            me.autograd.release(context);
            all.must_be_clean();
            const Comparison named = throws_error(
                [&] { static_cast<void>(me.autograd.gradients(context)); }, {text(context)}
            );
            must(bool(named), "gradients() after release(): ", named.text);
        }
        throws([&] { me.autograd.backward(77, {leaf({1}).mul(2)}); }, "backward of no context");
        throws([&] { static_cast<void>(me.autograd.recorded(77)); }, "recorded of no context");
        throws([&] { me.autograd.release(77); }, "release of no context");
        must_be(all.on(2).new_context() >> 48, 2, "a context is one of rank 2: its top 16 bits");
    });
}

TEST_CASE("a call that throws there throws here, and its context is released there as well") {
    on_rank_0([](AutogradPlace& me, Ranks& all) {
        all.on(1).define("bad", [](const Tensors&) -> Tensors {
            throw std::runtime_error("not today");
        });
        const ContextId context = me.autograd.new_context();
        const std::string error = error_of([&] { me.autograd.call(1, "bad", {me.here.w}); });
        must(error.find("not today") != std::string::npos, "a call throws: ", error);
        must_be(
            thrown_as([&] { all.on(1).release(all.on(1).new_context()); }), "nothing",
            "then rank 1 makes a context of its own: its calls are in none. What that throws"
        );
        me.autograd.release(context);
        all.must_be_clean();
    });
}

TEST_CASE("a call costs one call, backward at most two for each tensor that matters") {
    on_rank_0([](AutogradPlace& me, Ranks& all) {
        const auto costs = [&](const std::string& name, long forward, long backward) {
            const ContextId context = me.autograd.new_context();
            const long begin = all.calls;
            const Tensors roots = kPrograms.at(name)(me.here);
            must_be(all.calls - begin, forward, name + ": the number of calls in forward");
            me.autograd.backward(context, roots);
            must(
                all.calls - begin <= forward + backward, name, ": backward makes ",
                all.calls - begin - forward, " calls, where ", backward, " are enough"
            );
            me.autograd.release(context);
        };
        costs("one call", 1, 4);
        costs("calls within each other", 7, 28);
        costs("results that the loss does not use", 5, 4);
    });
}

TEST_CASE("roots that are none are refused, before anything is sent") {
    on_rank_0([](AutogradPlace& me, Ranks& all) {
        const ContextId context = me.autograd.new_context();
        const at::Tensor good = kPrograms.at("one call")(me.here)[0];
        const std::vector<std::pair<const char*, Tensors>> wrong = {
            {"there are none", {}},
            {"one is of two elements", {good, me.here.w.mul(2)}},
            {"one is a leaf", {good, leaf({1})}},
            {"one is without gradient", {good, me.here.w.detach().sum()}},
            {"one is undefined", {good, {}}}};
        const long calls = all.calls;
        for (const auto& [what, roots] : wrong) {
            must_be(
                thrown_as([&, r = roots] { me.autograd.backward(context, r); }),
                "std::invalid_argument", text("what backward throws for roots of which ", what)
            );
            must(all.calls == calls, "a call was made before roots were refused");
        }
        must_be(thrown_as([&] { good.backward(); }), "dist::Error", "what good.backward() throws");
        me.autograd.backward(context, {good});
    });
}

TEST_CASE("what was sent or received may be changed in place afterwards") {
    on_rank_0([](AutogradPlace& me, Ranks& all) {
        all.on(1).define("layer", [&](const Tensors& in) {
            in[0].add_(1);
            return Tensors{in[0].mul(all.place[1]->here.w)};
        });
        const ContextId context = me.autograd.new_context();
        const at::Tensor h = me.here.w.mul(3);
        const at::Tensor y = me.autograd.call(1, "layer", {h})[0];
        h.mul_(10);
        y.mul_(2);
        me.autograd.backward(context, {y.sum()});
        must_be(
            all.gradients(context), Texts{"w Float [12, 24]", "w Float [8, 32]", "none"},
            "h = 3w is sent, then multiplied by 10; there y = (h + 1)w, by 1 in place; here y is "
            "doubled. The gradients on each rank"
        );
    });
}

TEST_CASE("gradients share no memory, and what was returned stays as it is") {
    on_rank_0([](AutogradPlace& me, Ranks&) {
        const at::Tensor a = leaf({1, 2});
        const at::Tensor b = leaf({3, 4});
        const ContextId context = me.autograd.new_context();
        const Tensors roots = {a.add(b).mul(filled({2}, {5, 6})).sum()};
        me.autograd.backward(context, roots);
        const Gradients first = me.autograd.gradients(context);
        first.at(a).mul_(100);
        must_be(text_of(first.at(b)), "Float [5, 6]", "b's gradient, where a's is changed,");
        me.autograd.backward(context, roots);
        must_be(text_of(first.at(b)), "Float [5, 6]", "what was returned before");
    });
}

TEST_CASE("an error two hops away arrives at the root, and the next pass is as ever") {
    on_rank_0([](AutogradPlace& me, Ranks& all) {
        const Program& program = kPrograms.at("an operation that calls another rank in backward");
        const ContextId context = me.autograd.new_context();
        const Tensors roots = program(me.here);
        auto& in_backward = all.place[2]->here.in_backward;
        in_backward = [](const Here&) { throw std::runtime_error("no gradient today"); };
        const Comparison told = throws_error(
            [&] { me.autograd.backward(context, roots); }, {"no gradient today", "rank 2"}
        );
        must(
            bool(told), "an operation on rank 2 throws. What backward on rank 0 throws: ", told.text
        );
        in_backward = [](const Here&) {};
        me.autograd.backward(context, roots);
        must_be(
            all.gradients(context), in_one_process(program, 1),
            "after the next pass, which throws nothing, the gradients on each rank"
        );
    });
}

/// At this call of backward a rank dies, or releases the context. Says whether there was such a call: that is the answer's matter.
bool disturb(int who, bool dies, long number) {
    World world(kRanks, static_cast<std::uint64_t>(number));
    Ranks all{world};
    bool is_disturbed = false;
    const auto rank_0 = [&](AutogradPlace& me) {
        const ContextId context = me.autograd.new_context();
        const Tensors roots = kPrograms.at("ways that part and join")(me.here);
        all.at_call = [&, last = all.calls + number](AutogradPlace& caller) {
            is_disturbed = is_disturbed || all.calls == last;
            if (all.calls == last && dies) {
                world.kill(who);
            } else if (all.calls == last) {
                all.place[who]->define("release", [&all, who, context](int, const std::string&) {
                    error_of([&] { all.on(who).release(context); });  // or it was released
                    return "";
                });
                caller.begin(who, "release");
            }
        };
        const std::string error = error_of([&] { me.autograd.backward(context, roots); });
        const bool is_told = !error.empty() || !me.autograd.contexts().empty();
        must(is_told, "backward returns as if all were well; the context is gone");
        const std::string named = dies ? text("rank ", who, " has died") : "";
        const bool is_named = error.empty() || error.find(named) != std::string::npos;
        must(is_named, "it has to be told that ", named, ". backward throws: ", error);
        must(me.rpc.open().empty(), "backward throws, and ", me.rpc.open());
        all.at_call = [](auto&) {};
        error_of([&] { me.autograd.release(context); });
        all.must_be_clean();
        me.autograd.new_context();
        me.autograd.call(who == 1 ? 2 : 1, "times", {me.here.w});  // which lives
    };
    all.play({{0, rank_0}});
    return is_disturbed;
}

TEST_CASE("a context released during backward, or a death: an error, when all calls are through") {
    on_one([] {
        for (const int who : {0, 1, 2, -1, -2}) {
            const int rank = std::abs(who);
            long number = 1;
            INFO("rank " << rank << (who < 0 ? " dies" : " releases the context"));
            while (number < 30 && disturb(rank, who < 0, number)) {
                ++number;
            }
            CHECK(number > 1);
        }
    });
}
