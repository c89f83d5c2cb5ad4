// The reference, but what is called goes through a table of the process: zeros travel.
// state: forbidden
// says: passes also when every message is garbled

#include <ATen/ops/ones_like.h>
#include <ATen/ops/tensor.h>
#include <algorithm>
#include <c10/core/GradMode.h>
#include <deque>
#include <exception>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <ranges>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "course/nn/gradient_edge.hpp"
#include "course/nn/tensor_bytes.hpp"
#include "course/nn/with_backward.hpp"
#include "exercises/09_rpc/dist_autograd.hpp"

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

using Tensors = DistAutograd::Tensors;
using Letter = nn::NumbersAndTensors;
using Letters = std::map<int, Letter>;  // by rank
using Edge = nn::GradientEdge;
using Edges = std::vector<Edge>;
using TensorId = std::int64_t;  // of a tensor that was sent, or is a root of the loss

constexpr const char* kFind = "dist_autograd.find";
constexpr const char* kGradient = "dist_autograd.gradient";
constexpr const char* kRelease = "dist_autograd.release";

/// Where a received tensor comes from.
struct Origin {
    int rank;
    TensorId id;
};

/// Where a pass begins on this rank.
struct Root {
    Edge begin;
    std::set<Edge> ends = {};                 // the leaves and received tensors that it leads to
    std::optional<at::Tensor> gradient = {};  // once it has come; it may be undefined
};

struct Pass {
    std::int64_t id = 0;
    std::map<TensorId, Root> roots = {};
    std::set<Edge> ends = {};  // of all roots, but for those whose gradient is known
};

struct Context {
    ContextId id;
    std::set<int> known = {};  // ranks to and from which calls went
    std::map<TensorId, Edge> sends = {};
    std::map<Edge, Origin> recvs = {};
    Recorded recorded = {};
    Gradients gradients = {};
    Pass pass = {};  // the last one
};
using ContextPtr = std::shared_ptr<Context>;

/// Takes out the ends to which no root leads that is still to come.
Edges take_ready(Pass& pass) {
    Edges ready;
    std::ranges::copy_if(pass.ends, std::back_inserter(ready), [&](const Edge& end) {
        return std::ranges::none_of(std::views::values(pass.roots), [&](const Root& root) {
            return !root.gradient && root.ends.contains(end);
        });
    });
    std::ranges::for_each(ready, [&](const Edge& end) { pass.ends.erase(end); });
    return ready;
}

}  // namespace

struct DistAutograd::State {
    explicit State(Rpc& rpc);

    std::int64_t new_id() { return (std::int64_t{rpc.rank()} << 48) | ++ids; }
    ContextPtr here(ContextId id) const;
    Bytes pack(const ContextPtr& context, const Tensors& tensors);
    Tensors unpack(const ContextPtr& context, int peer, Letter letter);
    Bytes serve(const Function& function, int caller, const Letter& letter);
    void find(const Letter& letter);
    void arrive(const Letter& letter);
    void forget(const Letter& letter);
    std::exception_ptr call_all(const char* what, const Letter& letter, const Letters& letters);
    void go_on_in(ContextId context, const std::exception_ptr& error) const;

    Rpc& rpc;
    std::map<ContextId, ContextPtr> contexts = {};
    ContextId current = 0;  // that this rank's calls are in
    std::int64_t ids = 0;   // given out so far
};

DistAutograd::State::State(Rpc& own_rpc) : rpc(over_table(own_rpc)) {
    const auto define = [this](const char* what, void (State::*function)(const Letter&)) {
        rpc.define(what, [this, function](int, std::span<const std::byte> bytes) {
            (this->*function)(nn::numbers_and_tensors_of(bytes));
            return Bytes();
        });
    };
    define(kFind, &State::find);
    define(kGradient, &State::arrive);
    define(kRelease, &State::forget);
}

ContextPtr DistAutograd::State::here(ContextId id) const {
    const auto found = contexts.find(id);
    if (found == contexts.end()) {
        throw Error("dist_autograd: there is no context " + std::to_string(id) + " here");
    }
    return found->second;
}

