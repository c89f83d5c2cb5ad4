// What every store must do when threads call it at the same time, each with a handle of its own. See store_cases.hpp.
#pragma once

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/04_groups_and_rendezvous/stores.hpp"

namespace dist::harness {

constexpr int kRacers = 6;

/// Runs `work(store, number)` in several threads at the same time, and returns what they returned, by number. What one throws is
/// thrown here.
template <class Result>
std::vector<Result> race(
    const OpenStore& open, const std::function<Result(Store& store, int number)>& work
) {
    std::atomic<int> ready = 0;
    std::vector<std::future<Result>> racers;
    racers.reserve(kRacers);
    for (int number = 0; number < kRacers; ++number) {
        racers.push_back(std::async(std::launch::async, [&, number, store = open()] {
            for (++ready; ready < kRacers;) {
                std::this_thread::yield();
            }
            return work(*store, number);
        }));
    }
    std::vector<Result> results;
    results.reserve(kRacers);
    for (std::future<Result>& racer : racers) {
        results.push_back(racer.get());
    }
    return results;
}

/// All numbers of all threads, in order.
inline std::vector<std::int64_t> sorted(const std::vector<std::vector<std::int64_t>>& parts) {
    std::vector<std::int64_t> all;
    for (const auto& part : parts) {
        all.insert(all.end(), part.begin(), part.end());
    }
    std::ranges::sort(all);
    return all;
}

/// `times` have to be so many that threads meet.
inline void adds_at_once(const StoreKinds& kinds, int times = 500) {
    for_each_kind(kinds, kPatient, [times](const OpenStore& open) {
        const auto sums =
            race<std::vector<std::int64_t>>(open, [times](Store& store, int /*number*/) {
                std::vector<std::int64_t> mine(static_cast<std::size_t>(times));
                for (std::int64_t& sum : mine) {
                    sum = store.add("counter", 1);
                }
                return mine;
            });
        std::vector<std::int64_t> expected(kRacers * static_cast<std::size_t>(times));
        std::iota(expected.begin(), expected.end(), 1);
        INFO(kRacers << " threads add 1, each " << times << " times");
        CHECK(open()->add("counter", 0) == std::ssize(expected));
        const bool each_sum_once = sorted(sums) == expected;
        CHECK(each_sum_once);
    });
}

inline void compares_and_sets_at_once(const StoreKinds& kinds) {
    static constexpr int kTimes = 100;
    for_each_kind(kinds, kPatient, [](const OpenStore& open) {
        const auto won = race<std::vector<std::string>>(open, [](Store& store, int number) {
            std::vector<std::string> winners;
            for (int time = 0; time < kTimes; ++time) {
                const std::string key = "round " + std::to_string(time);
                winners.push_back(store.compare_set(key, "", "thread " + std::to_string(number)));
            }
            return winners;
        });
        {
            INFO("all threads want to be the first to set a key, and all are told who was");
            const bool all_agree =
                std::ranges::all_of(won, [&](auto& one) { return one == won[0]; });
            CHECK(all_agree);
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

inline void erases_at_once(const StoreKinds& kinds) {
    static constexpr int kTimes = 200;
    for_each_kind(kinds, kPatient, [](const OpenStore& open) {
        const auto key = [](int time) { return "key " + std::to_string(time); };
        const auto store = open();
        for (int time = 0; time < kTimes; ++time) {
            store->set(key(time), "");
        }
        const auto erased = race<int>(open, [&](Store& mine, int /*number*/) {
            int count = 0;
            for (int time = 0; time < kTimes; ++time) {
                count += mine.erase(key(time)) ? 1 : 0;
            }
            return count;
        });
        INFO("all threads erase " << kTimes << " keys, and each key is erased by one");
        CHECK(std::accumulate(erased.begin(), erased.end(), 0) == kTimes);
        CHECK(store->num_keys() == 0);
    });
}

/// No call sees half of another.
inline void sees_whole_values(const StoreKinds& kinds) {
    static constexpr int kTimes = 100;
    for_each_kind(kinds, kPatient, [](const OpenStore& open) {
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

/// get() looks and reads at one moment: a value that is there now and then, it returns or waits for. Not for a store that asks
/// a server twice.
inline void gets_what_comes_and_goes(const StoreKinds& kinds) {
    static constexpr int kTimes = 100;
    for_each_kind(kinds, kPatient, [](const OpenStore& open) {
        std::atomic<bool> over = false;
        const auto got = race<int>(open, [&](Store& store, int number) {
            int count = 0;
            for (int time = 0; number == 0 && time < kTimes; ++time) {
                store.set("value", "v");
                count += store.erase("value") ? 0 : 1;
            }
            if (number == 0) {
                over = true;
                store.set("value", "v");
                return count;
            }
            while (!over) {
                count += store.get("value") == "v" ? 0 : 1;
            }
            return count;
        });
        INFO("a thread sets a value and erases it, again and again, and others get it");
        CHECK(std::accumulate(got.begin(), got.end(), 0) == 0);
    });
}

}  // namespace dist::harness
