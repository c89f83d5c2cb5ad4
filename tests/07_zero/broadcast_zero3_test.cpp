// What broadcast_zero3 must do: what every stage and all units must (stage_promises.hpp, unit_promises.hpp), with whole units
// that their owners lend to the others.
#include "exercises/07_zero/broadcast_zero3.hpp"

#include <ATen/ops/ones.h>
#include <bit>
#include <memory>
#include <vector>

#include "tests/07_zero/units.hpp"
#include "tests/harness/words/cost.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid(
    {"collectives"}, "This exercise stands on your own tree_broadcast and tree_reduce."
);

using Lengths = std::vector<std::size_t>;

/// Of the units that this rank owns.
Lengths owned(const Lengths& lengths, const Communicator& comm) {
    const std::vector<int> owners = deal_out(lengths, comm.size());
    Lengths mine;
    for (std::size_t u = 0; u < lengths.size(); ++u) {
        if (owners[u] == comm.rank()) {
            mine.push_back(lengths[u]);
        }
    }
    return mine;
}

/// log2 p, rounded up: rounds of a tree.
long tree_depth(int p) {
    return std::bit_width(static_cast<unsigned>(p) - 1);
}

Units broadcast_zero3(
    const std::vector<Tensors>& parameters,
    const nn::OptimizerOptions& options,
    const Communicator& comm
) {
    return as_units(
        std::make_shared<BroadcastZero3>(parameters, options, comm), parameters,
        sum_of_models(owned(lengths_of(parameters), comm), options, 1, ZeroStage::none), 1
    );
}

/// A unit of each length, whose parameter is ones.
struct Model {
    Model(const Lengths& lengths, const Communicator& comm) {
        for (const std::size_t n : lengths) {
            parameters.push_back(at::ones({static_cast<std::int64_t>(n)}).requires_grad_());
        }
        units = broadcast_zero3(each(parameters), {}, comm);
    }

    [[nodiscard]] at::Tensor forward() const {
        at::Tensor h = at::ones({});
        for (std::size_t u = 0; u < parameters.size(); ++u) {
            h = units.forward(u, [&] { return h.mul(parameters[u].sum()); });
        }
        return h;
    }

    Tensors parameters;
    Units units;
};

}  // namespace

TEST_CASE("deal_out gives the largest first to the rank that has least") {
    on_ranks({1}, [](const Communicator&) {
        using Owners = std::vector<int>;
        CHECK(deal_out(Lengths{5, 4, 3, 3, 3}, 2) == Owners{0, 1, 1, 0, 1});
        CHECK(deal_out(Lengths{1, 2, 3, 4, 5, 6}, 3) == Owners{0, 1, 2, 2, 1, 0});
        CHECK(deal_out(Lengths{7, 7, 7}, 4) == Owners{0, 1, 2});
        CHECK(deal_out(Lengths{1, 9, 1, 9, 0}, 2) == Owners{0, 0, 1, 1, 0});
        CHECK(deal_out(Lengths{2, 1}, 1) == Owners{0, 0});
        CHECK(deal_out(Lengths{}, 3).empty());
        constexpr std::size_t kLarge = std::size_t{1} << 32U;
        INFO("a unit of 2^32 elements, and two of half as many");
        CHECK(deal_out(Lengths{kLarge, kLarge / 2, kLarge / 2, 1}, 2) == Owners{0, 1, 1, 0});
    });
}

TEST_CASE("deal_out refuses less than one rank") {
    on_ranks({1}, [](const Communicator& comm) {
        for (const int p : {0, -1}) {
            CHECK(answer(comm, [&] { deal_out(Lengths{1}, p); }).what == kInvalidArgument);
        }
    });
}

TEST_CASE("broadcast_zero3 trains as one process with the mean of all gradients, for any model") {
    trains_as_one_process(stage_of(broadcast_zero3, {1, 2}));
}

TEST_CASE("on two ranks 20 steps give the bits that DDP gives") {
    // two numbers have one sum, in whatever order
    gives_ddps_bits(
        stage_of(broadcast_zero3, {1, 1, 1}), {{2, 6}, {5}, {}, {}, {}, {}, {7}},
        {{0}, {1}, {2}, {3, 4, 5, 6}}, {2, 1}
    );
}

