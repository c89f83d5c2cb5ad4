// What a store must do whose calls happen in one step: others ask a server twice.
#pragma once

#include <atomic>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "tests/04_groups_and_rendezvous/store_promises.hpp"

namespace dist::harness {

inline void wakes_who_waits_for_it(const StoreKinds& kinds) {
    for_each_kind(kinds, kPatient, [](const OpenStore& open) {
        const auto store = open();
        std::vector<Caller> callers;
        for (int i = 0; i < 4; ++i) {
            callers.push_back(calls_get(open, "key " + std::to_string(i)));
            callers.back().waits();
        }
        for (const int i : {2, 0, 3, 1}) {
            std::this_thread::sleep_for(kWhile);
            INFO("four calls of get(), a key each: key " << i << " has no value, then it has");
            Caller& caller = callers[i];
            CHECK_FALSE(caller.has_returned());
            store->set("key " + std::to_string(i), std::to_string(i));
            const CallEnd end = caller.end();
            CHECK(end.how == kReturned);
            CHECK(end.text == std::to_string(i));
        }
    });
}

inline void erases_at_once(const StoreKinds& kinds) {
    for_each_kind(kinds, kPatient, [](const OpenStore& open) {
        const auto key = [](int time) { return "key " + std::to_string(time); };
        const auto store = open();
        for (int time = 0; time < kMeetings; ++time) {
            store->set(key(time), "");
        }
        const auto erased = meetings<int>(open, [&](Store& mine, int, int time) {
            return mine.erase(key(time)) ? 1 : 0;
        });
        int count = 0;
        for (const auto& one : erased) {
            count = std::accumulate(one.begin(), one.end(), count);
        }
        INFO("all threads erase " << kMeetings << " keys, and each key is erased by one");
        CHECK(count == kMeetings);
        CHECK(store->num_keys() == 0);
    });
}

inline void gets_what_comes_and_goes(const StoreKinds& kinds) {
    for_each_kind(kinds, kPatient, [](const OpenStore& open) {
        const Interleaved threads;
        std::atomic<bool> over = false;
        std::atomic<int> gets = 0;
        const auto got = race<int>(open, [&](Store& store, int number) {
            int count = 0;
            for (int time = 0; number == 0 && time < kMeetings; ++time) {
                store.set("value", "v");
                becomes_true([&, enough = gets + 2 * kRacers] { return gets >= enough; }, 1000ms);
                count += store.erase("value") ? 0 : 1;
            }
            if (number == 0) {
                over = true;
                store.set("value", "v");
                return count;
            }
            while (!over) {
                count += store.get("value") == "v" ? 0 : 1;
                ++gets;
                std::this_thread::sleep_for(50us);
            }
            return count;
        });
        INFO(
            "a thread sets \"v\" and erases it, again and again, and others get it: how many got "
            "something else"
        );
        CHECK(std::accumulate(got.begin(), got.end(), 0) == 0);
    });
}

inline void checks_at_one_moment(const StoreKinds& kinds) {
    for_each_kind(kinds, kPatient, [](const OpenStore& open) {
        open()->set("there", "");
        const Interleaved threads;
        std::atomic<int> done = 0;
        const auto both = race<int>(open, [&](Store& store, int number) {
            int count = 0;
            for (int time = 0; number > 0 && time < 2 * kMeetings && count == 0; ++time) {
                count += store.check({"first", "there", "last"}) ? 1 : 0;
            }
            done += number > 0 ? 1 : 0;
            while (number == 0 && done < kRacers - 1) {
                store.set("first", "");
                store.erase("first");
                store.set("last", "");
                store.erase("last");
            }
            return count;
        });
        INFO("of two keys one comes when the other one has gone: check() says that both are there");
        CHECK(std::accumulate(both.begin(), both.end(), 0) == 0);
    });
}

}  // namespace dist::harness
