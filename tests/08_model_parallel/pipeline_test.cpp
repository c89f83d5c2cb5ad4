// What run_pipeline must do: train as one process does, by any schedule, and hold no more than is
// in flight.
#include "exercises/08_model_parallel/pipeline.hpp"

#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/ones.h>
#include <c10/core/GradMode.h>
#include <memory>
#include <string>
#include <vector>

#include "tests/08_model_parallel/multiplications.hpp"
#include "tests/08_model_parallel/pipelined.hpp"
#include "tests/harness/words/bytes.hpp"
#include "tests/harness/words/calls.hpp"
#include "tests/harness/words/cost.hpp"
#include "tests/harness/words/gone.hpp"
#include "tests/harness/words/memory.hpp"
#include "tests/harness/words/refusals.hpp"
#include "tests/harness/words/settings.hpp"
#include "tests/harness/words/throws.hpp"
#include "tests/harness/words/two_alive.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

/// Evaluation on two ranks: the call of stage `waits` for one micro-batch does not return before
/// that of stage `tells` for another has begun.
void goes_on(
    const std::string& text,
    std::pair<int, int> waits,
    std::pair<int, int> tells,
    const Communicator& comm
) {
    const Schedule rows = read_schedule(text);
    const Communicator others = comm.split(0, comm.rank());
    const int m = rows[0].back().micro_batch + 1;
    StagedModel model = layers(2);
    const StagedModel alone = layers(2);
    for (int k = 0; k < 2; ++k) {
        const auto calls = std::make_shared<int>(0);
        const auto plain = model.stages[static_cast<std::size_t>(k)].forward;
        model.stages[static_cast<std::size_t>(k)].forward = [=, &others](const at::Tensor& x) {
            const std::pair<int, int> here = {k, (*calls)++};
            char word = 0;
            if (here == waits) {
                MPI_Recv(&word, 1, MPI_CHAR, tells.first, 0, others.handle(), MPI_STATUS_IGNORE);
            } else if (here == tells) {
                MPI_Send(&word, 1, MPI_CHAR, waits.first, 0, others.handle());
            }
            return plain(x);
        };
    }
    const Tensors got = model.train(rows, m, comm);
    INFO(text);
    const Tensors expected = alone.train_alone(in_order(m), m);
    for (std::size_t i = 0; i < got.size(); ++i) {
        CHECK(identical(got[i], expected[i]));
    }
}

/// Words, layers, and the table again. One process has one table; each end of a pipeline a copy.
StagedModel tied_model(int stages, bool one_table) {
    const at::Tensor table = filled({5, 4}, 0, 9).sign().requires_grad_();
    const at::Tensor copy = one_table ? table : table.detach().clone().requires_grad_();
    StagedModel model{.stages = {}, .words = 5};
    model.stages.push_back(
        {[=](const at::Tensor& words) { return table.index_select(0, words); }, {3}, {table}}
    );
    for (int k = 1; k + 1 < stages; ++k) {
        model.stages.push_back(whole(4, static_cast<std::uint64_t>(k)));
    }
    model.stages.push_back(
        {[=](const at::Tensor& x) { return at::linear(x, copy); }, {3, 4}, {copy}}
    );
    return model;
}

/// The middle one of three stages, of whole numbers: (3, 4) -> (3, 4).
struct OddStage {
    std::string name;
    std::function<TestedStage()> make;
};

TestedStage stage_of(Tensors leaves, std::function<at::Tensor(const at::Tensor&)> forward) {
    return {std::move(forward), {3, 4}, std::move(leaves)};
}

/// Norm, attention and two layers, each added to what came before.
TestedStage block() {
    const auto leaf = [](at::IntArrayRef shape, std::uint64_t salt) {
        return filled(shape, 0, salt).div(16).requires_grad_();
    };
    const Tensors w = {leaf({4}, 20),    leaf({4}, 21),     leaf({12, 4}, 22), leaf({12}, 23),
                       leaf({4, 4}, 24), leaf({16, 4}, 25), leaf({4, 16}, 26)};
    return stage_of(w, [=](const at::Tensor& x) {
        const at::Tensor in = at::layer_norm(x.unsqueeze(0), {4}, w[0], w[1]);
        const Tensors parts = at::linear(in, w[2], w[3]).chunk(3, -1);
        const at::Tensor weights = parts[0].matmul(parts[1].transpose(-2, -1)).softmax(-1);
        const at::Tensor y = x.unsqueeze(0).add(at::linear(weights.matmul(parts[2]), w[4]));
        return y.add(at::linear(at::gelu(at::linear(y, w[5])), w[6])).squeeze(0);
    });
}

