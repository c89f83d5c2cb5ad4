// Keeps its buffers from call to call, each thread its own, with sizes that grow.
// state: pass

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "exercises/02_naive_collectives/all_reduce.hpp"
#include "exercises/02_naive_collectives/broadcast.hpp"
#include "exercises/02_naive_collectives/reduce.hpp"

namespace {

class Calls {
  public:
    void count() {
        const std::scoped_lock guard(lock_);
        ++calls_;
    }

  private:
    std::mutex lock_;
    long calls_ = 0;
};

Calls& calls() {
    static Calls all;
    return all;
}

}  // namespace

namespace dist {

void all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    calls().count();
    thread_local std::vector<float> copy;
    copy.assign(data.begin(), data.end());
    reduce(copy, op, 0, comm);
    if (comm.rank() == 0) {
        std::copy(copy.begin(), copy.end(), data.begin());
    }
    broadcast(data, 0, comm);
}

}  // namespace dist
