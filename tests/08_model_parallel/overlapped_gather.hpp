// Whether tokens travel while a column-parallel layer computes: x beside the gradient of x, and that beside the gradient
// of the weight. Ranks wait for each other here, and not for a time.
#pragma once

#include <functional>

#include "tests/08_model_parallel/when_computed.hpp"
#include "tests/08_model_parallel/whole_block.hpp"

namespace dist::harness {

/// A column layer of 7 columns and 12 rows, and five tokens on each rank; words from rank to rank, beside its messages.
struct Watched {
    explicit Watched(const Communicator& ranks)
        : comm(ranks),
          words(ranks.split(0, ranks.rank())),
          whole(filled({12, 7}, 0, 1)),
          column(whole, {}, ranks),
          x(filled({1, 5, 7}, ranks.rank(), 2).requires_grad_()),
          y(sequence_parallel_column_linear(x, column.weight, {}, ranks)) {}

    void tell(int rank) const { MPI_Send(&kWord, 1, MPI_CHAR, rank, 0, words.handle()); }
    void hear(int rank) const {
        char word = 0;
        MPI_Recv(&word, 1, MPI_CHAR, rank, 0, words.handle(), MPI_STATUS_IGNORE);
    }

    /// Rank 0 lets all others go on, and waits until each has said a word.
    void others_go_on() const {
        for (int rank = 1; rank < comm.size(); ++rank) {
            tell(rank);
        }
        for (int rank = 1; rank < comm.size(); ++rank) {
            hear(rank);
        }
    }

    /// Calls f when the gradient of all tokens has been computed, or that of the weight.
    [[nodiscard]] WhenComputed when_dx(const std::function<void()>& f) const {
        return {column.weight.numel(), all(), f};
    }
    [[nodiscard]] WhenComputed when_dw(const std::function<void()>& f) const {
        return {all(), column.weight.numel(), f};
    }

    void backward() const {
        y.sum().backward();
        CHECK(equal(x.grad(), whole.sum(0).expand({1, 5, 7})));
    }

    const Communicator& comm;
    Communicator words;
    at::Tensor whole;
    ColumnParallelLinear column;
    at::Tensor x;
    at::Tensor y;

  private:
    static constexpr char kWord = 0;
    [[nodiscard]] std::int64_t all() const { return comm.size() * x.numel(); }
};

/// Rank 0 computes the gradient of x before the other ranks begin backward, and does not go on before they have all
/// tokens. That ends only where rank 0 has begun to send before, and waits for nobody.
inline void gathers_while_it_computes() {
    on_ranks({2, 3}, [](const Communicator& comm) {
        const Watched it(comm);
        INFO(
            "the other ranks begin backward when rank 0 has computed the gradient of x, and rank 0 "
            "goes on when they have the weight's, for which they need its tokens: so it has to "
            "begin the all-gather before that product, and to wait for it afterwards"
        );
        if (comm.rank() == 0) {
            const WhenComputed computed = it.when_dx([&] { it.others_go_on(); });
            it.backward();
            CHECK(computed.happened());
        } else {
            it.y.register_hook([&](const at::Tensor& /*gradient*/) { it.hear(0); });
            const WhenComputed computed = it.when_dw([&] { it.tell(0); });
            it.backward();
        }
    });
}

/// Rank 0 computes the weight's gradient before the other ranks send theirs of x, and does not go on before they have
/// what the ranks have added up.
inline void scatters_while_it_computes() {
    on_ranks({2, 3}, [](const Communicator& comm) {
        const Watched it(comm);
        INFO(
            "the other ranks send the gradient of x when rank 0 has computed the weight's, and "
            "rank 0 "
            "goes on when they have theirs: so it has to begin the reduce-scatter before that "
            "product, and to wait for it afterwards"
        );
        if (comm.rank() == 0) {
            const WhenComputed computed = it.when_dw([&] { it.others_go_on(); });
            it.backward();
            CHECK(computed.happened());
        } else {
            it.x.register_hook([&](const at::Tensor& /*gradient*/) { it.tell(0); });
            const WhenComputed computed = it.when_dx([&] { it.hear(0); });
            it.backward();
            CHECK(computed.happened());
        }
    });
}

}  // namespace dist::harness
