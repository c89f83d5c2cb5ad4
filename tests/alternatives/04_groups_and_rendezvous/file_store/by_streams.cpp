// The lock is on a descriptor, and all else goes through streams of C++. The map is a HashStore, and after a write that failed it
// is made anew from the file.
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sys/file.h>
#include <thread>
#include <unistd.h>

#include "course/runtime/deadline.hpp"
#include "exercises/04_groups_and_rendezvous/file_store.hpp"
#include "exercises/04_groups_and_rendezvous/hash_store.hpp"

namespace dist {
namespace {

using Clock = std::chrono::steady_clock;

Error error_of(const std::string& path) {
    return Error("FileStore: " + path + ": " + std::strerror(errno));
}

class Lock {
  public:
    Lock(const std::string& path, int flags, int kind)
        : descriptor_(open(path.c_str(), flags | O_CLOEXEC, 0644)) {
        if (descriptor_ < 0) {
            throw error_of(path);
        }
        while (flock(descriptor_, kind) != 0 && errno == EINTR) {
        }
    }
    ~Lock() { close(descriptor_); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

  private:
    int descriptor_;
};

void put_text(std::ostream& out, const std::string& text) {
    const auto length = static_cast<std::uint32_t>(text.size());
    out.write(reinterpret_cast<const char*>(&length), sizeof length);
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
}

/// False where it is not there as a whole. `end` is that of the file.
bool take_text(std::istream& in, std::int64_t end, std::string& text) {
    std::uint32_t length = 0;
    if (!in.read(reinterpret_cast<char*>(&length), sizeof length) || end - in.tellg() < length) {
        return false;
    }
    text.resize(length);
    return length == 0 || in.read(text.data(), length);
}

}  // namespace

struct FileStore::State {
    std::string path;
    std::string run;
    Duration timeout{};
    std::mutex lock;
    std::unique_ptr<HashStore> values = std::make_unique<HashStore>();
    std::int64_t whole = 0;

    void read() {
        std::ifstream in(path, std::ios::binary);
        const auto end = static_cast<std::int64_t>(std::filesystem::file_size(path));
        std::string key;
        std::string value;
        in.seekg(whole);
        while (take_text(in, end, key) && take_text(in, end, value)) {
            whole = in.tellg();
            if (key.rfind('/', 0) == 0) {
                values->set(key.substr(1), value);
            } else if (key.rfind("-/", 0) == 0) {
                values->erase(key.substr(2));
            }
        }
    }

    void write(const std::string& key, const std::string& value) {
        std::filesystem::resize_file(path, static_cast<std::uintmax_t>(whole));
        std::ofstream out(path, std::ios::binary | std::ios::app);
        put_text(out, key);
        put_text(out, value);
        if (!out.flush()) {
            const Error error = error_of(path);
            values = std::make_unique<HashStore>();
            whole = 0;
            throw error;
        }
        whole = out.tellp();
    }

    template <class Work>
    auto change(const Work& work) {
        const std::lock_guard guard(lock);
        const Lock file(path, O_RDWR, LOCK_EX);
        read();
        return work();
    }

    template <class Work>
    auto look(const Work& work) {
        const std::lock_guard guard(lock);
        const Lock file(path, O_RDONLY, LOCK_SH);
        read();
        return work();
    }

