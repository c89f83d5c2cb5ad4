// Shared memory in which another rank adds between the read and the write of an addition: what is
// two steps is always seen as two, and not only when threads happen to meet.
#pragma once

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <sys/mman.h>
#include <unistd.h>

namespace dist::harness {

/// A row on a page that cannot be written, and one that cannot be touched. The first write fails:
/// then the other rank adds to all elements, through an address of its own, the page can be
/// written, and the write is tried again. An atomic addition sees the new value; a value that was
/// read before is too old.
class Trap {
  public:
    static constexpr float kOthers = 100;  // that the other rank adds

    Trap() : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
        const int file = memfd_create("row", 0);
        if (file < 0 || ftruncate(file, static_cast<off_t>(2 * page_)) != 0) {
            throw std::runtime_error("Trap: there is no memory");
        }
        const auto map = [&](int access) {
            void* address = mmap(nullptr, 2 * page_, access, MAP_SHARED, file, 0);
            return address == MAP_FAILED ? nullptr : static_cast<std::byte*>(address);
        };
        row_ = map(PROT_READ);
        others_ = map(PROT_READ | PROT_WRITE);
        close(file);
        if (row_ == nullptr || others_ == nullptr ||
            mprotect(row_ + page_, page_, PROT_NONE) != 0) {
            throw std::runtime_error("Trap: there is no memory");
        }
        armed = this;
        struct sigaction action = {};
        action.sa_sigaction = &Trap::spring;
        action.sa_flags = SA_SIGINFO;
        sigaction(SIGSEGV, &action, &before_);
    }
    ~Trap() {
        sigaction(SIGSEGV, &before_, nullptr);
        munmap(row_, 2 * page_);
        munmap(others_, 2 * page_);
    }
    Trap(const Trap&) = delete;
    Trap& operator=(const Trap&) = delete;

    /// The last `before` elements of the first page, and the first `behind` of the second.
    [[nodiscard]] std::span<float> row(std::size_t before, std::size_t behind = 0) const {
        return floats(row_).subspan(first() - before, before + behind);
    }

    /// The same elements, as the other rank sees them.
    [[nodiscard]] std::span<float> seen(std::size_t before) const {
        return floats(others_).subspan(first() - before, before);
    }

    [[nodiscard]] bool was_written() const { return written_ != 0; }
    [[nodiscard]] bool second_was_touched() const { return touched_ != 0; }

  private:
    [[nodiscard]] std::size_t first() const { return page_ / sizeof(float); }

    [[nodiscard]] std::span<float> floats(std::byte* address) const {
        return {reinterpret_cast<float*>(address), 2 * first()};
    }

    [[nodiscard]] bool is_in(std::size_t page, const std::byte* address) const {
        const std::byte* const begin = row_ + page * page_;
        return begin <= address && address < begin + page_;
    }

    static void spring(int signal, siginfo_t* info, void*) {
        const auto* const address = static_cast<const std::byte*>(info->si_addr);
        Trap& self = *armed;
        if (self.written_ == 0 && self.is_in(0, address)) {
            self.written_ = 1;
            for (float& element : self.floats(self.others_).first(self.first())) {
                element += kOthers;
            }
            mprotect(self.row_, self.page_, PROT_READ | PROT_WRITE);
        } else if (self.touched_ == 0 && self.is_in(1, address)) {
            self.touched_ = 1;
            mprotect(self.row_ + self.page_, self.page_, PROT_READ | PROT_WRITE);
        } else {
            sigaction(signal, &self.before_, nullptr);  // a crash of its own
        }
    }

    static inline Trap* armed = nullptr;  // a handler has no argument of its own

    volatile std::sig_atomic_t written_ = 0;
    volatile std::sig_atomic_t touched_ = 0;
    std::size_t page_;
    std::byte* row_ = nullptr;
    std::byte* others_ = nullptr;
    struct sigaction before_ = {};
};

}  // namespace dist::harness
