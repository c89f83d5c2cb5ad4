// What is thrown within a run.
#pragma once

#include "tests/08_model_parallel/pipelined.hpp"
#include "tests/harness/words/settings.hpp"
#include "tests/harness/words/throws.hpp"

namespace dist::harness {

/// Stages, loss and backward throw, on one rank.
inline void throws_what_is_thrown(const Communicator& comm) {
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
}

/// The others are through by then.
inline void throws_on_the_last_rank(const Communicator& comm) {
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
}

}  // namespace dist::harness
