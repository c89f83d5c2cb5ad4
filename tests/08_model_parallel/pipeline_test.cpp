// What run_pipeline must do: train as one process does, by any schedule, and hold no more than is
// in flight.
#include "exercises/08_model_parallel/pipeline.hpp"

#include <c10/core/GradMode.h>
#include <memory>
#include <string>
#include <vector>

#include "tests/08_model_parallel/pipeline_halves.hpp"
#include "tests/08_model_parallel/pipeline_memory.hpp"
#include "tests/08_model_parallel/pipeline_stages.hpp"
#include "tests/08_model_parallel/pipeline_throws.hpp"
#include "tests/08_model_parallel/pipeline_tied.hpp"
#include "tests/08_model_parallel/pipeline_waits.hpp"
#include "tests/08_model_parallel/pipelined.hpp"
#include "tests/harness/words/calls.hpp"
#include "tests/harness/words/cost.hpp"
#include "tests/harness/words/refusals.hpp"
#include "tests/harness/words/settings.hpp"
#include "tests/harness/words/two_alive.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

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
    on_ranks({1}, splits_backward);
}

TEST_CASE("a SEND or RECV keeps its rank from nothing but what needs the message") {
    messages_keep_nobody();
}

TEST_CASE("a stage may be whatever autograd knows: views, leaves, shared weights, no parameters") {
    trains_odd_stages();
}

TEST_CASE("frozen parameters have no gradient, and those of other stages have theirs") {
    trains_beside_frozen_stages();
}

TEST_CASE("a tied weight has the gradient of both its ends, after one all-reduce") {
    on_ranks({3, 1, 2, 4}, ties_both_ends);
}

TEST_CASE("gradients of a tied weight add up in any layout, and none counts as zeros") {
    on_ranks({3, 1, 2}, adds_up_any_gradient);
}

TEST_CASE("what a stage or loss throws comes out, also in backward, and the next run is as ever") {
    on_ranks({1}, throws_what_is_thrown);
}

TEST_CASE("what the last rank's loss throws comes out there") {
    on_ranks({3, 2}, throws_on_the_last_rank);
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
