#include "course/files/atomic_file.hpp"

#include <array>
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

// for the signal handler: the file to remove, while there is one, and what was to happen without it
const char* volatile unfinished_file = nullptr;
std::array<struct sigaction, kSignals.size()> handlers_before{};

extern "C" void remove_unfinished_file(int signal) {
    if (unfinished_file != nullptr) {
        unlink(unfinished_file);
    }
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
        sigaction(kSignals[i], &handlers_before[i], nullptr);
    }
    std::raise(signal);
}

// Removes the file on a signal and on an exception, unless done() was called.
class Unfinished {
  public:
    explicit Unfinished(const char* path) {
        unfinished_file = path;
        struct sigaction action {};
        action.sa_handler = remove_unfinished_file;
        for (std::size_t i = 0; i < kSignals.size(); ++i) {
            sigaction(kSignals[i], &action, &handlers_before[i]);
        }
    }
    ~Unfinished() {
        if (unfinished_file != nullptr) {
            unlink(unfinished_file);
            unfinished_file = nullptr;
        }
        for (std::size_t i = 0; i < kSignals.size(); ++i) {
            sigaction(kSignals[i], &handlers_before[i], nullptr);
        }
    }
    Unfinished(const Unfinished&) = delete;
    Unfinished& operator=(const Unfinished&) = delete;
    Unfinished(Unfinished&&) = delete;
    Unfinished& operator=(Unfinished&&) = delete;

    static void done() { unfinished_file = nullptr; }
};

// A file descriptor, closed at the end.
class Descriptor {
  public:
    Descriptor(const fs::path& path, int flags) : number_(open(path.c_str(), flags, 0666)) {}
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

constexpr int kNew = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;

bool is_device(const fs::path& path) {
    std::error_code absent;
    const fs::file_status status = fs::status(path, absent);
    return fs::exists(status) && !fs::is_regular_file(status);
}

fs::path unfinished(const fs::path& path) {
    return path.string() + "." + std::to_string(getpid()) + ".partial";
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
    const Unfinished guard(partial.c_str());
    {
        const Descriptor file(partial, kNew);
        write_all(file, bytes, path);
        require(fsync(file.number()) == 0, path);
    }
    require(std::rename(partial.c_str(), path.c_str()) == 0, path);
    Unfinished::done();
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
