// The locks of a FileStore: who holds the file alone, and what is read under the lock. See
// file_store_test.cpp.
#pragma once

#include <atomic>
#include <csignal>
#include <functional>
#include <string>
#include <sys/mman.h>
#include <utility>
#include <vector>

#include "tests/04_groups_and_rendezvous/store_files.hpp"
#include "tests/harness/processes/processes.hpp"

namespace dist::harness {

inline void locks_the_file() {
    on_ranks({1}, [](const Communicator&) {
        const fs::path path = fresh_path();
        const auto open = [&] {
            return std::make_shared<FileStore>(path.string(), kRun, kPatient);
        };
        open()->set("key", "1");
        const std::vector<std::pair<std::string, std::function<void(Store&)>>> changes = {
            {"set", [](Store& store) { store.set("key", "1"); }},
            {"add", [](Store& store) { store.add("key", 0); }},
            {"compare_set", [](Store& store) { store.compare_set("key", "1", "1"); }},
            {"erase", [](Store& store) { store.erase("key"); }}};
        for (const auto& change : changes) {
            const auto store = open();
            FileLock lock(path, LOCK_SH);
            Caller caller([store, call = change.second] { return call(*store), ""; });
            std::this_thread::sleep_for(kWhile);
            INFO(
                "another process reads the file, under a shared lock: " << change.first
                                                                        << " has to wait"
            );
            CHECK_FALSE(caller.has_returned());
            lock.becomes(LOCK_UN);
            CHECK(caller.end().how == kReturned);
        }
        open()->set("key", "1");
        const std::vector<std::pair<std::string, std::function<void(Store&)>>> reads = {
            {"get", [](Store& store) { store.get("key"); }},
            {"check", [](Store& store) { store.check({"key"}); }},
            {"wait", [](Store& store) { store.wait({"key"}, kPatient); }},
            {"num_keys", [](Store& store) { store.num_keys(); }}};
        for (const auto& read : reads) {
            const auto store = open();
            FileLock lock(path, LOCK_SH);
            Caller reader([store, call = read.second] { return call(*store), ""; });
            INFO(read.first << " while another process reads the file as well");
            CHECK(reader.end().how == kReturned);
            lock.becomes(LOCK_EX);
            Caller caller([store, call = read.second] { return call(*store), ""; });
            std::this_thread::sleep_for(kWhile);
            INFO("now another process changes the file, under an exclusive lock");
            CHECK_FALSE(caller.has_returned());
            lock.becomes(LOCK_UN);
            CHECK(caller.end().how == kReturned);
        }
    });
}

/// What stands in the file before the lock is there says nothing.
inline void is_made_once() {
    on_ranks({1}, [](const Communicator&) {
        const fs::path path = file_with("");
        FileLock lock(path, LOCK_EX);
        Caller caller([path] { return std::to_string(store_in(path).num_keys()); });
        caller.waits();
        std::this_thread::sleep_for(kWhile);
        INFO(
            "a store is made of an empty file, which another process locks, makes and sets a key in"
        );
        CHECK_FALSE(caller.has_returned());
        CHECK(fs::file_size(path) == 0);
        const std::string bytes = first_record() + record("/key", "value");
        std::ofstream(path, std::ios::binary) << bytes;
        lock.becomes(LOCK_UN);
        CHECK(caller.end().text == "1");
        const Comparison is_unchanged = same_bytes(content_of(path), bytes);
        CHECK(is_unchanged);
    });
}

/// What another process appends while a call waits for the file counts.
inline void reads_under_its_lock() {
    on_ranks({1}, [](const Communicator&) {
        struct Change {
            std::string name;
            std::string appended;
            std::function<std::string(Store&)> call;
            std::string returns;
        };
        const std::vector<Change> changes = {
            {"add(key, 1)", record("/key", "100"),
             [](Store& store) { return std::to_string(store.add("key", 1)); }, "101"},
            {"compare_set(key, 5, 6)", record("/key", "100"),
             [](Store& store) { return store.compare_set("key", "5", "6"); }, "100"},
            {"erase(key)", record("-/key", ""),
             [](Store& store) { return store.erase("key") ? "true" : "false"; }, "false"}};
        for (const Change& change : changes) {
            const fs::path path = file_with(first_record() + record("/key", "5"));
            const auto store = std::make_shared<FileStore>(path.string(), kRun, kPatient);
            store->num_keys();
            FileLock lock(path, LOCK_SH);
            Caller caller([store, call = change.call] { return call(*store); });
            caller.waits();
            std::this_thread::sleep_for(kWhile);
            std::ofstream(path, std::ios::app | std::ios::binary) << change.appended;
            lock.becomes(LOCK_UN);
            INFO(
                change.name
                << " where 5 stood when it was called, and another process has appended "
                << shown(change.appended) << " before it had the exclusive lock"
            );
            CHECK(caller.end().text == change.returns);
        }
    });
}

/// Seen by both processes of the test below.
struct HeldUp {
    std::atomic<bool> writes = false;
    std::atomic<bool> may_go_on = false;

    static HeldUp*& shared() {
        static HeldUp* all = nullptr;
        return all;
    }
    /// For SIGXFSZ: who writes stays where it is, with its lock.
    static void wait(int /*signal*/) {
        shared()->writes = true;
        for (int i = 0; i < 4000 && !shared()->may_go_on; ++i) {
            usleep(1000);
        }
    }
};

/// A process is held up in the middle of its write, by a file that may not be longer. Another one,
/// that was forked from the same process with the same store, has to wait.
inline void keeps_forked_processes_apart() {
    on_ranks({1}, [](const Communicator&) {
        const fs::path path = fresh_path();
        FileStore store = store_in(path);
        store.add("key", 5);
        void* const memory = mmap(
            nullptr, sizeof(HeldUp), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0
        );
        auto* const held_up = HeldUp::shared() = new (memory) HeldUp;
        const auto writes = [&] {
            const LargestFile disk(fs::file_size(path) + 4, LargestFile::Then::told);
            std::signal(SIGXFSZ, HeldUp::wait);
            CHECK(end_of([&] { return std::to_string(store.add("key", 1)); }).how == kError);
        };
        const auto comes_second = [&] {
            comes([&] { return held_up->writes.load(); });
            Caller caller([&] { return std::to_string(store.add("key", 2)); });
            std::this_thread::sleep_for(kWhile);
            INFO(
                "two processes were forked from the one that made the store: one is in the middle "
                "of a write, and the other one calls add()"
            );
            CHECK_FALSE(caller.has_returned());
            held_up->may_go_on = true;
            CHECK(caller.end().text == "7");
        };
        on_processes(2, [&](int rank, int /*p*/) { rank == 0 ? writes() : comes_second(); });
        munmap(memory, sizeof(HeldUp));
        CHECK(store.add("key", 0) == 7);
    });
}

}  // namespace dist::harness
