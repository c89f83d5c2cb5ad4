// What every store must do, after PyTorch's test/distributed/test_store.py. A test that includes this tries it on its stores.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
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

/// "Soon after" a timeout: a poll, a message, and time to spare.
constexpr Store::Duration kSoon = 150ms;

/// The call throws a Timeout after its time, not before, and soon after; the text has all of `missing`, and not "key-there".
inline void check_in_time(
    Store::Duration timeout,
    const std::vector<std::string>& missing,
    const std::function<void()>& call
) {
    constexpr int kTries = 4;  // the machine may be busy
    CallEnd end;
    bool early = false;
    auto took = std::chrono::steady_clock::duration::max();
    for (int i = 0; i < kTries && took > timeout + kSoon; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        end = end_of([&] { return call(), ""; });
        took = std::chrono::steady_clock::now() - begin;
        early = early || took < timeout;
    }
    INFO(text("the timeout is ", timeout, ", and the call took ", took));
    CHECK(end.how == kTimedOut);
    CHECK_FALSE(early);
    CHECK((took <= timeout + kSoon));
    INFO("the text: " << end.text);
    for (const std::string& key : missing) {
        INFO("it has to name " << key << ", which has no value");
        CHECK(end.text.find(key) != std::string::npos);
    }
    CHECK(end.text.find("key-there") == std::string::npos);
}

/// What a store is to one thread.
class MapStore : public Store {
  public:
    void set(const std::string& key, const std::string& value) override { values_[key] = value; }
    std::string get(const std::string& key) override { return values_.at(key); }
    std::int64_t add(const std::string& key, std::int64_t amount) override {
        const std::string value = check({key}) ? get(key) : "0";
        if (value.find_first_of("0123456789") == std::string::npos) {
            throw Error(value + " is no number");
        }
        const std::int64_t sum = std::stol(value) + amount;
        set(key, std::to_string(sum));
        return sum;
    }
    std::string compare_set(
        const std::string& key, const std::string& expected, const std::string& desired
    ) override {
        const bool is_there = check({key});
        if (is_there ? get(key) == expected : expected.empty()) {
            set(key, desired);
            return desired;
        }
        return is_there ? get(key) : expected;
    }
    bool check(const std::vector<std::string>& keys) override {
        return std::ranges::all_of(keys, [&](auto& key) { return values_.contains(key); });
    }
    void wait(const std::vector<std::string>& keys, Duration /*timeout*/) override {
        if (!check(keys)) {
            throw Timeout("a key has no value");
        }
    }
    bool erase(const std::string& key) override { return values_.erase(key) > 0; }
    std::int64_t num_keys() override { return std::ssize(values_); }

  private:
    std::map<std::string, std::string> values_;
};

constexpr int kRacers = 6;

/// So often do threads meet: each time most of them come between two steps of another one.
constexpr int kMeetings = 30;

/// Where threads meet, again and again: each goes on when all have come, or when one never will.
class Meeting {
  public:
    void comes() {
        const int all = (number_++ / kRacers + 1) * kRacers;
        while (number_ < all && !is_over_) {
            std::this_thread::yield();
        }
    }
    void ends() { is_over_ = true; }

  private:
    std::atomic<int> number_ = 0;
    std::atomic<bool> is_over_ = false;
};

