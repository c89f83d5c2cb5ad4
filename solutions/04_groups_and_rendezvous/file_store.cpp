#include "exercises/04_groups_and_rendezvous/file_store.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

#include "course/runtime/deadline.hpp"
#include "exercises/04_groups_and_rendezvous/hash_store.hpp"

namespace dist {
namespace {

/// A file, open and locked for as long as this lives.
class LockedFile {
  public:
    LockedFile(const std::string& path, int flags, int lock)
        : path_(path), descriptor_(open(path.c_str(), flags | O_CLOEXEC, 0666)) {
        if (descriptor_.number < 0) {
            fail("open it");
        }
        while (flock(descriptor_.number, lock) != 0) {
            if (errno != EINTR) {
                fail("lock it");
            }
        }
    }

    /// What stands there from this byte on.
    [[nodiscard]] std::string read_from(std::int64_t begin) const {
        struct stat about {};
        if (fstat(descriptor_.number, &about) != 0) {
            fail("read it");
        }
        std::string bytes(static_cast<std::size_t>(std::max(begin, about.st_size) - begin), '\0');
        for (std::size_t i = 0; i < bytes.size();) {
            const ssize_t more = pread(
                descriptor_.number, &bytes[i], bytes.size() - i, begin + static_cast<off_t>(i)
            );
            if (more <= 0) {
                fail("read it");
            }
            i += static_cast<std::size_t>(more);
        }
        return bytes;
    }

    /// Lets the file end with these bytes, which begin there. What stood behind is gone.
    void end_with(const std::string& bytes, std::int64_t begin) const {
        if (ftruncate(descriptor_.number, begin) != 0) {
            fail("write it");
        }
        for (std::size_t i = 0; i < bytes.size();) {
            const ssize_t more = pwrite(
                descriptor_.number, &bytes[i], bytes.size() - i, begin + static_cast<off_t>(i)
            );
            if (more <= 0) {
                fail("write it");
            }
            i += static_cast<std::size_t>(more);
        }
    }

  private:
    [[noreturn]] void fail(const std::string& what) const {
        const std::string reason = std::generic_category().message(errno);
        throw Error(path_ + ": cannot " + what + ": " + reason);
    }

    struct Descriptor {
        int number;
        explicit Descriptor(int its_number) : number(its_number) {}
        ~Descriptor() { close(number); }  // which unlocks the file
        Descriptor(const Descriptor&) = delete;
        Descriptor& operator=(const Descriptor&) = delete;
    };

    std::string path_;
    Descriptor descriptor_;
};

std::string record_of(const std::string& key, const std::string& value) {
    std::string bytes;
    for (const std::string& text : {key, value}) {
        const auto length = static_cast<std::uint32_t>(text.size());
        expects(length == text.size(), "FileStore: a key or value is longer than 2^32 - 1 bytes");
        bytes.append(reinterpret_cast<const char*>(&length), sizeof length);
        bytes += text;
    }
    return bytes;
}

/// Takes a key or a value from the front of `bytes`; nothing where it does not stand there as a whole.
std::optional<std::string> take_text(std::string_view& bytes) {
    std::uint32_t length = 0;
    if (bytes.size() < sizeof length) {
        return {};
    }
    std::memcpy(&length, bytes.data(), sizeof length);
    if (bytes.size() - sizeof length < length) {
        return {};
    }
    const std::string text(bytes.substr(sizeof length, length));
    bytes.remove_prefix(sizeof length + length);
    return text;
}

std::vector<std::string> with_prefix(const std::string& prefix, std::vector<std::string> keys) {
    for (std::string& key : keys) {
        key.insert(0, prefix);
    }
    return keys;
}

}  // namespace

struct FileStore::State {
    std::string path;
    Duration timeout{};
    std::mutex lock;  // for the threads that share this object
    std::map<std::string, std::string> values;
    std::int64_t known = 0;  // so many bytes of the file are in `values`; they are whole records

    void apply(const std::string& key, const std::string& value) {
        if (key.starts_with("/")) {
            values[key.substr(1)] = value;
        } else if (key.starts_with("-/")) {
            values.erase(key.substr(2));
        }
    }

    void read_new(const LockedFile& file) {
        const std::string bytes = file.read_from(known);
        std::string_view rest = bytes;
        for (;;) {
            const std::size_t before = rest.size();
            const auto key = take_text(rest);
            const auto value = key ? take_text(rest) : std::nullopt;
            if (!value) {
                return;  // the end, or a part of a record
            }
            apply(*key, *value);
            known += static_cast<std::int64_t>(before - rest.size());
        }
    }

    /// Each with a space before it.
    std::string missing(const std::vector<std::string>& keys) const {
        std::string text;
        for (const std::string& key : keys) {
            text += values.contains(key) ? "" : " " + key;
        }
        return text;
    }

