#include "course/build/build_lock.hpp"

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <unistd.h>

#include "course/process/error.hpp"
#include "course/process/files.hpp"
#include "course/process/subprocess.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kLookEveryMs = 20;
constexpr int kShortLooks = 20;  // a moment, of which nobody need know

/// "./shardlings check (process 4711)"
std::string this_command() {
    const std::string line = read_text("/proc/self/cmdline");
    const std::size_t end = line.find('\0');
    const std::string word = line.substr(end + 1, line.find('\0', end + 1) - end - 1);
    return fmt::format(
        "./shardlings {}(process {})", word.empty() || word[0] == '-' ? "" : word + " ", getpid()
    );
}

/// What its holder wrote.
std::string holder(int file) {
    std::array<char, 200> text{};
    const ssize_t length = pread(file, text.data(), text.size(), 0);
    std::string who(text.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
    who.resize(std::min(who.find('\n'), who.size()));
    return who.empty() ? "another command" : who;
}

}  // namespace

BuildLock::BuildLock(
    const fs::path& root, const std::function<void(const std::string& who)>& waits_for
)
    : file_(open((root / ".shardlings" / "build.lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644)
      ) {
    for (int looks = 0; flock(file_, LOCK_EX | LOCK_NB) != 0; ++looks) {
        if (interrupted()) {
            close(file_);
            throw Interrupted();
        }
        if (looks == kShortLooks && waits_for) {
            waits_for(holder(file_));
        }
        poll(nullptr, 0, kLookEveryMs);
    }
    const std::string who = this_command() + "\n";
    if (ftruncate(file_, 0) == 0) {
        static_cast<void>(pwrite(file_, who.data(), who.size(), 0));
    }
}

BuildLock::~BuildLock() {
    flock(file_, LOCK_UN);
    close(file_);
}

}  // namespace dist::cli
