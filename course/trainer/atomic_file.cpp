#include "course/trainer/atomic_file.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <stdexcept>
#include <string>
#include <unistd.h>

namespace dist::trainer {

namespace {

// for the signal handler: the file to remove, while there is one
const char* volatile unfinished_file = nullptr;

extern "C" void remove_unfinished_file(int signal) {
    if (unfinished_file != nullptr) {
        unlink(unfinished_file);
    }
    std::signal(signal, SIG_DFL);
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
            sigaction(kSignals[i], &action, &before_[i]);
        }
    }
    ~Unfinished() {
        if (unfinished_file != nullptr) {
            unlink(unfinished_file);
            unfinished_file = nullptr;
        }
        for (std::size_t i = 0; i < kSignals.size(); ++i) {
            sigaction(kSignals[i], &before_[i], nullptr);
        }
    }
    Unfinished(const Unfinished&) = delete;
    Unfinished& operator=(const Unfinished&) = delete;
    Unfinished(Unfinished&&) = delete;
    Unfinished& operator=(Unfinished&&) = delete;

    void done() { unfinished_file = nullptr; }

  private:
    static constexpr std::array kSignals = {SIGINT, SIGTERM};
    std::array<struct sigaction, 2> before_{};
};

void require(bool success, const std::filesystem::path& path) {
    if (!success) {
        throw std::runtime_error(
            path.string() + ": could not be written (" + std::strerror(errno) +
            "); what was there before is untouched"
        );
    }
}

// The file descriptor, closed at the end.
class Descriptor {
  public:
    explicit Descriptor(int number) : number_(number) {}
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

}  // namespace

void write_atomically(const std::filesystem::path& path, std::string_view bytes) {
    const std::string partial = path.string() + ".partial";
    Unfinished unfinished(partial.c_str());
    {
        const Descriptor file(open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)
        );
        require(file.number() >= 0, path);
        while (!bytes.empty()) {
            const ssize_t written = write(file.number(), bytes.data(), bytes.size());
            if (written < 0 && errno == EINTR) {
                continue;
            }
            require(written > 0, path);
            bytes.remove_prefix(static_cast<std::size_t>(written));
        }
        require(fsync(file.number()) == 0, path);
    }
    require(std::rename(partial.c_str(), path.c_str()) == 0, path);
    unfinished.done();
    // the new name, too, is to survive a power cut
    const Descriptor folder(
        open(std::filesystem::absolute(path).parent_path().c_str(), O_RDONLY | O_CLOEXEC)
    );
    require(folder.number() >= 0 && fsync(folder.number()) == 0, path);
}

}  // namespace dist::trainer
