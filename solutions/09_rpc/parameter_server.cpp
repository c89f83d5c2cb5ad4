#include "exercises/09_rpc/parameter_server.hpp"

#include <algorithm>
#include <exception>
#include <functional>
#include <optional>
#include <utility>

#include "exercises/01_point_to_point/chunk_bounds.hpp"

namespace dist {
namespace {

using Row = std::vector<float>;

// The answers to all; or an error as soon as one has failed, since the others may wait for ever
// then.
std::vector<Bytes> wait_all(Rpc& rpc, const std::vector<RpcFuture>& calls, Clock& clock) {
    for (;;) {
        const auto open =
            std::ranges::count_if(calls, [&](const RpcFuture& call) { return !rpc.test(call); });
        for (const RpcFuture& call : calls) {
            if (call->result.error) {
                rpc.wait(call);
            }
        }
        if (open <= 1) {
            break;
        }
        clock.sleep(Clock::Duration(1));
    }
    std::vector<Bytes> answers(calls.size());
    std::ranges::transform(calls, answers.begin(), [&](const RpcFuture& call) {
        return rpc.wait(call);
    });
    return answers;
}

}  // namespace

struct SynchronousTable::State {
    struct Waiting {
        std::int64_t version;
        Reader reader;
    };

    void take_step();
    [[nodiscard]] std::exception_ptr why_never(std::int64_t wanted) const;
    void answer();

    std::span<float> row;
    Step step;
    std::vector<std::optional<Row>> gradients;     // by worker, of this step
    std::vector<std::optional<std::string>> gone;  // by worker: why; none: it is there
    std::int64_t version = 0;
    std::vector<Waiting> waiting = {};
};

void SynchronousTable::State::take_step() {
    Row mean(row.size());
    for (std::optional<Row>& gradient : gradients) {
        std::ranges::transform(mean, *gradient, mean.begin(), std::plus());
        gradient.reset();
    }
    for (float& element : mean) {
        element /= static_cast<float>(gradients.size());
    }
    step(row, mean);
    ++version;
}

// A worker that is gone lets no version be made but those that it has pushed for. None: it may come.
std::exception_ptr SynchronousTable::State::why_never(std::int64_t wanted) const {
    for (std::size_t worker = 0; worker < gone.size(); ++worker) {
        const std::int64_t last = version + (gradients[worker] ? 1 : 0);
        if (gone[worker] && wanted > last) {
            return std::make_exception_ptr(Error(*gone[worker]));
        }
    }
    return nullptr;
}

// All that need not wait any more.
void SynchronousTable::State::answer() {
    for (Waiting& one : std::exchange(waiting, {})) {
        if (one.version == version) {
            one.reader(row, nullptr);
        } else if (const std::exception_ptr never = why_never(one.version)) {
            one.reader({}, never);
        } else {
            waiting.push_back(std::move(one));
        }
    }
}

SynchronousTable::SynchronousTable(std::span<float> row, int workers, Step step) {
    expects(workers >= 1, "SynchronousTable: there must be a worker");
    const auto p = static_cast<std::size_t>(workers);
    state_ = std::make_unique<State>(State{
        .row = row,
        .step = std::move(step),
        .gradients = std::vector<std::optional<Row>>(p),
        .gone = std::vector<std::optional<std::string>>(p)});
}

SynchronousTable::~SynchronousTable() = default;

void SynchronousTable::push(int worker, std::int64_t step, std::span<const float> gradient) {
    State& self = *state_;
    const auto w = static_cast<std::size_t>(worker);
    expects(w < self.gradients.size(), "push: there is no such worker");
    expects(step == self.version, "push: this step is not the one that is being taken");
    expects(!self.gradients[w], "push: this worker has pushed in this step already");
    expects(gradient.size() == self.row.size(), "push: the gradient must be as long as the row");
    self.gradients[w].emplace(gradient.begin(), gradient.end());
    if (std::ranges::all_of(self.gradients, &std::optional<Row>::has_value)) {
        self.take_step();
        self.answer();
    }
}

void SynchronousTable::pull(int /*worker*/, std::int64_t version, Reader reader) {
    expects(version >= state_->version, "pull: the row is beyond this version");
    state_->waiting.push_back({version, std::move(reader)});
    state_->answer();
}

void SynchronousTable::leave(int worker, const std::string& reason) {
    state_->gone.at(static_cast<std::size_t>(worker)) = reason;
    state_->answer();
}

std::int64_t SynchronousTable::version() const {
    return state_->version;
}

struct ParameterServer::State {
    int worker(int rank) const;