    struct Call;
    Call begin_to_read();
    Call begin_to_change();
    std::vector<std::string> wait_for(const std::vector<std::string>& keys, Duration at_most);
};

/// While it lives, nobody changes the file but by it, and `values` are all that stand there.
struct FileStore::State::Call {
    Call(State& its_state, int flags, int lock)
        : state(its_state), guard(state.lock), file(state.path, flags, lock) {
        state.read_new(file);
    }

    void append(const std::string& key, const std::string& value) {
        const std::string record = record_of(key, value);
        file.end_with(record, state.known);
        state.known += std::ssize(record);
        state.apply(key, value);
    }

    State& state;
    std::scoped_lock<std::mutex> guard;
    LockedFile file;
};

FileStore::State::Call FileStore::State::begin_to_read() {
    return {*this, O_RDONLY, LOCK_SH};
}

FileStore::State::Call FileStore::State::begin_to_change() {
    return {*this, O_RDWR, LOCK_EX};
}

/// Returns the values of all keys, as they stood at one moment.
std::vector<std::string> FileStore::State::wait_for(
    const std::vector<std::string>& keys, Duration at_most
) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point end = deadline_after(at_most);
    for (;;) {
        std::string without;
        {
            const Call call = begin_to_read();
            without = missing(keys);
            if (without.empty()) {
                std::vector<std::string> found;
                found.reserve(keys.size());
                for (const std::string& key : keys) {
                    found.push_back(values.at(key));
                }
                return found;
            }
        }
        const Clock::duration left = end - Clock::now();
        if (left <= Clock::duration(0)) {
            throw Timeout(
                path + ": no value after " + std::to_string(at_most.count()) +
                " ms under:" + without
            );
        }
        std::this_thread::sleep_for(std::min<Clock::duration>(left, std::chrono::milliseconds(10)));
    }
}

FileStore::FileStore(std::string path, const std::string& run, Duration timeout)
    : state_(new State) {
    state_->path = std::move(path);
    state_->timeout = timeout;
    const LockedFile file(state_->path, O_RDWR | O_CREAT, LOCK_EX);
    const std::string first = record_of("", run);
    const std::string bytes = file.read_from(0);
    if (bytes.size() < first.size() && first.starts_with(bytes)) {
        file.end_with(first, 0);
    } else if (!bytes.starts_with(first)) {
        std::string_view rest = bytes;
        const auto key = take_text(rest);
        const auto other = key ? take_text(rest) : std::nullopt;
        throw Error(
            state_->path + (other && key->empty() ? ": is of run " + *other + ", and not of run " +
                                                        run + ": remove it"
                                                  : ": is no store of run " + run)
        );
    }
    state_->known = std::ssize(first);
}

FileStore::~FileStore() = default;

void FileStore::set(const std::string& key, const std::string& value) {
    state_->begin_to_change().append("/" + key, value);
}

std::string FileStore::get(const std::string& key) {
    return state_->wait_for({key}, state_->timeout).front();
}

std::int64_t FileStore::add(const std::string& key, std::int64_t amount) {
    State::Call call = state_->begin_to_change();
    const auto found = state_->values.find(key);
    const std::int64_t sum =
        sum_at(key, found == state_->values.end() ? "0" : found->second, amount);
    call.append("/" + key, std::to_string(sum));
    return sum;
}

std::string FileStore::compare_set(
    const std::string& key, const std::string& expected, const std::string& desired
) {
    State::Call call = state_->begin_to_change();
    const auto found = state_->values.find(key);
    const bool there = found != state_->values.end();
    if (there ? found->second == expected : expected.empty()) {
        call.append("/" + key, desired);
        return desired;
    }
    return there ? found->second : expected;
}

bool FileStore::check(const std::vector<std::string>& keys) {
    const State::Call call = state_->begin_to_read();
    return state_->missing(keys).empty();
}

void FileStore::wait(const std::vector<std::string>& keys, Duration timeout) {
    state_->wait_for(keys, timeout);
}

bool FileStore::erase(const std::string& key) {
    State::Call call = state_->begin_to_change();
    if (!state_->values.contains(key)) {
        return false;
    }
    call.append("-/" + key, "");
    return true;
}

std::int64_t FileStore::num_keys() {
    const State::Call call = state_->begin_to_read();
    return std::ssize(state_->values);
}

PrefixStore::PrefixStore(std::string prefix, Store& store)
    : prefix_(std::move(prefix) + "/"), store_(store) {}

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
    return store_.check(with_prefix(prefix_, keys));
}

void PrefixStore::wait(const std::vector<std::string>& keys, Duration timeout) {
    store_.wait(with_prefix(prefix_, keys), timeout);
}

bool PrefixStore::erase(const std::string& key) {
    return store_.erase(prefix_ + key);
}

std::int64_t PrefixStore::num_keys() {
    return store_.num_keys();
}

}  // namespace dist
