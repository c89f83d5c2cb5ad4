// What file_store must do: what every store must, in a file that processes share, and that may end in the middle of a
// record.
#include "exercises/04_groups_and_rendezvous/file_store.hpp"

#include <memory>

#include "exercises/04_groups_and_rendezvous/hash_store.hpp"
#include "tests/04_groups_and_rendezvous/file_locks.hpp"
#include "tests/04_groups_and_rendezvous/file_records.hpp"
#include "tests/04_groups_and_rendezvous/file_shared.hpp"
#include "tests/04_groups_and_rendezvous/file_torn.hpp"
#include "tests/04_groups_and_rendezvous/store_cases.hpp"
#include "tests/04_groups_and_rendezvous/store_lives.hpp"
#include "tests/04_groups_and_rendezvous/store_races.hpp"
#include "tests/04_groups_and_rendezvous/store_waits.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const StoreKind kOne = {"one FileStore", [](Store::Duration timeout) {
                            const auto store =
                                std::make_shared<FileStore>(fresh_path().string(), kRun, timeout);
                            return [store]() -> std::shared_ptr<Store> { return store; };
                        }};

const StoreKind kEach = {
    "a FileStore for each thread, of the same file", [](Store::Duration timeout) {
        return [path = fresh_path().string(), timeout] {
            return std::make_shared<FileStore>(path, kRun, timeout);
        };
    }};

/// A PrefixStore and the store that it is a part of.
struct Prefixed {
    explicit Prefixed(Store::Duration timeout) : whole(timeout), part("a", whole) {}
    HashStore whole;
    PrefixStore part;
};

const StoreKind kPrefix = {"a PrefixStore of a HashStore", [](Store::Duration timeout) {
                               const auto both = std::make_shared<Prefixed>(timeout);
                               return [both] { return std::shared_ptr<Store>(both, &both->part); };
                           }};

const StoreKinds kFiles = {kOne, kEach};
const StoreKinds kAll = {kOne, kEach, kPrefix};

}  // namespace

TEST_CASE("a store returns what was set last, for keys and values of any bytes") {
    holds_what_is_set(kAll);
}

TEST_CASE("add counts in decimal text, up to the limits of 64 bits") {
    adds(kAll);
}

TEST_CASE("add refuses what is no number and what does not fit, and changes nothing then") {
    adds_to_numbers_only(kAll);
}

TEST_CASE("compare_set stores only where it finds what it expects, and returns what stands there") {
    compares_and_sets(kAll);
}

TEST_CASE("check asks for all keys, and makes none") {
    checks_all_keys(kAll);
}

TEST_CASE("an erased key is gone, and may begin anew") {
    erases(kAll);
}

TEST_CASE("two stores know nothing of each other") {
    knows_no_other_store(kAll);
}

TEST_CASE("random calls do what they do to a map") {
    lives_like_a_map(kAll);
}

TEST_CASE("a call that waits in vain ends after its timeout, not before, and soon after") {
    times_out_in_time({kEach, kPrefix});
}

TEST_CASE("a timeout ends a wait also while other keys come, and not before its time is over") {
    times_out_amid_others({kEach});
}

TEST_CASE("a value wakes all that wait for it, whichever call brings it") {
    wakes_all(kAll);
}

TEST_CASE("a value wakes the one that waits for it, and no other") {
    wakes_who_waits_for_it(kFiles);
}

TEST_CASE("wait returns with the last of its keys, in whatever order they come") {
    waits_for_the_last_key({kEach, kPrefix});
}

TEST_CASE("wait returns when all keys are there at the same time") {
    waits_for_all_at_once(kAll);
}

TEST_CASE("a call that waits keeps no other one waiting") {
    keeps_nobody_waiting(kAll);
}

TEST_CASE("threads that add at the same time get sums of their own") {
    adds_at_once(kAll);
}

TEST_CASE("of threads that compare and set at the same time, one wins") {
    compares_and_sets_at_once(kFiles);
}

TEST_CASE("of threads that erase a key at the same time, one has erased it") {
    erases_at_once(kFiles);
}

TEST_CASE("no call sees half of a value") {
    sees_whole_values(kFiles);
}

TEST_CASE("get returns a value also where it is erased at once") {
    gets_what_comes_and_goes(kAll);
}

