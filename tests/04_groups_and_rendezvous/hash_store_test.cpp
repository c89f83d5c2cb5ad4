// What hash_store must do: what every store must (store_promises.hpp), and sleep while it waits.
#include "exercises/04_groups_and_rendezvous/hash_store.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/04_groups_and_rendezvous/store_promises.hpp"

using namespace dist;
using namespace dist::harness;

const std::vector<StoreKind>& dist::harness::stores_to_try() {
    static const std::vector<StoreKind> kinds = {
        {"a HashStore", [](Store::Duration timeout) {
             const auto store = std::make_shared<HashStore>(timeout);
             return [store]() -> std::shared_ptr<Store> { return store; };
         }}};
    return kinds;
}

TEST_CASE("who waits sleeps until a value comes") {
    on_ranks({1}, [](const Communicator&) {
        const OpenStore open = stores_to_try().front().make(kPatient);
        for (const bool get : {true, false}) {
            Caller caller = get ? calls_get(open, "get") : calls_wait(open, {"wait"});
            caller.waits();
            const int before = caller.times_asleep();
            std::this_thread::sleep_for(100ms);
            const int times = caller.times_asleep() - before;
            INFO("how often " << (get ? "get()" : "wait()") << " woke up in 0.1 s without a value");
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
        const double begin_s = used_cpu_s();
        int keys = 0;
        bool right = true;
        while (keys < kKeys && used_cpu_s() - begin_s < 1) {
            const std::string key = "a key of many, number " + std::to_string(keys++);
            store.set(key, "1");
            right = right && store.get(key) == "1" && store.add(key, 1) == 2 &&
                    store.compare_set(key, "2", "3") == "3" && store.check({key}) &&
                    store.erase(key + " or not") == false;
        }
        CHECK(right);
        INFO(keys << " keys in a second of the processor's time: does a call go through all keys?");
        CHECK(keys == kKeys);
    });
}
