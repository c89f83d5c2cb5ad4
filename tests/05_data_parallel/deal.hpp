// An epoch of distributed_sampler's: who must have which examples, and what a wrong part is likely to be.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "course/protocol/counted.hpp"
#include "exercises/05_data_parallel/distributed_sampler.hpp"
#include "tests/harness/words/compare.hpp"

namespace dist::harness {

using Indices = std::vector<std::size_t>;

/// One epoch of n examples, dealt out to p ranks.
struct Deal {
    std::size_t n = 0;
    int p = 1;
    DistributedSampler::Options options = {};
    std::uint64_t epoch = 0;
};

inline DistributedSampler sampler_of(const Deal& deal, int rank) {
    DistributedSampler sampler(deal.n, rank, deal.p, deal.options);
    sampler.set_epoch(deal.epoch);
    return sampler;
}

/// The order of an epoch: what one rank alone has of it.
inline Indices order_of(std::size_t n, std::uint64_t seed, std::uint64_t epoch) {
    return sampler_of({n, 1, {.seed = seed}, epoch}, 0).indices();
}

/// "7 2 9"; the first twelve of many.
inline std::string text_of(const Indices& examples) {
    std::ostringstream text;
    for (std::size_t i = 0; i < std::min<std::size_t>(examples.size(), 12); ++i) {
        text << (i == 0 ? "" : " ") << examples[i];
    }
    text << (examples.size() > 12 ? " ..." : "");
    return examples.empty() ? "none" : text.str();
}

inline std::string text_of(const Deal& deal) {
    std::ostringstream text;
    text << counted(deal.n, "example") << ", " << counted(deal.p, "rank") << ", batch "
         << deal.options.batch << (deal.options.drop_last ? ", drop_last" : ", padded")
         << (deal.options.shuffle ? "" : ", not shuffled");
    return text.str();
}

/// How many examples a rank has.
inline std::size_t length(const Deal& deal) {
    const std::size_t global_batch = static_cast<std::size_t>(deal.p) * deal.options.batch;
    const std::size_t full = deal.n / global_batch;
    const bool pad = full * global_batch < deal.n && !deal.options.drop_last;
    return (full + (pad ? 1 : 0)) * deal.options.batch;
}

/// So many examples, the i-th from position(i) of the order, which goes on with its beginning.
template <class Position>
Indices taken(const Indices& order, std::size_t length, const Position& position) {
    Indices part(length);
    for (std::size_t i = 0; i < length; ++i) {
        part[i] = order[position(i) % order.size()];
    }
    return part;
}

/// What rank `rank` has of this order: every p-th example, from the rank-th on.
inline Indices part_of(const Indices& order, const Deal& deal, int rank) {
    return taken(order, length(deal), [&](std::size_t i) {
        return static_cast<std::size_t>(rank) + i * static_cast<std::size_t>(deal.p);
    });
}

/// Compares rank `rank`'s part; `order` is that of the epoch.
inline Comparison same_part(
    const Indices& got, const Indices& expected, const Indices& order, const Deal& deal, int rank
) {
    if (got == expected) {
        return {};
    }
    const auto p = static_cast<std::size_t>(deal.p);
    const auto r = static_cast<std::size_t>(rank);
    const std::size_t n = expected.size();
    const std::size_t batch = deal.options.batch;
    const auto block = [&](std::size_t i) { return r * n + i; };
    const auto in_turn = [&](std::size_t i) { return (i / batch * p + r) * batch + i % batch; };
    const auto last = [&](std::size_t i) { return std::min(r + i * p, order.size() - 1); };
    Deal batch_1 = deal;
    batch_1.options.batch = 1;
    const std::pair<Indices, std::string> known[] = {
        {taken(order, n, in_turn), "that is every p-th batch: deal out one example at a time"},
        {taken(order, n, block), "that is a block: deal out one example at a time"},
        {taken(order, n, last), "as if the last example came again, and not the first ones"},
        {part_of(order, batch_1, rank), "as if batch were 1"},
    };
    std::string text = "expected " + text_of(expected) + ", got " + text_of(got);
    for (const auto& [part, sentence] : known) {
        if (got == part) {
            text += ": " + sentence;
            break;
        }
    }
    return {false, text};
}

/// Whether every example is one rank's; or, where some are dropped, no more than one rank's.
inline Comparison dealt_once(const Deal& deal) {
    std::vector<std::vector<int>> owners(deal.n);
    for (int rank = 0; rank < deal.p; ++rank) {
        for (const std::size_t example : sampler_of(deal, rank).indices()) {
            owners.at(example).push_back(rank);
        }
    }
    for (std::size_t example = 0; example < deal.n; ++example) {
        const std::vector<int>& of = owners[example];
        if (of.size() > 1) {
            std::ostringstream text;
            text << "example " << example << " is rank " << of[0] << "'s ";
            if (of[0] == of[1]) {
                text << "twice: as if examples were overwritten, and not swapped";
            } else if (deal.options.drop_last) {
                text << "and rank " << of[1] << "'s: with drop_last none comes twice";
            } else {
                text << "and rank " << of[1] << "'s: as if each rank had an order of its own";
            }
            return {false, text.str()};
        }
    }
    const auto nobodys =
        std::find(owners.begin(), owners.end(), std::vector<int>()) - owners.begin();
    if (!deal.options.drop_last && nobodys < static_cast<std::ptrdiff_t>(deal.n)) {
        return {false, "example " + std::to_string(nobodys) + " is nobody's"};
    }
    return {};
}

}  // namespace dist::harness