std::vector<OddStage> odd_stages() {
    const auto leaf = [](at::IntArrayRef shape) {
        return filled(shape, 0, 7).sign().requires_grad_();
    };
    return {
        {"has no parameters",
         [] { return stage_of({}, [](const at::Tensor& x) { return x.relu(); }); }},
        {"returns its input", [] { return stage_of({}, [](const at::Tensor& x) { return x; }); }},
        {"returns a view of its input",
         [] { return stage_of({}, [](const at::Tensor& x) {
                  return x.flip(0).view({3, 4});
              }); }},
        {"returns what is not in one piece",
         [=] {
             const at::Tensor w = leaf({4, 4});
             return stage_of({w}, [=](const at::Tensor& x) { return w.matmul(x.t()).t(); });
         }},
        {"reads a weight three times",
         [=] {
             const at::Tensor w = leaf({4, 4});
             return stage_of({w}, [=](const at::Tensor& x) {
                 return at::linear(at::linear(at::linear(x, w).relu(), w).relu(), w);
             });
         }},
        {"adds what comes from a weight alone",
         [=] {
             const at::Tensor w = leaf({3, 4});
             return stage_of({w}, [=](const at::Tensor& x) { return x.add(w.mul(2)).mul(w); });
         }},
        {"needs its input twice, and one weight of two is frozen",
         [=] {
             const at::Tensor w = leaf({4, 4});
             const at::Tensor frozen = leaf({4, 4}).detach();
             return stage_of({w, frozen}, [=](const at::Tensor& x) {
                 return at::linear(x, w).add(at::linear(x, frozen)).add(x);
             });
         }},
        {"has frozen weights alone",
         [=] {
             const at::Tensor frozen = leaf({4, 4}).detach();
             return stage_of({frozen}, [=](const at::Tensor& x) { return at::linear(x, frozen); });
         }},
        {"is a block of a transformer", block},
        {"does not use its input",
         [=] {
             const at::Tensor w = leaf({3, 4});
             return stage_of({w}, [=](const at::Tensor& /*x*/) { return w.mul(3); });
         }},
        {"returns a leaf",
         [=] {
             const at::Tensor w = leaf({3, 4});
             return stage_of({w}, [=](const at::Tensor& /*x*/) { return w; });
         }},
        {"returns what needs no gradient",
         [] { return stage_of({}, [](const at::Tensor& x) { return x.detach().mul(2); }); }}};
}

/// B as I and W, one behind the other.
Schedule in_halves(const Schedule& rows) {
    using enum ActionKind;
    Schedule split(rows.size());
    for (std::size_t rank = 0; rank < rows.size(); ++rank) {
        for (const auto& [stage, kind, i] : rows[rank]) {
            split[rank].push_back({stage, kind == backward ? input_gradient : kind, i});
            if (kind == backward) {
                split[rank].push_back({stage, weight_gradient, i});
            }
        }
    }
    return split;
}

/// Three stages on one rank or on three, by B, and by I and W.
void trains_three_stages(const std::string& what, const std::function<StagedModel()>& make) {
    on_ranks({3, 1}, [&](const Communicator& comm) {
        const int p = comm.size();
        const Schedule plain = pipeline_schedule(ScheduleKind::interleaved, p, 4, 3 / p);
        for (const bool halves : {false, true}) {
            INFO(what << (halves ? "; by I and W" : "; by B"));
            trains_as_one(
                insert_messages(halves ? in_halves(plain) : plain), in_order(4), make, comm
            );
        }
    });
}

constexpr std::int64_t kActivation = 4000;

// floats of an input or output
constexpr std::ptrdiff_t kInside = 16;

// as many more are what a stage keeps for backward

/// The most that may be held when the action at `place` begins, in activations. A micro-batch in
/// flight has its input, which of stage 0 is the caller's, and 16 more; from I to W its input and a
/// gradient. Backward may have two more in its hands.
std::size_t most_held(const Row& row, std::size_t place, int last_stage) {
    using enum ActionKind;
    std::ptrdiff_t held = 0;
    std::set<std::pair<int, ActionKind>> sent;
    for (const auto& [stage, kind, i] :
         Row(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(place))) {
        const std::ptrdiff_t gradient = stage == last_stage ? 0 : 1;  // of the output
        switch (kind) {
            case recv_f:
            case recv_b:
                ++held;
                break;
            case send_f:
            case send_b:
                --held;
                sent.insert({stage, kind});
                break;
            case forward:
                held += kInside + gradient;  // its input was there
                break;
            case backward:
                held -= kInside + gradient;  // its input's gradient comes
                break;
            case input_gradient:
                held -= stage == 0 ? 0 : kInside + gradient - 2;
                break;
            case weight_gradient:
                held -= stage == 0 ? kInside + gradient : 2;
                break;
        }
    }
    return static_cast<std::size_t>(held) + sent.size() + 2;
}

