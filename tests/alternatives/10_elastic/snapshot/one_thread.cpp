// One thread for all snapshots, which sleeps between them; it is told by a condition, and tells its error by a pointer.
#include <ATen/ops/empty.h>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"
#include "exercises/07_zero/sharded_checkpoint.hpp"
#include "exercises/10_elastic/snapshot.hpp"

namespace dist {

namespace {

struct Copy {
    std::int64_t step;
    std::vector<nn::TensorPart> parts = {};
    bool is_whole = false;
};

at::Tensor tensor_of(std::span<const std::byte> bytes) {
    at::Tensor tensor = at::empty({static_cast<std::int64_t>(bytes.size())}, at::kByte);
    if (!bytes.empty()) {
        std::memcpy(tensor.data_ptr(), bytes.data(), bytes.size());
    }
    return tensor;
}

nn::TensorPart extra_part(const at::Tensor& bytes) {
    return {"snapshot.extra", bytes.numel(), 0, bytes};
}

}  // namespace

struct Snapshots::State {
    State(std::filesystem::path the_folder, Communicator the_comm)
        : folder(std::move(the_folder)), comm(std::move(the_comm)), thread([this] { run(); }) {}

    void run();
    void write(const Copy& copy) const;

    std::filesystem::path folder;
    Communicator comm;
    std::mutex lock;
    std::condition_variable news;
    std::optional<Copy> next;
    bool is_idle = true;
    bool is_over = false;
    std::exception_ptr error;
    std::thread thread;
};

void Snapshots::State::run() {
    std::unique_lock guard(lock);
    for (;;) {
        news.wait(guard, [this] { return next || is_over; });
        if (!next) {
            return;
        }
        guard.unlock();
        std::exception_ptr thrown;
        try {
            write(*next);
        } catch (...) {
            thrown = std::current_exception();
        }
        guard.lock();
        next.reset();
        error = thrown;
        is_idle = true;
        news.notify_all();
    }
}

void Snapshots::State::write(const Copy& copy) const {
    std::vector<float> failed(static_cast<std::size_t>(comm.size()));
    failed[static_cast<std::size_t>(comm.rank())] = copy.is_whole ? 0 : 1;
    ring_all_reduce(failed, ReduceOp::sum, comm);
    for (std::size_t rank = 0; rank < failed.size(); ++rank) {
        if (failed[rank] != 0) {
            throw std::runtime_error("no copy on rank " + std::to_string(rank));
        }
    }
    save_sharded(folder, copy.step, copy.parts, comm);
}

Snapshots::Snapshots(std::filesystem::path folder, const Communicator& comm)
    : state_(new State(std::move(folder), comm.split(0, comm.rank()))) {}

Snapshots::~Snapshots() {
    {
        const std::scoped_lock guard(state_->lock);
        state_->is_over = true;
    }
    state_->news.notify_all();
    state_->thread.join();
}

void Snapshots::take(
    std::int64_t step, std::span<const nn::TensorPart> parts, std::span<const std::byte> extra
) {
    wait();
    Copy copy{step};
    std::exception_ptr failure;
    try {
        for (const nn::TensorPart& part : parts) {
            const at::Tensor data = at::empty({part.data.numel()}, part.data.options());
            copy.parts.push_back({part.name, part.numel, part.begin, data.copy_(part.data)});
        }
        if (state_->comm.rank() == 0) {
            copy.parts.push_back(extra_part(tensor_of(extra)));
        }
        copy.is_whole = true;
    } catch (...) {
        failure = std::current_exception();
    }
    {
        const std::scoped_lock guard(state_->lock);
        state_->next = std::move(copy);
        state_->is_idle = false;
    }
    state_->news.notify_all();
    if (failure) {
        std::rethrow_exception(failure);
    }
}

void Snapshots::wait() {
    std::unique_lock guard(state_->lock);
    state_->news.wait(guard, [this] { return state_->is_idle; });
    if (const std::exception_ptr error = std::exchange(state_->error, nullptr)) {
        std::rethrow_exception(error);
    }
}

std::int64_t load_snapshot(
    const std::filesystem::path& folder,
    std::span<const nn::TensorPart> wanted,
    std::span<std::byte> extra,
    const Communicator& comm
) {
    std::vector<nn::TensorPart> all(wanted.begin(), wanted.end());
    const at::Tensor bytes = tensor_of(extra);
    all.push_back(extra_part(bytes));
    const std::int64_t step = load_sharded(folder, all, comm);
    if (!extra.empty()) {
        std::memcpy(extra.data(), bytes.data_ptr(), extra.size());
    }
    return step;
}

}  // namespace dist
