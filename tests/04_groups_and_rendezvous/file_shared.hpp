// A FileStore that several use: its locks, processes, and what a call costs. See file_store_test.cpp.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/04_groups_and_rendezvous/store_files.hpp"
#include "tests/harness/processes/processes.hpp"
#include "tests/harness/words/quick.hpp"

namespace dist::harness {

inline void is_shared_by_processes() {
    on_ranks({1}, [](const Communicator&) {
        constexpr int kTimes = 100;
        const fs::path path = fresh_path();
        on_processes(4, [&](int rank, int p) {
            FileStore store = store_in(path);
            std::int64_t last = 0;
            for (int time = 0; time < kTimes; ++time) {
                const std::int64_t sum = store.add("counter", 1);
                INFO("sums of the same process, one after the other");
                CHECK(sum > last);
                last = sum;
            }
            store.set("last of rank " + std::to_string(rank), std::to_string(last));
            std::int64_t most = 0;
            for (int r = 0; r < p; ++r) {
                const std::string of_rank = store.get("last of rank " + std::to_string(r));
                most = std::max(most, static_cast<std::int64_t>(std::stol(of_rank)));
            }
            INFO("4 processes add 1, each " << kTimes << " times");
            CHECK(most == std::int64_t{kTimes} * p);
            store.compare_set("first", "", "rank " + std::to_string(rank));
            store.set("first for rank " + std::to_string(rank), store.get("first"));
        });
        INFO("the file is made once, whoever comes first");
        const bool begins_right =
            content_of(path).starts_with(first_record() + record("/counter", "1"));
        CHECK(begins_right);
        FileStore store = store_in(path, 100ms);
        CHECK(store.add("counter", 0) == std::int64_t{4} * kTimes);
        const std::string winner = store.get("first");
        for (int r = 0; r < 4; ++r) {
            CHECK(store.get("first for rank " + std::to_string(r)) == winner);
        }
        CHECK(store.num_keys() == 10);
    });
}

/// Their shared locks do not keep them apart.
inline void is_shared_by_threads() {
    on_ranks({1}, [](const Communicator&) {
        const fs::path path = file_with(first_record());
        const auto store = std::make_shared<FileStore>(path.string(), kRun, kPatient);
        std::ofstream(path, std::ios::app | std::ios::binary)
            << record("large", std::string(8 << 20, 'v'));  // which is skipped
        FileLock lock(path, LOCK_EX);
        std::vector<Caller> callers;
        for (int i = 0; i < 4; ++i) {
            callers.emplace_back([store] { return std::to_string(store->num_keys()); });
            callers.back().waits();
        }
        lock.becomes(LOCK_UN);
        INFO("4 threads share an object, and read a new record of 8 MB at the same time");
        for (Caller& caller : callers) {
            CHECK(caller.end().text == "0");
        }
        INFO("then another store sets a key");
        store_in(path).set("after", "1");
        CHECK(value_of(*store, "after") == "\"1\"");
    });
}

inline void is_carried_over_a_fork() {
    on_ranks({1}, [](const Communicator&) {
        constexpr int kTimes = 1000;
        FileStore store = store_in(fresh_path());
        store.set("before", "1");
        const auto begin = std::chrono::steady_clock::now() + 30ms;
        on_processes(4, [&](int rank, int /*p*/) {
            std::this_thread::sleep_until(begin);
            for (int time = 0; time < kTimes; ++time) {
                store.add("counter", 1);
            }
            CHECK(store.get("before") == "1");
            store.set("of rank " + std::to_string(rank), "");
        });
        INFO(
            "4 processes, forked from the one that made the store, add 1, each " << kTimes
                                                                                 << " times"
        );
        CHECK(store.add("counter", 0) == std::int64_t{4} * kTimes);
        CHECK(store.num_keys() == 6);
    });
}

inline void reads_what_is_new() {
    on_ranks({1}, [](const Communicator&) {
        std::string bytes = first_record();
        for (int i = 0; i < 16; ++i) {
            bytes += record("/" + std::to_string(i), std::string(1 << 20, 'v'));
        }
        FileStore store = store_in(file_with(bytes));
        CHECK(store.num_keys() == 16);
        int sum = 0;
        const Comparison reads = takes_a_few_operations("a file of 16 MB, again and again", [&] {
            sum += store.check({"3", "x"}) ? 1 : 0;
        });
        CHECK(reads);
        const Comparison changes = takes_a_few_operations("a file of 16 MB, again and again", [&] {
            store.add("sum", 1);
        });
        CHECK(changes);
        CHECK(sum == 0);
    });
}

inline void looks_every_10_ms() {
    on_ranks({1}, [](const Communicator&) {
        const fs::path path = fresh_path();
        const OpenStore open = [path] {
            return std::make_shared<FileStore>(path.string(), kRun, kPatient);
        };
        Caller caller = calls_get(open, "key");
        CHECK(caller.waits());
        const int before = caller.times_asleep();
        std::this_thread::sleep_for(200ms);
        const int times = caller.times_asleep() - before;
        {
            INFO("how often a call of get() falls asleep in 0.2 s");
            CHECK(times >= 1);
            CHECK(times <= 60);
        }
        int free = 0;
        int not_open = 0;
        for (int i = 0; i < 20; ++i) {
            std::this_thread::sleep_for(3ms);
            not_open += has_open(path) ? 0 : 1;
            free += FileLock(path, LOCK_EX | LOCK_NB).has_it() ? 1 : 0;
        }
        {
            INFO("how often of 20 times the file is not locked, while a call of get() waits");
            CHECK(free >= 10);
        }
        {
            INFO("how often of 20 times the file is not open, while a call of get() waits");
            CHECK(not_open >= 10);
        }
        open()->set("key", "");
        CHECK(caller.end().how == kReturned);
        auto soonest = std::chrono::steady_clock::duration(kPatient);
        for (int i = 0; i < 5; ++i) {
            const std::string key = std::to_string(i);
            Caller other = calls_get(open, key);
            other.waits();
            std::this_thread::sleep_for(5ms);
            const auto begin = std::chrono::steady_clock::now();
            open()->set(key, "");
            comes([&] { return other.has_returned(); });
            soonest = std::min(soonest, std::chrono::steady_clock::now() - begin);
        }
        INFO("how soon the soonest of 5 calls saw its key");
        CHECK(soonest < 50ms);
    });
}

inline void leaves_no_file_open() {
    on_ranks({1}, [](const Communicator&) {
        const auto next_descriptor = [] {
            const int descriptor = ::open("/dev/null", O_RDONLY);
            close(descriptor);
            return descriptor;
        };
        const int before = next_descriptor();
        const fs::path path = fresh_path();
        {
            FileStore store = store_in(path, 5ms);
            store.set("text", "x");
            end_of([&] { return store.get("missing"); });
            end_of([&] { return std::to_string(store.add("text", 1)); });
            end_of([&] { return std::to_string(store.add("text", 1)); });
            store.check({"text"});
            store.erase("text");
            store.num_keys();
            end_of([&] {
                const FileStore other(path.string(), "another run");
                return "";
            });
            CHECK(next_descriptor() == before);
        }
        CHECK(next_descriptor() == before);
        INFO("the file stays");
        CHECK(fs::exists(path));
    });
}

}  // namespace dist::harness
