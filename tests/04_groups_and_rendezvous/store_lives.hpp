// Random calls of a store, through two handles, held against a map.
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "course/runtime/seeded.hpp"
#include "tests/04_groups_and_rendezvous/stores.hpp"
#include "tests/harness/words/lives.hpp"

namespace dist::harness {

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

/// Random calls, through two handles, against a map.
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

}  // namespace dist::harness
