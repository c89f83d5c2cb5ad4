// What every store must do, after PyTorch's test/distributed/test_store.py: a function for each promise, which three tests
// try on their stores.
//
//     const StoreKinds kStores = {{"a HashStore", [](Store::Duration timeout) {
//         const auto store = std::make_shared<HashStore>(timeout);
//         return [store] { return store; };
//     }}};
//     TEST_CASE("a store returns what was set last") { holds_what_is_set(kStores); }
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "course/runtime/seeded.hpp"
#include "tests/04_groups_and_rendezvous/store_races.hpp"
#include "tests/04_groups_and_rendezvous/stores.hpp"
#include "tests/harness/words/errors.hpp"
#include "tests/harness/words/lives.hpp"

namespace dist::harness {

/// All bytes there are.
inline std::string every_byte() {
    std::string bytes;
    for (int byte = 0; byte < 256; ++byte) {
        bytes += static_cast<char>(byte);
    }
    return bytes;
}

/// A key may be anything; "-" and "/" are marks in files of PyTorch's, and a zero ends a string of C.
inline std::vector<std::string> awkward_keys() {
    const std::string zero(1, '\0');
    const std::string number("\2\0\0\0/k", 6);  // as a record of PyTorch's file has it
    const std::string long_key(5000, 'k');
    return {
        "k",    "",     "/",          "-",      "-/",          "/k", "-k",       "-/k",
        "k/",   "K",    "kk",         "k k",    "k\n",         zero, "k" + zero, "k" + zero + "k",
        number, "\xff", every_byte(), long_key, long_key + "x"};
}

inline std::vector<std::string> awkward_values() {
    return {"",  "v", std::string(1, '\0'),       std::string(3, '\0') + "v", "v\n", every_byte(),
            "/", "-", std::string(1'000'001, 'v')};
}

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
    CHECK(timed.took <= timeout + kSoon);
    INFO("the text: " << timed.end.text);
    for (const std::string& key : missing) {
        INFO("it has to name " << key << ", which has no value");
        CHECK(timed.end.text.find(key) != std::string::npos);
    }
    CHECK(timed.end.text.find("key-there") == std::string::npos);
}

/// A store beside a map, through two handles.
struct StoreLife {
    StoreLife(const OpenStore& open, std::uint64_t seed) : handles{open(), open()}, draw(seed) {}

    std::shared_ptr<Store> handles[2];
    std::map<std::string, std::string> model = {};
    std::uint64_t draw;
    std::uint64_t steps = 0;

    std::size_t number(std::size_t limit) { return seeded_bits(draw, steps++) % limit; }
    Store& store() { return *handles[number(2)]; }
    std::string key() {
        const char* const keys[] = {"", "a", "-a", "/a", "ab", "a/b"};
        return keys[number(6)];
    }
    std::string value() {
        const char* const values[] = {"", "0", "12", "-3", "v", "-"};
        return values[number(6)];
    }

    static Comparison told(const std::string& call, Comparison result) {
        result.text = call + ": " + result.text;
        return result;
    }

    Comparison set() {
        const std::string at = key();
        store().set(at, model[at] = value());
        return {};
    }
    Comparison get() {
        const auto at = std::next(model.begin(), static_cast<long>(number(model.size())));
        return told("get " + shown(at->first), same_bytes(store().get(at->first), at->second));
    }
    Comparison compare_set() {
        const std::string at = key();
        const auto found = model.find(at);
        const std::string expected =
            found != model.end() && number(2) == 0 ? found->second : value();
        const std::string desired = value();
        const std::string got = store().compare_set(at, expected, desired);
        if (found == model.end() ? expected.empty() : found->second == expected) {
            model[at] = desired;
        }
        return told(
            "compare_set " + shown(at), same_bytes(got, model.contains(at) ? model[at] : expected)
        );
    }
    Comparison add() {
        std::string at = key();
        while (model.contains(at) && model[at].find_first_of("0123456789") == std::string::npos) {
            at += "x";
        }
        const auto amount = static_cast<std::int64_t>(number(9)) - 4;
        const std::int64_t sum = (model.contains(at) ? std::stol(model[at]) : 0) + amount;
        model[at] = std::to_string(sum);
        return told(
            "add " + shown(at), same_bytes(std::to_string(store().add(at, amount)), model[at])
        );
    }
    Comparison erase() {
        const std::string at = key();
        const bool there = model.erase(at) > 0;
        return {store().erase(at) == there, "erase " + shown(at) + " returned the opposite"};
    }
    Comparison count() {
        return told(
            "num_keys", same_bytes(std::to_string(store().num_keys()), std::to_string(model.size()))
        );
    }
    Comparison check() {
        const std::vector<std::string> keys = {key(), key()};
        const bool there = model.contains(keys[0]) && model.contains(keys[1]);
        const Comparison checked = {store().check(keys) == there, "check() returned the opposite"};
        const CallEnd waited = end_of([&] {
            store().wait(keys, 0ms);
            return "";
        });
        return checked ? Comparison{(waited.how == kReturned) == there, "wait() of no time did the opposite"} : checked;
    }
};

