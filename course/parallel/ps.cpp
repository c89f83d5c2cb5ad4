#include "course/parallel/ps.hpp"

#include <ATen/ops/from_blob.h>
#include <chrono>
#include <cstring>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include <mpi.h>

#include <torch/utils.h>

#include "course/nn/optimizer.hpp"
#include "course/nn/rows.hpp"
#include "course/parallel/fault.hpp"
#include "course/parallel/optimizer.hpp"
#include "course/parallel/stop.hpp"
#include "course/runtime/mpi_transport.hpp"
#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/09_rpc/bounded_staleness.hpp"
#include "exercises/09_rpc/rpc.hpp"

namespace dist::trainer {

namespace {

// groups of messages
constexpr std::uint32_t kCalls = 1;   // the agents'
constexpr std::uint32_t kDeaths = 2;  // none ever comes

/// Ranks first, first + 1, ...
std::vector<int> ranks_from(int first, int count) {
    std::vector<int> ranks(static_cast<std::size_t>(count));
    std::iota(ranks.begin(), ranks.end(), first);
    return ranks;
}

std::size_t floats_of(std::span<const at::Tensor> tensors) {
    std::size_t n = 0;
    for (const at::Tensor& tensor : tensors) {
        n += static_cast<std::size_t>(tensor.numel());
    }
    return n;
}

/// Calls `use` with each tensor and its place in the row.
template <class Use>
void for_each_place(std::span<const at::Tensor> tensors, std::span<float> row, const Use& use) {
    std::size_t next = 0;
    for (const at::Tensor& tensor : tensors) {
        const auto n = static_cast<std::size_t>(tensor.numel());
        use(tensor, at::from_blob(row.subspan(next, n).data(), tensor.sizes()));
        next += n;
    }
}

/// What a server does until all workers have left: holds its share of the weights, and steps it.
void serve_parameters(
    const ParallelOptions& options, Rpc& rpc, std::span<const at::Tensor> weights, int server
) {
    const torch::NoGradGuard no_grad;
    const int workers = rpc.size() - options.servers;
    std::vector<float> all(floats_of(weights));
    for_each_place(weights, all, [](const at::Tensor& weight, const at::Tensor& place) {
        place.copy_(weight);
    });
    const Chunk share = chunk_bounds(all.size(), options.servers, server);
    std::vector<float> row(
        all.begin() + static_cast<std::ptrdiff_t>(share.begin),
        all.begin() + static_cast<std::ptrdiff_t>(share.end)
    );
    all = {};
    at::Tensor parameter = at::from_blob(row.data(), {static_cast<std::int64_t>(row.size())});
    nn::Optimizer optimizer(optimizer_options(options), {parameter});
    std::size_t steps = 0;
    StaleTable table(
        row, workers, options.staleness,
        [&](std::span<float> /*row*/, std::span<const float> gradient) {
            inject_fault(rpc.rank(), ++steps);
            // read alone: from_blob takes no const
            parameter.mutable_grad() =
                at::from_blob(const_cast<float*>(gradient.data()), parameter.sizes());
            optimizer.step();
        }
    );
    rpc.define(kRate, [&](int /*worker*/, std::span<const std::byte> arguments) {
        double rate = 0;
        expects(arguments.size() == sizeof(rate), "train.rate: takes one number");
        std::memcpy(&rate, arguments.data(), sizeof(rate));
        optimizer.set_rate(rate);
        return Bytes();
    });
    ParameterServer served(rpc, table, ranks_from(0, workers));
    SteadyClock clock;
    while (served.serve()) {
        clock.sleep(std::chrono::milliseconds(1));
    }
    inject_fault(rpc.rank(), steps + 1);
}

/// Throws where a server has died: a receive from it fails, for which no message is meant.
void expect_servers(Transport& transport, std::span<const int> servers) {
    for (const int server : servers) {
        try {
            transport.test(transport.irecv({}, server, kDeaths, 0));
        } catch (const Error&) {
            throw Error(
                "the parameter server on rank " + std::to_string(server) +
                " has died, and its share of the weights with it"
            );
        }
    }
}

}  // namespace

Ps::Ps(
    const ParallelOptions& options,
    std::shared_ptr<nn::Model> model,
    Trace& trace,
    const Communicator& comm
)
    : WholeModel(options, std::move(model), comm, "the servers of parameter_server"),
      options_(options),
      trace_(trace),
      servers_(ranks_from(comm.size(), options.servers)),
      row_(floats_of(parameters())),
      client_(*options.rpc, servers_, row_.size(), clock_) {
    tell_rate(options.rate);  // when this is answered, the servers know of this worker
}

Ps::~Ps() {
    client_.leave();
}

void Ps::zero_gradients() {
    for (const at::Tensor& parameter : parameters()) {
        parameter.mutable_grad().reset();
    }
}

void Ps::exchange_gradients() {}

void Ps::tell_rate(double rate) {
    for (const int server : servers_) {
        options_.rpc->rpc_sync(server, kRate, std::as_bytes(std::span(&rate, 1)));
    }
}

void Ps::step(double rate) {
    const torch::NoGradGuard no_grad;
    const double begin_s = now_s();
    for_each_place(parameters(), row_, [](const at::Tensor& parameter, const at::Tensor& place) {
        parameter.grad().defined() ? place.copy_(parameter.grad()) : place.zero_();
    });
    if (comm().rank() == 0) {
        tell_rate(rate);  // before its own gradient, without which no server steps
    }
    client_.push(step_++, row_);
    const double pushed_s = now_s();
    trace_.add(Lane::communication, "push", begin_s, pushed_s);
    client_.pull(step_, row_);
    for_each_place(parameters(), row_, [](const at::Tensor& parameter, const at::Tensor& place) {
        parameter.copy_(place);
    });
    trace_.add(Lane::communication, "pull", pushed_s, now_s());
}

void Ps::expect_equal(std::size_t done) const {
    if (options_.staleness == 0) {
        WholeModel::expect_equal(done);
    }
}

void with_servers(
    const ParallelOptions& options,
    Clock::Duration calls,
    const Communicator& comm,
    const std::function<std::vector<at::Tensor>()>& weights,
    const std::function<void(Rpc& rpc, const Communicator& workers)>& train
) {
    const int workers = comm.size() - options.servers;
    if (workers < 1) {
        throw Stop(
            "--parallel ps --servers " + std::to_string(options.servers) +
            " leaves no worker: train -n " + std::to_string(options.servers + 1) + " or more"
        );
    }
    const Communicator messages = comm.dup();
    MpiTransport transport(messages);
    SteadyClock clock;
    RpcAgent agent(transport, kCalls, clock, calls);
    const bool serves = comm.rank() >= workers;
    const Communicator same = comm.split(serves ? 1 : 0);
    const auto end = [&] {
        agent.shutdown();
        MPI_CHECK(MPI_Barrier(messages.handle()));  // fails where a rank has died
    };
    try {
        if (serves) {
            serve_parameters(options, agent, weights(), comm.rank() - workers);
        } else {
            train(agent, same);
        }
        end();
    } catch (const Stop&) {  // on all workers alike, as the next one
        end();
        throw;
    } catch (const NotImplemented&) {
        end();
        throw;
    } catch (const Error&) {  // a server's, or one of a rank that has ended because of it
        expect_servers(transport, ranks_from(workers, options.servers));
        throw;
    }
}

}  // namespace dist::trainer
