// PyTorch's DistributedDataParallel without Python: its c10d::Reducer, which sends through a process group of
// ours. Works with LibTorch 1.13 to 2.x, whose constructors differ.
#include <numeric>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include <mpi.h>

#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/logger.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>

#include "course/lab/ddp/backend.hpp"
#include "course/lab/ddp/contestant.hpp"
#include "course/runtime/error.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"
#include "exercises/06_ddp/gradient_buckets.hpp"
#include "exercises/06_ddp/overlap.hpp"

namespace dist::lab {

namespace {

using FuturePtr = c10::intrusive_ptr<c10::ivalue::Future>;
using WorkPtr = c10::intrusive_ptr<c10d::Work>;

FuturePtr make_future() {
    return c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()));
}

/// What PyTorch waits for: a future of ours.
class Work final : public c10d::Work {
  public:
    explicit Work(FuturePtr future)
        : c10d::Work(-1, c10d::OpType::UNKNOWN), future_(std::move(future)) {}

    bool wait(std::chrono::milliseconds /*timeout*/) override {
        future_->wait();
        return true;
    }
    FuturePtr getFuture() override { return future_; }

  private:
    FuturePtr future_;
};

/// The process group: an all-reduce is the course's ring, on a thread of its own, as for our Reducer.
class RingBackend final : public BackendBase {
  public:
    RingBackend(CommThread& thread, const Communicator& buckets, const Communicator& comm)
        : BackendBase(comm.rank(), comm.size()), thread_(thread), buckets_(buckets), comm_(comm) {}

    const std::string getBackendName() const override { return "ring"; }

    WorkPtr allreduce(
        std::vector<at::Tensor>& tensors, const c10d::AllreduceOptions& /*options*/
    ) override {
        const FuturePtr done = make_future();
        thread_.submit([this, done, tensors] {
            for (const at::Tensor& tensor : tensors) {
                ring_all_reduce(
                    {tensor.data_ptr<float>(), static_cast<std::size_t>(tensor.numel())},
                    ReduceOp::sum, buckets_
                );
            }
            done->markCompleted(c10::IValue(tensors));
        });
        return c10::make_intrusive<Work>(done);
    }

    // of the order in which gradients came, once
    WorkPtr broadcast(std::vector<at::Tensor>& tensors, const c10d::BroadcastOptions& options)
        override {
        for (const at::Tensor& tensor : tensors) {
            const int root = static_cast<int>(options.rootRank);
            const int bytes = static_cast<int>(tensor.nbytes());
            MPI_CHECK(MPI_Bcast(tensor.data_ptr(), bytes, MPI_BYTE, root, comm_.handle()));
        }
        const FuturePtr done = make_future();
        done->markCompleted(c10::IValue(tensors));
        return c10::make_intrusive<Work>(done);
    }

  private:
    CommThread& thread_;
    const Communicator& buckets_;
    const Communicator& comm_;
};

c10::intrusive_ptr<c10d::ProcessGroup> make_group(const c10::intrusive_ptr<BackendBase>& backend) {
#if TORCH_VERSION_MAJOR >= 2
    const auto store = c10::make_intrusive<c10d::HashStore>();
    const int rank = backend->getRank();
    const int size = backend->getSize();
    constexpr auto kCustom = c10d::ProcessGroup::BackendType::CUSTOM;
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 6
    auto group = c10::make_intrusive<c10d::ProcessGroup>(store, rank, size);
    group->setBackend(c10::DeviceType::CPU, kCustom, backend);
    group->setDefaultBackend(kCustom);
#else
    auto group = c10::make_intrusive<c10d::ProcessGroup>(
        store, rank, size, c10::make_intrusive<c10d::ProcessGroup::Options>("custom")
    );
    group->setBackend(c10::DeviceType::CPU, kCustom, backend);
#endif
    return group;
#else
    return backend;
#endif
}