/// Runs `work(store, number, meeting)` in several threads at the same time, each with a handle of its own, and returns what they
/// returned, by number. What one throws is thrown here.
template <class Work>
auto race(const OpenStore& open, const Work& work) {
    using Result = std::invoke_result_t<Work, Store&, int, Meeting&>;
    Meeting meeting;
    std::vector<std::future<Result>> racers;
    for (int number = 0; number < kRacers; ++number) {
        racers.push_back(std::async(std::launch::async, [&, number, store = open()] {
            meeting.comes();
            try {
                return work(*store, number, meeting);
            } catch (...) {
                meeting.ends();
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
    return race(open, [&](Store& store, int number, Meeting& meeting) {
        std::vector<Result> results;
        for (int time = 0; time < kMeetings; ++time) {
            meeting.comes();
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
            INFO(
                "key " << shown(keys[i]) << ", one of many that differ in a byte or in their length"
            );
            const std::string value = text(i % 2 == 0 ? "second " : "first ", i);
            CHECK(same_bytes(other->get(keys[i]), value));
        }
        CHECK(other->num_keys() == std::ssize(keys));
        for (std::string value : {"", "v", "zero", "v\n", "/", "-", "\xff", "long"}) {
            value = value == "zero" ? std::string("\0\0v", 3) : value;
            value = value == "long" ? std::string(1'000'001, 'v') : value;
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
        store->set("other", "value");
        CHECK(store->add("key", 1) == 1);
        CHECK(store->add("key", 2) == 3);
        CHECK(value_of(*store, "key") == "\"3\"");
        INFO("what other handles add and set counts as well");
        CHECK(open()->add("key", -12) == -9);
        CHECK(value_of(*store, "key") == "\"-9\"");
        CHECK(store->add("key", 0) == -9);
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
        CHECK(store->num_keys() == 4);
        CHECK(value_of(*store, "other") == "\"value\"");
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
            const std::shared_ptr<Store> other = open();
            other->erase("key");
            if (one.there) {
                other->set("key", *one.there);
            }
            INFO(
                "there is " << shown_or_none(one.there) << ", expected " << shown(one.expected)
                            << ", desired " << shown(one.desired)
            );
            const std::string got = store->compare_set("key", one.expected, one.desired);
            CHECK(shown(got) == shown(one.returns));
            CHECK(value_of(*other, "key") == shown_or_none(one.then));
            CHECK(store->num_keys() == (one.then ? 1 : 0));
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

TEST_CASE("random calls do what they do to a map") {
    constexpr const char* kKeys[] = {"", "a", "-a", "/a", "ab", "a/b"};
    constexpr const char* kValues[] = {"", "0", "12", "-3", "v", "-"};
    std::uint64_t draws = 0;
    const auto draw = [&](const auto& from) -> const auto& {
        return from[seeded_bits(seed(), draws++) % std::size(from)];
    };
    for (int life = 0; life < 10; ++life) {
        each_store(300ms, [&](const OpenStore& open) {
            const std::shared_ptr<Store> handles[] = {open(), open()};
            MapStore map;
            std::string calls;
            bool is_right = true;
            for (int step = 0; step < 40 && is_right; ++step) {
                const std::string key = draw(kKeys);
                const std::vector<std::string> keys = {key, draw(kKeys)};
                const std::string expected = draw(kValues);
                const std::string value = draw(kValues);
                using Call = std::function<std::string(Store&)>;
                const std::vector<std::pair<std::string, Call>> all = {
                    {text("set(\"", key, "\", \"", value, "\")"),
                     [&](Store& store) { return store.set(key, value), ""; }},
                    {text("check({\"", key, "\"}) and get"),
                     [&](Store& store) { return value_of(store, key); }},
                    {text("compare_set(\"", key, "\", \"", expected, "\", \"", value, "\")"),
                     [&](Store& store) { return shown(store.compare_set(key, expected, value)); }},
                    {text("add(\"", key, "\", ", step - 20, ")"),
                     [&](Store& store) { return text(store.add(key, step - 20)); }},
                    {text("erase(\"", key, "\")"),
                     [&](Store& store) { return text(store.erase(key)); }},
                    {text("check({", keys, "})"),
                     [&](Store& store) { return text(store.check(keys)); }},
                    {text("wait({", keys, "}, 0)"),
                     [&](Store& store) { return store.wait(keys, 0ms), ""; }},
                    {"num_keys()", [&](Store& store) { return text(store.num_keys()); }}};
                const auto& [name, call] = draw(all);
                const auto end = [&](Store& store) {
                    const CallEnd how = end_of([&] { return call(store); });
                    return how.how == kReturned ? how.text : how.how;
                };
                const std::string right = end(map);
                const std::string got = end(*draw(handles));
                is_right = got == right;
                calls +=
                    text("\n  ", name, ": ", got, is_right ? "" : ", in the place of " + right);
            }
            INFO("calls of two threads' handles, and what they returned:" << calls);
            CHECK(is_right);
        });
    }
}

TEST_CASE("a call that waits in vain ends after its timeout, not before, and soon after") {
    each_store(250ms, [](const OpenStore& open) {
        const auto store = open();
        store->set("key-there", "");
        {
            INFO("get() of a key without a value, from a store whose timeout is 250 ms");
            check_in_time(250ms, {"key-gone"}, [&] { store->get("key-gone"); });
        }
        {
            INFO("wait() for three keys, of which one has a value");
            check_in_time(120ms, {"key-gone", "key-absent"}, [&] {
                store->wait({"key-gone", "key-there", "key-absent"}, 120ms);
            });
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
        open()->set("key-gone", "came");
        CHECK(value_of(*store, "key-gone") == "\"came\"");
    });
}

TEST_CASE("a timeout ends a wait also while other keys come, and not before its time is over") {
    each_store(100ms, [](const OpenStore& open) {
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
            const std::string key = timeout == kMonth ? "a month" : "Duration::max()";
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
        using Bring = std::function<void(const std::string& key)>;
        const std::vector<std::pair<std::string, Bring>> bringers = {
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
                CHECK_FALSE(caller.has_returned());
            }
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
            CHECK_FALSE(caller.has_returned());
            store->erase(first);
            store->set(last, "");
            std::this_thread::sleep_for(kWhile);
            CHECK_FALSE(caller.has_returned());
            store->set(first, "");
            CHECK(caller.end().how == kReturned);
        }
    });
}

TEST_CASE("a call that waits keeps no other one waiting") {
    each_store(kPatient, [](const OpenStore& open) {
        Caller get = calls_get(open, "absent");
        Caller wait = calls_wait(open, {"key", "absent"});
        get.waits();
        wait.waits();
        Caller others([store = open()] {
            for (const StoreCall& call : store_calls()) {
                store->set("key", "1");
                call.make(*store);
            }
            return "";
        });
        INFO("while others wait, one calls get, add, set, compare_set, check, erase, num_keys");
        CHECK(others.end().how == kReturned);
        CHECK_FALSE(get.has_returned());
        CHECK_FALSE(wait.has_returned());
        open()->set("absent", "");
        CHECK(get.end().how == kReturned);
        CHECK(wait.end().how == kReturned);
    });
}

TEST_CASE("threads that add at the same time get sums of their own") {
    each_store(kPatient, [](const OpenStore& open) {
        const auto parts =
            meetings(open, [](Store& store, int, int) { return store.add("counter", 1); });
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
        int count = 0;
        for (const std::vector<int>& one : erased) {
            count = std::accumulate(one.begin(), one.end(), count);
        }
        INFO("all threads erase " << kMeetings << " keys, and each key is erased by one");
        CHECK(count == kMeetings);
        CHECK(store->num_keys() == 0);
    });
}

TEST_CASE("get returns a value also where it is erased at once") {
    for (const StoreKind& kind : stores_to_try()) {
        on_ranks({1}, [&](const Communicator&) {
            const Interleaved threads;
            std::atomic<bool> over = false;
            std::atomic<int> gets = 0;
            const auto got = race(kind.make(kPatient), [&](Store& store, int number, Meeting&) {
                int wrong = 0;
                for (; number > 0 && !over; ++gets) {
                    const std::string value = store.get("value");
                    wrong += value == "v" || (kind.gets_in_two_steps && value.empty()) ? 0 : 1;
                    std::this_thread::sleep_for(50us);
                }
                for (int time = 0; number == 0 && time < kMeetings; ++time) {
                    store.set("value", "v");
                    becomes_true([&, all = gets + 2 * kRacers] { return gets >= all; }, 1000ms);
                    wrong += store.erase("value") ? 0 : 1;
                }
                over = over || number == 0;
                store.set("value", "v");
                return wrong;
            });
            INFO(
                kind.name << ": a thread sets \"v\" and erases it, again and again, and others get "
                             "it: how many got something else"
            );
            CHECK(std::accumulate(got.begin(), got.end(), 0) == 0);
        });
    }
}

TEST_CASE("check looks at all keys at one moment") {
    each_store(kPatient, [](const OpenStore& open) {
        open()->set("there", "");
        const Interleaved threads;
        std::atomic<int> done = 0;
        const auto both = race(open, [&](Store& store, int number, Meeting&) {
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

TEST_CASE("no call sees half of a value") {
    each_store(kPatient, [](const OpenStore& open) {
        open()->set("value", std::string(20'000, 'a'));
        const auto mixed = race(open, [](Store& store, int number, Meeting&) {
            int count = 0;
            for (int time = 0; time < 100; ++time) {
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
