// What every store must do when threads call it at the same time, each with a handle of its own. See
// store_cases.hpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/04_groups_and_rendezvous/stores.hpp"
#include "tests/harness/words/interleaved.hpp"

namespace dist::harness {

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

/// Runs `work(store, number)` in several threads at the same time, and returns what they returned,
/// by number. What one throws is thrown here.
template <class Result>
std::vector<Result> race(
    const OpenStore& open,
    const std::function<Result(Store& store, int number)>& work,
    Meeting& meeting
) {
    std::vector<std::future<Result>> racers;
    racers.reserve(kRacers);
    for (int number = 0; number < kRacers; ++number) {
        racers.push_back(std::async(std::launch::async, [&, number, store = open()] {
            meeting.comes();
            try {
                return work(*store, number);
            } catch (...) {
                meeting.ends();
                throw;
            }
        }));
    }
    std::vector<Result> results;
    results.reserve(kRacers);
    for (std::future<Result>& racer : racers) {
        results.push_back(racer.get());
    }
    return results;
}
template <class Result>
std::vector<Result> race(
    const OpenStore& open, const std::function<Result(Store& store, int number)>& work
) {
    Meeting meeting;
    return race(open, work, meeting);
}

/// What a call returned in each of so many meetings, by thread.
template <class Result>
std::vector<std::vector<Result>> meetings(
    const OpenStore& open, const std::function<Result(Store& store, int number, int time)>& call
) {
    Meeting meeting;
    const Interleaved threads;
    return race<std::vector<Result>>(
        open,
        [&](Store& store, int number) {
            std::vector<Result> results;
            for (int time = 0; time < kMeetings; ++time) {
                meeting.comes();
                results.push_back(call(store, number, time));
            }
            return results;
        },
        meeting
    );
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

inline void adds_at_once(const StoreKinds& kinds, int times = 200) {
    for_each_kind(kinds, kPatient, [times](const OpenStore& open) {
        auto sums = race<std::vector<std::int64_t>>(open, [times](Store& store, int /*number*/) {
            std::vector<std::int64_t> mine(static_cast<std::size_t>(times));
            for (std::int64_t& sum : mine) {
                sum = store.add("counter", 1);
            }
            return mine;
        });
        const auto more = meetings<std::int64_t>(open, [](Store& store, int, int) {
            return store.add("counter", 1);
        });
        sums.insert(sums.end(), more.begin(), more.end());
        std::vector<std::int64_t> expected(kRacers * static_cast<std::size_t>(times + kMeetings));
        std::iota(expected.begin(), expected.end(), 1);
        INFO(kRacers << " threads add 1, each " << times + kMeetings << " times");
        CHECK(open()->add("counter", 0) == std::ssize(expected));
        const bool each_sum_once = sorted(sums) == expected;
        CHECK(each_sum_once);
    });
}

inline void compares_and_sets_at_once(const StoreKinds& kinds) {
    static constexpr int kTimes = 100;
    for_each_kind(kinds, kPatient, [](const OpenStore& open) {
        const auto won = meetings<std::string>(open, [](Store& store, int number, int time) {
            const std::string key = "round " + std::to_string(time);
            return store.compare_set(key, "", "thread " + std::to_string(number));
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

/// get() looks and reads at one moment: a value that is there now and then, it returns or waits for.
/// It goes when the others have got it again and again, and do so still. Not for a store that asks a
/// server twice.
inline void gets_what_comes_and_goes(const StoreKinds& kinds) {
    for_each_kind(kinds, kPatient, [](const OpenStore& open) {
        const Interleaved threads;
        std::atomic<bool> over = false;
        std::atomic<int> gets = 0;
        const auto got = race<int>(open, [&](Store& store, int number) {
            int count = 0;
            for (int time = 0; number == 0 && time < kMeetings; ++time) {
                store.set("value", "v");
                comes([&, enough = gets + 2 * kRacers] { return gets >= enough; }, 1s);
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

/// Of two keys one comes when the other one has gone.
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
