// What runs on the simulated cluster: algorithms of the course, each called once for each size, timed by the simulated
// clock. smpirun loads it once for each rank.
#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <iostream>
#include <optional>
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <smpi/smpi.h>
#include <vector>

#include "course/algorithms/registry.hpp"
#include "course/runtime/environment.hpp"
#include "course/runtime/error.hpp"
#include "course/simulate/ranks/counted_calls.hpp"
#include "course/simulate/ranks/order.hpp"
#include "course/simulate/ranks/rows.hpp"
#include "course/simulate/ranks/trial.hpp"
#include "exercises/03_ring_and_tree/auto_all_reduce.hpp"

namespace dist::simulation {
namespace {

constexpr double kHeaderBytes = 16;                          // that SMPI sends with each message
constexpr std::size_t kSharedFrom = std::size_t{64} << 20U;  // bytes over all ranks

/// This rank's data, of which nothing is asked but its length: where it is much, all ranks have the same pages.
class Data {
  public:
    Data(std::size_t bytes, const Communicator& comm)
        : n_(bytes / sizeof(float)),
          shared_(bytes * static_cast<std::size_t>(comm.size()) > kSharedFrom) {
        if (shared_) {
            memory_ = static_cast<float*>(SMPI_SHARED_MALLOC(bytes));
        } else {
            own_.resize(n_);
            memory_ = own_.data();
        }
    }
    Data(const Data&) = delete;
    Data& operator=(const Data&) = delete;
    ~Data() {
        if (shared_) {
            SMPI_SHARED_FREE(memory_);
        }
    }

    [[nodiscard]] std::span<float> span() const { return {memory_, n_}; }

  private:
    std::size_t n_;
    bool shared_;
    std::vector<float> own_;
    float* memory_ = nullptr;
};

/// The same moment on all ranks, a second from now.
double begin_together(const Communicator& comm) {
    const double now = simgrid_get_clock();
    double start = 0;
    PMPI_Allreduce(&now, &start, 1, MPI_DOUBLE, MPI_MAX, comm.handle());
    start += 1.0;
    sg_actor_sleep_for(start - simgrid_get_clock());
    return start;
}

/// Of a message with its header.
LinkCost link_cost(double alpha_s, double beta_s_per_byte, double gamma_s_per_byte) {
    return {alpha_s + kHeaderBytes * beta_s_per_byte, beta_s_per_byte, gamma_s_per_byte};
}

lab::NodeCosts node_costs(const Order& order) {
    const double gamma = order.gamma_s_per_byte;
    return {
        order.per_node, link_cost(order.inside_alpha_s, order.inside_beta_s_per_byte, gamma),
        link_cost(order.alpha_s, order.beta_s_per_byte, gamma)};
}

/// What the exercise of chapter 03 chooses, which knows one network: of several nodes the one between them. There hierarchical
/// is chosen where it takes less.
lab::Run chosen_by_model(std::size_t bytes, const Order& order, const Communicator& comm) {
    const int p = comm.size();
    const bool on_nodes = order.per_node > 0;
    const lab::NodeCosts costs = node_costs(order);
    const LinkCost link = on_nodes && p == order.per_node ? costs.inside : costs.between;
    const auto candidates = lab::candidates_of_auto(on_nodes);
    const lab::Algorithm& flat = candidates.at(static_cast<std::size_t>(choose(bytes, p, link)));
    const bool hierarchical =
        on_nodes && lab::hierarchical_s(bytes, p, costs) < flat.model_s(bytes, p, link);
    return hierarchical ? candidates.back().run : flat.run;
}

/// Whether the row has a formula where the order has it run.
bool has_model(const lab::Algorithm& algorithm, const Order& order) {
    return order.per_node > 0 ? algorithm.node_model_s != nullptr : algorithm.model_s != nullptr;
}

/// The formula; -1 where there is none.
double model_s(const lab::Algorithm& algorithm, int ranks, std::size_t bytes, const Order& order) {
    if (!has_model(algorithm, order) || order.beta_s_per_byte <= 0) {
        return -1;
    }
    const lab::NodeCosts costs = node_costs(order);
    return order.per_node == 0 ? algorithm.model_s(bytes, ranks, costs.between)
                               : algorithm.node_model_s(bytes, ranks, costs);
}

Timed timed_row(const lab::Algorithm& algorithm, int ranks, std::size_t bytes) {
    Timed timed;
    timed.collective = algorithm.collective;
    timed.algorithm = algorithm.name;
    timed.ranks = ranks;
    timed.size_bytes = bytes;
    timed.bus_factor = lab::find_collective(algorithm.collective).bus_factor(ranks);
    return timed;
}

class Calls {
  public:
    Calls(const Order& order, const lab::Collective& collective, const Communicator& comm)
        : order_(order), collective_(collective), comm_(comm) {
        if (order.per_node > 0) {
            nodes_.emplace(make_nodes(order.per_node, comm));
            ranks_per_node() = order.per_node;
        }
    }