inline void holds_what_is_set(const StoreKinds& kinds) {
    for_each_kind(kinds, 300ms, [](const OpenStore& open) {
        const auto store = open();
        const auto other = open();
        const std::vector<std::string> keys = awkward_keys();
        for (std::size_t i = 0; i < keys.size(); ++i) {
            store->set(keys[i], "first " + std::to_string(i));
        }
        for (std::size_t i = 0; i < keys.size(); i += 2) {
            store->set(keys[i], "second " + std::to_string(i));
        }
        for (std::size_t i = 0; i < keys.size(); ++i) {
            INFO(
                "key " << shown(keys[i]) << ", one of many that differ in a byte or in their length"
            );
            const std::string value = (i % 2 == 0 ? "second " : "first ") + std::to_string(i);
            CHECK(same_bytes(other->get(keys[i]), value));
        }
        CHECK(other->num_keys() == std::ssize(keys));
        for (const std::string& value : awkward_values()) {
            INFO("the value " << shown(value));
            store->set("value", value);
            CHECK(same_bytes(other->get("value"), value));
            CHECK(other->check({"value"}));
        }
    });
}

inline void adds(const StoreKinds& kinds) {
    for_each_kind(kinds, 300ms, [](const OpenStore& open) {
        const auto store = open();
        store->set("other", "value");
        CHECK(store->add("key", 1) == 1);
        CHECK(store->add("key", 2) == 3);
        CHECK(store->add("key", 3) == 6);
        CHECK(value_of(*store, "key") == "\"6\"");
        for (int i = 1; i <= 6; ++i) {
            store->add("counter", i);
        }
        CHECK(value_of(*store, "counter") == "\"21\"");
        INFO("what other handles add and set counts as well");
        CHECK(open()->add("counter", -30) == -9);
        CHECK(value_of(*store, "counter") == "\"-9\"");
        CHECK(store->add("counter", 0) == -9);
        open()->set("counter", "100");
        CHECK(store->add("counter", 1) == 101);
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
        CHECK(store->num_keys() == 5);
        CHECK(value_of(*store, "other") == "\"value\"");
        for (const auto& [digits, sum] : {std::pair{"007", 8}, {"-007", -6}, {"-0", 1}}) {
            INFO("1 is added to " << digits << ": zeros in front are digits as well");
            store->set("digits", digits);
            CHECK(store->add("digits", 1) == sum);
        }
    });
}

