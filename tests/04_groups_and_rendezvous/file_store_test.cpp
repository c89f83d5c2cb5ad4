// What file_store must do: what every store must (store_promises.hpp), in a file that processes share, and that may end in the
// middle of a record.
#include "exercises/04_groups_and_rendezvous/file_store.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <sys/file.h>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "exercises/04_groups_and_rendezvous/hash_store.hpp"
#include "tests/04_groups_and_rendezvous/store_files.hpp"
#include "tests/04_groups_and_rendezvous/store_promises.hpp"
#include "tests/harness/processes/processes.hpp"
#include "tests/harness/words/quick.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

/// A PrefixStore and the store that it is a part of.
struct Prefixed {
    explicit Prefixed(Store::Duration timeout) : whole(timeout), part("a", whole) {}
    HashStore whole;
    PrefixStore part;
};

/// A record of PyTorch's.
std::string record(const std::string& key, const std::string& value) {
    const auto length = [](const std::string& text) {
        const auto size = static_cast<std::uint32_t>(text.size());
        return std::string(reinterpret_cast<const char*>(&size), sizeof size);
    };
    return length(key) + key + length(value) + value;
}

/// What every file of this run begins with.
const std::string kFirst = record("", kRun);

FileStore store_in(const fs::path& path, Store::Duration timeout = kPatient) {
    return {path.string(), kRun, timeout};
}

OpenStore opens(const fs::path& path) {
    return [path] { return std::make_shared<FileStore>(path.string(), kRun, kPatient); };
}

/// A lock of this test's own, as another process would hold it.
struct FileLock {
    FileLock(const fs::path& path, int operation) : descriptor(open(path.c_str(), O_RDWR)) {
        becomes(operation);
    }
    ~FileLock() { close(descriptor); }
    FileLock(const FileLock&) = delete;
    FileLock& operator=(const FileLock&) = delete;

    /// Returns whether it does.
    bool becomes(int operation) const { return flock(descriptor, operation) == 0; }

    int descriptor;
};

/// While it lives, a write beyond so many bytes of a file fails: the file is too large.
class LargestFile {
  public:
    explicit LargestFile(std::size_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
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

/// What open() returns next: the same number while no other file is open.
int next_descriptor() {
    const int descriptor = ::open("/dev/null", O_RDONLY);
    close(descriptor);
    return descriptor;
}

}  // namespace

const std::vector<StoreKind>& dist::harness::stores_to_try() {
    static const std::vector<StoreKind> kinds = {
        {"one FileStore",
         [](Store::Duration timeout) {
             const auto store = std::make_shared<FileStore>(fresh_path().string(), kRun, timeout);
             return [store]() -> std::shared_ptr<Store> { return store; };
         }},
        {"a FileStore for each thread, of the same file",
         [](Store::Duration timeout) {
             return [path = fresh_path().string(), timeout] {
                 return std::make_shared<FileStore>(path, kRun, timeout);
             };
         }},
        {"a PrefixStore of a HashStore", [](Store::Duration timeout) {
             const auto both = std::make_shared<Prefixed>(timeout);
             return [both] { return std::shared_ptr<Store>(both, &both->part); };
         }}};
    return kinds;
}

TEST_CASE("the file has a record for each change, and no other") {
    on_ranks({1}, [](const Communicator&) {
        const fs::path path = fresh_path();
        std::string expected = kFirst;
        FileStore store = store_in(path);
        const auto holds = [&](const std::string& call, const std::string& new_record) {
            expected += new_record;
            INFO("the file after " << call);
            CHECK(same_bytes(content_of(path), expected));
        };
        holds("the constructor", "");
        store.set("key", "value");
        holds("set", record("/key", "value"));
        store.add("", -3);
        holds("add", record("/", "-3"));
        store.compare_set("key", "value", "");
        holds("compare_set", record("/key", ""));
        store.compare_set("key", "other", "never");
        holds("compare_set that expected another value", "");
        store.erase("key");
        holds("erase", record("-/key", ""));
        store.erase("key");
        holds("erase of no key", "");
        store.set("text", "x");
        holds("set", record("/text", "x"));
        store.check({"key", ""});
        store.get("");
        store.num_keys();
        error_of([&] { store.add("text", 1); });
        holds("calls that read, and add to a text", "");
        store_in(path);
        holds("a second store, and its end", "");
    });
}

TEST_CASE("records that PyTorch's FileStore appends are read, those of its own keys skipped") {
    on_ranks({1}, [](const Communicator&) {
        const fs::path path = file_with(
            kFirst + record("/a", "old") + record("cleanup/", "1") + record("/-/b", "dash") +
            record("/a", "new") + record("/c", "") + record("-/c", "") + record("", "not a key")
        );
        FileStore store = store_in(path, 100ms);
        CHECK(value_of(store, "a") == "\"new\"");
        CHECK(value_of(store, "-/b") == "\"dash\"");
        CHECK(value_of(store, "c") == "no value");
        CHECK(store.num_keys() == 2);
        append(path, record("/c", "again") + record("-/a", "") + record("cleanup/", "2"));
        INFO("another process has appended: c is set, a is taken away");
        CHECK(value_of(store, "c") == "\"again\"");
        CHECK(value_of(store, "a") == "no value");
        CHECK(store.num_keys() == 2);
    });
}

TEST_CASE("a part of a record at the end is skipped by readers, and cut off by the next writer") {
    on_ranks({1}, [](const Communicator&) {
        const std::string whole = kFirst + record("/before", "1");
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
            writer.set("after", "2");
            CHECK(same_bytes(content_of(path), whole + record("/after", "2")));
            INFO("the store that has seen the part of a record, after it was cut off");
            CHECK(value_of(reader, "after") == "\"2\"");
            CHECK(reader.num_keys() == 2);
            CHECK(reader.erase("before"));
            CHECK(writer.num_keys() == 1);
        }
    });
}

