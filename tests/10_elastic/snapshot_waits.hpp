// Who waits for whom: told by what a thread does, and not by a clock.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <unistd.h>

#include "course/runtime/communicator.hpp"
#include "tests/07_zero/checkpoints.hpp"
#include "tests/harness/words/shared_room.hpp"

namespace dist::harness {

/// Waits until something holds; but not for ever.
inline bool comes(const std::function<bool()>& holds, int looks = 1000) {
    for (int look = 0; look < looks && !holds(); ++look) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return holds();
}

/// A word from one rank to all others, without a message. Every rank of `comm` makes one.
class Word {
  public:
    explicit Word(const Communicator& comm)
        : said_(*static_cast<std::atomic<int>*>(shared_room("word", sizeof(std::atomic<int>)))) {
        on_rank_0(comm, [&] { said_ = 0; });
    }
    void say(int word = 1) { said_ = word; }

    /// Returns what was said.
    int await() const {
        constexpr int kLong = 5000;
        comes([&] { return said_ != 0; }, kLong);
        return said_;
    }

  private:
    std::atomic<int>& said_;
};

/// How often a thread of this process has fallen asleep; empty while it runs.
inline std::string sleep_of(pid_t thread) {
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/status");
    std::string naps;
    for (std::string word; file >> word;) {
        if (word == "State:" && file >> word && word != "S") {
            return "";
        }
        if (word == "voluntary_ctxt_switches:") {
            file >> naps;
        }
    }
    return naps;
}

/// Makes a call, and says whether it waited: it slept for so long that nothing would wake it up, or did not return
/// for longer. Then another thread calls `wake`, which has to let it go on.
inline bool waits_in(const std::function<void()>& call, const std::function<void()>& wake) {
    constexpr int kAsleep = 200;  // looks, one each ms
    constexpr int kMost = 700;
    std::atomic<bool> has_returned = false;
    bool waited = false;
    std::thread watcher([&, caller = gettid()] {
        std::string before;
        for (int look = 0, asleep = 0; look < kMost && asleep < kAsleep && !has_returned; ++look) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            const std::string now = sleep_of(caller);
            asleep = !now.empty() && now == before ? asleep + 1 : 0;
            before = now;
        }
        waited = !has_returned;
        if (waited) {
            wake();
        }
    });
    std::exception_ptr thrown;
    try {
        call();
    } catch (...) {
        thrown = std::current_exception();
    }
    has_returned = true;
    watcher.join();
    if (thrown) {
        std::rethrow_exception(thrown);
    }
    return waited;
}

}  // namespace dist::harness
