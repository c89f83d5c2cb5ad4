// What replicas train on, and what has to come of it: whole numbers, so that any number of replicas
// comes to the same weights.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "course/runtime/seeded.hpp"
#include "exercises/10_elastic/quorum_step.hpp"
#include "tests/10_elastic/quorum_network.hpp"
#include "tests/harness/words/compare.hpp"

namespace dist::harness {

using namespace std::chrono_literals;
using Ms = Clock::Duration;
using Row = std::vector<float>;

/// A replica: what it does, then what has become of it.
struct Life {
    Ms comes{0};           // it is heard from then on
    Ms asks{0};            // so long afterwards, for the first time
    Ms begins{0};          // so long after it was told a quorum
    Ms computes{10};       // a gradient
    Ms dies{-1};           // at this time; -1: it does not
    int errs_in = -1;      // this attempt, from 0 on, goes wrong on it
    std::int64_t at = -1;  // with so many steps behind it, it stands still once, ...
    Ms stands_still{0};    // ... for so long
    Fate fate = {};

    std::string name = {};
    Row state = {};  // the weights; then of each step the number of the quorum that took it
    std::int64_t step = 0;
    std::vector<bool> commits = {};                 // what it was told in each attempt
    std::map<std::int64_t, std::int64_t> own = {};  // steps that it has taken, and in which quorum
    Ms ended{-1};                                   // when it had taken all
};

/// Each step has 12 examples, and each participant an equal share of them.
struct Training {
    std::vector<std::size_t> layers = {5, 2};
    std::int64_t steps = 3;
    std::size_t extra = 0;  // numbers of a state beside these

    [[nodiscard]] std::size_t weights() const {
        return std::accumulate(layers.begin(), layers.end(), std::size_t{0});
    }

    [[nodiscard]] std::size_t place_of(std::int64_t step) const {
        return weights() + static_cast<std::size_t>(step);
    }

    /// Of each replica another one.
    [[nodiscard]] Row first_state(std::size_t who) const {
        Row state(place_of(steps) + extra);
        for (std::size_t i = 0; i < weights(); ++i) {
            state[i] = static_cast<float>(1000 * (who + 1) + i);
        }
        return state;
    }

    /// What weight i gains of examples [begin, end) of a step.
    static float gain(std::int64_t step, std::size_t i, std::size_t begin, std::size_t end) {
        float sum = 0;
        for (std::size_t example = begin; example < end; ++example) {
            const auto index = 12 * static_cast<std::uint64_t>(step) + example;
            sum += static_cast<float>(1 + seeded_bits(9, index) % 7);
        }
        return sum * static_cast<float>(1 + i % 3);
    }
    static float gain(std::int64_t step, std::size_t i) { return gain(step, i, 0, 12); }

    /// 12 times the mean over a participant's share. Who heals has nonsense.
    [[nodiscard]] Row gradient(const Quorum& quorum, int rank) const {
        const std::vector<int> ranks = quorum.participants();
        const std::size_t k = ranks.size();
        const auto place = static_cast<std::size_t>(std::ranges::find(ranks, rank) - ranks.begin());
        Row row(weights(), 1e6F);
        for (std::size_t i = 0; i < weights() && place < k; ++i) {
            const float mine = gain(quorum.step, i, 12 * place / k, 12 * (place + 1) / k);
            row[i] = static_cast<float>(k) * mine;
        }
        return row;
    }

    /// Compares the mean of all gradients of a step.
    [[nodiscard]] Comparison is_mean(const Row& got, const Quorum& quorum) const {
        for (std::size_t i = 0; i < weights(); ++i) {
            const float expected = gain(quorum.step, i);
            if (got[i] != expected) {
                return {
                    false, "gradient " + std::to_string(i) + ": expected " +
                               std::to_string(expected) + ", got " + std::to_string(got[i]) +
                               guess(got[i] / expected, quorum)};
            }
        }
        return {};
    }

    /// Compares what a replica has after all steps with a run that nothing has disturbed.
    [[nodiscard]] Comparison is_complete(const Life& life, std::size_t replicas) const {
        const float first =
            std::clamp(life.state.front() / 1000, 1.0F, static_cast<float>(replicas));
        Row expected = first_state(static_cast<std::size_t>(first) - 1);
        for (std::int64_t step = 0; step < steps; ++step) {
            expected[place_of(step)] = life.state[place_of(step)];
            for (std::size_t i = 0; i < weights(); ++i) {
                expected[i] += gain(step, i);
            }
        }
        const Comparison result = same(life.state, expected);
        return {result.equal, "not the weights of a run never disturbed: " + result.text};
    }

    /// Whether the steps that it took are those that its weights have behind them.
    [[nodiscard]] Comparison keeps_its_steps(const Life& life) const {
        for (const auto& [step, number] : life.own) {
            const float kept = life.state[place_of(step)];
            if (kept != static_cast<float>(number)) {
                return {
                    false, "it took step " + std::to_string(step + 1) + " in quorum " +
                               std::to_string(number) +
                               ". This is lost: its weights are those of " + "quorum " +
                               std::to_string(static_cast<int>(kept))};
            }
        }
        return {};
    }

  private:
    static std::string guess(float ratio, const Quorum& quorum) {
        const std::size_t k = quorum.participants().size();
        const std::size_t p = quorum.members.size();
        const std::string of =
            "; " + std::to_string(k) + " of " + std::to_string(p) + " members take part";
        const auto is = [&](std::size_t above, std::size_t below) {
            const float other = static_cast<float>(above) / static_cast<float>(below);
            return above != below && std::abs(ratio - other) < 1e-4F;
        };
        if (is(k, p)) {
            return of + ": as if the sum were divided by all members";
        }
        if (is(k, 1)) {
            return of + ": as if the sum were not divided";
        }
        return of + (ratio > 1000 ? ": as if the gradient of one that heals counted" : "");
    }
};

}  // namespace dist::harness
