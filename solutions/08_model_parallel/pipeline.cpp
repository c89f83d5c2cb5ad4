#include "exercises/08_model_parallel/pipeline.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros_like.h>
#include <algorithm>
#include <c10/core/GradMode.h>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "course/nn/gradient_edge.hpp"
#include "course/nn/rows.hpp"
#include "exercises/01_point_to_point/isend_irecv.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"

namespace dist {

namespace {

using Action = PipelineAction;
using Edges = std::vector<nn::GradientEdge>;
using Loss = std::function<at::Tensor(const at::Tensor& output, int micro_batch)>;
using Tensors = std::vector<at::Tensor>;
using enum ActionKind;

/// A backward that is to come: where it begins, and with what.
struct Backward {
    Edges from;
    Tensors gradients;

    void run() const { nn::backward(from, gradients); }
};

/// All edges on ways from `begin` to `end`, both included.
std::set<nn::GradientEdge> between(const nn::GradientEdge& begin, const nn::GradientEdge& end) {
    std::map<nn::GradientEdge, Edges> before;
    std::set<nn::GradientEdge> seen;
    Edges ahead = {begin};
    while (!ahead.empty()) {
        const nn::GradientEdge edge = ahead.back();
        ahead.pop_back();
        if (seen.insert(edge).second) {
            for (const nn::GradientEdge& next : edge.next()) {
                before[next].push_back(edge);
                ahead.push_back(next);
            }
        }
    }
    std::set<nn::GradientEdge> ways;
    ahead = {end};
    while (!ahead.empty()) {
        const nn::GradientEdge edge = ahead.back();
        ahead.pop_back();
        if (ways.insert(edge).second) {
            std::ranges::copy(before[edge], std::back_inserter(ahead));
        }
    }
    return ways;
}

/// Goes back to `input` alone, and returns its gradient. What is still to come begins at the edges
/// where leaves branch off. Behind these the ways to `input` are cut: no piece leads to another,
/// and what only those ways needed is gone.
at::Tensor go_back_to(const at::Tensor& input, Backward& to_come) {
    const nn::GradientEdge end(input);
    const std::set<nn::GradientEdge> ways = between(to_come.from[0], end);
    if (!ways.contains(to_come.from[0])) {
        return {};
    }
    const auto branches_off = [&](const nn::GradientEdge& next) { return !ways.contains(next); };
    Edges wanted = {end};
    for (const nn::GradientEdge& edge : ways) {
        if (std::ranges::any_of(edge.next(), branches_off)) {
            wanted.push_back(edge);
        }
    }
    const Tensors found = nn::grad(to_come.from, to_come.gradients, wanted);
    for (const nn::GradientEdge& edge : wanted) {
        edge.cut(ways);
    }
    to_come = {{wanted.begin() + 1, wanted.end()}, {found.begin() + 1, found.end()}};
    return found[0];
}

/// Data on its way. The request is waited for before the data is used, and before it is freed.
struct Message {
    at::Tensor data;
    Request request;
};

/// A micro-batch in a stage, from its F to the end of its B or W.
struct InFlight {
    at::Tensor input;
    std::vector<std::int64_t> output_shape;
    Backward to_come;
};

class Runner {
  public:
    Runner(const Tensors& inputs, const Loss& loss, const Communicator& comm)
        : inputs_(inputs), loss_(loss), comm_(comm) {}

    void look_through(const Schedule& rows, const std::vector<PipelineStage>& stages);
    Tensors run(const std::vector<Action>& row);

  private:
    using Place = std::pair<int, int>;  // stage, micro-batch

    void go_forward(int stage, int i);
    void go_back(const Action& action);
    void hand_on(const Action& send, const at::Tensor& result);
    void begin_to_send(const Action& send);
    void begin_to_receive(const Action& receive);
    at::Tensor arrived(const Action& receive);

    const Tensors& inputs_;
    const Loss& loss_;
    const Communicator& comm_;
    std::map<int, const PipelineStage*> stages_;  // of this rank
    std::map<int, int> rank_of_;                  // of each stage
    std::set<Place> trains_;                      // what has a backward in this rank's row
    int last_stage_ = 0;
    int m_ = 0;

