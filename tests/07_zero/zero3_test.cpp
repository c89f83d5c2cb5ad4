// What zero3 must do: train as one process, with weights that are there only while their unit computes, to the byte.
#include "exercises/07_zero/zero3.hpp"

#include <ATen/ops/ones.h>
#include <memory>
#include <ranges>
#include <string>
#include <vector>

#include "tests/07_zero/lived.hpp"
#include "tests/07_zero/unit_chains.hpp"
#include "tests/07_zero/unit_ends.hpp"
#include "tests/07_zero/unit_patterns.hpp"
#include "tests/harness/words/cost.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid(
    {"collectives"}, "This exercise stands on your own ring_reduce_scatter and ring_all_gather."
);

struct Mode {
    bool reshard;
    bool prefetch;
};
const std::vector<Mode> kModes = {{true, false}, {true, true}, {false, false}, {false, true}};

std::string name_of(const Mode& mode) {
    return std::string(mode.reshard ? "resharded after forward" : "kept for backward") +
           (mode.prefetch ? ", with prefetch" : "");
}

MakeUnits zero3(const Mode& mode) {
    return [mode](
               const std::vector<Tensors>& parameters, const nn::OptimizerOptions& options,
               const Communicator& comm
           ) {
        std::vector<FsdpUnit> units;
        for (const Tensors& unit : parameters) {
            units.push_back({unit, mode.reshard});
        }
        return as_units(
            std::make_shared<Zero3>(units, options, comm, mode.prefetch), parameters,
            sum_of_models(lengths_of(parameters), options, comm.size(), ZeroStage::parameters),
            comm.size()
        );
    };
}

}  // namespace

TEST_CASE("zero3 trains as one process with the mean of all gradients, for any model and mode") {
    for (const Mode& mode : kModes) {
        trains_as_one_process(stage_of(zero3(mode), {1, 2}));
    }
}

TEST_CASE("20 steps give the bits that DDP gives with a bucket for each unit") {
    gives_ddps_bits(
        stage_of(zero3({true, true}), {1, 1, 1}),
        {{2, 6}, {3, 4}, {24}, {}, {}, {}, {}, {}, {}, {}, {}, {4}},
        {{0}, {1}, {2}, {3, 4, 5, 6, 7, 8, 9, 10, 11}}
    );
    gives_ddps_bits(stage_of(zero3({true, true}), {1, 1, 1}), kShapes, {{0}, {1}, {2}, {3, 4}});
    const TrainNet train = [](const Net& net, const auto& options, const Communicator& comm) {
        const Units units = zero3({true, true})(in_units(net.parameters, {2}), options, comm);
        return [=](const at::Tensor& x) {
            units.zero_grad();
            const at::Tensor h = units.forward(0, [&] { return net.first(x); });
            const at::Tensor loss = Net::loss(units.forward(1, [&] { return net.second(h); }));
            loss.backward();
            units.step();
            return elements(loss)[0];
        };
    };
    gives_ddps_losses(train, {{0, 1}, {2}});
}

TEST_CASE("gradients are divided by p before they are added up") {
    divides_before_the_sum(stage_of(zero3({true, false}), {1}));
}

TEST_CASE("backward has the weights of this step, in every mode") {
    for (const Mode& mode : kModes) {
        backward_has_weights(zero3(mode));
    }
}

