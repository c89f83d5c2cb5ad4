// Whether the gradient of x travels while the gradient of the weight is computed, and is there when it has to be.
// Ranks wait for each other here, and not for a time.
#pragma once

#include <optional>
#include <vector>

#include "tests/08_model_parallel/when_computed.hpp"
#include "tests/08_model_parallel/whole_mlp.hpp"

namespace dist::harness {

/// Rank 0 computes its weight's gradient before the other ranks begin backward, and does not go on before they have
/// the gradient of x. That ends only where rank 0 has begun to send before, and waits for nobody.
inline void sends_while_it_computes() {
    on_ranks({2, 3}, [](const Communicator& comm) {
        const Communicator others = comm.split(0, comm.rank());
        const at::Tensor whole = filled({12, 7}, 0, 1);
        const ColumnParallelLinear column(whole, {}, comm);
        const at::Tensor x = filled({5, 7}, 0, 2).requires_grad_();
        const at::Tensor y = column.forward(x);
        INFO("the other ranks begin backward when rank 0 has computed its weight's gradient, and");
        INFO("rank 0 goes on when they have the gradient of x: so it has to begin its all-reduce");
        INFO("before that product, and to wait for it afterwards");
        char word = 0;
        const auto tell = [&](int rank) { MPI_Send(&word, 1, MPI_CHAR, rank, 0, others.handle()); };
        const auto hear = [&](int rank) {
            MPI_Recv(&word, 1, MPI_CHAR, rank, 0, others.handle(), MPI_STATUS_IGNORE);
        };
        if (comm.rank() == 0) {
            const std::int64_t own = column.weight.numel();
            const WhenComputed computed(x.numel(), own, [&] {
                for (int rank = 1; rank < comm.size(); ++rank) {
                    tell(rank);
                }
                for (int rank = 1; rank < comm.size(); ++rank) {
                    hear(rank);
                }
            });
            y.sum().backward();
            CHECK(computed.happened());
        } else {
            y.register_hook([&](const at::Tensor& /*gradient*/) { hear(0); });
            x.register_hook([&](const at::Tensor& /*gradient*/) { tell(0); });
            y.sum().backward();
        }
        const at::Tensor sums = whole.sum(0).expand({5, 7});
        CHECK(equal(x.grad(), sums));
    });
}

/// A hook sees the gradient of x as soon as there is one. Messages of rank 1 are late.
inline void waits_for_late_ranks() {
    on_ranks({2, 3}, [](const Communicator& comm) {
        const WholeMlp whole;
        const ColumnParallelLinear column(whole.w0, whole.b0, comm);
        const at::Tensor x = filled({2, 6, 5}, 0, 9).requires_grad_();
        std::vector<float> then;
        x.register_hook([&](const at::Tensor& gradient) { then = elements(gradient); });
        std::optional<LateMessages> late;
        if (comm.rank() == 1) {
            late.emplace(30);
        }
        column.forward(x).sum().backward();
        late.reset();
        const auto sums = [](const at::Tensor& w) { return w.detach().sum(0).expand({2, 6, 5}); };
        CHECK(same(
            then, elements(sums(whole.w0)), 0,
            {{elements(sums(column.weight)),
              "that is this rank's part: who waits for the others'?"}}
        ));
    });
}

}  // namespace dist::harness