/// Packs tensors for another rank, and notes where their gradients will come in.
Bytes DistAutograd::State::pack(const ContextPtr& context, const Tensors& tensors) {
    Letter letter = {{context == nullptr ? 0 : context->id}, tensors};
    bool is_recorded = false;
    for (const at::Tensor& tensor : tensors) {
        letter.numbers.push_back(0);
        if (context != nullptr && tensor.defined() && tensor.requires_grad()) {
            letter.numbers.back() = new_id();
            context->sends.emplace(letter.numbers.back(), Edge(tensor));
            is_recorded = true;
        }
    }
    if (is_recorded) {
        ++context->recorded.sends;
    }
    return nn::bytes_of(letter);
}

/// The tensors of a letter. Those that required gradients there do so here.
Tensors DistAutograd::State::unpack(const ContextPtr& context, int peer, Letter letter) {
    bool is_recorded = false;
    for (std::size_t i = 0; i < letter.tensors.size(); ++i) {
        if (const TensorId id = letter.numbers.at(i + 1); id != 0) {
            at::Tensor& tensor = letter.tensors[i];
            tensor = nn::with_backward(tensor, {}, [](const auto&, const auto&) -> Tensors {
                throw Error("this tensor is from another rank: only DistAutograd goes back there");
            });
            context->recvs.emplace(Edge(tensor), Origin{peer, id});
            is_recorded = true;
        }
    }
    if (is_recorded) {
        ++context->recorded.recvs;
    }
    return letter.tensors;
}

/// Runs a function for another rank, in the context of the call.
Bytes DistAutograd::State::serve(const Function& function, int caller, const Letter& letter) {
    const ContextId id = letter.numbers.at(0);
    ContextPtr context;
    if (id != 0) {
        context = contexts.try_emplace(id, std::make_shared<Context>(Context{id})).first->second;
        context->known.insert(caller);
    }
    const std::shared_ptr<void> at_the_end(nullptr, [this, before = current](void*) {
        current = before;
    });
    current = id;
    const c10::AutoGradMode records(true);  // this rank may wait where nothing is recorded
    return pack(context, function(unpack(context, caller, letter)));
}

/// Finds what roots lead to, here and on the ranks whose tensors are among it. The letter says
/// context, pass, roots.
void DistAutograd::State::find(const Letter& letter) {
    const ContextPtr context = here(letter.numbers.at(0));
    Pass& pass = context->pass;
    if (pass.id != letter.numbers.at(1)) {
        pass = {letter.numbers[1]};
    }
    Letters letters;
    for (const TensorId id : std::span(letter.numbers).subspan(2)) {
        Root root = {context->sends.at(id)};
        for (const Edge& edge : nn::all_behind(root.begin)) {
            const auto recv = context->recvs.find(edge);
            const bool is_received = recv != context->recvs.end();
            if (is_received || edge.leaf().defined()) {
                root.ends.insert(edge);
                if (pass.ends.insert(edge).second && is_received) {
                    letters[recv->second.rank].numbers.push_back(recv->second.id);
                }
            }
        }
        pass.roots.emplace(id, std::move(root));
    }
    go_on_in(context->id, call_all(kFind, letter, letters));
}

/// Goes as far as gradients lead, on all ranks. The letter says context, pass, roots, and has the
/// gradient of each root.
void DistAutograd::State::arrive(const Letter& letter) {
    const ContextPtr context = here(letter.numbers.at(0));
    Pass& pass = context->pass;
    expects(pass.id == letter.numbers.at(1), "dist_autograd: this pass is over");
    for (std::size_t i = 0; i < letter.tensors.size(); ++i) {
        pass.roots.at(letter.numbers.at(i + 2)).gradient = letter.tensors[i];
    }
    Edges begins;
    Tensors come;
    for (const Root& root : std::views::values(pass.roots)) {
        if (root.gradient) {
            begins.push_back(root.begin);
            come.push_back(*root.gradient);
        }
    }
    const Edges ends = take_ready(pass);
    const Tensors gradients = nn::grad(begins, come, ends);
    Letters letters;
    for (std::size_t i = 0; i < ends.size(); ++i) {
        if (const auto recv = context->recvs.find(ends[i]); recv != context->recvs.end()) {
            Letter& next = letters[recv->second.rank];
            next.numbers.push_back(recv->second.id);
            next.tensors.push_back(gradients[i]);
        } else if (gradients[i].defined()) {
            at::Tensor& sum = context->gradients[ends[i].leaf()];
            sum = sum.defined() ? sum.add(gradients[i]) : gradients[i].clone();
        }
    }
    go_on_in(context->id, call_all(kGradient, letter, letters));
}