TEST_CASE("a rank holds what memory_model says, to the byte, and the unit that computes") {
    on_ranks({2, 1, 3, 4}, [](const Communicator& comm) {
        for (const Mode& mode : kModes) {
            for (const nn::OptimizerOptions& options : kOptions) {
                Watched model({50'001, 100'003, 70'000}, zero3(mode), options, comm);
                INFO(name_of(mode) << ", " << harness::name_of(options) << ", p = " << comm.size());
                model.holds("when it is made", 0, 0, 0);
                for (int step = 0; step < 2; ++step) {
                    const std::size_t kept = step == 0 ? 0 : model.units.states.optimizer;
                    model.units.zero_grad();
                    Tensors outputs;
                    std::size_t stays = 0;
                    forget_peak();
                    for (std::size_t u = 0; u < 3; ++u) {
                        const std::string unit = "unit " + std::to_string(u);
                        const std::size_t next = mode.prefetch ? model.row(u + 1) : 0;
                        outputs.push_back(model.units.forward(u, [&] {
                            model.holds(
                                "forward, in " + unit, stays + model.row(u) + next, 0, kept
                            );
                            return model.parameters[u].sum();
                        }));
                        ++model.outputs;
                        stays += mode.reshard ? 0 : model.row(u);
                        model.holds("forward, after " + unit, stays + next, 0, kept);
                    }
                    at::Tensor loss = outputs[0].add(outputs[1]).add(outputs[2]);
                    outputs.clear();
                    forget_peak();
                    loss.backward();
                    loss.reset();
                    model.outputs = 0;
                    const std::size_t peak = model.peak();
                    model.holds("after backward", 0, model.units.states.gradients, kept);
                    // a unit's weights and gradients, the gradient that has come, the next one's weights
                    const std::size_t most = model.units.states.parameters +
                                             model.units.states.gradients + kept +
                                             (mode.reshard ? 0 : model.row(0) + model.row(2)) +
                                             3 * model.row(1) + (mode.prefetch ? model.row(2) : 0);
                    INFO(
                        "in backward: " << peak << " bytes at most, where " << most << " are right"
                    );
                    CHECK(peak <= most + 1000);
                    model.units.step();
                    model.holds(
                        "after the step", 0, model.units.states.gradients,
                        model.units.states.optimizer
                    );
                }
            }
        }
    });
}

TEST_CASE(
    "k units in a root: k + 1 gathers in forward; in backward k + 1, k or none, and k + 1 "
    "reduce-scatters"
) {
    on_ranks({3, 1, 2, 4}, [](const Communicator& comm) {
        const int p = comm.size();
        const std::vector<std::size_t> lengths = {
            13, 4, 25, 7};  // the root's, and those of three units in it
        for (const std::vector<bool>& reshard :
             {std::vector<bool>{true, true}, {false, true}, {false, false}}) {
            for (const bool prefetch : {false, true}) {
                Tensors parameters;
                std::vector<FsdpUnit> units;
                long all = 0;
                for (std::size_t u = 0; u < lengths.size(); ++u) {
                    parameters.push_back(
                        at::ones({static_cast<std::int64_t>(lengths[u])}).requires_grad_()
                    );
                    units.push_back({{parameters[u]}, reshard[u == 0 ? 0 : 1]});
                    all += ceil_div(lengths[u], p);
                }
                const long root = ceil_div(lengths[0], p);
                Zero3 optimizer(units, {}, comm, prefetch);
                const auto cost = [&](long gathers, long shards) {
                    return Cost{
                        .messages_sent = exactly(gathers * (p - 1)),
                        .bytes_sent =
                            exactly((p - 1) * float_bytes(static_cast<std::size_t>(shards))),
                        .among = neighbours(comm)};
                };
                at::Tensor loss;
                const Traffic forward = record(comm, [&] {
                    loss = optimizer.forward(0, [&] {
                        at::Tensor h = parameters[0].sum();
                        for (std::size_t u = 1; u < lengths.size(); ++u) {
                            h = optimizer.forward(u, [&] { return h.mul(parameters[u].sum()); });
                        }
                        return h.mul(parameters[0].sum());
                    });
                });
                const Traffic backward = record(comm, [&] { loss.backward(); });
                const Traffic step = record(comm, [&] { optimizer.step(); });
                INFO(
                    "root " << (reshard[0] ? "resharded" : "kept") << ", units "
                            << (reshard[1] ? "resharded" : "kept") << (prefetch ? ", prefetch" : "")
                );
                CHECK(within(forward, cost(4, all)));
                const long gathers = reshard[0] ? 4 : reshard[1] ? 3 : 0;
                const long gathered = reshard[0] ? all : reshard[1] ? all - root : 0;
                INFO(gathers << " gathers and 4 reduce-scatters in backward");
                CHECK(within(backward, cost(gathers + 4, gathered + all)));
                CHECK(step.messages_sent == 0);
            }
        }
    });
}

TEST_CASE("with prefetch nobody waits for the next unit before it is needed") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        const Communicator others = comm.split(0, comm.rank());
        const Tensors parameters = zeros({{4}, {6}});
        Zero3 optimizer({{{parameters[0]}, false}, {{parameters[1]}, true}}, {}, comm);
        const auto first = [&](const std::function<void()>& meanwhile) {
            return optimizer.forward(0, [&] {
                meanwhile();
                return parameters[0].sum();
            });
        };
        const at::Tensor stays = first([] {});
        optimizer.forward(1, [&] { return parameters[1].sum(); });
        INFO("the other ranks call unit 0 when rank 0 computes it: so rank 0 cannot wait for unit 1"
        );
        char go = 0;
        if (comm.rank() == 0) {
            first([&] {
                for (int rank = 1; rank < comm.size(); ++rank) {
                    MPI_Send(&go, 1, MPI_CHAR, rank, 0, others.handle());
                }
            });
        } else {
            MPI_Recv(&go, 1, MPI_CHAR, 0, 0, others.handle(), MPI_STATUS_IGNORE);
            first([] {});
        }
        optimizer.forward(1, [&] { return parameters[1].sum(); });
    });
}

