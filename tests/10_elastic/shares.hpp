// Steps of elastic_sampler's: what a rank must get, and what a wrong share is likely to be.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "course/protocol/counted.hpp"
#include "exercises/10_elastic/elastic_sampler.hpp"
#include "tests/harness/words/compare.hpp"

namespace dist::harness {

/// A rank's step.
struct Step {
    std::size_t n = 0;
    std::size_t batch = 1;
    EpochPosition at = {};
    int rank = 0;
    int ranks = 1;
};

inline std::string text_of(const Step& s) {
    std::ostringstream text;
    text << counted(s.n, "example") << ", batch " << s.batch << ", epoch " << s.at.epoch << ", "
         << s.at.consumed << " consumed, rank " << s.rank << " of " << s.ranks;
    return text.str();
}

inline std::string text_of(const EpochPosition& at) {
    return "epoch " + std::to_string(at.epoch) + ", " + std::to_string(at.consumed) + " consumed";
}

inline std::string text_of(const Chunk& places) {
    return "[" + std::to_string(places.begin) + ", " + std::to_string(places.end) + ")";
}

inline ElasticShare share_of(const Step& s) {
    return ElasticSampler(s.n, s.batch, 7).share(s.at, s.rank, s.ranks);
}

/// Examples that all ranks together have in this step.
inline std::size_t count_of(const Step& s) {
    return std::min(s.batch, s.n - s.at.consumed);
}

/// Rank `rank`'s chunk of `count` places from `begin` on; the longer chunks come first.
inline Chunk cut(std::size_t begin, std::size_t count, const Step& s) {
    const auto p = static_cast<std::size_t>(s.ranks);
    const auto r = static_cast<std::size_t>(s.rank);
    const std::size_t first = begin + r * (count / p) + std::min(r, count % p);
    return {first, first + count / p + (r < count % p ? 1 : 0)};
}

inline ElasticShare right_share(const Step& s) {
    const std::size_t count = count_of(s);
    const Chunk mine = cut(s.at.consumed, count, s);
    EpochPosition next = {s.at.epoch, s.at.consumed + count};
    if (s.n - s.at.consumed == count) {
        next = {s.at.epoch + 1, 0};
    }
    return {mine, static_cast<double>(mine.size()) / static_cast<double>(count), next};
}

/// What a wrong value is likely to be: the first sentence whose value was got.
template <class Value>
std::string guess(const Value& got, const std::vector<std::pair<Value, std::string>>& known) {
    for (const auto& [value, sentence] : known) {
        if (got == value) {
            return ": " + sentence;
        }
    }
    return "";
}

inline Comparison same_places(const Chunk& got, const Chunk& expected, const Step& s) {
    const auto p = static_cast<std::size_t>(s.ranks);
    const auto r = static_cast<std::size_t>(s.rank);
    const std::size_t count = count_of(s);
    const std::size_t from = s.at.consumed;
    const auto equal_parts = [&](std::size_t each) {
        return Chunk{from + std::min(r * each, count), from + std::min((r + 1) * each, count)};
    };
    const std::size_t up = count / p + (count % p > 0 ? 1 : 0);
    return {
        got == expected,
        "places: expected " + text_of(expected) + ", got " + text_of(got) +
            guess<Chunk>(
                got,
                {{cut(0, count, s), "as if the epoch began anew: `consumed` examples come before"},
                 {cut(from / s.batch * s.batch, count, s),
                  "as if positions were counted in full batches: this one begins at `consumed`"},
                 {equal_parts(count / p), "as if all ranks had equally many, rounded down"},
                 {equal_parts(up), "as if all ranks had equally many, rounded up"},
                 {cut(from, s.batch, s), "as if the last batch were full"}}
            )};
}

inline Comparison same_weight(
    const ElasticShare& got, const ElasticShare& expected, const Step& s
) {
    const auto mine = static_cast<double>(expected.places.size());
    std::ostringstream text;
    text << "weight: expected " << expected.weight << ", got " << got.weight
         << guess<double>(
                got.weight,
                {{1.0 / s.ranks, "that is 1 / ranks, as if all had equally many examples"},
                 {mine / static_cast<double>(s.batch),
                  "that divides by a full batch, and this step has fewer examples"},
                 {mine, "that is a count: divide it by the examples of all ranks"}}
            );
    // a quotient of two counts, or a product with one over the other
    return {std::abs(got.weight - expected.weight) <= 1e-12, text.str()};
}

inline Comparison same_next(
    const EpochPosition& got, const EpochPosition& expected, const Step& s
) {
    const auto p = static_cast<std::size_t>(s.ranks);
    const std::size_t by_this_rank = s.at.consumed + cut(0, count_of(s), s).size() * p;
    return {
        got == expected,
        "next: expected " + text_of(expected) + ", got " + text_of(got) +
            guess<EpochPosition>(
                got,
                {{{s.at.epoch, s.n}, "the end of an epoch is the beginning of the next"},
                 {{s.at.epoch, s.at.consumed + s.batch}, "as if the last batch were full"},
                 {{s.at.epoch, by_this_rank}, "as if all ranks had as many examples as this one"},
                 {{s.at.epoch + 1, 0}, "as if the epoch were over: the last examples are left out"}}
            )};
}

/// Compares a whole share.
inline Comparison same_share(const ElasticShare& got, const ElasticShare& expected, const Step& s) {
    for (const Comparison& part :
         {same_places(got.places, expected.places, s), same_next(got.next, expected.next, s),
          same_weight(got, expected, s)}) {
        if (!part) {
            return part;
        }
    }
    return {};
}

/// An epoch on so many ranks in each step; the last number stays.
struct Resizes {
    std::size_t n = 0;
    std::size_t batch = 1;
    std::vector<int> ranks;

    [[nodiscard]] int ranks_at(std::size_t step) const {
        return ranks[std::min(step, ranks.size() - 1)];
    }
};

/// Whether epoch 0 takes every example once. Where `restarted`, a change of ranks begins with new samplers.
inline Comparison taken_once(const Resizes& run, bool restarted) {
    std::map<std::size_t, std::string> taken;  // by whom
    const ElasticSampler unused(run.n, run.batch, 7);
    ElasticSampler sampler = unused;
    EpochPosition at;
    for (std::size_t step = 0; at.epoch == 0 && step < run.n; ++step) {
        const int ranks = run.ranks_at(step);
        if (restarted && step > 0 && ranks != run.ranks_at(step - 1)) {
            sampler = unused;
        }
        EpochPosition next;
        for (int rank = 0; rank < ranks; ++rank) {
            next = sampler.share(at, rank, ranks).next;
            const std::string here = "rank " + std::to_string(rank) + " of " +
                                     std::to_string(ranks) + " with " +
                                     std::to_string(at.consumed) + " consumed";
            for (const std::size_t example : sampler.examples(at, rank, ranks)) {
                const auto [before, is_new] = taken.emplace(example, here);
                if (!is_new) {
                    return {
                        false, "example " + std::to_string(example) + " comes twice: to " +
                                   before->second + ", and to " + here};
                }
            }
        }
        at = next;
    }
    for (std::size_t example = 0; example < run.n; ++example) {
        if (!taken.contains(example)) {
            return {false, "example " + std::to_string(example) + " never comes"};
        }
    }
    return {
        taken.size() == run.n && at == EpochPosition{1, 0},
        "after the epoch: expected epoch 1, 0 consumed, got " + text_of(at)};
}

}  // namespace dist::harness
