// With lseek, read and writev, and a stat before each call; a string holds all that was read.
// state: pass

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <unordered_map>

#include "course/runtime/deadline.hpp"
#include "exercises/04_groups_and_rendezvous/file_store.hpp"
#include "exercises/04_groups_and_rendezvous/hash_store.hpp"

namespace dist {
namespace {

using Clock = std::chrono::steady_clock;

struct File {
    const std::string& path;
    int descriptor;

    File(const std::string& its_path, int flags, int lock)
        : path(its_path), descriptor(open(its_path.c_str(), flags, 0600)) {
        check(descriptor);
        int held = flock(descriptor, lock);
        while (held != 0 && errno == EINTR) {
            held = flock(descriptor, lock);
        }
        if (held != 0) {
            const int reason = errno;
            close(descriptor);
            errno = reason;
            check(-1);
        }
    }
    ~File() { close(descriptor); }
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    void check(long result) const {
        if (result < 0) {
            throw Error(path + ": " + std::system_category().message(errno));
        }
    }

    std::string rest(off_t begin) const {
        struct stat about {};
        check(stat(path.c_str(), &about));
        check(lseek(descriptor, begin, SEEK_SET));
        std::string bytes(static_cast<std::size_t>(about.st_size - begin), ' ');
        std::size_t have = 0;
        while (have < bytes.size()) {
            const ssize_t more = read(descriptor, bytes.data() + have, bytes.size() - have);
            check(more);
            have += static_cast<std::size_t>(more);
        }
        return bytes;
    }

    void put(off_t begin, std::string bytes) const {
        check(ftruncate(descriptor, begin));
        check(lseek(descriptor, begin, SEEK_SET));
        while (!bytes.empty()) {
            const std::size_t half = bytes.size() / 2;
            const std::array<iovec, 2> parts = {
                iovec{bytes.data(), half}, iovec{bytes.data() + half, bytes.size() - half}};
            const ssize_t done = writev(descriptor, parts.data(), 2);
            check(done);
            bytes.erase(0, static_cast<std::size_t>(done));
        }
    }
};

std::string with_length(const std::string& text) {
    const auto length = static_cast<std::uint32_t>(text.size());
    std::string bytes(sizeof length, '\0');
    std::memcpy(bytes.data(), &length, sizeof length);
    return bytes + text;
}

/// Bytes of the text that begins there, with its length; 0 where they are not all there.
std::size_t text_at(const std::string& bytes, std::size_t begin, std::string& text) {
    std::uint32_t length = 0;
    if (begin + sizeof length > bytes.size()) {
        return 0;
    }
    std::memcpy(&length, &bytes[begin], sizeof length);
    if (bytes.size() - begin - sizeof length < length) {
        return 0;
    }
    text = bytes.substr(begin + sizeof length, length);
    return sizeof length + length;
}

}  // namespace

struct FileStore::State {
    std::string path;
    Duration timeout{};
    std::recursive_mutex lock;
    std::unordered_map<std::string, std::string> values;
    off_t end = 0;

    void take(const std::string& key, const std::string& value) {
        if (!key.empty() && key[0] == '/') {
            values[key.substr(1)] = value;
        }
        if (key.size() > 1 && key[0] == '-' && key[1] == '/') {
            values.erase(key.substr(2));
        }
    }

    void catch_up(const File& file) {
        const std::string bytes = file.rest(end);
        std::size_t at = 0;
        std::string key;
        std::string value;
        for (;;) {
            const std::size_t first = text_at(bytes, at, key);
            const std::size_t second = first == 0 ? 0 : text_at(bytes, at + first, value);
            if (second == 0) {
                break;
            }
            at += first + second;
            take(key, value);
        }
        end += static_cast<off_t>(at);
    }

    void append(const File& file, const std::string& key, const std::string& value) {
        const std::string bytes = with_length(key) + with_length(value);
        file.put(end, bytes);
        end += static_cast<off_t>(bytes.size());
        take(key, value);
    }