TEST_CASE("a full disk is an Error that names the file, and changes nothing") {
    on_ranks({1}, [](const Communicator&) {
        const fs::path path = fresh_path();
        FileStore store = store_in(path, 100ms);
        FileStore other = store_in(path, 100ms);
        store.set("key", "1");
        for (const StoreCall& call : store_calls()) {
            if (!call.changes) {
                continue;
            }
            INFO("the disk has room for 6 bytes, and the call is " << call.name);
            CHECK(throws_error(
                [&] {
                    const LargestFile disk(fs::file_size(path) + 6);
                    call.make(store);
                },
                {path.string(), "File too large"}
            ));
            CHECK(value_of(store, "key") == "\"1\"");
            CHECK(value_of(other, "key") == "\"1\"");
            INFO("then there is room again");
            other.set(call.name, "");
            CHECK(store.check({call.name}));
        }
        CHECK(store.num_keys() == 5);
    });
}

TEST_CASE("a file of another run, or of no store, is refused by its name and stays as it was") {
    on_ranks({1}, [](const Communicator&) {
        const auto refused = [](const std::string& bytes, const std::vector<std::string>& says) {
            const fs::path path = file_with(bytes);
            INFO("the file has the bytes " << shown(bytes));
            CHECK(throws_error([&] { store_in(path); }, says));
            CHECK(throws_error([&] { store_in(path); }, {path.string()}));
            CHECK(same_bytes(content_of(path), bytes));
        };
        for (const std::string other : {"run-six", "run-seve", "run-seven-2", "xun-seven"}) {
            refused(record("", other) + record("/k", "v"), {other, kRun});
        }
        for (const std::string& bytes :
             {record("/k", "v") + kFirst, std::string("hello"), kFirst.substr(0, 6) + "x",
              record("", "run-six").substr(0, 10)}) {
            refused(bytes, {});
        }
    });
}

TEST_CASE("a file that ends before its first record does is made anew") {
    on_ranks({1}, [](const Communicator&) {
        for (std::size_t cut = 0; cut < kFirst.size(); ++cut) {
            const fs::path path = file_with(kFirst.substr(0, cut));
            INFO("the file ends after " << cut << " bytes of its first record");
            FileStore store = store_in(path);
            CHECK(same_bytes(content_of(path), kFirst));
            CHECK(store.num_keys() == 0);
        }
    });
}

