// What a FileStore writes and reads: its records, and files that are no file of its run. See file_store_test.cpp.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/04_groups_and_rendezvous/store_files.hpp"

namespace dist::harness {

inline void has_a_record_for_each_change() {
    on_ranks({1}, [](const Communicator&) {
        const fs::path path = fresh_path();
        std::string expected = first_record();
        FileStore store = store_in(path);
        const auto holds = [&](const std::string& call) {
            INFO("the file after " << call);
            const Comparison is_the_same = same_bytes(content_of(path), expected);
            CHECK(is_the_same);
        };
        holds("the constructor");
        store.set("key", "value");
        expected += record("/key", "value");
        holds("set");
        store.add("", -3);
        expected += record("/", "-3");
        holds("add");
        store.compare_set("key", "value", "");
        expected += record("/key", "");
        holds("compare_set");
        store.compare_set("key", "other", "never");
        holds("compare_set that expected another value");
        store.erase("key");
        expected += record("-/key", "");
        holds("erase");
        store.erase("key");
        holds("erase of no key");
        store.check({"key", ""});
        store.get("");
        store.num_keys();
        end_of([&] { return std::to_string(store.add("text", (store.set("text", "x"), 1))); });
        expected += record("/text", "x");
        holds("calls that read, and add to a text");
        store_in(path);
        holds("a second store, and its end");
    });
}

inline void reads_records_of_pytorch() {
    on_ranks({1}, [](const Communicator&) {
        const fs::path path = file_with(
            first_record() + record("/a", "old") + record("cleanup/", "1") +
            record("/-/b", "dash") + record("/a", "new") + record("/c", "") + record("-/c", "") +
            record("", "not a key")
        );
        FileStore store = store_in(path, 100ms);
        CHECK(value_of(store, "a") == "\"new\"");
        CHECK(value_of(store, "-/b") == "\"dash\"");
        CHECK(value_of(store, "c") == "no value");
        CHECK(store.num_keys() == 2);
        std::ofstream(path, std::ios::app | std::ios::binary)
            << record("/c", "again") << record("-/a", "") << record("cleanup/", "2");
        INFO("another process has appended: c is set, a is taken away");
        CHECK(value_of(store, "c") == "\"again\"");
        CHECK(value_of(store, "a") == "no value");
        CHECK(store.num_keys() == 2);
    });
}

inline void refuses_other_files() {
    on_ranks({1}, [](const Communicator&) {
        const auto refused = [](const std::string& bytes, std::vector<std::string> says) {
            const fs::path path = file_with(bytes);
            INFO("the file has the bytes " << shown(bytes));
            const CallEnd end = end_of([&] {
                store_in(path);
                return "";
            });
            says.push_back(path.string());
            check_error(end, says);
            const Comparison is_unchanged = same_bytes(content_of(path), bytes);
            CHECK(is_unchanged);
        };
        for (const std::string other : {"run-six", "run-seve", "run-seven-2", "xun-seven"}) {
            refused(record("", other) + record("/k", "v"), {other, kRun});
        }
        refused(record("/k", "v") + first_record(), {});
        refused("hello", {});
        refused("#!/bin/sh\necho a file that was here before\n", {});
        refused(first_record().substr(0, 6) + "x", {});
        refused(record("", "run-six").substr(0, 10), {});
    });
}

inline void makes_what_was_begun() {
    on_ranks({1}, [](const Communicator&) {
        for (std::size_t cut = 0; cut < first_record().size(); ++cut) {
            const fs::path path = file_with(first_record().substr(0, cut));
            INFO("the file ends after " << cut << " bytes of its first record");
            FileStore store = store_in(path);
            const Comparison is_made = same_bytes(content_of(path), first_record());
            CHECK(is_made);
            CHECK(store.num_keys() == 0);
        }
    });
}

inline void tells_of_paths() {
    on_ranks({1}, [](const Communicator&) {
        const auto made = [](const fs::path& path) {
            return end_of([&] {
                store_in(path);
                return "";
            });
        };
        const fs::path missing = fresh_path() / "store";
        check_error(made(missing), {missing.string(), "No such file or directory"});
        const fs::path folder = fresh_path();
        fs::create_directory(folder);
        check_error(made(folder), {folder.string(), "Is a directory"});
        const fs::path path = fresh_path();
        FileStore store = store_in(path, 100ms);
        store.set("key", "1");
        fs::remove(path);
        INFO("a file that was removed: every call opens it");
        const std::vector<std::function<void()>> calls = {
            [&] { store.get("key"); },     [&] { store.set("key", ""); },
            [&] { store.add("key", 1); },  [&] { store.compare_set("key", "1", ""); },
            [&] { store.check({"key"}); }, [&] { store.wait({"key"}, 100ms); },
            [&] { store.erase("key"); },   [&] { store.num_keys(); }};
        for (const auto& call : calls) {
            check_error(
                end_of([&] { return call(), ""; }), {path.string(), "No such file or directory"}
            );
        }
        CHECK_FALSE(fs::exists(path));
    });
}

}  // namespace dist::harness
