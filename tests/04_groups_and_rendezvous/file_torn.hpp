// A FileStore after a process has died while it wrote, or the disk was full. See file_store_test.cpp.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/04_groups_and_rendezvous/store_files.hpp"
#include "tests/harness/processes/processes.hpp"

namespace dist::harness {

inline void passes_over_a_part_of_a_record() {
    on_ranks({1}, [](const Communicator&) {
        const std::string whole = first_record() + record("/before", "1");
        const std::string torn = record("/torn", "value");
        for (std::size_t cut = 1; cut < torn.size(); ++cut) {
            INFO("the last record ends after " << cut << " of its " << torn.size() << " bytes");
            const fs::path path = file_with(whole + torn.substr(0, cut));
            FileStore reader = store_in(path, 100ms);
            CHECK(reader.num_keys() == 1);
            CHECK(value_of(reader, "before") == "\"1\"");
            CHECK(value_of(reader, "torn") == "no value");
            FileStore writer = store_in(path);
            {
                INFO("the file after calls that read, and a second store");
                CHECK(fs::file_size(path) == whole.size() + cut);
            }
            switch (cut % 3) {
                case 0:
                    writer.set("after", "2");
                    break;
                case 1:
                    writer.add("after", 2);
                    break;
                default:
                    writer.compare_set("after", "", "2");
            }
            const Comparison is_the_same =
                same_bytes(content_of(path), whole + record("/after", "2"));
            CHECK(is_the_same);
            INFO("the store that has seen the part of a record, after it was cut off");
            CHECK(value_of(reader, "after") == "\"2\"");
            CHECK(reader.num_keys() == 2);
            CHECK(reader.erase("before"));
            CHECK(writer.num_keys() == 1);
        }
    });
}

inline void takes_no_memory_for_what_is_not_there() {
    on_ranks({1}, [](const Communicator& comm) {
        const std::string length = "\xf0\xff\xff\xff";
        for (const std::string& torn :
             {length + "/k", record("/k", "").substr(0, 6) + length + "v"}) {
            const fs::path path = file_with(first_record() + torn);
            FileStore store = store_in(path, 100ms);
            bool there = true;
            const Memory memory = memory_of(comm, [&] { there = store.check({"k"}); });
            CHECK_FALSE(there);
            INFO("the last record says 4 GB, of which a few bytes are there");
            CHECK(memory.peak_bytes < 100'000);
        }
    });
}

inline void goes_on_after_a_death() {
    on_ranks({1}, [](const Communicator&) {
        for (const std::size_t room : {1, 4, 7, 12, 15}) {
            const fs::path path = fresh_path();
            FileStore store = store_in(path, 100ms);
            store.set("before", "1");
            const std::string whole = content_of(path);
            const auto dies = [&](int /*rank*/, int /*p*/) {
                const LargestFile disk(whole.size() + room, LargestFile::Then::killed);
                end_of([&] {
                    store_in(path).set("torn", "value");
                    return "";
                });
            };
            on_processes(1, dies, {.die = {0}});
            INFO("a process died when " << room << " bytes of its record were in the file");
            CHECK(value_of(store, "torn") == "no value");
            CHECK(store.add("after", 2) == 2);
            const Comparison is_the_same =
                same_bytes(content_of(path), whole + record("/after", "2"));
            CHECK(is_the_same);
        }
    });
}

inline void tells_of_a_full_disk() {
    on_ranks({1}, [](const Communicator&) {
        const fs::path path = fresh_path();
        FileStore store = store_in(path, 100ms);
        FileStore other = store_in(path, 100ms);
        store.set("key", "old");
        store.set("number", "5");
        const std::vector<std::function<void()>> calls = {
            [&] { store.set("key", "new and much longer"); }, [&] { store.add("number", 100); },
            [&] { store.compare_set("key", "old", "new"); }, [&] { store.erase("key"); }};
        for (std::size_t i = 0; i < calls.size(); ++i) {
            INFO(
                "the disk has room for 6 bytes, and the call is "
                << i << " of set, add, compare_set, erase"
            );
            CallEnd end;
            {
                const LargestFile disk(fs::file_size(path) + 6, LargestFile::Then::told);
                end = end_of([&] {
                    calls[i]();
                    return "";
                });
            }
            check_error(end, {path.string(), "File too large"});
            for (FileStore* const one : {&store, &other}) {
                CHECK(value_of(*one, "key") == "\"old\"");
                CHECK(value_of(*one, "number") == "\"5\"");
                CHECK(one->num_keys() == 2 + static_cast<int>(i));
            }
            INFO("then there is room again");
            other.set("later " + std::to_string(i), "");
            CHECK(store.check({"later " + std::to_string(i)}));
        }
    });
}

}  // namespace dist::harness