/// The constructor gained and lost parameters from version to version.
template <class R = c10d::Reducer>
std::shared_ptr<R> make_reducer(
    const std::vector<at::Tensor>& parameters,
    const std::vector<std::size_t>& limits,
    const c10::intrusive_ptr<c10d::ProcessGroup>& group
) {
    using Tensors = std::vector<at::Tensor>;
    using Names = std::unordered_map<std::size_t, std::string>;
    using Group = c10::intrusive_ptr<c10d::ProcessGroup>;
    using Sizes = std::vector<std::size_t>;
    using Flags = std::vector<bool>;
    using Buckets = std::vector<Bucket>;
    Sizes order(parameters.size());
    std::iota(order.rbegin(), order.rend(), 0);
    const Buckets buckets = gradient_buckets(parameters, order, limits);
    const Flags dense(parameters.size(), false);
    const auto limit = static_cast<std::int64_t>(limits.back());
    const auto first = static_cast<std::int64_t>(limits.front());
    constexpr bool kFindUnused = false;
    constexpr bool kViews = true;
    if constexpr (std::is_constructible_v<
                      R, Tensors, Buckets, Sizes, Group, Flags, std::int64_t, bool, bool, Names,
                      std::int64_t>) {
        return std::make_shared<R>(
            parameters, buckets, Sizes(buckets.size(), limits.back()), group, dense, limit,
            kFindUnused, kViews, Names{}, first
        );
    } else if constexpr (std::is_constructible_v<
                             R, Tensors, Buckets, Group, Flags, std::int64_t, bool, bool, Names,
                             std::int64_t>) {
        return std::make_shared<R>(
            parameters, buckets, group, dense, limit, kFindUnused, kViews, Names{}, first
        );
    } else if constexpr (std::is_constructible_v<
                             R, Tensors, Buckets, Group, Flags, std::int64_t, bool, bool, Names,
                             std::int64_t, bool, bool>) {
        return std::make_shared<R>(
            parameters, buckets, group, dense, limit, kFindUnused, kViews, Names{}, first, false,
            false
        );
    } else {
        return std::make_shared<R>(
            parameters, buckets, group, dense, limit, kFindUnused, kViews, Names{}, first, false,
            false, std::vector<std::int64_t>{}
        );
    }
}

class Pytorch final : public Contestant {
  public:
    Pytorch(
        const std::string& name,
        std::shared_ptr<nn::Model> model,
        const std::vector<std::size_t>& limits,
        const Communicator& comm
    )
        : Contestant(std::move(model)),
          buckets_comm_(comm.dup()),
          reducer_(make_reducer(parameters(), limits, make_group(make_backend(name, comm)))),
          logger_(std::make_shared<c10d::Logger>(reducer_)) {
        reducer_->set_logger(logger_);
    }

    void step(const nn::Batch& batch) override {
        zero_gradients();
        if (reducer_->should_rebuild_buckets()) {
            reducer_->rebuild_buckets();
        }
        reducer_->prepare_for_forward();
        const at::Tensor loss_of_batch = loss(batch);
        reducer_->prepare_for_backward({loss_of_batch});
        loss_of_batch.backward();
    }

  private:
    c10::intrusive_ptr<BackendBase> make_backend(
        const std::string& name, const Communicator& comm
    ) {
#ifdef SHARDLINGS_GLOO
        if (name == "gloo") {
            return make_gloo(comm);
        }
#endif
        expects(name == "pytorch", "make_contestant: there is no such way");
        return c10::make_intrusive<RingBackend>(thread_, buckets_comm_, comm);
    }

    Communicator buckets_comm_;
    CommThread thread_;
    std::shared_ptr<c10d::Reducer> reducer_;
    std::shared_ptr<c10d::Logger> logger_;
};

}  // namespace

std::unique_ptr<Contestant> make_pytorch(
    const std::string& name,
    std::shared_ptr<nn::Model> model,
    const std::vector<std::size_t>& limits,
    const Communicator& comm
) {
    return std::make_unique<Pytorch>(name, std::move(model), limits, comm);
}

}  // namespace dist::lab