    bool has(const std::string& key) const { return values.find(key) != values.end(); }
};

FileStore::FileStore(std::string path, const std::string& run, Duration timeout)
    : state_(new State) {
    state_->path = std::move(path);
    state_->timeout = timeout;
    const File file(state_->path, O_CREAT | O_RDWR, LOCK_EX);
    const std::string bytes = file.rest(0);
    const std::string first = with_length("") + with_length(run);
    if (bytes.substr(0, first.size()) == first) {
        return;
    }
    if (bytes.size() < first.size() && bytes == first.substr(0, bytes.size())) {
        state_->append(file, "", run);
        return;
    }
    std::string key;
    std::string other;
    const std::size_t begin = text_at(bytes, 0, key);
    if (begin > 0 && key.empty() && text_at(bytes, begin, other) > 0) {
        throw Error(state_->path + " belongs to the run " + other + ", this is the run " + run);
    }
    throw Error(state_->path + " is something else");
}

FileStore::~FileStore() = default;

void FileStore::set(const std::string& key, const std::string& value) {
    const std::lock_guard guard(state_->lock);
    const File file(state_->path, O_RDWR, LOCK_EX);
    state_->catch_up(file);
    state_->append(file, "/" + key, value);
}

std::string FileStore::get(const std::string& key) {
    const auto end = Clock::now() + state_->timeout;
    for (;;) {
        {
            const std::lock_guard guard(state_->lock);
            if (check({key})) {
                return state_->values[key];
            }
        }
        if (Clock::now() >= end) {
            throw Timeout(state_->path + ": no " + key);
        }
        std::this_thread::sleep_until(std::min(Clock::now() + std::chrono::milliseconds(10), end));
    }
}

std::int64_t FileStore::add(const std::string& key, std::int64_t amount) {
    const std::lock_guard guard(state_->lock);
    const File file(state_->path, O_RDWR, LOCK_EX);
    state_->catch_up(file);
    const std::int64_t sum = sum_at(key, state_->has(key) ? state_->values[key] : "0", amount);
    state_->append(file, "/" + key, std::to_string(sum));
    return sum;
}

std::string FileStore::compare_set(
    const std::string& key, const std::string& expected, const std::string& desired
) {
    const std::lock_guard guard(state_->lock);
    const File file(state_->path, O_RDWR, LOCK_EX);
    state_->catch_up(file);
    if (state_->has(key) ? state_->values[key] == expected : expected.empty()) {
        state_->append(file, "/" + key, desired);
    }
    return state_->has(key) ? state_->values[key] : expected;
}

bool FileStore::check(const std::vector<std::string>& keys) {
    const std::lock_guard guard(state_->lock);
    const File file(state_->path, O_RDONLY, LOCK_SH);
    state_->catch_up(file);
    bool all = true;
    for (const std::string& key : keys) {
        all = all && state_->has(key);
    }
    return all;
}

void FileStore::wait(const std::vector<std::string>& keys, Duration timeout) {
    const auto end = deadline_after(timeout);
    while (!check(keys)) {
        if (Clock::now() >= end) {
            const std::lock_guard guard(state_->lock);
            std::string text = state_->path + ": no";
            for (const std::string& key : keys) {
                text += state_->has(key) ? "" : " " + key;
            }
            throw Timeout(text);
        }
        std::this_thread::sleep_until(std::min(Clock::now() + std::chrono::milliseconds(10), end));
    }
}

bool FileStore::erase(const std::string& key) {
    const std::lock_guard guard(state_->lock);
    const File file(state_->path, O_RDWR, LOCK_EX);
    state_->catch_up(file);
    const bool there = state_->has(key);
    if (there) {
        state_->append(file, "-/" + key, "");
    }
    return there;
}

std::int64_t FileStore::num_keys() {
    check({});
    const std::lock_guard guard(state_->lock);
    return static_cast<std::int64_t>(state_->values.size());
}

PrefixStore::PrefixStore(std::string prefix, Store& store)
    : prefix_(std::move(prefix)), store_(store) {
    prefix_ += '/';
}

void PrefixStore::set(const std::string& key, const std::string& value) {
    store_.set(prefix_ + key, value);
}

std::string PrefixStore::get(const std::string& key) {
    return store_.get(prefix_ + key);
}

std::int64_t PrefixStore::add(const std::string& key, std::int64_t amount) {
    return store_.add(prefix_ + key, amount);
}

std::string PrefixStore::compare_set(
    const std::string& key, const std::string& expected, const std::string& desired
) {
    return store_.compare_set(prefix_ + key, expected, desired);
}

bool PrefixStore::check(const std::vector<std::string>& keys) {
    std::vector<std::string> all;
    for (const std::string& key : keys) {
        all.push_back(prefix_ + key);
    }
    return store_.check(all);
}

void PrefixStore::wait(const std::vector<std::string>& keys, Duration timeout) {
    std::vector<std::string> all;
    for (const std::string& key : keys) {
        all.push_back(prefix_ + key);
    }
    store_.wait(all, timeout);
}

bool PrefixStore::erase(const std::string& key) {
    return store_.erase(prefix_ + key);
}

std::int64_t PrefixStore::num_keys() {
    return store_.num_keys();
}

}  // namespace dist
