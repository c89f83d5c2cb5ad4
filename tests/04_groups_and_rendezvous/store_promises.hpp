// What every store must do, after PyTorch's test/distributed/test_store.py. A test that includes this tries it on its stores.
#pragma once

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/04_groups_and_rendezvous/stores.hpp"
#include "tests/harness/words/errors.hpp"
#include "tests/harness/words/interleaved.hpp"
#include "tests/harness/words/text.hpp"

namespace dist::harness {

/// Runs `body` for an empty store of each kind, whose get() waits for `timeout`.
inline void each_store(Store::Duration timeout, const std::function<void(const OpenStore&)>& body) {
    for (const StoreKind& kind : stores_to_try()) {
        INFO(kind.name);
        on_ranks({1}, [&](const Communicator&) { body(kind.make(timeout)); });
    }
}

/// A key may be anything; "-" and "/" are marks in files of PyTorch's, and a zero ends a string of C.
inline std::vector<std::string> awkward_keys() {
    const std::string zero(1, '\0');
    std::string every_byte(256, '\0');
    std::iota(every_byte.begin(), every_byte.end(), '\0');
    const std::string number("\2\0\0\0/k", 6);  // as a record of PyTorch's file has it
    const std::string long_key(5000, 'k');
    return {"k",    "",     "/",        "-",      "-/",          "/k", "-k",       "-/k",
            "k/",   "K",    "kk",       "k k",    "k\n",         zero, "k" + zero, "k" + zero + "k",
            number, "\xff", every_byte, long_key, long_key + "x"};
}

constexpr int kRacers = 6;

/// So often do threads meet: each time most of them come between two steps of another one.
constexpr int kMeetings = 30;

/// Runs `work(store, number, meeting)` in several threads at the same time, each with a handle of its own, and returns what they
/// returned, by number. What one throws is thrown here.
template <class Work>
auto race(const OpenStore& open, const Work& work) {
    using Result = std::invoke_result_t<Work, Store&, int, std::barrier<>&>;
    std::barrier meeting(kRacers);
    std::vector<std::future<Result>> racers;
    for (int number = 0; number < kRacers; ++number) {
        racers.push_back(std::async(std::launch::async, [&, number, store = open()] {
            meeting.arrive_and_wait();
            try {
                return work(*store, number, meeting);
            } catch (...) {
                meeting.arrive_and_drop();  // the others wait for it no more
                throw;
            }
        }));
    }
    std::vector<Result> results;
    for (std::future<Result>& racer : racers) {
        results.push_back(racer.get());
    }
    return results;
}

/// What `call(store, number, time)` returned in each of so many meetings, by thread.
template <class Call>
auto meetings(const OpenStore& open, const Call& call) {
    using Result = std::invoke_result_t<Call, Store&, int, int>;
    const Interleaved threads;
    return race(open, [&](Store& store, int number, std::barrier<>& meeting) {
        std::vector<Result> results;
        for (int time = 0; time < kMeetings; ++time) {
            meeting.arrive_and_wait();
            results.push_back(call(store, number, time));
        }
        return results;
    });
}

TEST_CASE("a store returns what was set last, for keys and values of any bytes") {
    each_store(300ms, [](const OpenStore& open) {
        const auto store = open();
        const auto other = open();
        const std::vector<std::string> keys = awkward_keys();
        for (std::size_t i = 0; i < keys.size(); ++i) {
            store->set(keys[i], text("first ", i));
        }
        for (std::size_t i = 0; i < keys.size(); i += 2) {
            store->set(keys[i], text("second ", i));
        }
        for (std::size_t i = 0; i < keys.size(); ++i) {
            INFO("key " << shown(keys[i]) << ", one of many that differ in a byte or a length");
            CHECK(same_bytes(other->get(keys[i]), text(i % 2 == 0 ? "second " : "first ", i)));
        }
        CHECK(other->num_keys() == std::ssize(keys));
        const std::string zero("\0\0v", 3);
        const std::string long_one(1'000'001, 'v');
        for (const std::string& value :
             std::vector<std::string>{"", "v", zero, "v\n", "/", "-", "\xff", long_one}) {
            INFO("the value " << shown(value));
            store->set("value", value);
            CHECK(same_bytes(other->get("value"), value));
            CHECK(other->check({"value"}));
        }
    });
}

TEST_CASE("add counts in decimal text, up to the limits of 64 bits") {
    each_store(300ms, [](const OpenStore& open) {
        const auto store = open();
        CHECK(store->add("key", 1) == 1);
        CHECK(store->add("key", 2) == 3);
        INFO("what other handles add and set counts as well");
        CHECK(open()->add("key", -12) == -9);
        CHECK(value_of(*store, "key") == "\"-9\"");
        open()->set("key", "100");
        CHECK(store->add("key", 1) == 101);
        CHECK(store->add("nothing", 0) == 0);
        CHECK(value_of(*store, "nothing") == "\"0\"");
        constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
        constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
        CHECK(store->add("large", kMost) == kMost);
        CHECK(value_of(*store, "large") == "\"9223372036854775807\"");
        CHECK(store->add("large", kLeast) == -1);
        CHECK(store->add("large", kLeast + 1) == kLeast);
        CHECK(value_of(*open(), "large") == "\"-9223372036854775808\"");
        CHECK(store->add("large", 1) == kLeast + 1);
        CHECK(store->num_keys() == 3);
        for (const auto& [digits, sum] : {std::pair{"007", 8}, {"-007", -6}, {"-0", 1}}) {
            INFO("1 is added to " << digits << ": zeros in front are digits as well");
            store->set("digits", digits);
            CHECK(store->add("digits", 1) == sum);
        }
    });
}

TEST_CASE("add refuses what is no number and what does not fit, and changes nothing then") {
    each_store(300ms, [](const OpenStore& open) {
        const auto store = open();
        const std::string key = "key-of-no-number";
        const auto refuses = [&](const std::string& value, std::int64_t amount) {
            store->set(key, value);
            INFO("add(" << key << ", " << amount << ") where the value is " << shown(value));
            CHECK(throws_error([&] { store->add(key, amount); }, {key}));
            Caller next([store, key] { return store->get(key); });
            INFO("get() after the Error, whose value stays: has it left a lock behind?");
            const CallEnd end = next.end();
            REQUIRE(end.how == kReturned);
            CHECK(same_bytes(end.text, value));
        };
        for (const std::string text :
             {"", "x", "7x", "x7", " 7", "7 ", "7\n", "+7", "-", "--7", "0x7", "7.0", "7e2",
              "9223372036854775808", "-9223372036854775809", "100000000000000000000"}) {
            refuses(text, 0);
        }
        refuses(std::string("7\0", 2), 0);
        refuses("9223372036854775807", 1);
        refuses("-9223372036854775808", -1);
        refuses("9223372036854775000", std::numeric_limits<std::int64_t>::max());
        CHECK(open()->add("key", 1) == 1);
    });
}

TEST_CASE("compare_set stores only where it finds what it expects, and returns what stands there") {
    each_store(300ms, [](const OpenStore& open) {
        const auto store = open();
        const auto shown_or_none = [](const std::optional<std::string>& value) {
            return value ? shown(*value) : "no value";
        };
        const std::optional<std::string> none;
        const std::string zero_x("0\0x", 3);
        const std::string zero_y("0\0y", 3);
        using Exchange = std::tuple<
            std::optional<std::string>, std::string, std::string, std::optional<std::string>>;
        const std::vector<Exchange> exchanges = {
            {none, "", "new", "new"},        {none, "", "", ""},
            {none, "old", "new", none},      {none, "new", "new", none},
            {"old", "old", "new", "new"},    {"old", "old", "", ""},
            {"old", "ole", "new", "old"},    {"old", "ol", "new", "old"},
            {"old", "older", "new", "old"},  {"old", "", "new", "old"},
            {"", "", "new", "new"},          {"", "old", "new", ""},
            {zero_x, zero_y, "new", zero_x}, {zero_x, zero_x, zero_y, zero_y}};
        for (const auto& [there, expected, desired, then] : exchanges) {
            const std::shared_ptr<Store> other = open();
            other->erase("key");
            if (there) {
                other->set("key", *there);
            }
            INFO(
                "there is " << shown_or_none(there) << ", expected " << shown(expected)
                            << ", desired " << shown(desired)
            );
            const std::string got = store->compare_set("key", expected, desired);
            CHECK(shown(got) == shown(then.value_or(expected)));
            CHECK(value_of(*other, "key") == shown_or_none(then));
            CHECK(store->num_keys() == (then ? 1 : 0));
        }
    });
}

TEST_CASE("check asks for all keys, and makes none") {
    each_store(300ms, [](const OpenStore& open) {
        const auto store = open();
        CHECK(store->num_keys() == 0);
        CHECK(store->check({}));
        CHECK_FALSE(store->check({""}));
        store->set("a", "");
        open()->add("b", 0);
        CHECK(store->check({"a"}));
        CHECK(store->check({"b", "a", "b"}));
        CHECK_FALSE(store->check({"a", "c"}));
        CHECK_FALSE(store->check({"c", "a"}));
        CHECK_FALSE(store->check({"a", "c", "b"}));
        INFO("to ask for a key is not to make it");
        CHECK_FALSE(store->check({"c"}));
        CHECK(store->num_keys() == 2);
    });
}

TEST_CASE("an erased key is gone, and may begin anew") {
    each_store(100ms, [](const OpenStore& open) {
        const auto store = open();
        CHECK_FALSE(store->erase("k"));
        CHECK(store->num_keys() == 0);
        std::vector<std::string> keys = awkward_keys();
        for (const std::string& key : keys) {
            store->set(key, "");
        }
        for (; !keys.empty(); keys.pop_back()) {
            INFO("the key " << shown(keys.back()));
            CHECK(open()->erase(keys.back()));
            CHECK(store->num_keys() == std::ssize(keys) - 1);
            CHECK_FALSE(store->check({keys.back()}));
            CHECK_FALSE(store->erase(keys.back()));
        }
        store->set("k", "5");
        CHECK(open()->erase("k"));
        CHECK(end_of([&] { return store->get("k"); }).how == kTimedOut);
        INFO("a key that was erased begins anew");
        CHECK(store->add("k", 1) == 1);
    });
}

TEST_CASE("two stores know nothing of each other") {
    for (const StoreKind& kind : stores_to_try()) {
        on_ranks({1}, [&](const Communicator&) {
            INFO(kind.name << ", and another such store");
            const auto one = kind.make(100ms)();
            const auto other = kind.make(100ms)();
            one->set("k", "of one");
            CHECK(other->num_keys() == 0);
            other->set("k", "of the other");
            CHECK(value_of(*one, "k") == "\"of one\"");
            CHECK(other->erase("k"));
            CHECK(one->num_keys() == 1);
        });
    }
}

TEST_CASE("a call that waits in vain ends after its timeout, not before, and soon after") {
    each_store(20ms, [](const OpenStore& open) {
        const auto store = open();
        store->set("key-there", "");
        for (const bool get : {true, false}) {
            CallEnd end;
            int calls = 0;
            const auto begin = std::chrono::steady_clock::now();
            auto took = begin - begin;
            for (; calls < 10 && took < 5s; ++calls) {
                end = end_of([&] {
                    return get ? store->get("key-gone")
                               : (store->wait({"key-gone", "key-there", "key-absent"}, 20ms), "");
                });
                took = std::chrono::steady_clock::now() - begin;
            }
            INFO(
                calls << " of 10 calls of " << (get ? "get()" : "wait()")
                      << text(" in vain, each with a timeout of 20 ms, took ", took)
            );
            CHECK(calls == 10);
            CHECK(took >= calls * 20ms);
            CHECK(end.how == kTimedOut);
            INFO("it has to name the keys that have no value, and no other one: " << end.text);
            CHECK(end.text.find("key-gone") != std::string::npos);
            CHECK((get || end.text.find("key-absent") != std::string::npos));
            CHECK(end.text.find("key-there") == std::string::npos);
        }
        for (const Store::Duration timeout : {0ms, -1ms}) {
            INFO("a timeout of 0, or less, asks without waiting");
            Caller caller = calls_wait(open, {"key-there", "key-gone"}, timeout);
            CHECK(caller.end().how == kTimedOut);
            store->wait({"key-there", "key-there"}, timeout);
            store->wait({}, timeout);
        }
        INFO("after a Timeout the store is as it was");
        CHECK(store->num_keys() == 1);
    });
}

TEST_CASE("a timeout ends a wait also while other keys come, and not before its time is over") {
    each_store(500ms, [](const OpenStore& open) {
        Caller callers[] = {calls_get(open, "key-gone"), calls_wait(open, {"key-gone"}, 500ms)};
        const auto begin = std::chrono::steady_clock::now();
        const auto writer = open();
        const auto all_have_returned = [&] {
            return callers[0].has_returned() && callers[1].has_returned();
        };
        while (!all_have_returned() && std::chrono::steady_clock::now() - begin < 4s) {
            writer->set("other", "");
            std::this_thread::sleep_for(5ms);
        }
        INFO("get() and wait() of 500 ms, while others set another key every 5 ms");
        CHECK(all_have_returned());
        CHECK(callers[0].end().how == kTimedOut);
        CHECK(callers[1].end().how == kTimedOut);
        for (const Store::Duration timeout : {Store::Duration(24h * 30), Store::Duration::max()}) {
            const std::string key = timeout < Store::Duration::max() ? "a month" : "ever";
            INFO("a timeout of " << key << ": wait() goes on until the key comes");
            Caller caller = calls_wait(open, {key}, timeout);
            caller.waits();
            std::this_thread::sleep_for(kWhile);
            CHECK_FALSE(caller.has_returned());
            open()->set(key, "");
            CHECK(caller.end().how == kReturned);
        }
    });
}

TEST_CASE("a value wakes all that wait for it, whichever call brings it") {
    each_store(kPatient, [](const OpenStore& open) {
        const auto store = open();
        store->set("there", "");
        const std::pair<std::string, std::function<void(const std::string& key)>> bringers[] = {
            {"set", [&](const std::string& key) { store->set(key, "1"); }},
            {"add", [&](const std::string& key) { store->add(key, 1); }},
            {"compare_set", [&](const std::string& key) { store->compare_set(key, "", "1"); }}};
        for (const auto& [name, bring] : bringers) {
            INFO("three calls of get() and two of wait() sleep, and the value comes by " << name);
            const std::string key = "by " + name;
            std::vector<Caller> callers;
            for (int i = 0; i < 3; ++i) {
                callers.push_back(calls_get(open, key));
            }
            callers.push_back(calls_wait(open, {key, "there"}));
            callers.push_back(calls_wait(open, {"there", key, key}));
            for (Caller& caller : callers) {
                CHECK(caller.waits());
            }
            Caller others([store] {
                for (const StoreCall& call : store_calls()) {
                    store->set("key", "1");
                    call.make(*store);
                }
                return "";
            });
            {
                INFO("while they wait: get, add, set, compare_set, check, wait, erase and num_keys"
                );
                REQUIRE(others.end().how == kReturned);
            }
            CHECK(std::ranges::none_of(callers, &Caller::has_returned));
            bring(key);
            for (std::size_t i = 0; i < callers.size(); ++i) {
                const CallEnd end = callers[i].end();
                REQUIRE(end.how == kReturned);
                CHECK(end.text == (i < 3 ? "1" : ""));
            }
        }
    });
}

TEST_CASE("wait returns when all keys are there at the same time") {
    each_store(kPatient, [](const OpenStore& open) {
        for (const bool swapped : {false, true}) {
            const auto store = open();
            const std::string one = swapped ? "b" : "a";
            const std::string two = swapped ? "a" : "b";
            store->erase(two);
            store->set(one, "");
            INFO("wait() for a and b: " << one << " is there, is erased, then " << two << " comes");
            Caller caller = calls_wait(open, {"a", "b"});
            caller.waits();
            std::this_thread::sleep_for(kWhile);
            CHECK_FALSE(caller.has_returned());
            store->erase(one);
            store->set(two, "");
            std::this_thread::sleep_for(kWhile);
            CHECK_FALSE(caller.has_returned());
            store->set(one, "");
            CHECK(caller.end().how == kReturned);
        }
    });
}

TEST_CASE("threads that add at the same time get sums of their own") {
    each_store(kPatient, [](const OpenStore& open) {
        const auto parts = meetings(open, [](Store& s, int, int) { return s.add("counter", 1); });
        std::vector<std::int64_t> sums;
        for (const auto& part : parts) {
            sums.insert(sums.end(), part.begin(), part.end());
        }
        std::ranges::sort(sums);
        std::vector<std::int64_t> expected(kRacers * kMeetings);
        std::iota(expected.begin(), expected.end(), 1);
        INFO(kRacers << " threads add 1, each " << kMeetings << " times");
        CHECK(open()->add("counter", 0) == std::ssize(expected));
        CHECK((sums == expected));
    });
}

TEST_CASE("of threads that compare and set at the same time, one wins") {
    each_store(kPatient, [](const OpenStore& open) {
        const auto won = meetings(open, [](Store& store, int number, int time) {
            return store.compare_set(text("round ", time), "", text("thread ", number));
        });
        INFO("all threads want to be the first to set a key, and all are told who was");
        CHECK(std::ranges::all_of(won, [&](auto& one) { return one == won[0]; }));
    });
}

TEST_CASE("of threads that erase a key at the same time, one has erased it") {
    each_store(kPatient, [](const OpenStore& open) {
        const auto store = open();
        for (int time = 0; time < kMeetings; ++time) {
            store->set(text("key ", time), "");
        }
        const auto erased = meetings(open, [&](Store& mine, int, int time) {
            return mine.erase(text("key ", time)) ? 1 : 0;
        });
        std::vector<int> count(kMeetings);
        for (const std::vector<int>& one : erased) {
            std::ranges::transform(count, one, count.begin(), std::plus());
        }
        INFO("all threads erase " << kMeetings << " keys, and each key is erased by one");
        CHECK(count == std::vector<int>(kMeetings, 1));
        CHECK(store->num_keys() == 0);
    });
}

TEST_CASE("get returns a value also where it is erased at once") {
    for (const StoreKind& kind : stores_to_try()) {
        on_ranks({1}, [&](const Communicator&) {
            const Interleaved threads;
            std::atomic<bool> over = false;
            std::atomic<int> gets = 0;
            const auto wrong = race(kind.make(kPatient), [&](Store& store, int number, auto&) {
                int count = 0;
                for (; number > 0 && !over; ++gets) {
                    const std::string value = store.get("value");
                    count += value == "v" || (kind.gets_in_two_steps && value.empty()) ? 0 : 1;
                    std::this_thread::sleep_for(50us);
                }
                for (int time = 0; number == 0 && time < kMeetings; ++time) {
                    store.set("value", "v");
                    becomes_true([&, all = gets + 2 * kRacers] { return gets >= all; }, 1000ms);
                    count += store.erase("value") ? 0 : 1;
                }
                over = over || number == 0;
                store.set("value", "v");
                return count;
            });
            INFO(kind.name << ": one sets \"v\" and erases it, again and again, and others get it");
            CHECK(wrong == std::vector<int>(kRacers));
        });
    }
}

TEST_CASE("check looks at all keys at one moment") {
    each_store(kPatient, [](const OpenStore& open) {
        open()->set("there", "");
        const Interleaved threads;
        std::atomic<int> done = 0;
        const auto both = race(open, [&](Store& store, int number, auto&) {
            int count = 0;
            for (int time = 0; number > 0 && time < 2 * kMeetings && count == 0; ++time) {
                count += store.check({"first", "there", "last"}) ? 1 : 0;
            }
            done += number > 0 ? 1 : 0;
            while (number == 0 && done < kRacers - 1) {
                for (const std::string key : {"first", "last"}) {
                    store.set(key, "");
                    store.erase(key);
                }
            }
            return count;
        });
        INFO("of two keys one comes when the other one has gone: check() says that both are there");
        CHECK(both == std::vector<int>(kRacers));
    });
}

TEST_CASE("no call sees half of a value") {
    each_store(kPatient, [](const OpenStore& open) {
        open()->set("value", std::string(20'000, 'a'));
        const auto mixed = race(open, [](Store& store, int number, auto&) {
            int count = 0;
            for (int time = 0; time < 100; ++time) {
                if (number % 2 == 0) {
                    const auto letter = static_cast<char>('a' + time % 26);
                    store.set("value", std::string(20'000U + time, letter));
                } else {
                    const std::string value = store.get("value");
                    count += value.find_first_not_of(value[0]) == std::string::npos ? 0 : 1;
                }
            }
            return count;
        });
        INFO("threads set long values of one letter each, and others read them");
        CHECK(mixed == std::vector<int>(kRacers));
    });
}

}  // namespace dist::harness
