// Two objects of a kind that live at the same time: neither may see what is done with the other.
//
//     two_alive("Reducer", [](std::size_t which, const Communicator& comm) {
//         const auto model = std::make_shared<Model>(which);
//         return Life{
//             .calls = {[=] { model->backward(); }, [=] { model->step(); }},
//             .outcome = [=] { return same(model->weights(), expected(which)); }};
//     });
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/harness/harness.hpp"

namespace dist::harness {

/// One object, held by its functions: it dies with them.
struct Life {
    std::vector<std::function<void()>> calls;  // in their order
    std::function<Comparison()> outcome;       // when all calls of both are made
};

/// Makes object 0 or 1. They differ in all that they are given: values, and lengths where these are free.
using MakeLife = std::function<Life(std::size_t which, const Communicator& comm)>;

namespace two_alive_parts {

/// The order of all calls: 'a' is the first object's next call, 'b' the second's, 'x' is the second's end.
struct Order {
    std::string name;
    std::string turns;
};

inline std::vector<Order> orders(std::size_t n, std::size_t m) {
    std::string in_turn;
    for (std::size_t i = 0; i < std::max(n, m); ++i) {
        in_turn += i < n ? "a" : "";
        in_turn += i < m ? "b" : "";
    }
    const std::string nested = "a" + std::string(m, 'b');
    const std::string rest(n - 1, 'a');
    return {
        {"they are called in turn", in_turn},
        {"all calls of the second come after the first call of the first", nested + rest},
        {"all calls of the second come after all calls of the first",
         "a" + rest + std::string(m, 'b')},
        {"the second has ended before the first goes on", nested + "x" + rest}};
}

}  // namespace two_alive_parts

/// Makes two objects and calls them in turn, one within the other, and one after the other; then one ends before
/// the other goes on. The outcome of each must be right when all calls are made.
///
/// what  for the message: "Zero1".
inline void two_alive(
    const std::string& what, const MakeLife& make, const std::vector<int>& worlds = {2, 1}
) {
    on_ranks(worlds, [&](const Communicator& comm) {
        const auto calls = [&](std::size_t which) { return make(which, comm).calls.size(); };
        for (const auto& [name, turns] : two_alive_parts::orders(calls(0), calls(1))) {
            INFO("two of " << what << " are alive, and " << name);
            const auto check = [](const Life& life, const char* which) {
                INFO(which << " one; do they share what each should have for itself?");
                const Comparison result = life.outcome();
                CHECK(result);
            };
            const Life first = make(0, comm);
            std::optional<Life> second = make(1, comm);
            std::size_t a = 0;
            std::size_t b = 0;
            for (const char turn : turns) {
                if (turn == 'x') {
                    check(*second, "the second");
                    second.reset();
                } else {
                    (turn == 'a' ? first.calls[a++] : second->calls[b++])();
                }
            }
            check(first, "the first");
            if (second) {
                check(*second, "the second");
            }
        }
    });
}

}  // namespace dist::harness
