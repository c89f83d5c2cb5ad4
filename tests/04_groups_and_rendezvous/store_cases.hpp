// What every store must do with its values, after PyTorch's test/distributed/test_store.py. What waits stands
// in store_waits.hpp, what runs at the same time in store_races.hpp, random calls in store_lives.hpp. Each function is the body of a TEST_CASE:
//
//     const StoreKinds kStores = {{"a HashStore", [](Store::Duration timeout) {
//         const auto store = std::make_shared<HashStore>(timeout);
//         return [store] { return store; };
//     }}};
//     TEST_CASE("a store returns what was set last") { holds_what_is_set(kStores); }
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/04_groups_and_rendezvous/stores.hpp"

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
            const Comparison is_last = same_bytes(other->get(keys[i]), value);
            CHECK(is_last);
        }
        CHECK(other->num_keys() == std::ssize(keys));
        for (const std::string& value : awkward_values()) {
            INFO("the value " << shown(value));
            store->set("value", value);
            const Comparison is_value = same_bytes(other->get("value"), value);
            CHECK(is_value);
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

/// add() refuses to add to this, names the key, and changes nothing; all goes on.
inline void check_not_added(
    const std::shared_ptr<Store>& store, const std::string& value, std::int64_t amount
) {
    const std::string key = "key-of-no-number";
    store->set(key, value);
    INFO("add(\"" << key << "\", " << amount << ") where the value is " << shown(value));
    const CallEnd end = end_of([&] { return std::to_string(store->add(key, amount)); });
    CHECK(end.how == kError);
    const Comparison named = {
        end.text.find(key) != std::string::npos, "the text does not name the key: " + end.text};
    CHECK(named);
    Caller next([store, key] { return store->get(key); });
    const bool goes_on = comes([&] { return next.has_returned(); }, 2s);
    {
        INFO("after an Error others call as ever: has it left a lock behind?");
        REQUIRE(goes_on);
    }
    INFO("and then get() of the same key: its value stays as it was");
    const Comparison is_unchanged = same_bytes(next.end().text, value);
    CHECK(is_unchanged);
}

inline void adds_to_numbers_only(const StoreKinds& kinds) {
    for_each_kind(kinds, 300ms, [](const OpenStore& open) {
        const auto store = open();
        for (const std::string text :
             {"", "x", "7x", "x7", " 7", "7 ", "7\n", "+7", "-", "--7", "0x7", "7.0", "7e2",
              "9223372036854775808", "-9223372036854775809", "100000000000000000000"}) {
            check_not_added(store, text, 0);
        }
        check_not_added(store, std::string("7\0", 2), 0);
        check_not_added(store, "9223372036854775807", 1);
        check_not_added(store, "-9223372036854775808", -1);
        check_not_added(store, "9223372036854775000", std::numeric_limits<std::int64_t>::max());
        CHECK(open()->add("key", 1) == 1);
    });
}

/// What compare_set() finds and leaves.
struct Exchange {
    std::optional<std::string> there;
    std::string expected;
    std::string desired;
    std::string returns;
    std::optional<std::string> then;
};

inline std::vector<Exchange> exchanges() {
    const std::optional<std::string> none;
    const std::string zero_x("0\0x", 3);
    const std::string zero_y("0\0y", 3);
    return {
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
}

inline void compares_and_sets(const StoreKinds& kinds) {
    for_each_kind(kinds, 300ms, [](const OpenStore& open) {
        const auto store = open();
        const auto shown_or_none = [](const std::optional<std::string>& value) {
            return value ? shown(*value) : "no value";
        };
        int number = 0;
        std::int64_t keys = 0;
        for (const Exchange& one : exchanges()) {
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

}  // namespace dist::harness
