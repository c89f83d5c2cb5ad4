// What runs on the simulated cluster: algorithms of the course, each called once for each size, timed by the simulated
// clock. smpirun loads it once for each rank.
#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <iostream>
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <smpi/smpi.h>
#include <vector>

#include "course/algorithms/expected.hpp"
#include "course/algorithms/registry.hpp"
#include "course/runtime/environment.hpp"
#include "course/runtime/error.hpp"
#include "course/runtime/seeded.hpp"
#include "course/simulate/ranks/counted_calls.hpp"
#include "course/simulate/ranks/order.hpp"
#include "exercises/03_ring_and_tree/auto_all_reduce.hpp"

namespace dist::simulation {
namespace {

constexpr int kMostTried = 64;       // ranks: to know the right result takes time with each
constexpr double kHeaderBytes = 16;  // that SMPI sends with each message
constexpr std::size_t kSharedFrom = std::size_t{64} << 20U;  // bytes over all ranks
constexpr std::uint64_t kSeed = 1;

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

lab::Run chosen_by_model(std::size_t bytes, const Order& order, const Communicator& comm) {
    const LinkCost link{order.alpha_s, order.beta_s_per_byte, order.gamma_s_per_byte};
    const auto choice = static_cast<std::size_t>(choose(bytes, comm.size(), link));
    return lab::candidates_of_auto().at(choice).run;
}

class Calls {
  public:
    Calls(const Order& order, const lab::Collective& collective, const Communicator& comm)
        : order_(order), collective_(collective), comm_(comm) {}

    /// The elements of a short trial that are wrong on any rank; -1 if it was left out.
    long wrong(const lab::Algorithm& algorithm) const {
        const int p = comm_.size();
        if (p > kMostTried) {
            return -1;
        }
        const std::size_t n = 4 * static_cast<std::size_t>(p) + 3;
        const std::vector<float> in = seeded_data(n, comm_.rank(), kSeed);
        std::vector<float> data = in;
        std::vector<float> expected(n);
        collective_.expect(expected, p, comm_.rank(), kSeed);
        call(algorithm, in, data);
        const long mine = lab::count_wrong(data, expected);
        long all = 0;
        PMPI_Allreduce(&mine, &all, 1, MPI_LONG, MPI_SUM, comm_.handle());
        return all;
    }

    Timed time(const lab::Algorithm& algorithm, std::size_t bytes) const {
        const Data in(bytes, comm_);
        const Data data(bytes, comm_);
        sent() = {};
        const double start = begin_together(comm_);
        call(algorithm, in.span(), data.span());
        const double mine_s = simgrid_get_clock() - start;
        Timed timed;
        timed.collective = algorithm.collective;
        timed.algorithm = algorithm.name;
        timed.ranks = comm_.size();
        timed.size_bytes = bytes;
        PMPI_Allreduce(&mine_s, &timed.seconds, 1, MPI_DOUBLE, MPI_MAX, comm_.handle());
        const Sent own = sent();
        if (algorithm.means == lab::Means::messages) {
            PMPI_Allreduce(&own.messages, &timed.messages, 1, MPI_LONG, MPI_SUM, comm_.handle());
            PMPI_Allreduce(&own.bytes, &timed.bytes, 1, MPI_LONG, MPI_SUM, comm_.handle());
        }
        if (algorithm.model_s != nullptr && order_.beta_s_per_byte > 0) {
            const LinkCost link{
                order_.alpha_s + kHeaderBytes * order_.beta_s_per_byte, order_.beta_s_per_byte,
                order_.gamma_s_per_byte};
            timed.model_s = algorithm.model_s(bytes, comm_.size(), link);
        }
        return timed;
    }

  private:
    void call(const lab::Algorithm& algorithm, std::span<const float> in, std::span<float> data)
        const {
        const lab::Run chosen =
            algorithm.name == "auto" ? chosen_by_model(data.size_bytes(), order_, comm_) : nullptr;
        algorithm.run(
            {.data = data,
             .in = in,
             .op = ReduceOp::sum,
             .root = 0,
             .comm = comm_,
             .chosen = chosen}
        );
    }

    const Order& order_;
    const lab::Collective& collective_;
    const Communicator& comm_;
};

/// The rows to run, all of one collective.
///
/// Errors  std::invalid_argument if there are none, naming what exists.
std::vector<lab::Algorithm> chosen(const Order& order) {
    std::vector<lab::Algorithm> rows =
        order.mine.empty()
            ? lab::find_algorithms(lab::find_collective(order.collective), order.algorithms)
            : lab::algorithms_of_exercise(order.mine);
    const bool named = !order.algorithms.empty();
    std::erase_if(rows, [&](const lab::Algorithm& row) {
        return row.run == nullptr || row.means == lab::Means::shared_memory ||
               (row.means == lab::Means::library && !named);
    });
    for (lab::Algorithm& row : rows) {
        row.name = order.mine.empty() ? row.name : "mine";
    }
    return rows;
}

/// All ranks are in this process.
[[noreturn]] void leave(const char* mark, const std::string& why) {
    std::cout << mark << why << std::endl;
    std::_Exit(1);
}

int run(const std::vector<lab::Algorithm>& rows, const Order& order, const Communicator& comm) {
    if (rows.empty()) {
        leave(
            kRefusedMark, fmt::format(
                              "{} passes no messages, so there is nothing to simulate",
                              order.mine.empty() ? order.collective : order.mine
                          )
        );
    }
    const lab::Collective& collective = lab::find_collective(rows.front().collective);
    const std::vector<std::size_t> sizes_bytes =
        collective.moves_data() ? order.sizes_bytes : std::vector{sizeof(float)};
    const Calls calls(order, collective, comm);
    for (const lab::Algorithm& algorithm : rows) {
        const long wrong = calls.wrong(algorithm);
        for (const std::size_t bytes : sizes_bytes) {
            Timed timed = calls.time(algorithm, bytes);
            timed.wrong = wrong;
            if (comm.rank() == 0) {
                std::cout << kTimedMark << nlohmann::json(timed).dump() << std::endl;
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
            rows = chosen(order);
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
                    "rank {}: what is no std::exception; exit() and MPI_Abort do so here",
                    world.rank()
                )
            );
        }
    });
}
