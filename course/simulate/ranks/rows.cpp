#include "course/simulate/ranks/rows.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdexcept>

namespace dist::simulation {
namespace {

/// Why SimGrid's MPI does not carry it; empty: it does.
std::string obstacle(const lab::Algorithm& row, const Order& order) {
    if (row.needs_nodes() && order.per_node == 0) {
        return "its ranks have no nodes: add --per-node";
    }
    if (row.means == lab::Means::shared_memory) {
        return "its ranks share memory and pass no messages";
    }
    return row.run == nullptr && row.name != "mine" ? "its messages do not go through MPI" : "";
}

/// Errors  std::invalid_argument unless every name is one that can be simulated, with those that can.
void expect_simulated(const Order& order, const lab::Collective& collective) {
    const std::vector<lab::Algorithm> all = lab::find_algorithms(collective, {});
    std::vector<std::string_view> there;
    for (const lab::Algorithm& row : all) {
        if (obstacle(row, order).empty() && row.name != "mine") {
            there.push_back(row.name);
        }
    }
    for (const std::string& name : order.algorithms) {
        const auto row = std::ranges::find(all, name, &lab::Algorithm::name);
        const std::string why = row == all.end() ? "" : obstacle(*row, order);
        if (row == all.end() || !why.empty()) {
            throw std::invalid_argument(fmt::format(
                "--algorithms: {} {}; there are: {}, mine", name,
                why.empty() ? fmt::format("is no algorithm of {}", collective.name)
                            : "cannot be simulated, as " + why,
                fmt::join(there, ", ")
            ));
        }
    }
}

}  // namespace

std::vector<lab::Algorithm> rows_of(const Order& order) {
    if (!order.mine.empty()) {
        std::vector<lab::Algorithm> rows = lab::algorithms_of_exercise(order.mine);
        if (rows.front().needs_nodes() && order.per_node == 0) {
            throw std::invalid_argument(
                order.mine + " is for ranks on nodes: add --nodes and --per-node"
            );
        }
        std::erase_if(rows, [&](const lab::Algorithm& row) {
            return !obstacle(row, order).empty();
        });
        for (lab::Algorithm& row : rows) {
            row.name = "mine";
        }
        return rows;
    }
    const lab::Collective& collective = lab::find_collective(order.collective);
    expect_simulated(order, collective);
    std::vector<lab::Algorithm> rows = lab::find_algorithms(collective, order.algorithms);
    std::erase_if(rows, [&](const lab::Algorithm& row) {
        return row.run == nullptr || !obstacle(row, order).empty() ||
               (row.means == lab::Means::library && order.algorithms.empty());
    });
    return rows;
}

}  // namespace dist::simulation
