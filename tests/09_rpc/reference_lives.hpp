// Four ranks that make objects, and give each other uses of them, while messages are late, lost,
// and come twice, by a seed.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include "tests/09_rpc/reference_world.hpp"
#include "tests/harness/words/compare.hpp"

namespace dist::harness {

class ReferenceLife {
  public:
    explicit ReferenceLife(std::uint64_t seed) : random_(seed), world_(4) {}

    /// Plays until nobody has a use any more, and everything has come.
    Comparison play() {
        while (now_ < kEnd && !world_.is_wrong() && !is_over()) {
            deliver();
            for (int rank = 0; rank < world_.size(); ++rank) {
                act(rank);
                world_.pass(rank, kStep);
            }
            now_ += kStep;
        }
        if (!world_.is_wrong()) {
            world_.look_at_end();
        }
        return world_.result();
    }

  private:
    static constexpr Ms kStep = 250ms;
    static constexpr Ms kActive = 15s;  // from then on uses only end
    static constexpr Ms kEnd = 150s;
    static constexpr int kDelay = 2500;       // ms, of what is not late
    static constexpr int kLate = 40000;       // ms, of what comes twice
    static constexpr int kLosses = 3;         // of a message and its ACKs together
    static constexpr std::size_t kUses = 40;  // at the same time

    int draw(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }

    [[nodiscard]] bool is_over() {
        bool is_over = now_ >= kActive && world_.letters.empty();
        for (int rank = 0; rank < world_.size(); ++rank) {
            is_over =
                is_over && world_.uses(rank).empty() && world_.at(rank).counts() == RefCounts{};
        }
        return is_over;
    }

    /// Decides what becomes of each new letter.
    void send() {
        for (std::size_t i = 0; i < world_.letters.size();) {
            Letter& letter = world_.letters[i];
            if (letter.arrives >= Ms(0)) {
                ++i;
                continue;
            }
            ControlMessage message = letter.control;
            message.is_ack = false;
            if (letter.kind == Letter::Kind::control && draw(3) == 0 &&
                losses_[message] < kLosses) {
                ++losses_[message];
                world_.lose(i);
                continue;
            }
            letter.arrives = now_ + Ms(draw(kDelay));
            if (letter.kind == Letter::Kind::control && draw(4) == 0) {
                Letter again = letter;
                again.arrives = now_ + Ms(draw(kLate));
                world_.letters.push_back(again);
            }
            ++i;
        }
    }

    /// All that has come, in any order.
    void deliver() {
        for (;;) {
            send();
            std::vector<std::size_t> come;
            for (std::size_t i = 0; i < world_.letters.size(); ++i) {
                if (world_.letters[i].arrives <= now_) {
                    come.push_back(i);
                }
            }
            if (come.empty()) {
                return;
            }
            world_.deliver(come[static_cast<std::size_t>(draw(static_cast<int>(come.size())))]);
            world_.look();
        }
    }

    void act(int rank) {
        const int other = draw(world_.size());
        const int what = draw(8);
        const std::size_t n = world_.uses(rank).size();
        const std::size_t i = n == 0 ? 0 : static_cast<std::size_t>(draw(static_cast<int>(n)));
        if (now_ < kActive && objects_ < 4 && what == 0) {
            ++objects_;
            if (other == rank) {
                world_.create(rank);
            } else {
                world_.remote(rank, other);
            }
        } else if (n > 0 && (now_ >= kActive || what >= 5)) {
            world_.drop(rank, i);
        } else if (n > 0 && now_ < kActive && uses() < kUses) {
            const RemoteRef& ref = world_.ref(rank, i);
            if (ref.owner() != rank || ref.is_confirmed()) {
                world_.fork(rank, other, i);
            }
        }
        world_.look();
    }

    std::size_t uses() {
        std::size_t n = world_.letters.size();
        for (int rank = 0; rank < world_.size(); ++rank) {
            n += world_.uses(rank).size();
        }
        return n;
    }

    std::mt19937_64 random_;
    RefWorld world_;
    Ms now_{0};
    int objects_ = 0;
    std::map<ControlMessage, int> losses_;
};

}  // namespace dist::harness
