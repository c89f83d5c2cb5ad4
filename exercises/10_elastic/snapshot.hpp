// Exercise 10: snapshots beside training. A step waits for a copy in memory; a thread brings it to the disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "course/nn/tensor_file.hpp"
#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"

namespace dist {

/// Takes snapshots of a training, one after the other, into one folder. A thread writes each by save_sharded, while
/// the training goes on.
///
/// The n-th take() of all ranks is one snapshot. Whenever the ranks are killed, and whatever cannot be written, the
/// folder has the last snapshot that was written, whole and of one step; while the next takes its place, one of these two.
///
/// Source  PyTorch, torch/distributed/checkpoint/state_dict_saver.py, async_save.
class Snapshots {
  public:
    /// Makes a communicator for the thread's messages: the ranks may use `comm` while a snapshot is written.
    ///
    /// folder  as for save_sharded.
    /// comm    collective: every rank of `comm` makes this call.
    Snapshots(std::filesystem::path folder, const Communicator& comm);

    /// Returns when the last snapshot is written, or has failed, and its thread has ended. Throws nothing: an error
    /// for which nobody has asked is lost.
    ~Snapshots();
    Snapshots(const Snapshots&) = delete;
    Snapshots& operator=(const Snapshots&) = delete;

    /// Copies what it is given, and returns. The caller may then change all of it. A thread writes the copy, and
    /// drops it when it is written. One snapshot is written at a time: take() waits for the one before, then copies.
    ///
    /// step   of the training; the same on all ranks.
    /// parts  as for save_sharded; none of them is named "snapshot.extra".
    /// extra  bytes beside them, such as an EpochPosition and the state of a random generator. Rank 0's are saved.
    ///
    /// Cost    one copy in memory, and no message: it returns although no other rank has come.
    /// Errors  as wait(), of the snapshot before; this one is not taken then. What the copying throws, at once: it
    ///         comes out on this rank, and the snapshot fails on all ranks.
    void take(
        std::int64_t step, std::span<const nn::TensorPart> parts, std::span<const std::byte> extra
    );

    /// Waits until the last snapshot is written, or has failed.
    ///
    /// Errors  of that snapshot, the same text on all ranks, once: of wait() or of the next take(). They are those of
    ///         save_sharded; or std::runtime_error with "rank R" in its text, where rank R could not copy what it has.
    void wait();

  private:
    struct State;  // yours: in your .cpp
    std::unique_ptr<State> state_;
};

/// Reads the snapshot that a folder has, on as many ranks as took it or on others. Nobody writes there meanwhile.
///
/// folder   as for Snapshots.
/// wanted   as for load_sharded.
/// extra    receives the bytes, on each rank; as many as rank 0 gave.
/// comm     collective: every rank of `comm` makes this call.
/// returns  the step.
///
/// Cost    as load_sharded.
/// Errors  as load_sharded, also if it has another number of extra bytes: then no byte of `extra` has changed either.
std::int64_t load_snapshot(
    const std::filesystem::path& folder,
    std::span<const nn::TensorPart> wanted,
    std::span<std::byte> extra,
    const Communicator& comm
);

}  // namespace dist
