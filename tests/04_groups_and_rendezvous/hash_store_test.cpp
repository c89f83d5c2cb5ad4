// What hash_store must do: what every store must, and sleep while it waits.
#include "exercises/04_groups_and_rendezvous/hash_store.hpp"

#include <chrono>
#include <ctime>
#include <memory>
#include <string>
#include <thread>

#include "tests/04_groups_and_rendezvous/store_moments.hpp"
#include "tests/04_groups_and_rendezvous/store_promises.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const StoreKinds kStores = {{"a HashStore", [](Store::Duration timeout) {
                                 const auto store = std::make_shared<HashStore>(timeout);
                                 return [store]() -> std::shared_ptr<Store> { return store; };
                             }}};

}  // namespace

TEST_CASE("a store returns what was set last, for keys and values of any bytes") {
    holds_what_is_set(kStores);
}

TEST_CASE("add counts in decimal text, up to the limits of 64 bits") {
    adds(kStores);
}

TEST_CASE("add refuses what is no number and what does not fit, and changes nothing then") {
    adds_to_numbers_only(kStores);
}

TEST_CASE("compare_set stores only where it finds what it expects, and returns what stands there") {
    compares_and_sets(kStores);
}

TEST_CASE("check asks for all keys, and makes none") {
    checks_all_keys(kStores);
}

TEST_CASE("an erased key is gone, and may begin anew") {
    erases(kStores);
}

TEST_CASE("two stores know nothing of each other") {
    knows_no_other_store(kStores);
}

TEST_CASE("random calls do what they do to a map") {
    lives_like_a_map(kStores);
}

TEST_CASE("a call that waits in vain ends after its timeout, not before, and soon after") {
    times_out_in_time(kStores);
}

TEST_CASE("a timeout ends a wait also while other keys come, and not before its time is over") {
    times_out_amid_others(kStores);
}

TEST_CASE("a value wakes all that wait for it, whichever call brings it") {
    wakes_all(kStores);
}

TEST_CASE("a value wakes the one that waits for it, and no other") {
    wakes_who_waits_for_it(kStores);
}

TEST_CASE("wait returns with the last of its keys, in whatever order they come") {
    waits_for_the_last_key(kStores);
}

TEST_CASE("wait returns when all keys are there at the same time") {
    waits_for_all_at_once(kStores);
}

TEST_CASE("a call that waits keeps no other one waiting") {
    keeps_nobody_waiting(kStores);
}

TEST_CASE("threads that add at the same time get sums of their own") {
    adds_at_once(kStores);
}

TEST_CASE("of threads that compare and set at the same time, one wins") {
    compares_and_sets_at_once(kStores);
}

TEST_CASE("of threads that erase a key at the same time, one has erased it") {
    erases_at_once(kStores);
}

TEST_CASE("get returns a value also where it is erased at once") {
    gets_what_comes_and_goes(kStores);
}

TEST_CASE("check looks at all keys at one moment") {
    checks_at_one_moment(kStores);
}

TEST_CASE("no call sees half of a value") {
    sees_whole_values(kStores);
}

TEST_CASE("who waits sleeps until a value comes") {
    on_ranks({1}, [](const Communicator&) {
        const OpenStore open = kStores.front().make(kPatient);
        for (const bool get : {true, false}) {
            Caller caller = get ? calls_get(open, "get") : calls_wait(open, {"wait"});
            caller.waits();
            const int before = caller.times_asleep();
            std::this_thread::sleep_for(100ms);
            const int times = caller.times_asleep() - before;
            INFO(
                "how often " << (get ? "get()" : "wait()")
                             << " woke up in 0.1 s without a new value"
            );
            CHECK(times <= 2);
            CHECK(caller.waits());
            CHECK_FALSE(caller.has_returned());
            open()->set(get ? "get" : "wait", "");
            CHECK(caller.end().how == kReturned);
        }
    });
}

TEST_CASE("a call takes a few operations, however many keys there are") {
    on_ranks({1}, [](const Communicator&) {
        HashStore store(kPatient);
        constexpr int kKeys = 50'000;
        const std::clock_t begin = std::clock();
        const auto cpu_s = [&] {
            return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
        };
        int keys = 0;
        bool right = true;
        while (keys < kKeys && cpu_s() < 1) {
            const std::string key = "a key of many, number " + std::to_string(keys++);
            store.set(key, "1");
            right = right && store.get(key) == "1" && store.add(key, 1) == 2 &&
                    store.compare_set(key, "2", "3") == "3" && store.check({key}) &&
                    store.erase(key + " or not") == false;
        }
        CHECK(right);
        INFO(
            "six calls for each of " << keys << " keys took " << cpu_s()
                                     << " s of the processor's time"
        );
        INFO("does a call go through all keys?");
        CHECK(keys == kKeys);
    });
}
