#include "tests/course/remote_calls/autograd_model.hpp"

namespace dist::remote_calls {

AutogradModel::AutogradModel(Rank& its_rank)
    : rank(its_rank),
      autograd(its_rank.rpc),
      w(floats({1, 2}).add(rank.number()).requires_grad_()) {
    autograd.define("times", [this](const Tensors& in) { return Tensors{in[0].mul(w)}; });
    // w here, then w on the rank before, if there is one
    autograd.define("down", [this](const Tensors& in) {
        const at::Tensor y = in[0].mul(w);
        const Tensors next = {y};
        return rank.number() == 0 ? next : autograd.call(rank.number() - 1, "down", next);
    });
    // w here, then up to the last rank
    autograd.define("up", [this](const Tensors& in) {
        const at::Tensor y = in[0].mul(w);
        const Tensors next = {y};
        const bool is_last = rank.number() + 1 == rank.rpc.size();
        return is_last ? next : Tensors{autograd.call(rank.number() + 1, "up", next)[0].add(y)};
    });
    rank.define_text("state", [this](const std::string& id) { return state(std::stoll(id)); });
    rank.define_text("contexts", [this](const std::string&) {
        return std::to_string(autograd.contexts().size());
    });
}

std::string AutogradModel::state(ContextId context) const {
    const Gradients gradients = autograd.gradients(context);
    const auto own = gradients.find(w);
    const Recorded recorded = autograd.recorded(context);
    return "gradient " + (own == gradients.end() ? "none" : text_of(own->second)) + "; " +
           std::to_string(recorded.sends) + " sends, " + std::to_string(recorded.recvs) +
           " recvs, " + std::to_string(autograd.contexts().size()) + " contexts";
}

void AutogradModel::say_state(
    const std::string& when, ContextId context, const std::vector<int>& ranks
) {
    for (const int of : ranks) {
        say(when + ", rank " + std::to_string(of),
            outcome([&] { return rank.ask(of, "state", std::to_string(context)); }));
    }
}

void AutogradModel::say_contexts(const std::string& when) {
    rank.serve_for(200ms);
    for (int of = 0; of < rank.rpc.size(); ++of) {
        say(when + ", contexts of rank " + std::to_string(of), rank.ask(of, "contexts"));
    }
}

}  // namespace dist::remote_calls