/// Notes what is held whenever a stage is called, and whenever its backward begins.
struct Watch {
    Row row;
    int last_stage = 0;
    std::shared_ptr<MemoryBefore> before = {};
    std::map<int, std::vector<int>> calls = {};  // of each stage: micro-batches to come
    std::size_t most_inside = 0;
    Comparison all = {};

    static constexpr std::size_t bytes() { return sizeof(float) * kActivation; }

    void look(const Action& action) {
        const auto at = static_cast<std::size_t>(std::ranges::find(row, action) - row.begin());
        const std::size_t most = most_held(row, at, last_stage);
        const std::size_t held = before->tensors_since();
        if (all && held > most * bytes() + 1000) {
            all = {
                false, "when " + cell(action) + " begins " + std::to_string(held) +
                           " bytes are held, where " + std::to_string(most) + " activations have " +
                           std::to_string(most * bytes())};
        }
    }
};

/// A stage that keeps 16 times its input for backward; of that, W needs the input alone.
TestedStage heavy(int stage, const std::shared_ptr<Watch>& watch) {
    const at::Tensor w = at::ones({}).requires_grad_();
    const at::Tensor inside = at::ones({kInside, 1});
    const auto forward = [=](const at::Tensor& x) {
        using enum ActionKind;
        std::vector<int>& to_come = watch->calls[stage];
        const int i = to_come.front();
        to_come.erase(to_come.begin());
        watch->look({stage, ActionKind::forward, i});
        const at::Tensor h = x.mul(w).unsqueeze(0).mul(inside).tanh();
        const std::size_t held = watch->before->tensors_since() / Watch::bytes();
        watch->most_inside = std::max(watch->most_inside, held / std::size_t{kInside});
        at::Tensor y = h.sum(0);
        if (y.requires_grad()) {
            y.register_hook([watch, stage, i](const at::Tensor&) {
                const Action b = {stage, backward, i};
                const Action split = {stage, stage == 0 ? weight_gradient : input_gradient, i};
                watch->look(std::ranges::find(watch->row, b) != watch->row.end() ? b : split);
            });
        }
        return y;
    };
    return {forward, {kActivation}, {w}};
}

/// How many micro-batches, or chunks of them, have all that their backward needs.
std::size_t most_in_flight(const PipelineCase& one, const Schedule& rows, int s) {
    const int most = one.kind == ScheduleKind::gpipe ? one.m : std::min(one.p - s, one.m);
    const auto chunks = static_cast<std::size_t>(s);
    return static_cast<std::size_t>(
        one.kind == ScheduleKind::interleaved ? simulate_schedule(rows).most_in_flight[chunks]
                                              : most
    );
}

/// What is held at each computation, how many micro-batches are in flight, and what is left.
void holds_what_is_in_flight(const PipelineCase& one, const Communicator& comm) {
    const Schedule rows = rows_of(one);
    const Row& row = rows[static_cast<std::size_t>(comm.rank())];
    const auto watch = std::make_shared<Watch>(Watch{row, one.p * one.v - 1});
    StagedModel model;
    for (int k = 0; k < one.p * one.v; ++k) {
        model.stages.push_back(heavy(k, watch));
    }
    for (const auto& [stage, kind, i] : row) {
        if (kind == ActionKind::forward) {
            watch->calls[stage].push_back(i);
        }
    }
    const std::vector<PipelineStage> stages = model.stages_for(row);
    const Tensors inputs = comm.rank() == 0 ? model.inputs(one.m) : Tensors{};
    const auto loss = [](const at::Tensor& y, int /*i*/) { return y.sum(); };
    watch->before = std::make_shared<MemoryBefore>();
    const Tensors losses = run_pipeline(rows, stages, inputs, loss, comm);
    const std::size_t left = watch->before->tensors_since();
    const Comparison beside = watch->before->nothing_beside();
    INFO(text_of(one) << "; an activation has " << Watch::bytes() << " bytes");
    INFO("rank " << comm.rank() << ": " << text_of_row(row));
    {
        INFO("micro-batches that have all that their backward needs, at most");
        CHECK(watch->most_inside == most_in_flight(one, rows, comm.rank()));
    }
    CHECK(watch->all);
    INFO("afterwards: a gradient of each stage's one weight, and losses");
    CHECK(same_bytes(left, sizeof(float) * (stages.size() + losses.size())));
    CHECK(beside);
}

/// Two stages of three layers, on one rank.
struct Halves {
    static constexpr std::int64_t kColumns = 5;
    /// Multiplications for a layer's output, the gradient of its input, or that of its weight.
    static constexpr std::int64_t kProduct = 6 * kColumns * kColumns;

