// Stages of every kind that autograd allows: what they return, what they read, what is frozen.
#pragma once

#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>

#include "tests/08_model_parallel/pipelined.hpp"

namespace dist::harness {

/// The middle one of three stages, of whole numbers: (3, 4) -> (3, 4).
struct OddStage {
    std::string name;
    std::function<TestedStage()> make;
};

inline TestedStage stage_of(Tensors leaves, std::function<at::Tensor(const at::Tensor&)> forward) {
    return {std::move(forward), {3, 4}, std::move(leaves)};
}

/// Norm, attention and two layers, each added to what came before.
inline TestedStage block() {
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

inline std::vector<OddStage> odd_stages() {
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
inline Schedule in_halves(const Schedule& rows) {
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
inline void trains_three_stages(const std::string& what, const std::function<StagedModel()>& make) {
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

inline void trains_odd_stages() {
    for (const OddStage& odd : odd_stages()) {
        trains_three_stages("the middle stage " + odd.name, [&] {
            return StagedModel{{whole(4, 1), odd.make(), whole(4, 2)}};
        });
    }
}

/// Stages whose parameters require no gradient: the first, the middle one, the last, all.
inline void trains_beside_frozen_stages() {
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

}  // namespace dist::harness