TEST_CASE("a path that cannot be opened is an Error with its name and the reason") {
    on_ranks({1}, [](const Communicator&) {
        const fs::path folder = fresh_path();
        const std::string missing = folder / "store";
        CHECK(throws_error([&] { store_in(missing); }, {missing, "No such file or directory"}));
        fs::create_directory(folder);
        CHECK(throws_error([&] { store_in(folder); }, {folder.string(), "Is a directory"}));
        const fs::path path = fresh_path();
        FileStore store = store_in(path);
        store.set("key", "1");
        fs::remove(path);
        for (const StoreCall& call : store_calls()) {
            INFO("a file that was removed: every call opens it, also " << call.name);
            CHECK(throws_error([&] { call.make(store); }, {path.string(), "No such file"}));
        }
        CHECK_FALSE(fs::exists(path));
    });
}

TEST_CASE("who changes the file holds it alone, and who reads shares it") {
    on_ranks({1}, [](const Communicator&) {
        const fs::path path = fresh_path();
        const auto store = opens(path)();
        struct sigaction handled = {};
        struct sigaction before = {};
        handled.sa_handler = [](int) {};
        sigaction(SIGWINCH, &handled, &before);
        const auto has_to_wait = [store](FileLock& lock, const StoreCall& call) {
            const auto thread = std::make_shared<std::atomic<pthread_t>>();
            Caller caller([thread, store, call] {
                *thread = pthread_self();
                return call.make(*store), "";
            });
            becomes_true([&] { return *thread != 0; });
            caller.waits();
            pthread_kill(*thread, SIGWINCH);
            std::this_thread::sleep_for(kWhile);
            INFO("its thread has handled a signal meanwhile, which ends no call");
            CHECK_FALSE(caller.has_returned());
            lock.becomes(LOCK_UN);
            CHECK(caller.end().how == kReturned);
        };
        for (const StoreCall& call : store_calls()) {
            store->set("key", "1");
            FileLock lock(path, LOCK_SH);
            if (call.changes) {
                INFO(call.name << " has to wait while another process has a shared lock");
                has_to_wait(lock, call);
                continue;
            }
            Caller reader([store, call] { return call.make(*store), ""; });
            INFO(call.name << " while another process reads the file as well");
            CHECK(reader.end().how == kReturned);
            lock.becomes(LOCK_EX);
            INFO("now another process changes the file, under an exclusive lock");
            has_to_wait(lock, call);
        }
        sigaction(SIGWINCH, &before, nullptr);
    });
}

TEST_CASE("processes that were forked with one store keep each other out") {
    // One is held up in the middle of its write, by a file that may not be longer.
    static const std::string go_on = fresh_path();
    on_ranks({1}, [](const Communicator&) {
        const fs::path path = fresh_path();
        FileStore store = store_in(path);
        store.add("key", 5);
        const auto most = fs::file_size(path) + 4;
        const auto writes = [&] {
            const LargestFile disk(most);
            std::signal(SIGXFSZ, [](int) {
                for (int i = 0; i < 4000 && access(go_on.c_str(), F_OK) != 0; ++i) {
                    usleep(1000);
                }
            });
            CHECK(throws_error([&] { store.add("key", 1); }));
        };
        const auto comes_second = [&] {
            becomes_true([&] { return fs::file_size(path) == most; });
            Caller caller([&] { return std::to_string(store.add("key", 2)); });
            std::this_thread::sleep_for(kWhile);
            INFO("two processes were forked: one is in the middle of a write, and one calls add()");
            CHECK_FALSE(caller.has_returned());
            std::ofstream(go_on) << "go on";
            CHECK(caller.end().text == "7");
        };
        on_processes(2, [&](int rank, int /*p*/) { rank == 0 ? writes() : comes_second(); });
        CHECK(store.add("key", 0) == 7);
    });
}

TEST_CASE("who makes the file looks at it under the lock") {
    on_ranks({1}, [](const Communicator&) {
        const fs::path path = file_with("");
        FileLock lock(path, LOCK_EX);
        Caller caller([path] { return std::to_string(store_in(path).num_keys()); });
        caller.waits();
        std::this_thread::sleep_for(kWhile);
        INFO("a store is made of an empty file, in which another process sets a key, under a lock");
        CHECK_FALSE(caller.has_returned());
        CHECK(fs::file_size(path) == 0);
        const std::string bytes = kFirst + record("/key", "value");
        std::ofstream(path, std::ios::binary) << bytes;
        lock.becomes(LOCK_UN);
        CHECK(caller.end().text == "1");
        CHECK(same_bytes(content_of(path), bytes));
    });
}