TEST_CASE("check looks at all keys at one moment") {
    checks_at_one_moment(kFiles);
}

TEST_CASE("the file has a record for each change, and no other") {
    has_a_record_for_each_change();
}

TEST_CASE("records that PyTorch's FileStore appends are read, those of its own keys skipped") {
    reads_records_of_pytorch();
}

TEST_CASE("a part of a record at the end is passed over by readers, and cut off by the next writer"
) {
    passes_over_a_part_of_a_record();
}

TEST_CASE("a part of a record is no longer than its bytes, whatever length it begins with") {
    takes_no_memory_for_what_is_not_there();
}

TEST_CASE("a process that dies while it writes leaves a store that goes on") {
    goes_on_after_a_death();
}

TEST_CASE("a full disk is an Error that names the file, and changes nothing") {
    tells_of_a_full_disk();
}

TEST_CASE("a file of another run, or of no store, is refused by its name and stays as it was") {
    refuses_other_files();
}

TEST_CASE("a file that ends before its first record does is made anew") {
    makes_what_was_begun();
}

TEST_CASE("a path that cannot be opened is an Error with its name and the reason") {
    tells_of_paths();
}

TEST_CASE("who changes the file holds it alone, and who reads shares it") {
    locks_the_file();
}

TEST_CASE("who changes the file reads first what was appended while it waited for the lock") {
    reads_under_its_lock();
}

TEST_CASE("processes that were forked with one store keep each other out") {
    keeps_forked_processes_apart();
}

TEST_CASE("processes that begin at once share one file, and count and wait through it") {
    is_shared_by_processes();
}

TEST_CASE("who makes the file looks at it under the lock") {
    is_made_once();
}

TEST_CASE("threads that share an object read what is new once") {
    is_shared_by_threads();
}

TEST_CASE("a store may be used after a fork, in both processes") {
    is_carried_over_a_fork();
}

TEST_CASE("a call reads what is new in the file") {
    reads_what_is_new();
}

TEST_CASE("who waits looks every 10 ms, and sleeps meanwhile") {
    looks_every_10_ms();
}

TEST_CASE("no file stays open when a call has returned or thrown") {
    leaves_no_file_open();
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
        CHECK(part.add("k", 1) == 2);
        CHECK(part.compare_set("k", "2", "3") == "3");
        CHECK(part.compare_set("", "", "4") == "4");
        CHECK(value_of(whole, "a/k") == "\"3\"");
        CHECK(value_of(whole, "a/") == "\"4\"");
        inner.set("k", "5");
        none.set("k", "6");
        other.set("k", "7");
        CHECK(value_of(whole, "a/c/k") == "\"5\"");
        CHECK(value_of(whole, "/k") == "\"6\"");
        INFO("num_keys is that of the whole store");
        CHECK(part.num_keys() == 5);
        whole.set("k", "8");
        whole.set("a/last", "9");
        CHECK(part.get("last") == "9");
        CHECK(part.erase("k"));
        CHECK(whole.check({"k", "b/k", "/k"}));
        CHECK_FALSE(whole.check({"a/k"}));
        CHECK_FALSE(part.check({"last", "k"}));
        CHECK_FALSE(part.check({"k", "last"}));
        const auto names_its_key = [&](const std::string& call, const CallEnd& end) {
            INFO(call << " names the key as it stands in the whole store; the text: " << end.text);
            const bool named = end.text.find("a/gone") != std::string::npos;
            CHECK(named);
        };
        const CallEnd get = end_of([&] { return part.get("gone"); });
        CHECK(get.how == kTimedOut);
        names_its_key("get", get);
        names_its_key("wait", end_of([&] { return part.wait({"last", "gone"}, 5ms), ""; }));
        whole.set("a/gone", "no number");
        names_its_key("add", end_of([&] { return std::to_string(part.add("gone", 1)); }));
        CHECK(part.erase("gone"));
        const auto wait = [&](const std::vector<std::string>& keys) {
            return end_of([&] { return part.wait(keys, 5ms), ""; }).how;
        };
        CHECK(wait({"last", "c/k"}) == kReturned);
        CHECK(wait({"last", "gone"}) == kTimedOut);
    });
}
