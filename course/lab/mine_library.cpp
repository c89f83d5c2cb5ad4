// What the bench looks up in the student's library. One row for each collective.
#include <string_view>

#include "course/algorithms/registry.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"

extern "C" dist::lab::Run shardlings_mine(std::string_view collective) {
    if (collective == "all_reduce") {
        return [](const dist::lab::Call& call) {
            dist::ring_all_reduce(call.data, call.op, call.comm);
        };
    }
    return nullptr;
}
