// Gradients of parameters that every rank has as a whole, and that see the tokens of one rank.
#pragma once

#include <vector>

#include "tests/08_model_parallel/whole_block.hpp"
#include "tests/harness/words/cost.hpp"

namespace dist::harness {

/// Gradients of many shapes, which lie in memory so, among parameters that have none.
inline void gradients_are_added_up(Layout layout, const Communicator& comm) {
    std::vector<at::Tensor> parameters;
    std::vector<at::Tensor> gradients;
    for (const auto& shape : kShapes) {
        const std::uint64_t salt = parameters.size();
        parameters.push_back(filled(shape, 0, salt).requires_grad_());
        gradients.push_back(laid_out(filled(shape, comm.rank(), salt), layout));
        parameters.back().mutable_grad() = gradients.back();
        parameters.push_back(filled({3}, 0, salt).requires_grad_());
    }
    const Traffic traffic =
        record(comm, [&] { all_reduce_sequence_parallel_gradients(parameters, comm); });
    INFO("gradients lie " << name_of(layout));
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        INFO("a parameter of shape " << at::IntArrayRef(kShapes[i]));
        at::Tensor sum = filled(kShapes[i], 0, 2 * i);
        for (int rank = 1; rank < comm.size(); ++rank) {
            sum.add_(filled(kShapes[i], rank, 2 * i));
        }
        const Comparison result = equal(
            gradients[i], sum,
            {{sum.div(comm.size()), "that is their mean: each rank has seen other tokens"},
             {filled(kShapes[i], comm.rank(), 2 * i), "that is what this rank's tokens gave alone"}}
        );
        CHECK(result);
        INFO("the gradient has to stay where it is: it may be a view of something larger");
        CHECK(parameters[2 * i].grad().is_same(gradients[i]));
        INFO("a parameter between the others has no gradient, and gets none");
        CHECK_FALSE(parameters[2 * i + 1].grad().defined());
    }
    INFO("50 floats in all, in one all-reduce: as many messages as for a single parameter");
    CHECK(within(
        traffic, {.messages_sent = exactly(2L * (comm.size() - 1)),
                  .bytes_sent = at_most(2L * (comm.size() - 1) * 4 * ceil_div(50, comm.size()))}
    ));
}

}  // namespace dist::harness
