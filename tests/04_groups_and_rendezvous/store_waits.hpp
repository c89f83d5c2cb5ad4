// What every store must do with calls that wait: who wakes, when, and who is not kept waiting. See store_cases.hpp.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "tests/04_groups_and_rendezvous/stores.hpp"

namespace dist::harness {

/// "Soon after" a timeout: a poll, a message, and time to spare.
constexpr Store::Duration kSoon = 150ms;

/// How a call ended, and when: the first of its tries that ended soon after its timeout, or the last.
struct TimedEnd {
    CallEnd end;
    bool early = false;
    Store::Duration took = 0ms;
};

inline TimedEnd timed_end_of(const std::function<std::string()>& call, Store::Duration timeout) {
    constexpr int kTries = 4;  // the machine may be busy
    TimedEnd timed;
    for (int i = 0; i < kTries && (i == 0 || timed.took > timeout + kSoon); ++i) {
        const auto begin = std::chrono::steady_clock::now();
        timed.end = end_of(call);
        const auto took = std::chrono::steady_clock::now() - begin;
        timed.took = std::chrono::duration_cast<Store::Duration>(took);
        timed.early = timed.early || took < timeout;
    }
    return timed;
}

/// It is a Timeout after its time, not before, and soon after; the text has all of `missing`, and not "key-there".
inline void check_in_time(
    const TimedEnd& timed, Store::Duration timeout, const std::vector<std::string>& missing
) {
    INFO("the timeout is " << timeout.count() << " ms, and the call took " << timed.took.count());
    CHECK(timed.end.how == kTimedOut);
    CHECK_FALSE(timed.early);
    const bool soon = timed.took <= timeout + kSoon;
    CHECK(soon);
    INFO("the text: " << timed.end.text);
    for (const std::string& key : missing) {
        INFO("it has to name " << key << ", which has no value");
        const bool named = timed.end.text.find(key) != std::string::npos;
        CHECK(named);
    }
    const bool names_others = timed.end.text.find("key-there") != std::string::npos;
    CHECK_FALSE(names_others);
}

inline void times_out_in_time(const StoreKinds& kinds) {
    for_each_kind(kinds, 250ms, [](const OpenStore& open) {
        const auto store = open();
        store->set("key-there", "");
        const auto wait = [&](const std::vector<std::string>& keys, Store::Duration timeout) {
            return timed_end_of(
                [&] {
                    store->wait(keys, timeout);
                    return "";
                },
                timeout
            );
        };
        {
            INFO("get() of a key without a value, from a store whose timeout is 250 ms");
            const auto get = timed_end_of([&] { return store->get("key-gone"); }, 250ms);
            check_in_time(get, 250ms, {"key-gone"});
        }
        {
            INFO("wait() for three keys, of which one has a value");
            check_in_time(
                wait({"key-gone", "key-there", "key-absent"}, 120ms), 120ms,
                {"key-gone", "key-absent"}
            );
        }
        {
            INFO("a timeout of 0, or less, asks without waiting");
            check_in_time(wait({"key-there", "key-gone"}, 0ms), 0ms, {"key-gone"});
            CHECK(calls_wait(open, {"key-gone"}, -1ms).end().how == kTimedOut);
            CHECK(wait({"key-there"}, 0ms).end.how == kReturned);
            CHECK(wait({"key-there"}, -1ms).end.how == kReturned);
            CHECK(wait({"key-there", "key-there"}, 100ms).end.how == kReturned);
        }
        {
            INFO("wait() for no key: all of none are there");
            CHECK(wait({}, 0ms).end.how == kReturned);
        }
        INFO("after a Timeout the store is as it was");
        CHECK(store->num_keys() == 1);
        open()->set("key-gone", "came");
        CHECK(shown(store->get("key-gone")) == "\"came\"");
    });
}

/// Other keys come all the time: a timeout that begins anew with each of them never ends. One of a month, or for ever, is not over at once.
inline void times_out_amid_others(const StoreKinds& kinds) {
    for_each_kind(kinds, 100ms, [](const OpenStore& open) {
        for (const bool get : {true, false}) {
            INFO(
                (get ? "get()" : "wait()") << " of 100 ms, while others set another key every 5 ms"
            );
            const auto begin = std::chrono::steady_clock::now();
            Caller caller =
                get ? calls_get(open, "key-gone") : calls_wait(open, {"key-gone"}, 100ms);
            const auto writer = open();
            int others = 0;
            while (!caller.has_returned() && std::chrono::steady_clock::now() - begin < 3s) {
                writer->set("other", std::to_string(++others));
                std::this_thread::sleep_for(5ms);
            }
            const bool in_time = caller.has_returned();
            CHECK(in_time);
            CHECK(caller.end().how == kTimedOut);
        }
        for (const Store::Duration timeout : {kMonth, Store::Duration::max()}) {
            const bool is_month = timeout == kMonth;
            const std::string key = is_month ? "key-in-a-month" : "key-at-last";
            INFO(
                "a timeout of " << (is_month ? "a month" : "Duration::max()")
                                << ": wait() goes on until the key comes"
            );
            Caller caller = calls_wait(open, {key}, timeout);
            caller.waits();
            std::this_thread::sleep_for(kWhile);
            CHECK_FALSE(caller.has_returned());
            Caller setter([&key, store = open()] { return store->set(key, ""), ""; });
            CHECK(caller.end().how == kReturned);
            CHECK(setter.end().how == kReturned);
        }
    });
}

/// The ways in which a key gets a value.
struct Bringer {
    std::string name;
    std::function<void(Store&, const std::string& key)> bring;
};

inline const std::vector<Bringer>& bringers() {
    static const std::vector<Bringer> all = {
        {"set", [](Store& store, const std::string& key) { store.set(key, "1"); }},
        {"add", [](Store& store, const std::string& key) { store.add(key, 1); }},
        {"compare_set",
         [](Store& store, const std::string& key) { store.compare_set(key, "", "1"); }}};
    return all;
}

inline void wakes_all(const StoreKinds& kinds) {
    for_each_kind(kinds, kPatient, [](const OpenStore& open) {
        const auto store = open();
        store->set("there", "");
        for (const Bringer& bringer : bringers()) {
            INFO(
                "three calls of get() and two of wait() sleep, and the value comes by "
                << bringer.name
            );
            const std::string key = "by " + bringer.name;
            std::vector<Caller> callers;
            callers.reserve(5);
            for (int i = 0; i < 3; ++i) {
                callers.push_back(calls_get(open, key));
            }
            callers.push_back(calls_wait(open, {key, "there"}));
            callers.push_back(calls_wait(open, {"there", key, key}));
            for (Caller& caller : callers) {
                CHECK(caller.waits());
                CHECK_FALSE(caller.has_returned());
            }
            bringer.bring(*store, key);
            const auto returned = [&] {
                return std::ranges::count_if(callers, [](auto& one) { return one.has_returned(); });
            };
            comes([&] { return returned() == std::ssize(callers); });
            const Comparison all_wake = {
                returned() == std::ssize(callers),
                std::to_string(returned()) + " of 5 return: who wakes the others?"};
            REQUIRE(all_wake);
            for (std::size_t i = 0; i < callers.size(); ++i) {
                const CallEnd end = callers[i].end();
                CHECK(end.how == kReturned);
                CHECK(end.text == (i < 3 ? "1" : ""));
            }
        }
    });
}

/// Who waits for one key is not woken by another, and does not keep the news from others.
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
            Caller& caller = callers[static_cast<std::size_t>(i)];
            CHECK_FALSE(caller.has_returned());
            store->set("key " + std::to_string(i), std::to_string(i));
            const CallEnd end = caller.end();
            CHECK(end.how == kReturned);
            CHECK(end.text == std::to_string(i));
        }
    });
}

