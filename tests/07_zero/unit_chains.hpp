// Models of several units, of which ranks leave parts out: tried on everything that gathers weights and frees them.
#pragma once

#include <ATen/ops/ones.h>
#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "tests/07_zero/units.hpp"
#include "tests/harness/words/two_alive.hpp"

namespace dist::harness {

/// What a rank leaves out of a unit.
enum class LeftOut { nothing, first, second, all, result, graph };

inline const char* name_of(LeftOut what) {
    switch (what) {
        case LeftOut::nothing:
            return "nothing";
        case LeftOut::first:
            return "its first parameter";
        case LeftOut::second:
            return "its second parameter";
        case LeftOut::all:
            return "both parameters, and returns its input";
        case LeftOut::result:
            return "its result: what it returns is not used";
        case LeftOut::graph:
            return "its gradients: what it returns is detached";
    }
    return "";
}

/// One unit of a chain, y = h a + b. It leaves out `what`.
inline at::Tensor link(
    const Tensors& x, const CallUnit& call, std::size_t unit, const at::Tensor& h, LeftOut what
) {
    const bool has_first = what != LeftOut::first && what != LeftOut::all;
    const bool has_second = what != LeftOut::second && what != LeftOut::all;
    const at::Tensor y = call(unit, [&] {
        at::Tensor inner = has_first ? h.mul(x[2 * unit]) : h;
        inner = has_second ? inner.add(x[2 * unit + 1]) : inner;
        return what == LeftOut::graph ? inner.detach() : inner;
    });
    return what == LeftOut::result ? h : y;
}

/// Three of them. In `unit`, `what` is left out.
inline at::Tensor chain(const Tensors& x, const CallUnit& call, std::size_t unit, LeftOut what) {
    at::Tensor h = at::ones({1});
    for (std::size_t u = 0; u < 3; ++u) {
        h = link(x, call, u, h, u == unit ? what : LeftOut::nothing);
    }
    return h.sum().mul(12);  // 2, 3 and 4 ranks divide it
}

/// The parameters of three units, two each.
inline Tensors chain_parameters() {
    Tensors x;
    for (const float value : {2.0F, 1.0F, 3.0F, 7.0F, 5.0F, 4.0F}) {
        x.push_back(filled({1}, {value}).requires_grad_());
    }
    return x;
}

/// Where a step of rate -1 takes these parameters, by the mean of p ranks' gradients: what units would do, and no unit
/// does here.
inline std::vector<float> stepped(
    const Tensors& x, int p, const std::function<at::Tensor(const CallUnit& call, int rank)>& loss
) {
    const CallUnit directly = [](std::size_t, const auto& module) { return module(); };
    for (int rank = 0; rank < p; ++rank) {
        loss(directly, rank).div(p).backward();
    }
    for (const at::Tensor& parameter : x) {
        if (parameter.grad().defined()) {
            parameter.data().add_(parameter.grad());
        }
    }
    return all_elements(x);
}

/// One rank leaves a parameter or a whole unit out: its gradients count as zeros, all others as always.
inline void one_rank_leaves_out(const MakeUnits& make) {
    on_ranks({2, 3, 4}, [&](const Communicator& comm) {
        const Tensors x = chain_parameters();
        const Units units = make(in_units(x, {2, 2, 2}), {.rate = -1}, comm);
        const auto tries = [&](int absent, std::size_t unit, LeftOut what) {
            const auto left_out = [&](int rank) {
                return rank == absent ? what : LeftOut::nothing;
            };
            const Tensors whole = chain_parameters();
            const auto expected = stepped(whole, comm.size(), [&](const auto& call, int rank) {
                return chain(whole, call, unit, left_out(rank));
            });
            INFO(
                "three units, y = h a + b; in unit " << unit << " rank " << absent << " leaves out "
                                                     << name_of(what)
            );
            chain(x, units.bare_forward, unit, left_out(comm.rank())).backward();
            units.step();
            CHECK(same(weights_of(units), expected));
            units.optimizer().set_rate(1);  // and back
            units.step();
            units.optimizer().set_rate(-1);
            units.zero_grad();
        };
        constexpr std::array kinds = {
            LeftOut::first, LeftOut::second, LeftOut::all, LeftOut::result, LeftOut::graph};
        for (std::size_t unit = 0; unit < 3; ++unit) {
            for (std::size_t k = 0; k < kinds.size(); ++k) {
                for (int absent = 0; absent < comm.size(); ++absent) {
                    // every kind in every unit, on two ranks; on more, every rank
                    const bool is_turn =
                        (unit + k + static_cast<std::size_t>(absent)) % kinds.size() == 0;
                    const bool has_loss = unit < 2 || kinds[k] != LeftOut::graph;
                    if (has_loss && (is_turn || (comm.size() == 2 && absent == 1))) {
                        tries(absent, unit, kinds[k]);
                    }
                }
            }
        }
    });
}

/// A root calls unit 1 twice and unit 2 once; all use the root's parameter too. One rank leaves out one of these.
inline void one_rank_leaves_out_of_nested_units(const MakeUnits& make) {
    const auto nested = [](const Tensors& x, const CallUnit& call, std::size_t absent) {
        return call(
                   0,
                   [&] {
                       at::Tensor h = x[0].mul(2);
                       for (const std::size_t place : {0, 1, 2}) {
                           const std::size_t unit = place < 2 ? 1 : 2;
                           h = call(unit, [&] {
                               return place == absent ? h : h.mul(x[unit]).add(x[0]);
                           });
                       }
                       return absent == 3 ? h : h.mul(x[0]);
                   }
        )
            .sum()
            .mul(6);
    };
    const auto parameters = [] {
        return Tensors{
            filled({1}, {2}).requires_grad_(), filled({1}, {3}).requires_grad_(),
            filled({1}, {5}).requires_grad_()};
    };
    on_ranks({2, 3}, [&](const Communicator& comm) {
        for (std::size_t place = 0; place < 4; ++place) {
            const int absent = static_cast<int>(place + 1) % comm.size();
            const Tensors x = parameters();
            const Units units = make(each(x), {.rate = -1}, comm);
            const auto left_out = [&](int rank) { return rank == absent ? place : std::size_t{4}; };
            const Tensors whole = parameters();
            const auto expected = stepped(whole, comm.size(), [&](const auto& call, int rank) {
                return nested(whole, call, left_out(rank));
            });
            constexpr std::array places = {
                "the first call of unit 1 returns its input",
                "the second call of unit 1 returns its input", "unit 2 returns its input",
                "the root returns what unit 2 has returned"};
            INFO(
                "a root calls unit 1 twice, then unit 2; on rank " << absent << " " << places[place]
            );
            nested(x, units.bare_forward, left_out(comm.rank())).backward();
            units.step();
            CHECK(same(weights_of(units), expected, 1e-6));
        }
    });
}

/// Two chains, whose calls and backwards are interleaved. In each, another rank does not use the result of unit 1.
inline void keeps_two_apart(const MakeUnits& make) {
    struct Model {
        Tensors x;
        Communicator comm;
        Units units;
        at::Tensor h = at::ones({1});
    };
    two_alive("these models", [make](std::size_t which, const Communicator& comm) {
        const auto left_out = [=, &comm](int rank, std::size_t u) {
            const int absent = which == 0 ? 0 : comm.size() - 1;
            return rank == absent && u == 1 ? LeftOut::result : LeftOut::nothing;
        };
        const auto parameters = [=] {  // of other lengths in the other model
            Tensors x = chain_parameters();
            for (at::Tensor& parameter : x) {
                const auto n = static_cast<std::int64_t>(which + 1);
                parameter = parameter.detach().repeat(n).requires_grad_();
            }
            return x;
        };
        const auto model =
            std::make_shared<Model>(Model{parameters(), comm.split(0, comm.rank()), {}});
        model->units = make(in_units(model->x, {2, 2, 2}), {.rate = -1}, model->comm);
        const Tensors whole = parameters();
        const auto expected = stepped(whole, comm.size(), [&](const auto& call, int rank) {
            at::Tensor h = at::ones({1});
            for (std::size_t u = 0; u < 3; ++u) {
                h = link(whole, call, u, h, left_out(rank, u));
            }
            return h.sum();
        });
        Life life;
        for (std::size_t u = 0; u < 3; ++u) {
            life.calls.push_back([=, &comm] {
                const LeftOut what = left_out(comm.rank(), u);
                model->h = link(model->x, model->units.bare_forward, u, model->h, what);
            });
        }
        life.calls.push_back([=] { model->h.sum().backward(); });
        life.calls.push_back([=] { model->units.step(); });
        life.outcome = [=] { return same(weights_of(model->units), expected, 1e-6); };
        return life;
    });
}

}  // namespace dist::harness
