// Random numbers of regions that are cut, and of those that are not.
#pragma once

#include <ATen/ops/dropout.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "course/nn/rows.hpp"
#include "exercises/03_ring_and_tree/ring_all_gather.hpp"
#include "exercises/08_model_parallel/recompute.hpp"
#include "tests/08_model_parallel/seed_generator.hpp"
#include "tests/08_model_parallel/whole_block.hpp"

namespace dist::harness {

/// Which of 64 ones dropout leaves.
inline at::Tensor mask() {
    return at::dropout(at::ones({64}), 0.5, /*train=*/true).sign();
}

inline at::Tensor mask_of_own(const Communicator& comm) {
    const ShardedRandom random(comm);
    return mask();
}

/// Masks before, between and behind two scopes; and in the scopes.
inline void masks_differ_where_cut() {
    on_ranks({3, 1, 2, 4}, [](const Communicator& comm) {
        seed_generator(seed());
        std::vector<std::pair<std::string, at::Tensor>> masks;
        for (int i = 0; i < 3; ++i) {
            const at::Tensor common = mask();
            INFO("dropout number " << i << " outside of scopes: each rank has to have the same");
            CHECK(same_on_all_ranks(nn::floats(common), comm));
            masks.emplace_back("outside of scopes, dropout " + std::to_string(i), common);
            for (const char* const which : {"a first", "a second"}) {  // one right behind the other
                const at::Tensor rows = at::ones({comm.size(), 64});
                rows[comm.rank()].copy_(mask_of_own(comm));
                ring_all_gather(nn::floats(rows), comm);
                for (int rank = 0; rank < comm.size(); ++rank) {
                    masks.emplace_back(
                        std::string(which) + " scope behind dropout " + std::to_string(i) +
                            ", on rank " + std::to_string(rank),
                        rows[rank]
                    );
                }
            }
        }
        for (std::size_t i = 0; i < masks.size(); ++i) {
            for (std::size_t j = 0; j < i; ++j) {
                INFO(masks[j].first << ", and " << masks[i].first << ": the same mask of 64");
                CHECK_FALSE(masks[i].second.equal(masks[j].second));
            }
        }
    });
}

/// Each rank draws another number of times in a scope, and so do two runs.
inline void common_numbers_go_on() {
    on_ranks({3, 1, 2}, [](const Communicator& comm) {
        const auto after = [&](const std::function<void()>& draw) {
            seed_generator(seed());
            at::randn({1});  // the generator keeps a second one for the next call
            try {
                const ShardedRandom random(comm);
                draw();
            } catch (const std::runtime_error&) {
            }
            return at::randn({5});
        };
        const at::Tensor expected = after([] {});
        const at::Tensor many = after([&] { at::randn({2 * comm.rank() + 1}); });
        const at::Tensor thrown = after([] {
            at::rand({3});
            throw std::runtime_error("a layer");
        });
        INFO("random numbers after a scope, which must not depend on those drawn within it");
        CHECK(same_on_all_ranks(nn::floats(many), comm));
        CHECK(identical(many, expected));
        INFO("the scope was left by an exception");
        CHECK(identical(thrown, expected));
    });
}

/// The generator is brought back by hand, and by recompute.
inline void masks_come_again() {
    on_ranks({2, 1, 3}, [](const Communicator& comm) {
        const auto from_the_seed = [&] {
            seed_generator(seed());
            return mask_of_own(comm);
        };
        const at::Tensor first = from_the_seed();
        {
            INFO("the generator is where it was before the first scope");
            CHECK(identical(from_the_seed(), first));
        }
        const auto trained_by =
            [&](const std::function<at::Tensor(const Module&, const at::Tensor&)>& call) {
                seed_generator(seed());
                const at::Tensor x = filled({4, 6}, comm.rank(), 7).requires_grad_();
                const at::Tensor y = call(
                    [&](const std::vector<at::Tensor>& inputs) {
                        const ShardedRandom random(comm);
                        return at::dropout(inputs[0].tanh(), 0.5, /*train=*/true);
                    },
                    x
                );
                y.sum().backward();
                return std::pair(y.detach(), x.grad());
            };
        const auto plain = [](const Module& module, const at::Tensor& x) { return module({x}); };
        const auto again = [](const Module& module, const at::Tensor& x) {
            return recompute(module, {x});
        };
        const auto [y, gradient] = trained_by(plain);
        const auto [same_y, same_gradient] = trained_by(again);
        INFO("a scope within recompute: output and gradient must have the same mask");
        CHECK(identical(same_y, y));
        CHECK(identical(same_gradient, gradient));
    });
}

}  // namespace dist::harness
