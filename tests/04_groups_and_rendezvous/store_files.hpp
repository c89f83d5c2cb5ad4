// Files of a FileStore in tests: fresh ones, their records, and a disk that is full.
#pragma once

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include "course/protocol/protocol.hpp"
#include "exercises/04_groups_and_rendezvous/file_store.hpp"
#include "tests/04_groups_and_rendezvous/stores.hpp"

namespace dist::harness {

namespace fs = std::filesystem;

inline const std::string kRun = "run-seven";

/// A path of its own, of no file, where the folder of the run lies: in shared memory, if it can be.
inline fs::path fresh_path() {
    static int number = 0;
    const char* const shared = std::getenv(kEnvShared);
    fs::path path = fs::path(shared != nullptr ? shared : ".") /
                    ("store-" + std::to_string(getpid()) + "-" + std::to_string(number++));
    fs::remove(path);
    return path;
}

inline std::string content_of(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

inline fs::path file_with(const std::string& bytes) {
    fs::path path = fresh_path();
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
}

/// A record of PyTorch's.
inline std::string record(const std::string& key, const std::string& value) {
    const auto length = [](const std::string& text) {
        const auto size = static_cast<std::uint32_t>(text.size());
        return std::string(reinterpret_cast<const char*>(&size), sizeof size);
    };
    return length(key) + key + length(value) + value;
}

/// What every file of this run begins with.
inline std::string first_record() {
    return record("", kRun);
}

inline FileStore store_in(const fs::path& path, Store::Duration timeout = kPatient) {
    return {path.string(), kRun, timeout};
}

/// A lock of this test's own, as another process would hold it.
class FileLock {
  public:
    FileLock(const fs::path& path, int operation) : descriptor_(open(path.c_str(), O_RDWR)) {
        becomes(operation);
    }
    ~FileLock() { close(descriptor_); }
    FileLock(const FileLock&) = delete;
    FileLock& operator=(const FileLock&) = delete;

    void becomes(int operation) { has_it_ = flock(descriptor_, operation) == 0; }

    [[nodiscard]] bool has_it() const { return has_it_; }

  private:
    int descriptor_;
    bool has_it_ = false;
};

/// Whether this process has the file open.
inline bool has_open(const fs::path& path) {
    std::error_code gone;  // another thread closes files meanwhile
    for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
        if (fs::read_symlink(entry, gone) == fs::canonical(path)) {
            return true;
        }
    }
    return false;
}

/// While it lives, no file of this process can be longer than that. Who writes all the same is killed, or is told that the file is
/// too large.
class LargestFile {
  public:
    enum class Then { killed, told };
    LargestFile(std::size_t bytes, Then then)
        : handler_(std::signal(SIGXFSZ, then == Then::killed ? SIG_DFL : SIG_IGN)) {
        getrlimit(RLIMIT_FSIZE, &limit_);
        const rlimit little{.rlim_cur = bytes, .rlim_max = limit_.rlim_max};
        setrlimit(RLIMIT_FSIZE, &little);
    }
    ~LargestFile() {
        setrlimit(RLIMIT_FSIZE, &limit_);
        std::signal(SIGXFSZ, handler_);
    }
    LargestFile(const LargestFile&) = delete;
    LargestFile& operator=(const LargestFile&) = delete;

  private:
    rlimit limit_{};
    void (*handler_)(int);
};

/// The call throws a dist::Error whose text has all of this.
inline void check_error(const CallEnd& end, const std::vector<std::string>& says) {
    CHECK(end.how == kError);
    INFO("the text: " << end.text);
    for (const std::string& word : says) {
        INFO("it has to say: " << word);
        const bool named = end.text.find(word) != std::string::npos;
        CHECK(named);
    }
}

}  // namespace dist::harness