inline void adds_to_numbers_only(const StoreKinds& kinds) {
    for_each_kind(kinds, 300ms, [](const OpenStore& open) {
        const auto store = open();
        const std::string key = "key-of-no-number";
        const auto refuses = [&](const std::string& value, std::int64_t amount) {
            store->set(key, value);
            INFO("add(" << key << ", " << amount << ") where the value is " << shown(value));
            CHECK(throws_error([&] { store->add(key, amount); }, {key}));
            Caller next([store, key] { return store->get(key); });
            const bool goes_on = becomes_true([&] { return next.has_returned(); });
            {
                INFO("after an Error others call as ever: has it left a lock behind?");
                REQUIRE(goes_on);
            }
            INFO("and then get() of the same key: its value stays as it was");
            CHECK(same_bytes(next.end().text, value));
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

inline void compares_and_sets(const StoreKinds& kinds) {
    for_each_kind(kinds, 300ms, [](const OpenStore& open) {
        const auto store = open();
        const auto shown_or_none = [](const std::optional<std::string>& value) {
            return value ? shown(*value) : "no value";
        };
        int number = 0;
        std::int64_t keys = 0;
        struct Exchange {
            std::optional<std::string> there;
            std::string expected;
            std::string desired;
            std::string returns;
            std::optional<std::string> then;
        };
        const std::optional<std::string> none;
        const std::string zero_x("0\0x", 3);
        const std::string zero_y("0\0y", 3);
        const std::vector<Exchange> exchanges = {
            {none, "", "new", "new", "new"},
            {none, "", "", "", ""},
            {none, "old", "new", "old", none},
            {none, "new", "new", "new", none},  // returns what is desired, and has stored nothing
            {"old", "old", "new", "new", "new"},
            {"old", "old", "", "", ""},
            {"old", "old", "old", "old", "old"},
            {"old", "ole", "new", "old", "old"},
            {"old", "ol", "new", "old", "old"},
            {"old", "older", "new", "old", "old"},
            {"old", "", "new", "old", "old"},
            {"", "", "new", "new", "new"},
            {"", "old", "new", "", ""},
            {zero_x, zero_y, "new", zero_x, zero_x},
            {zero_x, zero_x, zero_y, zero_y, zero_y}};
        for (const Exchange& one : exchanges) {
            const std::string key = "key " + std::to_string(number++);
            if (one.there) {
                open()->set(key, *one.there);
            }
            INFO(
                "there is " << shown_or_none(one.there) << ", expected " << shown(one.expected)
                            << ", desired " << shown(one.desired)
            );
            CHECK(shown(store->compare_set(key, one.expected, one.desired)) == shown(one.returns));
            CHECK(value_of(*open(), key) == shown_or_none(one.then));
            keys += one.then ? 1 : 0;
            CHECK(store->num_keys() == keys);
        }
    });
}

inline void checks_all_keys(const StoreKinds& kinds) {
    for_each_kind(kinds, 300ms, [](const OpenStore& open) {
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

inline void erases(const StoreKinds& kinds) {
    for_each_kind(kinds, 100ms, [](const OpenStore& open) {
        const auto store = open();
        CHECK_FALSE(store->erase("k"));
        CHECK(store->num_keys() == 0);
        for (const std::string& key : awkward_keys()) {
            store->set(key, "");
        }
        for (const std::string& key : awkward_keys()) {
            INFO("the key " << shown(key));
            const std::int64_t before = store->num_keys();
            CHECK(open()->erase(key));
            CHECK_FALSE(store->check({key}));
            CHECK(store->num_keys() == before - 1);
            CHECK_FALSE(store->erase(key));
        }
        store->set("k", "5");
        CHECK(open()->erase("k"));
        CHECK(end_of([&] { return store->get("k"); }).how == kTimedOut);
        INFO("a key that was erased begins anew");
        CHECK(store->add("k", 1) == 1);
        CHECK(open()->erase("k"));
        CHECK(store->compare_set("k", "1", "new") == "1");
        CHECK_FALSE(store->check({"k"}));
        CHECK(store->compare_set("k", "", "new") == "new");
        CHECK(open()->erase("k"));
        store->set("k", "");
        CHECK(value_of(*store, "k") == "\"\"");
        CHECK(store->num_keys() == 1);
    });
}

inline void knows_no_other_store(const StoreKinds& kinds) {
    on_ranks({1}, [&](const Communicator&) {
        for (const StoreKind& kind : kinds) {
            INFO(kind.name << ", and another such store");
            const auto one = kind.make(100ms)();
            const auto other = kind.make(100ms)();
            one->set("k", "of one");
            CHECK(other->num_keys() == 0);
            other->set("k", "of the other");
            CHECK(value_of(*one, "k") == "\"of one\"");
            CHECK(other->erase("k"));
            CHECK(one->num_keys() == 1);
        }
    });
}

inline void lives_like_a_map(const StoreKinds& kinds) {
    on_ranks({1}, [&](const Communicator&) {
        for (const StoreKind& kind : kinds) {
            INFO(kind.name << ", through two handles");
            lives(
                [&](std::uint64_t draw) {
                    const auto life = std::make_shared<StoreLife>(kind.make(300ms), draw);
                    const auto always = [] { return true; };
                    return std::vector<Step>{
                        {"set", always, [=] { return life->set(); }},
                        {"get", [=] { return !life->model.empty(); }, [=] { return life->get(); }},
                        {"compare_set", always, [=] { return life->compare_set(); }},
                        {"add", always, [=] { return life->add(); }},
                        {"erase", always, [=] { return life->erase(); }},
                        {"num_keys", always, [=] { return life->count(); }},
                        {"check, wait", always, [=] { return life->check(); }}};
                },
                {.lives = 10, .steps = 40}
            );
        }
    });
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
            CHECK(caller.has_returned());
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

inline void wakes_all(const StoreKinds& kinds) {
    for_each_kind(kinds, kPatient, [](const OpenStore& open) {
        const auto store = open();
        store->set("there", "");
        using Bring = std::function<void(const std::string& key)>;
        const std::vector<std::pair<std::string, Bring>> bringers = {
            {"set", [&](const std::string& key) { store->set(key, "1"); }},
            {"add", [&](const std::string& key) { store->add(key, 1); }},
            {"compare_set", [&](const std::string& key) { store->compare_set(key, "", "1"); }}};
        for (const auto& [name, bring] : bringers) {
            INFO("three calls of get() and two of wait() sleep, and the value comes by " << name);
            const std::string key = "by " + name;
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
            bring(key);
            const auto returned = [&] {
                return std::ranges::count_if(callers, [](auto& one) { return one.has_returned(); });
            };
            becomes_true([&] { return returned() == std::ssize(callers); });
            REQUIRE(returned() == std::ssize(callers));
            for (std::size_t i = 0; i < callers.size(); ++i) {
                const CallEnd end = callers[i].end();
                CHECK(end.how == kReturned);
                CHECK(end.text == (i < 3 ? "1" : ""));
            }
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
        becomes_true([&] {
            return others.has_returned() || get.has_returned() || wait.has_returned();
        });
        CHECK((others.has_returned() && !get.has_returned() && !wait.has_returned()));
        CHECK(others.end().text == "1234561");
        open()->set("absent", "");
        CHECK(get.end().how == kReturned);
        CHECK(wait.end().how == kReturned);
    });
}

inline void adds_at_once(const StoreKinds& kinds) {
    for_each_kind(kinds, kPatient, [](const OpenStore& open) {
        constexpr int kTimes = 300;
        auto sums = race<std::vector<std::int64_t>>(open, [](Store& store, int /*number*/) {
            std::vector<std::int64_t> mine(kTimes);
            for (std::int64_t& sum : mine) {
                sum = store.add("counter", 1);
            }
            return mine;
        });
        const auto more = meetings<std::int64_t>(open, [](Store& store, int, int) {
            return store.add("counter", 1);
        });
        sums.insert(sums.end(), more.begin(), more.end());
        std::vector<std::int64_t> expected(kRacers * (kTimes + kMeetings));
        std::iota(expected.begin(), expected.end(), 1);
        INFO(kRacers << " threads add 1, each " << kTimes + kMeetings << " times");
        CHECK(open()->add("counter", 0) == std::ssize(expected));
        std::vector<std::int64_t> all;
        for (const auto& part : sums) {
            all.insert(all.end(), part.begin(), part.end());
        }
        std::ranges::sort(all);
        CHECK((all == expected));
    });
}

inline void compares_and_sets_at_once(const StoreKinds& kinds) {
    for_each_kind(kinds, kPatient, [](const OpenStore& open) {
        static constexpr int kTimes = 100;
        const auto won = meetings<std::string>(open, [](Store& store, int number, int time) {
            const std::string key = "round " + std::to_string(time);
            return store.compare_set(key, "", "thread " + std::to_string(number));
        });
        {
            INFO("all threads want to be the first to set a key, and all are told who was");
            CHECK(std::ranges::all_of(won, [&](auto& one) { return one == won[0]; }));
        }
        open()->set("counter", "0");
        race<int>(open, [](Store& store, int number) {
            const std::string signature = " by thread " + std::to_string(number);
            for (int time = 0; time < kTimes; ++time) {
                std::string value = store.get("counter");
                for (bool done = false; !done;) {
                    const std::string next = std::to_string(std::stoi(value) + 1) + signature;
                    value = store.compare_set("counter", value, next);
                    done = value == next;
                }
            }
            return 0;
        });
        INFO(kRacers << " threads count on by compare_set, each " << kTimes << " times");
        CHECK(std::stoi(open()->get("counter")) == kRacers * kTimes);
    });
}

inline void sees_whole_values(const StoreKinds& kinds) {
    for_each_kind(kinds, kPatient, [](const OpenStore& open) {
        static constexpr int kTimes = 100;
        const std::string first(20'000, 'a');
        open()->set("value", first);
        const auto mixed = race<int>(open, [&](Store& store, int number) {
            int count = 0;
            for (int time = 0; time < kTimes; ++time) {
                if (number % 2 == 0) {
                    const auto letter = static_cast<char>('a' + time % 26);
                    store.set("value", std::string(20'000U + static_cast<unsigned>(time), letter));
                } else {
                    const std::string value = store.get("value");
                    count += value.find_first_not_of(value[0]) == std::string::npos ? 0 : 1;
                }
            }
            return count;
        });
        INFO("threads set long values of one letter each, and others read them: how many were mixed"
        );
        CHECK(std::accumulate(mixed.begin(), mixed.end(), 0) == 0);
    });
}

}  // namespace dist::harness
