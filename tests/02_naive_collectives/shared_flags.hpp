// Flags in memory that all ranks of the job see: what one rank did before another, without a clock
// and without a message.
#pragma once

#include <atomic>

#include "course/runtime/communicator.hpp"
#include "tests/harness/words/shared_room.hpp"

namespace dist::harness {

/// One flag for each rank and use.
class SharedFlags {
  public:
    /// Takes the flags of use number `use`, none of them up. Every rank of `comm` makes this call,
    /// and no two uses for communicators of the same size have the same number: a rank that was
    /// stopped in one may be behind the others in the next.
    void begin(const Communicator& comm, std::size_t use) {
        row_ = flags_->up[comm.size()][use % kUses];
    }

    void raise(int rank) { row_[rank] = true; }
    [[nodiscard]] bool is_up(int rank) const { return row_[rank]; }

  private:
    static constexpr std::size_t kSizes = 16;  // of communicators, at most
    static constexpr std::size_t kUses = 128;
    struct Flags {
        std::atomic<bool> up[kSizes + 1][kUses][kSizes];  // new room is all zeros: none is up
    };

    Flags* flags_ = static_cast<Flags*>(shared_room("flags", sizeof(Flags)));
    std::atomic<bool>* row_ = nullptr;
};

}  // namespace dist::harness
