// Where a rank of a pipeline waits, and where it goes on. Ranks wait for each other here, and not
// for a time.
#pragma once

#include <memory>

#include "tests/08_model_parallel/pipelined.hpp"

namespace dist::harness {

/// Evaluation on two ranks: the call of stage `waits` for one micro-batch does not return before
/// that of stage `tells` for another has begun.
inline void goes_on(
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

/// A SEND or RECV keeps its rank from nothing behind it, but for what needs its message.
inline void messages_keep_nobody() {
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

}  // namespace dist::harness
