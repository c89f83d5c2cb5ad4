// What run_pipeline must do: train as one process does, by any schedule, and hold no more than is in flight.
#include "exercises/08_model_parallel/pipeline.hpp"

#include <ATen/ops/ones.h>
#include <c10/core/GradMode.h>
#include <optional>
#include <string>
#include <vector>

#include "tests/08_model_parallel/multiplications.hpp"
#include "tests/08_model_parallel/pipelined.hpp"
#include "tests/harness/words/bytes.hpp"
#include "tests/harness/words/calls.hpp"
#include "tests/harness/words/cost.hpp"
#include "tests/harness/words/memory.hpp"
#include "tests/harness/words/refusals.hpp"
#include "tests/harness/words/settings.hpp"
#include "tests/harness/words/text.hpp"
#include "tests/harness/words/throws.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

/// The middle one of three stages, of whole numbers: x and its weight are (4, 4), and so is what it returns.
using OddStage = std::pair<const char*, at::Tensor (*)(const at::Tensor& x, const at::Tensor& w)>;

const OddStage kOddStages[] = {
    {"returns its input", [](const auto& x, const auto&) { return x; }},
    {"returns what is not in one piece",
     [](const auto& x, const auto& w) { return w.matmul(x.t()).t(); }},
    {"reads a weight three times",
     [](const auto& x, const auto& w) {
         return at::linear(at::linear(at::linear(x, w).relu(), w).relu(), w);
     }},
    {"adds what comes from a weight alone",
     [](const auto& x, const auto& w) { return x.add(w.mul(2)).mul(w); }},
    {"needs its input three times, once by a frozen weight",
     [](const auto& x, const auto& w) {
         return at::linear(x, w).add(at::linear(x, w.detach())).add(x);
     }},
    {"does not use its input", [](const auto&, const auto& w) { return w.mul(3); }},
    {"returns a leaf", [](const auto&, const auto& w) { return w; }},
    {"returns what needs no gradient",
     [](const auto& x, const auto&) { return x.detach().mul(2); }}};

/// Three stages on three ranks, by B, and by I and W; and all on one.
void trains_three_stages(const std::string& what, const std::function<StagedModel()>& make) {
    on_ranks({3, 1}, [&](const Communicator& comm) {
        const std::vector<PipelineCase> on_one = {{ScheduleKind::interleaved, 1, 4, 3}};
        const std::vector<PipelineCase> on_three = {
            {ScheduleKind::one_forward_one_backward, 3, 4, 1},
            {ScheduleKind::zero_bubble, 3, 4, 1}};
        for (const PipelineCase& one : comm.size() == 1 ? on_one : on_three) {
            INFO(what << "; " << text_of(one));
            trains_as_one(rows_of(one), in_order(4), make, comm);
        }
    });
}

constexpr std::size_t kActivation = 1000;  // floats of an input or output
constexpr std::size_t kInside = 64;        // so many times that is what a stage keeps for backward

constexpr std::int64_t kColumns = 5;

