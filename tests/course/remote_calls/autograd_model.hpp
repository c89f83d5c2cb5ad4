// A weight on each rank, functions that use it, and what a rank knows of a context.
#pragma once

#include <map>
#include <string>

#include "exercises/09_rpc/dist_autograd.hpp"
#include "tests/course/remote_calls/rank.hpp"

namespace dist::remote_calls {

class AutogradModel {
  public:
    explicit AutogradModel(Rank& rank);

    [[nodiscard]] at::Tensor times(int to, const at::Tensor& x) {
        return autograd.call(to, "times", {x})[0];
    }

    /// What these ranks have in the context. Asks them outside of it.
    void say_state(const std::string& when, ContextId context, const std::vector<int>& ranks);

    /// How many contexts each rank has. Asks outside of them.
    void say_contexts(const std::string& when);

    Rank& rank;
    DistAutograd autograd;
    at::Tensor w;  // of this rank: r + 1, r + 2

  private:
    [[nodiscard]] std::string state(ContextId context) const;
};

}  // namespace dist::remote_calls