    /// What is to be seen when a stage is called.
    struct Look {
        std::int64_t products = 0;             // since the call before has ended
        std::ptrdiff_t with_gradient[2] = {};  // leaves of each stage
        std::vector<bool> gone = {};  // of the last stage's micro-batch 0: what each layer gave
    };

    Multiplications multiplications = {};
    std::vector<Look> looks = {};
    std::vector<WatchedMemory> results = {};
    StagedModel model = {};

    void look() {
        Look now{multiplications.taken() / kProduct};
        for (std::size_t k = 0; k < model.stages.size(); ++k) {
            now.with_gradient[k] = std::ranges::count_if(
                model.stages[k].leaves, [](const at::Tensor& leaf) { return leaf.grad().defined(); }
            );
        }
        for (const WatchedMemory& one : results) {
            now.gone.push_back(one.is_gone());
        }
        looks.push_back(now);
    }
};

/// Three layers. `watched` may be empty.
TestedStage three_layers(int k, const std::shared_ptr<Halves>& watched) {
    Tensors leaves;
    for (std::uint64_t i = 0; i < 3; ++i) {
        const std::uint64_t salt = 10 * static_cast<std::uint64_t>(k) + 2 * i;
        leaves.push_back(filled({Halves::kColumns, Halves::kColumns}, 0, salt).div(16));
        leaves.push_back(filled({Halves::kColumns}, 0, salt + 1).div(16));
    }
    for (at::Tensor& leaf : leaves) {
        leaf.requires_grad_();
    }
    const std::weak_ptr<Halves> weak = watched;
    const auto forward = [leaves, weak, k](const at::Tensor& x) {
        const std::shared_ptr<Halves> watch = weak.lock();
        if (watch) {
            watch->look();
        }
        Tensors h = {x};
        for (std::size_t i = 0; i < leaves.size(); i += 2) {
            h.push_back(at::linear(h.back(), leaves[i], leaves[i + 1]).tanh());
        }
        if (watch && k == 1 && watch->results.empty()) {
            watch->results = {WatchedMemory(h[1]), WatchedMemory(h[2]), WatchedMemory(h[3])};
        }
        if (watch) {
            (void)watch->multiplications.taken();
        }
        return h[3];
    };
    return {forward, {2, 3, Halves::kColumns}, leaves};
}

const Forbid kForbid({"collectives"}, "This exercise stands on your own isend, irecv and ring.");

const Row& row_of(const Schedule& rows, const Communicator& comm) {
    return rows[static_cast<std::size_t>(comm.rank())];
}

}  // namespace

TEST_CASE("gradients and losses are those of one process, bit for bit, by every schedule") {
    on_ranks({3, 1, 2, 4}, [](const Communicator& comm) {
        for (const PipelineCase& one : schedules(comm.size(), {4, 1, 2, 3, 8})) {
            INFO(text_of(one));
            trains_as_one(
                rows_of(one), in_order(one.m), [&] { return layers(one.p * one.v); }, comm
            );
        }
    });
}

TEST_CASE("rows may be written by hand: down and up again, the last in first out, B beside I and W"
) {
    on_ranks({3}, [](const Communicator& comm) {
        const char* const text =
            "0F0,0F1,5F0,5B0,5F1,5B1,0B0,0B1\n1F0,1F1,4F0,4B0,4F1,4B1,1B0,1B1\n"
            "2F0,3F0,2F1,3F1,3B0,2B0,3B1,2B1\n";
        trains_as_one(
            insert_messages(read_schedule(text)), {0, 1}, [] { return layers(6); }, comm
        );
    });
    on_ranks({2}, [](const Communicator& comm) {
        const auto trains = [&](const std::string& text, const std::vector<int>& order) {
            trains_as_one(
                insert_messages(read_schedule(text)), order, [] { return layers(2); }, comm
            );
        };
        trains("0F0,0F1,0F2,0B2,0B1,0B0\n1F0,1F1,1F2,1B2,1B1,1B0\n", {2, 1, 0});
        trains("0F0,0F1,0B0,0I1,0W1\n1F0,1I0,1F1,1I1,1W1,1W0\n", {0, 1});
    });
}