TestedStage three_layers(int k) {
    Tensors leaves;
    for (int i = 0; i < 3; ++i) {
        const int salt = 10 * k + 2 * i;
        leaves.push_back(filled({kColumns, kColumns}, 0, salt).div(16).requires_grad_());
        leaves.push_back(filled({kColumns}, 0, salt + 1).div(16).requires_grad_());
    }
    const auto forward = [leaves](const at::Tensor& x) {
        Tensors h = {x};
        for (std::size_t i = 0; i < leaves.size(); i += 2) {
            h.push_back(at::linear(h.back(), leaves[i], leaves[i + 1]).tanh());
        }
        return h[3];
    };
    return {forward, {2, 3, kColumns}, leaves};
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
    const auto trains = [](int p, int stages, const std::vector<int>& order, const char* text) {
        on_ranks({p}, [&](const Communicator& comm) {
            const Schedule rows = insert_messages(read_schedule(text));
            trains_as_one(
                rows, order, [&] { return layers(stages); }, comm
            );
        });
    };
    trains(
        3, 6, {0, 1},
        "0F0,0F1,5F0,5B0,5F1,5B1,0B0,0B1\n1F0,1F1,4F0,4B0,4F1,4B1,1B0,1B1\n"
        "2F0,3F0,2F1,3F1,3B0,2B0,3B1,2B1\n"
    );
    trains(2, 2, {2, 1, 0}, "0F0,0F1,0F2,0B2,0B1,0B0\n1F0,1F1,1F2,1B2,1B1,1B0\n");
    trains(2, 2, {0, 1}, "0F0,0F1,0B0,0I1,0W1\n1F0,1I0,1F1,1I1,1W1,1W0\n");
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
            StagedModel model = layers(comm.size() * v);
            bool records = false;
            model.loss = [&](const at::Tensor& y, int /*i*/) {
                records = records || c10::GradMode::is_enabled() || y.requires_grad();
                return y;
            };
            Tensors got;
            const Schedule rows = forward_rows(comm.size(), kM, v);
            const Traffic traffic = record(comm, [&] { got = model.train(rows, kM, comm); });
            INFO(v << " stages on each rank");
            CHECK_FALSE(records);
            const bool is_last = comm.rank() == comm.size() - 1;
            const long sends = comm.size() == 1 ? 0 : is_last ? v - 1 : v;
            CHECK(traffic.messages_sent == kM * sends);
            CHECK(got.size() == (is_last ? kM : 0));
            const c10::AutoGradMode off(false);
            const Tensors expected = model.train_alone(in_order(kM), kM);
            for (std::size_t i = 0; i < got.size(); ++i) {
                CHECK(identical(got[i], expected[i]));
            }
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
            for (const Action& action : row_of(rows, comm)) {
                if (is_send(action.kind)) {  // 3 rows: of 5 + k columns, or of the input's 4 + k
                    ++messages;
                    floats += 3L * ((action.kind == ActionKind::send_f ? 5 : 4) + action.stage);
                    to.insert(peer_of(action).stage % p);
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
        for (const PipelineCase& one : schedules(comm.size(), {24, 3})) {
            const Schedule rows = rows_of(one);
            const Row& row = row_of(rows, comm);
            std::optional<MemoryBefore> before;
            std::size_t held =
                0;  // the most, in activations, when a stage is called or its backward begins
            const auto look = [&] {
                held = std::max(held, before->tensors_since() / sizeof(float) / kActivation);
            };
            StagedModel model;
            for (int k = 0; k < one.p * one.v; ++k) {
                const at::Tensor w = at::ones({}).requires_grad_();
                const at::Tensor inside = at::ones({kInside, 1});
                const auto forward = [=](const at::Tensor& x
                                     ) {  // of what it keeps, W needs x alone
                    const at::Tensor h = x.mul(w).unsqueeze(0).mul(inside).tanh();
                    look();
                    at::Tensor y = h.sum(0);
                    y.register_hook([=](const at::Tensor& /*gradient*/) { look(); });
                    return y;
                };
                model.stages.push_back({forward, {kActivation}, {w}});
            }
            const std::vector<PipelineStage> stages = model.stages_for(row);
            const Tensors inputs = comm.rank() == 0 ? model.inputs(one.m) : Tensors{};
            const auto loss = [](const at::Tensor& y, int /*i*/) { return y.sum(); };
            before.emplace();
            const Tensors losses = run_pipeline(rows, stages, inputs, loss, comm);
            const std::size_t left = before->tensors_since();
            const Comparison beside = before->nothing_beside();
            const int p_s = std::min(one.p - comm.rank(), one.m);
            const int in_flight = one.kind == ScheduleKind::interleaved
                                      ? simulate_schedule(rows).most_in_flight[comm.rank()]
                                  : one.kind == ScheduleKind::gpipe ? one.m
                                                                    : p_s;
            // one in flight has its input and a gradient; from I to W as well, of s + 1 at most;
            // two outputs and two gradients of each stage are on their way; backward has two
            const std::size_t most =
                in_flight * (kInside + 2) + 2 * (comm.rank() + 1) + 4 * one.v + 2;
            INFO(text_of(one) << ", rank " << comm.rank() << ": " << text_of_row(row));
            INFO("activations held at once: 64 are what one micro-batch in flight needs in backward"
            );
            CHECK(held <= most);
            INFO("afterwards: a gradient of each stage's one weight, and losses");
            CHECK(same_bytes(left, sizeof(float) * (stages.size() + losses.size())));
            CHECK(beside);
        }
    });
}

