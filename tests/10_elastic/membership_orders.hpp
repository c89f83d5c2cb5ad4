// A small model checker: all orders in which the calls of a few nodes can come to the store.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "tests/10_elastic/membership_job.hpp"
#include "tests/harness/harness.hpp"

namespace dist::harness {

/// Says which of several nodes goes on. Of the first `depth` times that it is asked it takes every
/// combination, one in each game; then always the first that is ready.
class Orders {
  public:
    explicit Orders(std::size_t depth) : depth_(depth) {}

    bool is_on = false;  // until then the first

    std::size_t choose(std::size_t ready) {
        if (!is_on || ready == 1 || at_ == depth_) {
            return 0;
        }
        if (at_ == choices_.size()) {
            choices_.push_back({0, ready});
        }
        return choices_[at_++].taken;
    }

    /// Goes on to the next combination. False if there is none.
    bool next() {
        at_ = 0;
        is_on = false;
        while (!choices_.empty() && ++choices_.back().taken == choices_.back().of) {
            choices_.pop_back();
        }
        return !choices_.empty();
    }

    /// "1 0 0 1": which of the ready ones, each time.
    [[nodiscard]] std::string text() const {
        std::string text;
        for (const Choice& choice : choices_) {
            text += (text.empty() ? "" : " ") + std::to_string(choice.taken);
        }
        return text;
    }

  private:
    struct Choice {
        std::size_t taken;
        std::size_t of;
    };

    std::size_t depth_;
    std::size_t at_ = 0;
    std::vector<Choice> choices_;
};

/// Plays a job in all orders. `goes_on` is called now and then: there are hundreds of games, and
/// sanitizers take their time.
inline void in_every_order(
    const RendezvousSettings& settings,
    std::size_t depth,
    const std::function<void(Job&, Orders&)>& cast,
    const std::function<void()>& goes_on
) {
    Orders orders(depth);
    Comparison result;  // one check: how many orders there are depends on the answer
    std::string order;
    long games = 0;
    do {
        Job job(settings, [&](std::size_t ready) { return orders.choose(ready); });
        cast(job, orders);
        result = job.play();
        result = result ? job.all_end() : result;
        order = orders.text();
        if (++games % 50 == 0) {
            goes_on();
        }
    } while (result && orders.next());
    INFO("who went on, each time that several could: " << order);
    CHECK(result);
}

/// Two nodes come at the same time.
inline void both_come(Job& job, Orders& orders) {
    orders.is_on = true;
    for (const char* const name : {"a", "b"}) {
        job.add(name, name[0] == 'a' ? 2 : 1, 0s, [](Agent& node) {
            node.next();
            node.stay_until(3s);
            node.work_until(3s);
        });
    }
}

/// All are in a round. Then these plots begin at the same time.
inline void in_a_round(
    Job& job, Orders& orders, const std::vector<std::function<void(Agent&)>>& plots
) {
    for (std::size_t i = 0; i < plots.size(); ++i) {
        const std::string name(1, static_cast<char>('a' + i));
        job.add(name, 1, 0s, [&, plot = plots[i]](Agent& node) {
            node.next();
            node.clock.sleep(2s - job.time.now());
            node.holds();  // its heartbeat is written
            node.clock.sleep(100ms);
            orders.is_on = true;
            plot(node);
        });
    }
}

/// a says that it has finished, and asks for another round. b says that it has finished, and has to
/// hear that all have.
inline void finishes_and_goes(Job& job, Orders& orders) {
    const auto first = [&](Agent& node) {
        if (!node.finish() && node.next()) {
            job.note("a is told another round, and all have finished this one");
        }
    };
    const auto second = [&](Agent& node) {
        node.clock.sleep(kLook);
        if (!node.finish()) {
            job.note("finish() is false on b, where all have said so: a as well, which has gone");
        }
    };
    in_a_round(job, orders, {first, second});
}

/// Both say that they have finished, and go when they hear that the job is.
inline void both_finish(Job& job, Orders& orders) {
    const auto plot = [&](Agent& node) {
        while (!node.finish() && job.time.now() < 30s) {
            node.clock.sleep(kLook);
        }
        node.leave();
    };
    in_a_round(job, orders, {plot, plot});
}

}  // namespace dist::harness