    Wrong wrong(const lab::Algorithm& algorithm) const {
        return try_values(
            algorithm, collective_,
            [&](std::span<const float> in, std::span<float> data, ReduceOp op) {
                call(algorithm, in, data, op);
            },
            comm_
        );
    }

    Timed time(const lab::Algorithm& algorithm, std::size_t bytes) const {
        const Data in(bytes, comm_);
        const Data data(bytes, comm_);
        sent() = {};
        const double start = begin_together(comm_);
        call(algorithm, in.span(), data.span(), ReduceOp::sum);
        const double mine_s = simgrid_get_clock() - start;
        Timed timed = timed_row(algorithm, comm_.size(), bytes);
        PMPI_Allreduce(&mine_s, &timed.seconds, 1, MPI_DOUBLE, MPI_MAX, comm_.handle());
        const Sent own = sent();
        if (algorithm.means == lab::Means::messages) {
            PMPI_Allreduce(&own.messages, &timed.messages, 1, MPI_LONG, MPI_SUM, comm_.handle());
            PMPI_Allreduce(&own.bytes, &timed.bytes, 1, MPI_LONG, MPI_SUM, comm_.handle());
            if (order_.per_node > 0) {
                PMPI_Allreduce(
                    &own.crossing, &timed.crossing, 1, MPI_LONG, MPI_SUM, comm_.handle()
                );
            }
        }
        timed.model_s = model_s(algorithm, comm_.size(), bytes, order_);
        return timed;
    }

  private:
    void call(
        const lab::Algorithm& algorithm,
        std::span<const float> in,
        std::span<float> data,
        ReduceOp op
    ) const {
        const lab::Run chosen =
            algorithm.name == "auto" ? chosen_by_model(data.size_bytes(), order_, comm_) : nullptr;
        algorithm.run(
            {.data = data,
             .in = in,
             .op = op,
             .root = 0,
             .comm = comm_,
             .chosen = chosen,
             .nodes = nodes_ ? &*nodes_ : nullptr}
        );
    }

    const Order& order_;
    const lab::Collective& collective_;
    const Communicator& comm_;
    std::optional<Nodes> nodes_;
};

/// All ranks are in this process.
[[noreturn]] void leave(const char* mark, const std::string& why) {
    std::cout << mark << why << std::endl;
    std::_Exit(1);
}

void tell(const Timed& timed) {
    std::cout << kTimedMark << nlohmann::json(timed).dump() << std::endl;
}

/// What the formulas say for these numbers of ranks, wherever they run.
void tell_formulas(
    const std::vector<lab::Algorithm>& rows,
    const std::vector<std::size_t>& sizes_bytes,
    const Order& order
) {
    if (std::ranges::none_of(rows, [&](const auto& row) { return has_model(row, order); })) {
        leave(kRefusedMark, "--formula: none of these algorithms has one");
    }
    for (const int ranks : order.formula_ranks) {
        for (const lab::Algorithm& algorithm : rows) {
            for (const std::size_t bytes : sizes_bytes) {
                Timed timed = timed_row(algorithm, ranks, bytes);
                timed.model_s = model_s(algorithm, ranks, bytes, order);
                timed.seconds = timed.model_s;
                if (timed.model_s >= 0) {
                    tell(timed);
                }
            }
        }
    }
}

int run(const std::vector<lab::Algorithm>& rows, const Order& order, const Communicator& comm) {
    if (rows.empty()) {
        leave(kRefusedMark, order.mine + " passes no messages, so there is nothing to simulate");
    }
    const lab::Collective& collective = lab::find_collective(rows.front().collective);
    const std::vector<std::size_t> sizes_bytes =
        collective.moves_data() ? order.sizes_bytes : std::vector{sizeof(float)};
    if (!order.formula_ranks.empty()) {
        if (comm.rank() == 0) {
            tell_formulas(rows, sizes_bytes, order);
        }
        return 0;
    }
    const Calls calls(order, collective, comm);
    for (const lab::Algorithm& algorithm : rows) {
        const Wrong wrong = calls.wrong(algorithm);
        for (const std::size_t bytes : sizes_bytes) {
            Timed timed = calls.time(algorithm, bytes);
            timed.wrong = wrong.elements;
            timed.wrong_op = wrong.op;
            if (comm.rank() == 0) {
                tell(timed);
            }
        }
    }
    return 0;
}

}  // namespace
}  // namespace dist::simulation

int main(int argc, char** argv) {
    using namespace dist::simulation;
    return dist::run_main(argc, argv, [&](const dist::Communicator& world) {
        const Order order = nlohmann::json::parse(argv[1]).get<Order>();
        std::vector<dist::lab::Algorithm> rows;
        try {
            rows = rows_of(order);
        } catch (const std::invalid_argument& error) {
            leave(kRefusedMark, error.what());
        }
        try {
            return run(rows, order, world);
        } catch (const std::exception& error) {
            leave(kThrownMark, fmt::format("rank {}: {}", world.rank(), error.what()));
        } catch (...) {
            leave(
                kThrownMark,
                fmt::format(
                    "rank {}: something that is no std::exception; exit() and MPI_Abort do so here",
                    world.rank()
                )
            );
        }
    });
}