TEST_CASE("each stage is called once for each F, in the order of the row, and loss behind the last"
) {
    on_ranks({3, 1, 2}, [](const Communicator& comm) {
        for (const PipelineCase& one : schedules(comm.size(), {4})) {
            const Schedule rows = rows_of(one);
            StagedModel model = layers(one.p * one.v);
            Calls calls;
            for (std::size_t k = 0; k < model.stages.size(); ++k) {
                const auto forward = model.stages[k].forward;
                model.stages[k].forward = [&calls, forward, k](const at::Tensor& x) {
                    calls.note("stage " + std::to_string(k));
                    return forward(x);
                };
            }
            model.loss = [&](const at::Tensor& y, int i) {
                calls.note("loss " + std::to_string(i));
                return loss_of(y, i);
            };
            (void)model.train(rows, one.m, comm);
            std::vector<std::string> expected;
            for (const auto& [stage, kind, i] : row_of(rows, comm)) {
                if (kind == ActionKind::forward) {
                    expected.push_back("stage " + std::to_string(stage));
                    if (stage == one.p * one.v - 1) {
                        expected.push_back("loss " + std::to_string(i));
                    }
                }
            }
            INFO(text_of(one) << ", rank " << comm.rank());
            CHECK(calls.are(expected));
        }
    });
}

TEST_CASE("gradients of several calls add up, each with its own number of micro-batches") {
    on_ranks({3, 1, 2}, [](const Communicator& comm) {
        const int p = comm.size();
        const StagedModel mine = layers(p);
        const StagedModel alone = layers(p);
        const StagedModel last = layers(p);
        const auto call = [&](ScheduleKind kind, int m) {
            (void)mine.train(rows_of({kind, p, m, 1}), m, comm);
            (void)alone.train_alone(in_order(m), m);
        };
        call(ScheduleKind::gpipe, 4);
        call(ScheduleKind::zero_bubble, 2);
        call(ScheduleKind::one_forward_one_backward, 2);
        (void)last.train_alone(in_order(2), 2);
        const Row row = {{comm.rank(), ActionKind::forward, 0}};
        has_gradients_of(mine, alone, row, 2, {{last, "those are of the last call alone"}});
    });
}

TEST_CASE("rows of F alone are evaluation: outputs come back, nothing is recorded, m(p-1) messages"
) {
    on_ranks({3, 1, 2, 4}, [](const Communicator& comm) {
        constexpr int kM = 4;
        for (const int v : {1, 2}) {
            const int stages = comm.size() * v;
            StagedModel model = layers(stages);
            bool records = false;
            model.loss = [&](const at::Tensor& y, int /*i*/) {
                records = records || c10::GradMode::is_enabled() || y.requires_grad();
                return y;
            };
            const Settings settings;
            Tensors got;
            const Schedule rows = forward_rows(comm.size(), kM, v);
            const Traffic traffic = record(comm, [&] { got = model.train(rows, kM, comm); });
            const Comparison left = settings.unchanged();
            INFO(v << " stages on each rank");
            CHECK(left);
            CHECK_FALSE(records);
            const bool is_last = comm.rank() == comm.size() - 1;
            const long sends = comm.size() == 1 ? 0 : is_last ? v - 1 : v;
            CHECK(traffic.messages_sent == kM * sends);
            CHECK(got.size() == (is_last ? kM : 0));
            const Tensors inputs = model.inputs(kM);
            for (std::size_t i = 0; i < got.size(); ++i) {
                at::Tensor x = inputs[i];
                for (const TestedStage& stage : model.stages) {
                    x = stage.forward(x);
                }
                CHECK(identical(got[i], x.detach()));
            }
            for (const TestedStage& stage : model.stages) {
                CHECK_FALSE(stage.leaves[0].grad().defined());
            }
        }
    });
}

TEST_CASE("a run trains where the caller has turned autograd off, and leaves it so") {
    on_ranks({2, 1}, [](const Communicator& comm) {
        const int p = comm.size();
        for (const PipelineCase& one : schedules(p, {2})) {
            const c10::AutoGradMode off(false);
            const StagedModel mine = layers(p * one.v);
            const StagedModel alone = layers(p * one.v);
            const Schedule rows = rows_of(one);
            const Settings settings;
            (void)mine.train(rows, 2, comm);
            CHECK(settings.unchanged());
            const c10::AutoGradMode on(true);
            (void)alone.train_alone(in_order(2), 2);
            INFO(text_of(one));
            has_gradients_of(mine, alone, row_of(rows, comm), 2);
        }
    });
}

TEST_CASE("each border between two ranks costs m outputs forward, and m gradients back") {
    on_ranks({3, 1, 2, 4}, [](const Communicator& comm) {
        const int p = comm.size();
        for (const PipelineCase& one : schedules(p, {4, 3})) {
            const StagedModel model = layers(p * one.v);
            const Schedule rows = rows_of(one);
            const Traffic traffic = record(comm, [&] { (void)model.train(rows, one.m, comm); });
            long messages = 0;
            long floats = 0;
            std::set<int> to;
            for (const int k : StagedModel::stages_in(row_of(rows, comm))) {
                if (p > 1 && k + 1 < p * one.v) {  // an output: 3 rows of 5 + k columns
                    messages += one.m;
                    floats += 3L * one.m * (5 + k);
                    to.insert((k + 1) % p);
                }
                if (p > 1 && k > 0) {  // the gradient of an input, which has one column less
                    messages += one.m;
                    floats += 3L * one.m * (4 + k);
                    to.insert((k - 1) % p);
                }
            }
            INFO(text_of(one));
            CHECK(within(
                traffic, {.messages_sent = exactly(messages),
                          .bytes_sent = exactly(4 * floats),
                          .sent_to = to}
            ));
        }
    });
}