TEST_CASE("in backward as well nobody waits for the unit that comes next") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        const Communicator others = comm.split(0, comm.rank());
        const Tensors parameters = zeros({{4}, {6}});
        Zero3 optimizer({{{parameters[0]}, true}, {{parameters[1]}, false}}, {}, comm);
        char go = 0;
        const at::Tensor h = optimizer.forward(0, [&] { return parameters[0].sum(); });
        const at::Tensor y = optimizer.forward(1, [&] {
            const at::Tensor inner = h.add(parameters[1].sum());
            inner.register_hook([&](const at::Tensor& /*gradient*/) {
                for (int rank = 1; comm.rank() == 0 && rank < comm.size(); ++rank) {
                    MPI_Send(&go, 1, MPI_CHAR, rank, 0, others.handle());
                }
            });
            return inner.mul(2);
        });
        INFO("the other ranks call backward when rank 0 computes unit 1: it cannot wait for unit 0"
        );
        if (comm.rank() != 0) {
            MPI_Recv(&go, 1, MPI_CHAR, 0, 0, others.handle(), MPI_STATUS_IGNORE);
        }
        y.backward();
    });
}

TEST_CASE("in backward the unit before is on its way while this one computes") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        Watched model({1000, 2000, 3000}, zero3({true, true}), {}, comm);
        at::Tensor h = at::ones({});
        std::vector<std::size_t> rows;
        for (std::size_t u = 0; u < 3; ++u) {
            h = model.units.forward(u, [&] { return h.mul(model.parameters[u].sum()); });
            h.register_hook([&](const at::Tensor& /*gradient*/) {
                const Held held = model.held();
                rows.push_back(held.states.parameters - model.units.states.parameters);
            });
        }
        h.backward();
        INFO("bytes of whole rows as backward begins units 2, 1 and 0: its own, and the next one's"
        );
        CHECK(
            rows ==
            std::vector<std::size_t>{
                model.row(2) + model.row(1), model.row(1) + model.row(0), model.row(0)}
        );
    });
}

TEST_CASE("of units in a root the last is on its way when backward begins the root") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        Watched model({1000, 2000, 3000}, zero3({true, true}), {}, comm);
        std::size_t rows = 0;
        const at::Tensor y = model.units.forward(0, [&] {
            at::Tensor h = model.parameters[0].sum();
            for (const std::size_t u : {1, 2}) {
                h = model.units.forward(u, [&] { return h.mul(model.parameters[u].sum()); });
            }
            return h.mul(2);
        });
        y.register_hook([&](const at::Tensor& /*gradient*/) {
            rows = model.held().states.parameters - model.units.states.parameters;
        });
        y.backward();
        INFO("bytes of whole rows as backward begins unit 0, in which units 1 and 2 were called");
        INFO("the next one is that of the call that ended last before it: unit 2");
        CHECK(rows == model.row(0) + model.row(2));
    });
}

TEST_CASE(
    "a unit may be called twice, or not at all, and weights that two units share lie in the root"
) {
    for (const Mode& mode : kModes) {
        calls_as_it_likes(zero3(mode));
    }
}

TEST_CASE("backwards add up, a gradient that does not come counts as zeros, and zero_grad forgets"
) {
    adds_up(zero3({true, true}));
}

TEST_CASE("zero_grad forgets the calls, and a backward from a result of before works") {
    goes_back_after_zero_grad(zero3({true, true}));
    goes_back_after_zero_grad(zero3({false, false}));
}

TEST_CASE("a step without a backward changes nothing, also with momentum and decay") {
    rests_without_backward(zero3({true, true}));
}

TEST_CASE("a step leaves autograd and the parameters' flags as they were") {
    step_leaves_settings([](const Tensors& parameters, const auto& options, const auto& comm) {
        return std::make_shared<Units>(zero3({true, true})(each(parameters), options, comm));
    });
}

