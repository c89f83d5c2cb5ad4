// Threads that call a store at the same time, each with a handle of its own.
#pragma once

#include <atomic>
#include <functional>
#include <future>
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

}  // namespace dist::harness