TEST_CASE("no more is held than is in flight: m micro-batches by GPipe, min(p-s, m) by 1F1B") {
    on_ranks({4, 1, 2, 3}, [](const Communicator& comm) {
        for (const PipelineCase& one : schedules(comm.size(), {8, 3})) {
            holds_what_is_in_flight(one, comm);
        }
    });
}

TEST_CASE("I computes gradients of inputs, W those of weights, and each lets go what it needed") {
    on_ranks({1}, [](const Communicator& comm) {
        // F stand between I and W, so that a stage is called there, and looks.
        const Schedule rows = read_schedule(
            "0F0,0F1,0F2,1F0,1I0,1F1,1W0,1F2,0I0,0F3,0W0,1F3,1I1,1W1,0I1,0W1,1I2,1W2,0I2,0W2,1I3,"
            "1W3,"
            "0I3,0W3\n"
        );
        const auto watched = std::make_shared<Halves>();
        watched->model.stages = {three_layers(0, watched), three_layers(1, watched)};
        (void)watched->model.train(rows, 4, comm);
        StagedModel alone{{three_layers(0, {}), three_layers(1, {})}};
        (void)alone.train_alone(in_order(4), 4);
        INFO(text_of_row(rows[0], 16));
        const auto check = [&](std::size_t call, std::int64_t products,
                               std::vector<std::ptrdiff_t> leaves) {
            const Halves::Look& look = watched->looks.at(call);
            {
                INFO("products of a layer since the call before");
                CHECK(look.products == products);
            }
            INFO("leaves of each stage, of six, that have a gradient");
            CHECK(look.with_gradient[0] == leaves[0]);
            CHECK(look.with_gradient[1] == leaves[1]);
        };
        REQUIRE(watched->looks.size() == 8);
        {
            INFO("after 1I0: the gradient of each layer's input, and no leaf's");
            check(4, 3, {0, 0});
        }
        {
            INFO("after 1W0: the gradient of each layer's weight, and no input's again");
            check(5, 3, {0, 6});
        }
        {
            INFO("after 0I0: the input of stage 0 needs no gradient");
            check(6, 0, {0, 6});
        }
        {
            INFO("after 0W0: gradients of three weights, and of two layers' inputs");
            check(7, 5, {6, 6});
        }
        {
            INFO("is what the last layer gave gone after 1I0? Only its input's gradient needed that"
            );
            CHECK(watched->looks[4].gone[2]);
        }
        {
            INFO("is what the layers gave gone after 1W0? Nobody needs it any more");
            CHECK(watched->looks[5].gone == std::vector<bool>{true, true, true});
        }
        has_gradients_of(watched->model, alone, rows[0], 4);
    });
}

TEST_CASE("a SEND or RECV keeps its rank from nothing but what needs the message") {
    // A SEND or RECV keeps its rank from nothing behind it, but for what needs its message.
    on_ranks({2}, [](const Communicator& comm) {
        INFO("rank 0 calls stage 0 for micro-batch 1 when rank 1 has begun with micro-batch 0:");
        INFO("a RECV begins to receive, and F waits for its own message alone");
        goes_on("0F0,0SEND_F0,0F1,0SEND_F1\n1RECV_F0,1RECV_F1,1F0,1F1\n", {0, 1}, {1, 0}, comm);
    });
    on_ranks({2}, [](const Communicator& comm) {
        INFO("rank 1 is in stage 1 with micro-batch 0 until rank 0 begins with micro-batch 2:");
        INFO("a SEND begins to send, and the rank goes on");
        goes_on(
            "0F0,0SEND_F0,0F1,0SEND_F1,0F2,0SEND_F2\n1RECV_F0,1F0,1RECV_F1,1F1,1RECV_F2,1F2\n",
            {1, 0}, {0, 2}, comm
        );
    });
}

TEST_CASE("a stage may be whatever autograd knows: views, leaves, shared weights, no parameters") {
    for (const OddStage& odd : odd_stages()) {
        trains_three_stages("the middle stage " + odd.name, [&] {
            return StagedModel{{whole(4, 1), odd.make(), whole(4, 2)}};
        });
    }
}

