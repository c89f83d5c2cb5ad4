#include "course/files/atomic_file.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <string>
#include <system_error>
#include <unistd.h>

namespace dist::files {
namespace {

namespace fs = std::filesystem;

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};
constexpr int kNew = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;

extern "C" void remove_unfinished_files(int signal);

// A file that a signal or an exception removes, unless done() was called. Threads may have one each.
class Unfinished {
  public:
    explicit Unfinished(const char* path) : path_(path) {
        const Alone alone;
        if (first == nullptr) {
            struct sigaction action {};
            action.sa_handler = remove_unfinished_files;
            action.sa_mask = signals();
            for (std::size_t i = 0; i < kSignals.size(); ++i) {
                sigaction(kSignals[i], &action, &handlers_before[i]);
            }
        }
        next_ = first;
        first = this;
    }
    ~Unfinished() {
        const Alone alone;
        unlink_file();
        Unfinished** place = &first;
        while (*place != this) {
            place = &(*place)->next_;
        }
        *place = next_;
        if (first == nullptr) {
            restore_handlers();
        }
    }
    Unfinished(const Unfinished&) = delete;
    Unfinished& operator=(const Unfinished&) = delete;
    Unfinished(Unfinished&&) = delete;
    Unfinished& operator=(Unfinished&&) = delete;

    void done() {
        const Alone alone;
        path_ = nullptr;
    }

    /// Opens the file, a new one.
    [[nodiscard]] int create() const {
        const Alone alone;
        return open(path_, kNew, 0666);
    }

    /// Removes all, and does what the signal would have done. A thread that still writes waits meanwhile.
    static void remove_all(int signal) {
        const Alone alone;
        for (Unfinished* file = first; file != nullptr; file = file->next_) {
            file->unlink_file();
        }
        restore_handlers();
        sigset_t own;
        sigemptyset(&own);
        sigaddset(&own, signal);
        pthread_sigmask(SIG_UNBLOCK, &own, nullptr);
        std::raise(signal);
    }

  private:
    // While it lives, nobody else changes the list. Its thread has no signals meanwhile: a handler waits
    // for other threads at most.
    class Alone {
      public:
        Alone() {
            const sigset_t all = signals();
            pthread_sigmask(SIG_BLOCK, &all, &before_);
            while (busy.test_and_set(std::memory_order_acquire)) {
            }
        }
        ~Alone() {
            busy.clear(std::memory_order_release);
            pthread_sigmask(SIG_SETMASK, &before_, nullptr);
        }
        Alone(const Alone&) = delete;
        Alone& operator=(const Alone&) = delete;
        Alone(Alone&&) = delete;
        Alone& operator=(Alone&&) = delete;

      private:
        sigset_t before_{};
    };

    static sigset_t signals() {
        sigset_t set;
        sigemptyset(&set);
        for (const int signal : kSignals) {
            sigaddset(&set, signal);
        }
        return set;
    }

    static void restore_handlers() {
        for (std::size_t i = 0; i < kSignals.size(); ++i) {
            sigaction(kSignals[i], &handlers_before[i], nullptr);
        }
    }

    void unlink_file() {
        if (path_ != nullptr) {
            unlink(path_);
            path_ = nullptr;
        }
    }

    static std::atomic_flag busy;
    static Unfinished* first;  // of a list
    static std::array<struct sigaction, kSignals.size()> handlers_before;

    const char* path_;  // nullptr: there is no file any more
    Unfinished* next_ = nullptr;
};

std::atomic_flag Unfinished::busy = ATOMIC_FLAG_INIT;
Unfinished* Unfinished::first = nullptr;
std::array<struct sigaction, kSignals.size()> Unfinished::handlers_before{};

extern "C" void remove_unfinished_files(int signal) {
    Unfinished::remove_all(signal);
}

// A file descriptor, closed at the end.
class Descriptor {
  public:
    explicit Descriptor(int number) : number_(number) {}
    Descriptor(const fs::path& path, int flags) : Descriptor(open(path.c_str(), flags, 0666)) {}
    ~Descriptor() {
        if (number_ >= 0) {
            close(number_);
        }
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    Descriptor(Descriptor&&) = delete;
    Descriptor& operator=(Descriptor&&) = delete;

    [[nodiscard]] int number() const { return number_; }

  private:
    int number_;
};

bool is_device(const fs::path& path) {
    std::error_code absent;
    const fs::file_status status = fs::status(path, absent);
    return fs::exists(status) && !fs::is_regular_file(status);
}

/// No other write has this name, of any process.
fs::path unfinished(const fs::path& path) {
    static std::atomic<unsigned> writes = 0;
    return path.string() + "." + std::to_string(getpid()) + "." + std::to_string(writes++) +
           ".partial";
}

void require(bool success, const fs::path& path) {
    if (!success) {
        const int reason = errno;
        throw std::system_error(
            reason, std::generic_category(),
            "cannot write " + path.string() +
                (is_device(path) ? "" : "; what was there before is untouched")
        );
    }
}

/// Errors  std::system_error, which names `path`.
void write_all(const Descriptor& file, std::string_view bytes, const fs::path& path) {
    require(file.number() >= 0, path);
    while (!bytes.empty()) {
        const ssize_t written = write(file.number(), bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) {
            continue;
        }
        require(written > 0, path);
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
}

}  // namespace

void write_atomically(const fs::path& path, std::string_view bytes) {
    if (is_device(path)) {
        write_all(Descriptor(path, O_WRONLY | O_CLOEXEC), bytes, path);
        return;
    }
    const fs::path partial = unfinished(path);
    Unfinished guard(partial.c_str());
    {
        const Descriptor file(guard.create());
        write_all(file, bytes, path);
        require(fsync(file.number()) == 0, path);
    }
    require(std::rename(partial.c_str(), path.c_str()) == 0, path);
    guard.done();
    // The new name, too, is to survive a power cut. Where a folder cannot be synchronized the file
    // is complete all the same.
    const Descriptor folder(fs::absolute(path).parent_path(), O_RDONLY | O_CLOEXEC);
    static_cast<void>(fsync(folder.number()));
}

void check_writable(const fs::path& path) {
    const fs::path file = is_device(path) ? path : unfinished(path);
    const int flags = file == path ? O_WRONLY | O_CLOEXEC : kNew;
    const bool opened = Descriptor(file, flags).number() >= 0;
    require(opened, path);
    if (file != path) {
        unlink(file.c_str());
    }
}

}  // namespace dist::files