TEST_CASE("threads that share an object read what is new once") {
    on_ranks({1}, [](const Communicator&) {
        const fs::path path = file_with(kFirst);
        const auto store = opens(path)();
        append(path, record("large", std::string(8 << 20, 'v')));  // which is skipped
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

TEST_CASE("a call reads what is new in the file") {
    on_ranks({1}, [](const Communicator&) {
        std::string bytes = kFirst;
        for (int i = 0; i < 16; ++i) {
            bytes += record("/" + std::to_string(i), std::string(1 << 20, 'v'));
        }
        FileStore store = store_in(file_with(bytes));
        CHECK(store.num_keys() == 16);
        int sum = 0;
        const Comparison quick = takes_a_few_operations("a file of 16 MB, again and again", [&] {
            sum += store.check({"3", "x"}) ? 1 : 0;
            store.add("sum", 1);
        });
        CHECK(quick);
        CHECK(sum == 0);
    });
}

TEST_CASE("who waits looks every 10 ms, and sleeps meanwhile") {
    on_ranks({1}, [](const Communicator&) {
        const fs::path path = fresh_path();
        const OpenStore open = opens(path);
        const int descriptor = next_descriptor();
        Caller caller = calls_get(open, "key");
        CHECK(caller.waits());
        const int before = caller.times_asleep();
        std::this_thread::sleep_for(200ms);
        INFO("how often a call of get() falls asleep in 0.2 s, and then in 2 s");
        CHECK(caller.times_asleep() - before <= 60);
        CHECK(becomes_true([&] { return caller.times_asleep() - before >= 40; }, 2000ms));
        int free = 0;
        int not_open = 0;
        for (int i = 0; i < 20; ++i) {
            std::this_thread::sleep_for(3ms);
            not_open += next_descriptor() == descriptor ? 1 : 0;
            free += FileLock(path, LOCK_SH | LOCK_NB).becomes(LOCK_EX | LOCK_NB) ? 1 : 0;
        }
        INFO("how often of 20 times the file is not locked, and not open, while get() waits");
        CHECK(free >= 10);
        CHECK(not_open >= 10);
        open()->set("key", "");
        CHECK(caller.end().how == kReturned);
    });
}

TEST_CASE("no file stays open when a call has returned or thrown") {
    on_ranks({1}, [](const Communicator&) {
        const int before = next_descriptor();
        const fs::path path = fresh_path();
        FileStore store = store_in(path, 5ms);
        store.set("text", "x");
        error_of([&] { store.get("missing"); });
        error_of([&] { store.add("text", 1); });
        for (const StoreCall& call : store_calls()) {
            store.set("key", "1");
            call.make(store);
        }
        error_of([&] { const FileStore other(path.string(), "another run"); });
        CHECK(next_descriptor() == before);
        store_in(path);
        INFO("the file stays when a store is gone");
        CHECK(fs::exists(path));
    });
}

TEST_CASE("a PrefixStore calls the other store with the prefix and a slash before each key") {
    on_ranks({1}, [](const Communicator&) {
        HashStore whole(100ms);
        PrefixStore part("a", whole);
        PrefixStore other("b", whole);
        PrefixStore none("", whole);
        PrefixStore inner("c", part);
        part.set("k", "1");
        CHECK(value_of(whole, "a/k") == "\"1\"");
        CHECK(value_of(other, "k") == "no value");
        inner.set("k", "5");
        none.set("k", "6");
        CHECK(part.compare_set("", "", "4") == "4");
        CHECK(value_of(whole, "a/c/k") == "\"5\"");
        CHECK(value_of(whole, "/k") == "\"6\"");
        CHECK(value_of(whole, "a/") == "\"4\"");
        whole.set("k", "8");
        INFO("num_keys is that of the whole store");
        CHECK(part.num_keys() == 5);
        CHECK(part.erase("k"));
        CHECK(whole.check({"k", "/k"}));
        CHECK_FALSE(whole.check({"a/k"}));
        CHECK_FALSE(part.check({"", "k"}));
        INFO("errors name the key as it stands in the whole store");
        CHECK(throws_error<Timeout>([&] { part.get("gone"); }, {"a/gone"}));
        CHECK(throws_error<Timeout>([&] { part.wait({"", "gone"}, 5ms); }, {"a/gone"}));
        whole.set("a/gone", "no number");
        CHECK(throws_error([&] { part.add("gone", 1); }, {"a/gone"}));
    });
}
