// Flags in memory that all ranks of the job see: what one rank did before another, without a clock
// and without a message.
#pragma once

#include <atomic>
#include <fcntl.h>
#include <stdexcept>
#include <sys/mman.h>
#include <unistd.h>

#include "course/runtime/communicator.hpp"

namespace dist::harness {

/// One flag for each rank and use. A file in the folder that all ranks work in, which every rank maps.
class SharedFlags {
  public:
    SharedFlags() {
        const int file = open("flags", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (file < 0 || ftruncate(file, sizeof(Flags)) != 0) {
            throw std::runtime_error("cannot make the file flags");
        }
        void* memory = mmap(nullptr, sizeof(Flags), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        close(file);
        if (memory == MAP_FAILED) {
            throw std::runtime_error("cannot map the file flags");
        }
        flags_ = static_cast<Flags*>(memory);
    }
    SharedFlags(const SharedFlags&) = delete;
    SharedFlags& operator=(const SharedFlags&) = delete;
    ~SharedFlags() { munmap(flags_, sizeof(Flags)); }

    /// Takes the flags of use number `use`, none of them up. Every rank of `comm` makes this call,
    /// and no two uses for communicators of the same size have the same number: a rank that was
    /// stopped in one may be behind the others in the next.
    void begin(const Communicator& comm, std::size_t use) {
        row_ = flags_->up[static_cast<std::size_t>(comm.size()) % kSizes][use % kUses];
    }

    void raise(int rank) { row_[rank] = true; }
    [[nodiscard]] bool is_up(int rank) const { return row_[rank]; }

  private:
    static constexpr std::size_t kSizes = 16;
    static constexpr std::size_t kUses = 128;
    struct Flags {
        std::atomic<bool> up[kSizes][kUses][kSizes];  // a new file is all zeros: none is up
    };

    Flags* flags_ = nullptr;
    std::atomic<bool>* row_ = nullptr;
};

}  // namespace dist::harness