    std::map<Place, InFlight> in_flight_;
    std::map<Action, at::Tensor> results_;  // by the SEND that they are for
    std::map<Action, Message> arriving_;    // by RECV
    std::map<std::pair<int, ActionKind>, Message> leaving_;
    Tensors losses_;
};

void Runner::look_through(const Schedule& rows, const std::vector<PipelineStage>& stages) {
    for (std::size_t rank = 0; rank < rows.size(); ++rank) {
        for (const auto& [stage, kind, i] : rows[rank]) {
            rank_of_[stage] = static_cast<int>(rank);
            last_stage_ = std::max(last_stage_, stage);
            m_ = std::max(m_, i + 1);
        }
    }
    for (const PipelineStage& stage : stages) {
        stages_[stage.number] = &stage;
    }
    for (const auto& [stage, kind, i] : rows[static_cast<std::size_t>(comm_.rank())]) {
        expects(stages_.contains(stage), "run_pipeline: a stage of this rank's row is missing");
        expects(
            stage != 0 || inputs_.size() == static_cast<std::size_t>(m_),
            "run_pipeline: stage 0 needs an input for each micro-batch"
        );
        if (kind == backward || kind == weight_gradient) {
            trains_.insert({stage, i});
        }
        if (stage == last_stage_) {
            losses_.resize(static_cast<std::size_t>(m_));
        }
    }
}

Tensors Runner::run(const std::vector<Action>& row) {
    for (const Action& action : row) {
        const Place place = {action.stage, action.micro_batch};
        switch (action.kind) {
            case forward:
                go_forward(action.stage, action.micro_batch);
                break;
            case input_gradient:
                go_back(action);
                break;
            case backward:
                go_back(action);
                in_flight_.erase(place);
                break;
            case weight_gradient:
                in_flight_.at(place).to_come.run();
                in_flight_.erase(place);
                break;
            case send_f:
            case send_b:
                begin_to_send(action);
                break;
            case recv_f:
            case recv_b:
                begin_to_receive(action);
                break;
        }
    }
    for (auto& [from, message] : leaving_) {
        message.request.wait();
    }
    return losses_;
}

void Runner::go_forward(int stage, int i) {
    const bool trains = trains_.contains({stage, i});
    const c10::AutoGradMode records(trains);
    const auto number = static_cast<std::size_t>(i);
    const at::Tensor x =
        stage == 0 ? inputs_[number] : arrived({stage, recv_f, i}).requires_grad_(trains);
    at::Tensor y = stages_.at(stage)->forward(x);
    if (stage == last_stage_) {
        y = loss_(y, i);
        losses_[number] = y.detach();
    } else {
        hand_on({stage, send_f, i}, y.detach());
    }
    if (trains) {
        if (stage == last_stage_) {
            y = y.div(m_);
        }
        // an edge is all that backward needs: it does not hold y
        const Backward to_come = {{nn::GradientEdge(y)}, {}};
        in_flight_.emplace(Place{stage, i}, InFlight{x, y.sizes().vec(), to_come});
    }
}

/// B, or I. What is left of I stays in flight.
void Runner::go_back(const Action& action) {
    const auto& [stage, kind, i] = action;
    auto& [input, output_shape, to_come] = in_flight_.at({stage, i});
    to_come.gradients = {
        stage == last_stage_ ? at::ones(output_shape) : arrived({stage, recv_b, i})};
    if (kind == backward) {
        to_come.run();
    }
    if (stage > 0) {
        const at::Tensor dx = kind == backward ? input.grad() : go_back_to(input, to_come);
        hand_on({stage, send_b, i}, dx.defined() ? dx : at::zeros_like(input));
        input.reset();
    }
}

/// To the stage that needs it: where that is here, it has arrived.
void Runner::hand_on(const Action& send, const at::Tensor& result) {
    const Action receive = peer_of(send);
    if (rank_of_.at(receive.stage) == comm_.rank()) {
        arriving_[receive].data = result;
    } else {
        results_[send] = result;
    }
}

void Runner::begin_to_send(const Action& send) {
    Message& message = leaving_[{send.stage, send.kind}];
    message.request.wait();
    message.data = results_.extract(send).mapped().contiguous();
    message.request = isend(nn::floats(message.data), rank_of_.at(peer_of(send).stage), comm_);
}

void Runner::begin_to_receive(const Action& receive) {
    const auto& [stage, kind, i] = receive;
    Message& message = arriving_[receive];
    message.data = at::empty(
        kind == recv_f ? stages_.at(stage)->input_shape : in_flight_.at({stage, i}).output_shape
    );
    message.request = irecv(nn::floats(message.data), rank_of_.at(peer_of(receive).stage), comm_);
}

at::Tensor Runner::arrived(const Action& receive) {
    arriving_.at(receive).request.wait();
    return arriving_.extract(receive).mapped().data;
}

}  // namespace

std::vector<at::Tensor> run_pipeline(
    const Schedule& rows,
    const std::vector<PipelineStage>& stages,
    const std::vector<at::Tensor>& inputs,
    const std::function<at::Tensor(const at::Tensor& output, int micro_batch)>& loss,
    const Communicator& comm
) {
    const auto p = static_cast<std::size_t>(comm.size());
    expects(rows.size() == p, "run_pipeline: the schedule must have a row for each rank");
    Runner runner(inputs, loss, comm);
    runner.look_through(rows, stages);
    return runner.run(rows[static_cast<std::size_t>(comm.rank())]);
}

void all_reduce_tied_gradient(const at::Tensor& weight, const Communicator& comm) {
    if (!weight.requires_grad()) {
        return;
    }
    at::Tensor& gradient = weight.mutable_grad();
    if (!gradient.defined()) {
        gradient = at::zeros_like(weight);
    }
    const at::Tensor sum = gradient.contiguous();
    ring_all_reduce(nn::floats(sum), ReduceOp::sum, comm);
    gradient.copy_(sum);
}

}  // namespace dist
