#include "exercises/10_elastic/snapshot.hpp"

#include <ATen/ops/from_blob.h>
#include <exception>
#include <future>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"
#include "exercises/07_zero/sharded_checkpoint.hpp"

namespace dist {

struct Snapshots::State {
    std::filesystem::path folder;
    Communicator comm;          // the thread's
    std::future<void> writing;  // dies first, and waits for the thread, which uses the others

    void write(std::int64_t step, std::span<const nn::TensorPart> copies, bool is_copied) const;
};

namespace {

using Parts = std::vector<nn::TensorPart>;

// A view: the extra bytes are saved and loaded like one more tensor.
nn::TensorPart part_of(std::span<const std::byte> extra) {
    const auto n = static_cast<std::int64_t>(extra.size());
    return {
        "snapshot.extra", n, 0,
        at::from_blob(const_cast<std::byte*>(extra.data()), {n}, at::kByte)};
}

Parts copies_of(
    std::span<const nn::TensorPart> parts,
    std::span<const std::byte> extra,
    const Communicator& comm
) {
    Parts copies(parts.begin(), parts.end());
    if (comm.rank() == 0) {
        copies.push_back(part_of(extra));
    }
    for (nn::TensorPart& copy : copies) {
        copy.data = copy.data.clone();
    }
    return copies;
}

}  // namespace

// The thread's work. Nobody writes anything before all know that each has its copy.
void Snapshots::State::write(
    std::int64_t step, std::span<const nn::TensorPart> copies, bool is_copied
) const {
    auto first = static_cast<float>(is_copied ? comm.size() : comm.rank());  // that could not copy
    ring_all_reduce({&first, 1}, ReduceOp::min, comm);
    if (const int rank = static_cast<int>(first); rank < comm.size()) {
        throw std::runtime_error(
            "snapshot of step " + std::to_string(step) + ": rank " + std::to_string(rank) +
            " could not copy what it has"
        );
    }
    save_sharded(folder, step, copies, comm);
}

Snapshots::Snapshots(std::filesystem::path folder, const Communicator& comm)
    : state_(new State{std::move(folder), comm.dup(), {}}) {}

Snapshots::~Snapshots() = default;

void Snapshots::take(
    std::int64_t step, std::span<const nn::TensorPart> parts, std::span<const std::byte> extra
) {
    wait();
    Parts copies;
    std::exception_ptr failure;
    try {
        copies = copies_of(parts, extra, state_->comm);
    } catch (...) {
        failure = std::current_exception();  // the others count on this rank's thread all the same
    }
    auto write = [state = state_.get(), step, copies = std::move(copies),
                  is_copied = !failure]() mutable {
        const Parts mine = std::move(copies);  // gone at the end, and not when the future is asked
        state->write(step, mine, is_copied);
    };
    state_->writing = std::async(std::launch::async, std::move(write));
    if (failure) {
        std::rethrow_exception(failure);
    }
}

void Snapshots::wait() {
    if (state_->writing.valid()) {
        state_->writing.get();
    }
}

std::int64_t load_snapshot(
    const std::filesystem::path& folder,
    std::span<const nn::TensorPart> wanted,
    std::span<std::byte> extra,
    const Communicator& comm
) {
    Parts all(wanted.begin(), wanted.end());
    all.push_back(part_of(extra));
    return load_sharded(folder, all, comm);
}

}  // namespace dist