TEST_CASE("optimizer() has a shard of each unit, in their order, and takes another rate") {
    on_ranks({2, 1, 3}, [](const Communicator& comm) {
        const std::vector<std::size_t> lengths = {5, 7, 2};
        const Tensors parameters = zeros({{5}, {7}, {2}});
        const Units units = zero3({true, true})(each(parameters), {.rate = 1}, comm);
        std::vector<std::size_t> got;
        std::vector<std::size_t> expected;
        for (std::size_t u = 0; u < lengths.size(); ++u) {
            got.push_back(count(units.optimizer().parameters().at(u)));
            expected.push_back(static_cast<std::size_t>(ceil_div(lengths[u], comm.size())));
        }
        INFO("elements of the shards of units of 5, 7 and 2");
        CHECK(got == expected);
        units.optimizer().set_rate(-0.5);
        at::Tensor h = at::zeros({});
        for (std::size_t u = 0; u < lengths.size(); ++u) {
            h = units.forward(u, [&] { return h.add(parameters[u].sum()); });
        }
        h.backward();
        units.step();
        CHECK(same(weights_of(units), std::vector<float>(14, 0.5F), 1e-6));
    });
}

TEST_CASE("one rank may leave out a parameter, or a unit: all else is as always, in every mode") {
    for (const Mode& mode : kModes) {
        INFO(name_of(mode));
        one_rank_leaves_out(zero3(mode));
    }
}

TEST_CASE("what is kept or gathered in vain is freed, and not taken for what comes out of a step") {
    for (const Mode& mode : kModes) {
        frees_what_is_stale(zero3(mode));
    }
}

TEST_CASE("weights are freed also where autograd keeps a view of them for backward") {
    frees_what_autograd_keeps(zero3({true, true}));
}

TEST_CASE("also of nested units, and of one that is called twice, one rank may leave out any") {
    one_rank_leaves_out_of_nested_units(zero3({true, false}));
    one_rank_leaves_out_of_nested_units(zero3({false, true}));
}

TEST_CASE("a unit that is called twice is gathered and reduced once in backward") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        const at::Tensor x = at::ones({4}).requires_grad_();
        Zero3 optimizer({{{x}, true}}, {}, comm);
        at::Tensor h = at::ones({});
        for (int call = 0; call < 2; ++call) {
            h = optimizer.forward(0, [&] { return h.mul(x.sum()); });
        }
        const Traffic backward = record(comm, [&] { h.backward(); });
        CHECK(within(backward, {.messages_sent = exactly(2 * (comm.size() - 1))}));
    });
}

TEST_CASE("a backward costs no more after another one, whose gradients are kept") {
    repeats_at_the_same_cost(zero3({true, false}));
}

TEST_CASE("two models that are alive at a time, and two results of one, keep apart") {
    // what is kept for backward first: there a wrong order shows in values, elsewhere in a hang
    for (const Mode& mode : kModes | std::views::reverse) {
        INFO(name_of(mode));
        keeps_two_apart(zero3(mode));
        keeps_two_results_apart(zero3(mode));
    }
}

TEST_CASE("after messages that failed at any moment, zero_grad makes a new beginning") {
    begins_anew_after_failures(zero3({true, false}));
    begins_anew_after_failures(zero3({false, false}));
}

TEST_CASE("a unit computes with the bits that its parameters had") {
    keeps_every_bit(zero3({true, true}));
}

TEST_CASE("parameters may lie in memory in any way") {
    takes_any_layout(zero3({true, true}));
}

TEST_CASE("when zero3 is gone, no parameter has memory, whatever was kept or on its way") {
    for (const Mode& mode : kModes) {
        INFO(name_of(mode));
        frees_when_destroyed(zero3(mode));
    }
}

TEST_CASE("when module throws, all weights are freed, and the next step is as always") {
    for (const Mode& mode : kModes) {
        outlives_an_exception(zero3(mode));
    }
}

TEST_CASE("a message that fails comes out of forward and of backward") {
    for (const bool prefetch : {false, true}) {
        reports_failing_messages(zero3({true, prefetch}));
    }
}

TEST_CASE("zero3 refuses other parameters, one in two units, and a unit that is not there") {
    refuses_other_parameters([](const Tensors& parameters, const Communicator& comm) {
        zero3({true, true})(each(parameters), {}, comm);
    });
    refuses_another_unit(zero3({true, true}));
}

TEST_CASE("zero3 takes ranks from the communicator it is given") {
    works_in_groups(stage_of(zero3({true, true}), {1, 2}));
}

TEST_CASE("zero3 is right on 11 ranks", "[many]") {
    trains_on_11_ranks(stage_of(zero3({true, true}), {1, 2}));
}