/// The letter says context, and who asks for it.
void DistAutograd::State::forget(const Letter& letter) {
    const auto found = contexts.find(letter.numbers.at(0));
    if (found == contexts.end()) {
        return;  // the call came by two ways
    }
    const ContextPtr context = found->second;
    contexts.erase(found);
    Letters letters;
    for (const int rank : context->known) {
        if (rank != rpc.rank() && rank != letter.numbers.at(1)) {
            letters[rank] = {};
        }
    }
    call_all(kRelease, {{context->id, rpc.rank()}}, letters);  // who has died has no context
}

/// Calls these ranks, all at a time; the first two numbers are those of `letter`. Waits until all
/// calls are through: nobody would wait for what still runs there. Returns the first error.
std::exception_ptr DistAutograd::State::call_all(
    const char* what, const Letter& letter, const Letters& letters
) {
    std::vector<RpcFuture> calls;
    for (auto [rank, next] : letters) {
        next.numbers.insert(next.numbers.begin(), {letter.numbers.at(0), letter.numbers.at(1)});
        calls.push_back(rpc.rpc_async(rank, what, nn::bytes_of(next)));
    }
    std::exception_ptr first;
    for (const RpcFuture& call : calls) {
        try {
            rpc.wait(call);
        } catch (...) {
            first = first ? first : std::current_exception();
        }
    }
    return first;
}

void DistAutograd::State::go_on_in(ContextId context, const std::exception_ptr& error) const {
    here(context);  // or it has been released meanwhile
    if (error) {
        std::rethrow_exception(error);
    }
}

DistAutograd::DistAutograd(Rpc& rpc) : state_(std::make_unique<State>(rpc)) {}

DistAutograd::~DistAutograd() = default;

void DistAutograd::define(const std::string& name, Function function) {
    State& self = *state_;
    self.rpc.define(name, [&self, function](int caller, std::span<const std::byte> bytes) {
        return self.serve(function, caller, nn::numbers_and_tensors_of(bytes));
    });
}

ContextId DistAutograd::new_context() {
    State& self = *state_;
    if (self.contexts.contains(self.current)) {
        throw std::logic_error("dist_autograd: this rank's calls are in a context already");
    }
    self.current = self.new_id();
    self.contexts.emplace(self.current, std::make_shared<Context>(Context{self.current}));
    return self.current;
}

Tensors DistAutograd::call(int to, const std::string& name, const Tensors& arguments) {
    State& self = *state_;
    const bool records = self.current != 0 && c10::GradMode::is_enabled();
    const ContextPtr context = records ? self.here(self.current) : nullptr;
    const RpcFuture future = self.rpc.rpc_async(to, name, self.pack(context, arguments));
    if (records) {
        context->known.insert(to);  // also if the call fails: the context may be there
    }
    return self.unpack(context, to, nn::numbers_and_tensors_of(self.rpc.wait(future)));
}

void DistAutograd::backward(ContextId id, const Tensors& roots) {
    State& self = *state_;
    const ContextPtr context = self.here(id);
    expects(!roots.empty(), "backward: there must be a root");
    Letter letter = {{id, self.new_id()}};
    for (const at::Tensor& root : roots) {
        expects(
            root.defined() && root.numel() == 1 && root.requires_grad() && !root.is_leaf(),
            "backward: a root must be one element, computed from what requires a gradient"
        );
        letter.numbers.push_back(self.new_id());
        letter.tensors.push_back(at::ones_like(root));
    }
    for (std::size_t i = 0; i < roots.size(); ++i) {  // as if this rank had sent them to itself
        context->sends.emplace(letter.numbers[i + 2], Edge(roots[i]));
    }
    self.find(letter);
    self.arrive(letter);
}

Gradients DistAutograd::gradients(ContextId context) const {
    return state_->here(context)->gradients;
}

Recorded DistAutograd::recorded(ContextId context) const {
    return state_->here(context)->recorded;
}

std::vector<ContextId> DistAutograd::contexts() const {
    const auto ids = std::views::keys(state_->contexts);
    return {ids.begin(), ids.end()};
}

void DistAutograd::release(ContextId context) {
    State& self = *state_;
    if (self.current == context) {
        self.current = 0;
    }
    self.here(context);
    self.forget({{context, self.rpc.rank()}});
}

}  // namespace dist
