// All states that a folder goes through, as the kernel tells them: what is on the disk if all ranks are killed there.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <sys/inotify.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "course/protocol/counted.hpp"
#include "tests/07_zero/checkpoints.hpp"

namespace dist::harness {

/// Notes what any process does to the files of a folder while it lives, in one order for all of them. A file that is
/// being written has none, half, or all but one of its bytes.
class FolderHistory {
  public:
    explicit FolderHistory(fs::path folder)
        : folder_(std::move(folder)), events_of_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
        inotify_add_watch(
            events_of_, folder_.c_str(),
            IN_CREATE | IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE
        );
        for (const std::string& name : files_in(folder_)) {
            first_[name] = files_.size();
            const std::string bytes = content_of(folder_ / name);
            files_.push_back({bytes, bytes});
        }
        files_seen_ = files_.size();
    }
    ~FolderHistory() { close(events_of_); }
    FolderHistory(const FolderHistory&) = delete;
    FolderHistory& operator=(const FolderHistory&) = delete;

    /// Makes a folder of each state, below `states`: its name says, after a number, what had just happened.
    void write_states(const fs::path& states) {
        const std::vector<Event> events = read_events();
        Names last = first_;
        for (const Event& event : events) {
            apply(event, last);
        }
        for (const auto& [name, file] : last) {
            files_[file].last = content_of(folder_ / name);
        }
        Names names = first_;
        moving_.clear();
        files_seen_ = first_.size();
        for (const Event& event : events) {
            apply(event, names);
            const bool is_half = event.is(IN_MOVED_FROM);  // of a rename, which is one moment
            if (!is_half) {
                write_after(event, names, states);
            }
        }
    }

  private:
    struct File {
        std::string now = {};   // its bytes
        std::string last = {};  // what they are at the end
    };
    using Names = std::map<std::string, std::size_t>;  // which file has which name
    struct Event {
        std::uint32_t what;
        std::uint32_t rename;  // both halves of a rename have one number
        std::string name;

        [[nodiscard]] bool is(std::uint32_t mask) const { return (what & mask) != 0; }
    };

    [[nodiscard]] std::vector<Event> read_events() const {
        std::vector<Event> events;
        std::array<char, 1 << 16> bytes{};
        for (ssize_t n = 0; (n = read(events_of_, bytes.data(), bytes.size())) > 0;) {
            for (std::size_t i = 0; i < static_cast<std::size_t>(n);) {
                inotify_event event{};
                std::memcpy(&event, bytes.data() + i, sizeof event);
                if (event.len > 0) {
                    events.push_back({event.mask, event.cookie, bytes.data() + i + sizeof event});
                }
                i += sizeof event + event.len;
            }
        }
        return events;
    }

    std::size_t new_file() {
        if (files_seen_ == files_.size()) {
            files_.emplace_back();
        }
        return files_seen_++;
    }

    /// What has which name after an event.
    void apply(const Event& event, Names& names) {
        if (event.is(IN_MOVED_FROM | IN_DELETE)) {
            if (const auto found = names.find(event.name); found != names.end()) {
                moving_[event.rename] = found->second;
                names.erase(found);
            }
        } else if (event.is(IN_MOVED_TO)) {
            const auto found = moving_.find(event.rename);
            names[event.name] = found != moving_.end() ? found->second : new_file();
        } else if (event.is(IN_CREATE)) {
            names[event.name] = new_file();
        }
    }

    void write_after(const Event& event, const Names& names, const fs::path& states) {
        const auto found = names.find(event.name);
        if (found == names.end()) {
            return write_state(event.name + " is gone", names, states);
        }
        File& file = files_[found->second];
        if (event.is(IN_CREATE)) {
            file.now.clear();
            write_state(event.name + " is there", names, states);
        } else if (event.is(IN_MODIFY)) {
            const std::size_t n = file.last.size();
            for (const std::size_t length :
                 {std::size_t{0}, n - std::min<std::size_t>(n, 1), n / 2}) {
                file.now = file.last.substr(0, length);
                const std::string bytes = " has " + counted(length, "byte") + " of ";
                write_state(event.name + bytes + std::to_string(n), names, states);
            }
        } else {
            file.now = event.is(IN_CLOSE_WRITE) ? file.last : file.now;
            write_state(event.name + " is whole", names, states);
        }
    }

    void write_state(const std::string& after, const Names& names, const fs::path& states) {
        const int number = 1000 + states_++;  // of the same length, so that they are in order
        const fs::path state = states / (std::to_string(number) + " " + after);
        fs::create_directories(state);
        for (const auto& [name, file] : names) {
            set_content(state / name, files_[file].now);
        }
    }

    fs::path folder_;
    int events_of_;
    std::vector<File> files_;  // by number
    Names first_;
    std::size_t files_seen_ = 0;
    std::map<std::uint32_t, std::size_t> moving_;
    int states_ = 0;
};

}  // namespace dist::harness