TEST_CASE("frozen parameters have no gradient, and those of other stages have theirs") {
    // Stages whose parameters require no gradient: the first, the middle one, the last, all.
    for (const std::size_t frozen :
         {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{3}}) {
        const std::string which = frozen < 3 ? "stage " + std::to_string(frozen) : "every stage";
        trains_three_stages(which + " is frozen", [&] {
            StagedModel model{{whole(4, 1), whole(4, 2), whole(4, 3)}};
            for (std::size_t k = 0; k < 3; ++k) {
                model.stages[k].leaves[0].requires_grad_(k != frozen && frozen < 3);
            }
            return model;
        });
    }
}

TEST_CASE("a tied weight has the gradient of both its ends, after one all-reduce") {
    on_ranks({3, 1, 2, 4}, [](const Communicator& comm) {
        // Two runs, and then one sum over the two ends.
        const int p = comm.size();
        const bool is_end = comm.rank() == 0 || comm.rank() == p - 1;
        const Communicator ends = comm.split(is_end ? 0 : 1, comm.rank());
        const StagedModel mine = tied_model(std::max(p, 2), p == 1);
        const StagedModel alone = tied_model(std::max(p, 2), true);
        const Schedule rows = rows_of({ScheduleKind::interleaved, p, 4, p == 1 ? 2 : 1});
        for (int run = 0; run < 2; ++run) {
            (void)mine.train(rows, 4, comm);
            (void)alone.train_alone(in_order(4), 4);
        }
        const at::Tensor table =
            (comm.rank() == 0 ? mine.stages.front() : mine.stages.back()).leaves[0];
        const at::Tensor own = is_end ? table.grad().clone() : at::Tensor();
        const Traffic traffic = record(comm, [&] {
            if (is_end) {
                all_reduce_tied_gradient(table, ends);
            }
        });
        if (is_end) {
            const at::Tensor whole = alone.stages[0].leaves[0].grad();
            CHECK(identical(
                table.grad(), whole,
                {{own, "that is what this rank's stages have found"},
                 {whole.div(2), "that is the mean of both ends"}}
            ));
        }
        const long messages = is_end && p > 1 ? 2 : 0;
        INFO("one ring all-reduce of the table's 20 floats");
        CHECK(within(
            traffic, {.messages_sent = exactly(messages), .bytes_sent = exactly(messages * 40)}
        ));
    });
}

TEST_CASE("gradients of a tied weight add up in any layout, and none counts as zeros") {
    on_ranks({3, 1, 2}, [](const Communicator& comm) {
        // A gradient in any layout, or none; a weight that needs none.
        for (const Layout layout : {Layout::contiguous, Layout::transposed, Layout::with_gaps}) {
            const at::Tensor weight = laid_out(filled({4, 3}, 0, 1), layout).requires_grad_();
            at::Tensor expected = at::zeros_like(weight);
            for (int rank = 0; rank < comm.size(); ++rank) {
                if (rank != 1) {
                    expected.add_(filled({4, 3}, rank, 2));
                }
            }
            if (comm.rank() != 1) {
                weight.mutable_grad() = laid_out(filled({4, 3}, comm.rank(), 2), layout);
            }
            const auto as_before = as_now({weight.detach()});
            all_reduce_tied_gradient(weight, comm);
            INFO("gradients lie " << name_of(layout) << ", and rank 1 has none");
            CHECK(identical(weight.grad(), expected));
            const Comparison unchanged = as_before();
            CHECK(unchanged);
        }
        const at::Tensor frozen = filled({4, 3}, 0, 1);
        const Traffic traffic = record(comm, [&] { all_reduce_tied_gradient(frozen, comm); });
        INFO("a weight that requires no gradient");
        CHECK(traffic.messages_sent == 0);
        CHECK_FALSE(frozen.grad().defined());
    });
}

TEST_CASE("what a stage or loss throws comes out, also in backward, and the next run is as ever") {
    on_ranks({1}, [](const Communicator& comm) {
        // Stages, loss and backward throw, on one rank.
        for (const PipelineCase& one : schedules(1, {2})) {
            const Settings settings;
            const auto bombed = [&](const Bomb& bomb) {
                StagedModel model = layers(one.v);
                for (TestedStage& stage : model.stages) {
                    stage.forward = [bomb, forward = stage.forward](const at::Tensor& x) {
                        bomb();
                        const at::Tensor y = forward(x);
                        y.register_hook([bomb](const at::Tensor& /*gradient*/) { bomb(); });
                        return y;
                    };
                }
                model.loss = [bomb](const at::Tensor& y, int i) {
                    bomb();
                    return loss_of(y, i);
                };
                (void)model.train(rows_of(one), 2, comm);
            };
            INFO(text_of(one));
            const int places = 2 * (one.v + 1 + one.v);  // stages, loss, and hooks
            everything_throws(places, bombed, [&] {
                const Comparison left = settings.unchanged();
                if (!left) {
                    return left;
                }
                const StagedModel mine = layers(one.v);
                const StagedModel alone = layers(one.v);
                (void)mine.train(rows_of(one), 2, comm);
                (void)alone.train_alone(in_order(2), 2);
                return identical(mine.stages[0].leaves[0].grad(), alone.stages[0].leaves[0].grad());
            });
        }
    });
}