TEST_CASE("I computes gradients of inputs, and W those of weights") {
    on_ranks({1}, [](const Communicator& comm) {
        // F stand between I and W, so that a stage is called there, and looks.
        const Schedule rows = read_schedule(
            "0F0,0F1,0F2,1F0,1I0,1F1,1W0,1F2,0I0,0F3,0W0,1F3,"
            "1I1,1W1,0I1,0W1,1I2,1W2,0I2,0W2,1I3,1W3,0I3,0W3\n"
        );
        const StagedModel alone{{three_layers(0), three_layers(1)}};
        (void)alone.train_alone(in_order(4), 4);
        StagedModel watched{{three_layers(0), three_layers(1)}};
        const auto with_gradient = [](const TestedStage& stage) {
            return std::ranges::count_if(stage.leaves, [](const at::Tensor& leaf) {
                return leaf.grad().defined();
            });
        };
        // products of a layer since the call before, and each stage's leaves with a gradient
        using Look = std::vector<std::int64_t>;
        std::vector<Look> looks;
        const Multiplications multiplications;
        for (TestedStage& stage : watched.stages) {
            stage.forward = [&, plain = stage.forward](const at::Tensor& x) {
                // of 6 rows; a stage's own three are not of interest
                const std::int64_t products = multiplications.taken() / (6 * kColumns * kColumns);
                looks.push_back(
                    {products - 3, with_gradient(watched.stages[0]),
                     with_gradient(watched.stages[1])}
                );
                return plain(x);
            };
        }
        (void)watched.train(rows, 4, comm);
        INFO(text_of_row(rows[0], 16));
        const std::pair<const char*, Look> all[] = {
            {"after 1I0: the gradient of each layer's input, and no leaf's", {3, 0, 0}},
            {"after 1W0: the gradient of each layer's weight, and no input's again", {3, 0, 6}},
            {"after 0I0: the input of stage 0 needs no gradient", {0, 0, 6}},
            {"after 0W0: gradients of three weights, and of two layers' inputs", {5, 6, 6}}};
        REQUIRE(looks.size() == 8);
        for (std::size_t i = 0; i < 4; ++i) {
            INFO(all[i].first);
            INFO(
                "products of a layer since the call before, and each stage's leaves with a gradient"
            );
            CHECK(text(looks[4 + i]) == text(all[i].second));
        }
        has_gradients_of(watched, alone, rows[0], 4);
    });
}

TEST_CASE("a SEND or RECV keeps its rank from nothing but what needs the message") {
    using Call = std::pair<int, int>;  // of a stage, for a micro-batch
    struct Wait {
        const char* what;
        const char* why;
        Call waits, tells;  // the first does not return before the other has begun
        const char* rows;
    };
    const Wait all[] = {
        {"rank 0 calls stage 0 for micro-batch 1 when rank 1 has begun with micro-batch 0:",
         "a RECV begins to receive, and F waits for its own message alone",
         {0, 1},
         {1, 0},
         "0F0,0SEND_F0,0F1,0SEND_F1\n1RECV_F0,1RECV_F1,1F0,1F1\n"},
        {"rank 1 is in stage 1 with micro-batch 0 until rank 0 begins with micro-batch 2:",
         "a SEND begins to send, and the rank goes on",
         {1, 0},
         {0, 2},
         "0F0,0SEND_F0,0F1,0SEND_F1,0F2,0SEND_F2\n1RECV_F0,1F0,1RECV_F1,1F1,1RECV_F2,1F2\n"}};
    on_ranks({2}, [&](const Communicator& comm) {
        const Communicator others = comm.split(0, comm.rank());
        for (const Wait& one : all) {
            const Schedule rows = read_schedule(one.rows);
            StagedModel model = layers(2);
            for (int k = 0; k < 2; ++k) {
                model.stages[k].forward =
                    [&, k, i = 0, plain = model.stages[k].forward](const at::Tensor& x) mutable {
                        const Call here = {k, i++};
                        char word = 0;
                        if (here == one.waits) {
                            MPI_Recv(
                                &word, 1, MPI_CHAR, one.tells.first, 0, others.handle(),
                                MPI_STATUS_IGNORE
                            );
                        } else if (here == one.tells) {
                            MPI_Send(&word, 1, MPI_CHAR, one.waits.first, 0, others.handle());
                        }
                        return plain(x);
                    };
            }
            INFO(one.what);
            INFO(one.why);
            INFO(one.rows);
            (void)model.train(rows, rows[0].back().micro_batch + 1, comm);
        }
    });
}