TEST_CASE("a rank holds what it owns, to the byte, and the unit that computes") {
    on_ranks({2, 1, 3, 4}, [](const Communicator& comm) {
        const Lengths lengths = {50'001, 100'003, 70'000};
        const std::vector<int> owners = deal_out(lengths, comm.size());
        for (const nn::OptimizerOptions& options : kOptions) {
            Watched model(lengths, broadcast_zero3, options, comm);
            const ModelStates& states = model.units.states;
            INFO(name_of(options) << ", p = " << comm.size());
            model.holds("when it is made", 0, 0, 0);
            for (int step = 0; step < 2; ++step) {
                const std::size_t kept = step == 0 ? 0 : states.optimizer;
                model.units.zero_grad();
                at::Tensor loss = at::zeros({}, at::kFloat);
                for (std::size_t u = 0; u < 3; ++u) {
                    const std::string unit = "unit " + std::to_string(u);
                    model.outputs = 1;
                    loss = model.units.forward(u, [&] {
                        const bool lent = owners[u] != comm.rank();
                        model.holds("forward, in " + unit, lent ? 4 * lengths[u] : 0, 0, kept);
                        return loss.add(model.parameters[u].sum());
                    });
                    model.holds("forward, after " + unit, 0, 0, kept);
                }
                forget_peak();
                loss.backward();
                const std::size_t peak = model.peak();
                model.holds("after backward", 0, states.gradients, kept);
                // a unit's weights and gradients, and the gradient that has come
                const std::size_t most = states.parameters + states.gradients + kept + 12 * 100'003;
                INFO("in backward: " << peak << " bytes at most, where " << most << " are right");
                CHECK(peak <= most + 1000);
                model.units.step();
                model.holds("after the step", 0, states.gradients, states.optimizer);
            }
        }
    });
}

TEST_CASE(
    "a unit is broadcast in forward and in backward, and its gradients are reduced to its owner"
) {
    on_ranks({2, 1, 3, 4, 5}, [](const Communicator& comm) {
        const Lengths lengths = {13, 4, 25, 7};
        const Model model(lengths, comm);
        const Lengths mine = owned(lengths, comm);
        const long others = static_cast<long>(lengths.size() - mine.size());
        long floats = 13 + 4 + 25 + 7;
        for (const std::size_t n : mine) {
            floats -= static_cast<long>(n);
        }
        at::Tensor loss;
        const Traffic forward = record(comm, [&] { loss = model.forward(); });
        const Traffic backward = record(comm, [&] { loss.backward(); });
        const Traffic step = record(comm, [&] { model.units.step(); });
        INFO("units of 13, 4, 25 and 7; this rank owns " << mine.size() << " of them");
        const Comparison in_forward = within(
            forward,
            {.messages_received = exactly(others),
             .bytes_received = exactly(float_bytes(static_cast<std::size_t>(floats))),
             .rounds = at_most(static_cast<long>(lengths.size()) * tree_depth(comm.size()))}
        );
        CHECK(in_forward);
        const long trees = 2 * static_cast<long>(lengths.size());
        CHECK(within(backward, {.rounds = at_most(trees * tree_depth(comm.size()))}));
        if (comm.size() <= 2) {  // with more, partial sums come to others as well
            const long owned_units = comm.size() == 1 ? 0 : static_cast<long>(mine.size());
            const long all = comm.size() == 1 ? 0 : 13 + 4 + 25 + 7;
            const Comparison in_backward = within(
                backward, {.messages_sent = exactly(others + owned_units),
                           .bytes_sent = exactly(float_bytes(static_cast<std::size_t>(all))),
                           .messages_received = exactly(others + owned_units),
                           .bytes_received = exactly(float_bytes(static_cast<std::size_t>(all)))}
            );
            CHECK(in_backward);
        }
        CHECK(step.messages_sent == 0);
    });
}

TEST_CASE(
    "optimizer() has the rows that this rank owns, in the units' order, and takes another rate"
) {
    on_ranks({2, 1}, [](const Communicator& comm) {
        const Lengths lengths = {2, 5, 4};
        const Model model(lengths, comm);
        Lengths got;
        for (const at::Tensor& row : model.units.optimizer().parameters()) {
            got.push_back(count(row));
        }
        CHECK(got == owned(lengths, comm));
        model.units.optimizer().set_rate(-0.5);
        model.forward().backward();
        model.units.step();
        std::vector<float> expected(2, 1 + 10);
        expected.insert(expected.end(), 5, 1 + 4);
        expected.insert(expected.end(), 4, 1 + 5);
        CHECK(same(weights_of(model.units), expected, 1e-6));
    });
}

Stage dist::harness::stage_to_try() {
    return stage_of(broadcast_zero3, {1, 2});
}

const std::vector<UnitsToTry>& dist::harness::units_to_try() {
    static const std::vector<UnitsToTry> units = {
        {"units that their owners lend", broadcast_zero3}};
    return units;
}

// Last: where the weights are wrong, the tests above say which.
#include "tests/07_zero/stage_promises.hpp"
#include "tests/07_zero/unit_promises.hpp"