    Rpc& rpc;
    ParameterTable& table;
    std::vector<int> workers;
    std::vector<RpcFuture> stays = {};  // by worker; none: it is gone
};

int ParameterServer::State::worker(int rank) const {
    const auto found = std::ranges::find(workers, rank);
    expects(found != workers.end(), "parameters: the caller must be a worker");
    return static_cast<int>(found - workers.begin());
}

ParameterServer::ParameterServer(Rpc& rpc, ParameterTable& table, std::vector<int> workers)
    : state_(std::make_unique<State>(State{
          .rpc = rpc, .table = table, .workers = std::move(workers)})) {
    using Arguments = std::span<const std::byte>;
    State& self = *state_;
    rpc.define(kPush, [&self](int caller, Arguments arguments) {
        const StepAndRow pushed = step_and_row(arguments);
        self.table.push(self.worker(caller), pushed.step, pushed.row);
        return Bytes();
    });
    rpc.define_async(kPull, [&self](int caller, Arguments arguments, const Rpc::Reply& reply) {
        try {
            const auto answer = [reply](std::span<const float> row, std::exception_ptr error) {
                reply({.answer = bytes_of(row), .error = std::move(error)});
            };
            self.table.pull(self.worker(caller), step_and_row(arguments).step, answer);
        } catch (const std::exception&) {
            reply({.error = std::current_exception()});
        }
    });
    for (const int rank : self.workers) {
        self.stays.push_back(rpc.rpc_async(rank, kStay, {}, Rpc::Duration(0)));
    }
}

ParameterServer::~ParameterServer() = default;

bool ParameterServer::serve() {
    State& self = *state_;
    self.rpc.serve();
    for (std::size_t worker = 0; worker < self.workers.size(); ++worker) {
        std::string reason = "rank " + std::to_string(self.workers[worker]) + " has left";
        try {
            if (!self.stays[worker] || !self.rpc.test(self.stays[worker])) {
                continue;
            }
            self.rpc.wait(self.stays[worker]);
        } catch (const Error& error) {
            reason = error.what();
        }
        self.stays[worker].reset();
        self.table.leave(static_cast<int>(worker), reason);
    }
    return std::ranges::any_of(self.stays, [](const RpcFuture& stay) { return stay != nullptr; });
}

struct ParameterClient::State {
    [[nodiscard]] Chunk share(std::size_t server) const {
        return chunk_bounds(n, static_cast<int>(servers.size()), static_cast<int>(server));
    }

    Rpc& rpc;
    std::vector<int> servers;
    std::size_t n;
    Clock& clock;
    std::vector<Rpc::Reply> stays = {};
    bool has_left = false;
};

ParameterClient::ParameterClient(Rpc& rpc, std::vector<int> servers, std::size_t n, Clock& clock)
    : state_(std::make_unique<State>(State{
          .rpc = rpc, .servers = std::move(servers), .n = n, .clock = clock})) {
    State& self = *state_;
    rpc.define_async(kStay, [&self](int, std::span<const std::byte>, const Rpc::Reply& reply) {
        if (self.has_left) {
            reply({});
        } else {
            self.stays.push_back(reply);
        }
    });
}

ParameterClient::~ParameterClient() = default;

void ParameterClient::push(std::int64_t step, std::span<const float> gradient) {
    State& self = *state_;
    expects(gradient.size() == self.n, "push: the gradient must have n elements");
    std::vector<RpcFuture> calls;
    for (std::size_t i = 0; i < self.servers.size(); ++i) {
        const Chunk share = self.share(i);
        const Bytes arguments = arguments_of(step, gradient.subspan(share.begin, share.size()));
        calls.push_back(self.rpc.rpc_async(self.servers[i], kPush, arguments));
    }
    wait_all(self.rpc, calls, self.clock);
}

void ParameterClient::pull(std::int64_t step, std::span<float> parameters) {
    State& self = *state_;
    expects(parameters.size() == self.n, "pull: there must be room for n parameters");
    std::vector<RpcFuture> calls;
    for (const int server : self.servers) {
        calls.push_back(self.rpc.rpc_async(server, kPull, arguments_of(step)));
    }
    const std::vector<Bytes> answers = wait_all(self.rpc, calls, self.clock);
    Row all;
    for (std::size_t i = 0; i < answers.size(); ++i) {
        const Row row = row_of(answers[i]);
        if (row.size() != self.share(i).size()) {
            throw Error("rank " + std::to_string(self.servers[i]) + ": its row is no share of n");
        }
        all.insert(all.end(), row.begin(), row.end());
    }
    std::ranges::copy(all, parameters.begin());
}

void ParameterClient::leave() {
    state_->has_left = true;
    for (const Rpc::Reply& reply : std::exchange(state_->stays, {})) {
        reply({});
    }
}

}  // namespace dist