TEST_CASE("what the last rank's loss throws comes out there") {
    on_ranks({3, 2}, [](const Communicator& comm) {
        // The others are through by then.
        StagedModel model = layers(comm.size());
        model.loss = [](const at::Tensor& y, int i) {
            if (i == 1) {
                raise(Thrown::error);
            }
            return y;
        };
        const std::string got =
            thrown_by([&] { (void)model.train(forward_rows(comm.size(), 2), 2, comm); });
        CHECK(got == (comm.rank() == comm.size() - 1 ? name_of(Thrown::error) : "nothing"));
    });
}

TEST_CASE("a message that fails is an error") {
    reports_failures([](const Communicator& comm) {
        const PipelineCase one = {ScheduleKind::gpipe, comm.size(), 1, 1};
        (void)layers(comm.size()).train(rows_of(one), 1, comm);
    });
    reports_failures([](const Communicator& comm) {
        const at::Tensor weight = filled({4, 3}, 0, 1).requires_grad_();
        all_reduce_tied_gradient(weight, comm);
    });
}

TEST_CASE("a message of another length than input_shape says is an error where it arrives") {
    on_ranks({2}, [](const Communicator& comm) {
        for (const std::int64_t columns : {4, 6}) {
            StagedModel model = layers(2);
            model.stages[1].input_shape = {3, columns};
            const Answer got =
                answer(comm, [&] { (void)model.train(forward_rows(2, 1), 1, comm); });
            INFO(columns << " columns for an output of 5: " << got.text);
            CHECK(got.what == (comm.rank() == 1 ? kError : kReturned));
        }
    });
}

TEST_CASE("runs know nothing of each other") {
    two_alive("run_pipeline", [](std::size_t which, const Communicator& comm) {
        const int p = comm.size();
        const int m = 2 + static_cast<int>(which);
        const StagedModel mine = layers(p, 100 * which);
        const StagedModel alone = layers(p, 100 * which);
        const Schedule rows = rows_of({ScheduleKind::zero_bubble, p, m, 1});
        const std::size_t stage = static_cast<std::size_t>(comm.rank());
        const auto call = [=, &comm] {
            (void)mine.train(rows, m, comm);
            (void)alone.train_alone(in_order(m), m);
        };
        return Life{.calls = {call, call}, .outcome = [=] {
                        return identical(
                            mine.stages[stage].leaves[0].grad(),
                            alone.stages[stage].leaves[0].grad()
                        );
                    }};
    });
}

TEST_CASE("pipelines of two groups run side by side, each on its own communicator") {
    on_ranks({4}, [](const Communicator& comm) {
        const int number = comm.rank() % 2;
        const Communicator group = comm.split(number, comm.rank());
        const PipelineCase one = {ScheduleKind::one_forward_one_backward, 2, 3, 1};
        const auto salt = static_cast<std::uint64_t>(100 * number);
        trains_as_one(
            rows_of(one), in_order(3), [&] { return layers(2, salt); }, group
        );
    });
}

TEST_CASE("rows, stages and inputs that do not fit are refused") {
    on_ranks({1, 2}, [](const Communicator& comm) {
        const int p = comm.size();
        const StagedModel model = layers(4);
        const Schedule more = rows_of({ScheduleKind::gpipe, p + 1, 2, 1});
        refuses(comm, "rows of one rank more", [&] { (void)model.train(more, 2, comm); });
        const Schedule rows = rows_of({ScheduleKind::gpipe, p, 2, 1});
        refuses(comm, "a stage is missing", [&] {
            (void)run_pipeline(
                rows, {{3, model.stages[3].forward, {3, 7}}}, model.inputs(2), loss_of, comm
            );
        });
    });
    on_ranks({1}, [](const Communicator& comm) {
        const StagedModel model = layers(1);
        const Schedule rows = rows_of({ScheduleKind::gpipe, 1, 2, 1});
        for (const int n : {0, 1, 3}) {
            refuses(comm, std::to_string(n) + " inputs for 2 micro-batches", [&] {
                (void)run_pipeline(rows, model.stages_for(rows[0]), model.inputs(n), loss_of, comm);
            });
        }
    });
}