inline void waits_for_the_last_key(const StoreKinds& kinds) {
    for_each_kind(kinds, kPatient, [](const OpenStore& open) {
        std::vector<std::string> order = {"a", "b", "c"};
        do {
            const auto store = open();
            for (const std::string& key : order) {
                store->erase(key);
            }
            INFO(
                "wait() for a, b and c, which come in the order " << order[0] << order[1]
                                                                  << order[2]
            );
            Caller caller = calls_wait(open, {"a", "b", "c"});
            caller.waits();
            store->set(order[0], "");
            store->set(order[1], "");
            std::this_thread::sleep_for(kWhile);
            CHECK_FALSE(caller.has_returned());
            store->set(order[2], "");
            CHECK(caller.end().how == kReturned);
        } while (std::ranges::next_permutation(order).found);
    });
}

/// A key that was there, and is gone when the last one comes, does not count.
inline void waits_for_all_at_once(const StoreKinds& kinds) {
    for_each_kind(kinds, kPatient, [](const OpenStore& open) {
        for (const bool swapped : {false, true}) {
            const auto store = open();
            const std::string first = swapped ? "b" : "a";
            const std::string last = swapped ? "a" : "b";
            store->erase(last);
            store->set(first, "");
            INFO(
                "wait() for a and b: " << first << " is there, is erased, then " << last << " comes"
            );
            Caller caller = calls_wait(open, {"a", "b"});
            caller.waits();
            std::this_thread::sleep_for(kWhile);
            store->erase(first);
            store->set(last, "");
            std::this_thread::sleep_for(kWhile);
            CHECK_FALSE(caller.has_returned());
            store->set(first, "");
            CHECK(caller.end().how == kReturned);
        }
    });
}

/// While two calls wait, all others go their way.
inline void keeps_nobody_waiting(const StoreKinds& kinds) {
    for_each_kind(kinds, kPatient, [](const OpenStore& open) {
        open()->set("there", "1");
        Caller get = calls_get(open, "absent");
        Caller wait = calls_wait(open, {"there", "absent"});
        get.waits();
        wait.waits();
        Caller others([store = open()] {
            std::string all = store->get("there");
            all += std::to_string(store->add("there", 1));
            store->set("other", "3");
            store->wait({"other", "there"}, kPatient);
            all += store->get("other");
            all += store->compare_set("other", "3", "4");
            all += store->check({"other", "absent"}) ? "?" : "5";
            all += store->erase("other") ? "6" : "?";
            return all + std::to_string(store->num_keys());
        });
        INFO(
            "while others wait, one calls get, add, set, wait, get, compare_set, check, erase, "
            "num_keys"
        );
        comes([&] { return others.has_returned() || get.has_returned() || wait.has_returned(); });
        const bool went_on = others.has_returned() && !get.has_returned() && !wait.has_returned();
        CHECK(went_on);
        CHECK(others.end().text == "1234561");
        open()->set("absent", "");
        CHECK(get.end().how == kReturned);
        CHECK(wait.end().how == kReturned);
    });
}

}  // namespace dist::harness