    /// Looks again and again until `found` says so.
    template <class Found>
    void wait(const std::vector<std::string>& keys, Duration at_most, const Found& found) {
        for (const auto end = deadline_after(at_most); !look(found);) {
            if (Clock::now() >= end) {
                std::string text = path + ": timeout of";
                for (const std::string& key : keys) {
                    text += values->check({key}) ? "" : " '" + key + "'";
                }
                throw Timeout(text);
            }
            std::this_thread::sleep_until(
                std::min(end, Clock::now() + std::chrono::milliseconds(10))
            );
        }
    }
};

FileStore::FileStore(std::string path, const std::string& run, Duration timeout)
    : state_(std::make_unique<State>()) {
    state_->path = path;
    state_->timeout = timeout;
    const Lock file(path, O_RDWR | O_CREAT, LOCK_EX);
    std::ifstream in(path, std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(in), {});
    std::string first(4, '\0');
    const auto length = static_cast<std::uint32_t>(run.size());
    first.append(reinterpret_cast<const char*>(&length), sizeof length);
    first += run;
    if (bytes.size() < first.size() && first.compare(0, bytes.size(), bytes) == 0) {
        state_->write("", run);
    } else if (bytes.compare(0, first.size(), first) != 0) {
        std::string other;
        in.clear();
        in.seekg(0);
        const auto end = static_cast<std::int64_t>(bytes.size());
        const bool a_run = take_text(in, end, other) && other.empty() && take_text(in, end, other);
        throw Error(
            path + (a_run ? " is of run " + other : " is no store") + "; this run is " + run
        );
    }
}

FileStore::~FileStore() = default;

void FileStore::set(const std::string& key, const std::string& value) {
    state_->change([&] {
        state_->write("/" + key, value);
        state_->values->set(key, value);
    });
}

std::string FileStore::get(const std::string& key) {
    std::string value;
    state_->wait({key}, state_->timeout, [&] {
        const bool there = state_->values->check({key});
        value = there ? state_->values->get(key) : "";
        return there;
    });
    return value;
}

std::int64_t FileStore::add(const std::string& key, std::int64_t amount) {
    return state_->change([&] {
        const bool there = state_->values->check({key});
        const std::int64_t sum = sum_at(key, there ? state_->values->get(key) : "0", amount);
        state_->write("/" + key, std::to_string(sum));
        state_->values->set(key, std::to_string(sum));
        return sum;
    });
}

std::string FileStore::compare_set(
    const std::string& key, const std::string& expected, const std::string& desired
) {
    return state_->change([&] {
        const bool there = state_->values->check({key});
        const std::string now = there ? state_->values->get(key) : expected;
        if (there ? now != expected : !expected.empty()) {
            return now;
        }
        state_->write("/" + key, desired);
        state_->values->set(key, desired);
        return desired;
    });
}

bool FileStore::check(const std::vector<std::string>& keys) {
    return state_->look([&] { return state_->values->check(keys); });
}

void FileStore::wait(const std::vector<std::string>& keys, Duration timeout) {
    state_->wait(keys, timeout, [&] { return state_->values->check(keys); });
}

bool FileStore::erase(const std::string& key) {
    return state_->change([&] {
        const bool there = state_->values->check({key});
        if (there) {
            state_->write("-/" + key, "");
            state_->values->erase(key);
        }
        return there;
    });
}

std::int64_t FileStore::num_keys() {
    return state_->look([&] { return state_->values->num_keys(); });
}

PrefixStore::PrefixStore(std::string prefix, Store& store)
    : prefix_(std::move(prefix)), store_(store) {}

namespace {

std::string under(const std::string& prefix, const std::string& key) {
    return prefix + '/' + key;
}

std::vector<std::string> under(const std::string& prefix, const std::vector<std::string>& keys) {
    std::vector<std::string> all;
    for (const std::string& key : keys) {
        all.push_back(under(prefix, key));
    }
    return all;
}

}  // namespace

void PrefixStore::set(const std::string& key, const std::string& value) {
    store_.set(under(prefix_, key), value);
}

std::string PrefixStore::get(const std::string& key) {
    return store_.get(under(prefix_, key));
}

std::int64_t PrefixStore::add(const std::string& key, std::int64_t amount) {
    return store_.add(under(prefix_, key), amount);
}

std::string PrefixStore::compare_set(
    const std::string& key, const std::string& expected, const std::string& desired
) {
    return store_.compare_set(under(prefix_, key), expected, desired);
}

bool PrefixStore::check(const std::vector<std::string>& keys) {
    return store_.check(under(prefix_, keys));
}

void PrefixStore::wait(const std::vector<std::string>& keys, Duration timeout) {
    store_.wait(under(prefix_, keys), timeout);
}

bool PrefixStore::erase(const std::string& key) {
    return store_.erase(under(prefix_, key));
}

std::int64_t PrefixStore::num_keys() {
    return store_.num_keys();
}

}  // namespace dist