TEST_CASE("a stage may be whatever autograd knows: views, leaves, shared weights, no parameters") {
    for (const auto& odd : kOddStages) {
        trains_three_stages(text("the middle stage ", odd.first), [&] {
            const at::Tensor w = filled({4, 4}, 0, 7).sign().requires_grad_();
            const auto forward = [f = odd.second, w](const at::Tensor& x) { return f(x, w); };
            return StagedModel{{whole(4, 1), {forward, {4, 4}, {w}}, whole(4, 2)}};
        });
    }
    trains_three_stages("the first stage looks words up in a table", [] {
        const at::Tensor table = filled({5, 4}, 0, 9).sign().requires_grad_();
        const auto look_up = [=](const at::Tensor& words) { return table.index_select(0, words); };
        return StagedModel{
            .stages = {{look_up, {4}, {table}}, whole(4, 1), whole(4, 2)}, .words = 5};
    });
}

TEST_CASE("frozen parameters have no gradient, and those of other stages have theirs") {
    for (const int frozen : {0, 1, 2, 3}) {
        const std::string which = frozen < 3 ? text("stage ", frozen) : "every stage";
        trains_three_stages(which + " is frozen", [&] {
            StagedModel model{{whole(4, 1), whole(4, 2), whole(4, 3)}};
            for (int k = 0; k < 3; ++k) {
                model.stages[k].leaves[0].requires_grad_(k != frozen && frozen < 3);
            }
            return model;
        });
    }
}

TEST_CASE("gradients of a tied weight add up in any layout, and none counts as zeros") {
    on_ranks({3, 1, 2}, [](const Communicator& comm) {
        for (const Layout layout : {Layout::contiguous, Layout::transposed, Layout::with_gaps}) {
            const at::Tensor weight = laid_out(filled({4, 3}, 0, 1), layout).requires_grad_();
            at::Tensor expected = at::zeros_like(weight);
            for (int rank = 0; rank < comm.size(); ++rank) {
                if (rank != 1) {
                    expected.add_(filled({4, 3}, rank, 2));
                }
            }
            const at::Tensor own = filled({4, 3}, comm.rank(), 2);
            if (comm.rank() != 1) {
                weight.mutable_grad() = laid_out(own, layout);
            }
            const auto as_before = as_now({weight.detach()});
            const Traffic traffic = record(comm, [&] { all_reduce_tied_gradient(weight, comm); });
            INFO("gradients lie " << name_of(layout) << ", and rank 1 has none");
            CHECK(identical(
                weight.grad(), expected,
                {{own, "that is what this rank's stages have found"},
                 {expected.div(comm.size()), "that is the mean of all copies"}}
            ));
            CHECK(as_before());
            INFO("one ring all-reduce of 12 floats");
            const long messages = 2L * (comm.size() - 1);
            CHECK(within(
                traffic, {.messages_sent = exactly(messages),
                          .bytes_sent = exactly(messages * 48 / comm.size())}
            ));
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
