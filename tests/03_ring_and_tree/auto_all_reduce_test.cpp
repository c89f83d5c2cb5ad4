// auto_all_reduce: the model's minimum for every size and p, and then really that algorithm, which
// is known by its messages.
#include "exercises/03_ring_and_tree/auto_all_reduce.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "course/protocol/counted.hpp"
#include "exercises/02_naive_collectives/all_reduce.hpp"
#include "exercises/03_ring_and_tree/halving_doubling.hpp"
#include "exercises/03_ring_and_tree/recursive_doubling.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"
#include "tests/harness/words/patterns.hpp"
#include "tests/harness/words/reductions.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid({"collectives"}, "auto_all_reduce runs one of the four that you have.");

using Algorithm = AllReduceAlgorithm;
constexpr Algorithm kAll[] = {
    Algorithm::naive, Algorithm::ring, Algorithm::recursive_doubling, Algorithm::halving_doubling};
const char* const kNames[] = {"naive", "ring", "recursive_doubling", "halving_doubling"};

std::string name_of(Algorithm algorithm) {
    const auto i = static_cast<std::size_t>(algorithm);
    return i < 4 ? kNames[i] : "none of the four";
}

struct NamedLink {
    const char* words;
    LinkCost cost;
};
// alpha/beta is 100 bytes in the first: short tensors tell all four apart
const NamedLink kLinks[] = {
    {"alpha = 1 us, 100 MB/s", {1e-6, 1e-8}},
    {"alpha = 0, 10 GB/s", {0.0, 1e-10}},
    {"alpha = 1 us, bytes for nothing", {1e-6, 0.0}},
    {"alpha = 1 us, 10 GB/s", {1e-6, 1e-10}},
    {"everything for nothing", {0.0, 0.0}},
    {"alpha = 1 us, 100 MB/s, 20 MB/s added", {1e-6, 1e-8, 5e-8}},
};
constexpr std::size_t kExtremes = 3;  // the first of them choose whatever there is to choose

double time_s(Algorithm algorithm, std::size_t bytes, int p, LinkCost link) {
    return predicted_s(algorithm, bytes, p, link);
}

Algorithm fastest(std::size_t bytes, int p, LinkCost link) {
    return *std::ranges::min_element(kAll, {}, [&](Algorithm a) {
        return time_s(a, bytes, p, link);
    });
}

Algorithm slowest(std::size_t bytes, int p, LinkCost link) {
    return *std::ranges::max_element(kAll, {}, [&](Algorithm a) {
        return time_s(a, bytes, p, link);
    });
}

/// "expected ring, got naive: ...", with what the wrong choice is likely to come from.
Comparison chosen(Algorithm got, std::size_t bytes, int p, LinkCost link) {
    static std::optional<Algorithm> last_right;  // of the call before
    const Algorithm right = fastest(bytes, p, link);
    if (got == right) {
        last_right = right;
        return {};
    }
    const int world = Communicator::world().size();
    std::string text = "expected " + name_of(right) + ", got " + name_of(got);
    if (time_s(got, bytes, p, link) == time_s(right, bytes, p, link)) {
        text += ": they are equally fast, and then the first in the enum's order is taken";
    } else if (got == last_right) {
        text +=
            ": that was right for the call before, as if something were left of it: in a static "
            "variable?";
    } else if (got == fastest(bytes / 4, p, link)) {
        text += ": that is right for " + counted(bytes / 4, "byte") +
                ": a float has four, and the model wants bytes";
    } else if (got == fastest(bytes, p, {link.alpha_s, link.beta_s_per_byte})) {
        text += ": that is right if additions cost nothing, as if gamma were 0: where is gamma?";
    } else if (got == fastest(bytes, p, {0.0, link.beta_s_per_byte, link.gamma_s_per_byte})) {
        text +=
            ": that is right if messages start for nothing, as if alpha were 0: where is alpha?";
    } else if (got == fastest(bytes, p, {link.alpha_s, 0.0, link.gamma_s_per_byte})) {
        text += ": that is right if bytes cost nothing, as if beta were 0: where is beta?";
    } else if (got == fastest(bytes, world, link)) {
        text += ": that is right for all " + std::to_string(world) + " ranks: p is comm.size()";
    } else if (got == slowest(bytes, p, link)) {
        text += ": that is the slowest";
    }
    return {false, text};
}

void run(Algorithm algorithm, std::span<float> data, const Communicator& comm) {
    switch (algorithm) {
        case Algorithm::naive:
            return all_reduce(data, ReduceOp::sum, comm);
        case Algorithm::ring:
            return ring_all_reduce(data, ReduceOp::sum, comm);
        case Algorithm::recursive_doubling:
            return recursive_doubling_all_reduce(data, ReduceOp::sum, comm);
        case Algorithm::halving_doubling:
            return halving_doubling_all_reduce(data, ReduceOp::sum, comm);
    }
}

bool alike(const Traffic& a, const Traffic& b) {
    return a.messages_sent == b.messages_sent && a.bytes_sent == b.bytes_sent &&
           a.messages_received == b.messages_received && a.bytes_received == b.bytes_received &&
           a.sent_to == b.sent_to && a.received_from == b.received_from;
}

std::string words(const Traffic& t) {
    return counted(t.messages_sent, "message") + " with " + counted(t.bytes_sent, "byte") +
           " sent, partners: " + list(t.partners());
}

/// Runs auto_all_reduce, then the algorithm that the model names, and compares their messages.
Comparison ran_the_fastest(std::size_t n, LinkCost link, const Communicator& comm) {
    const int p = comm.size();
    auto data = input(n, comm.rank());
    const Traffic got = record(comm, [&] { auto_all_reduce(data, ReduceOp::sum, link, comm); });
    if (!got.counted) {
        return {};
    }
    Traffic of[4];
    for (int i = 0; i < 4; ++i) {
        of[i] = record(comm, [&] { run(kAll[i], data, comm); });
    }
    const Algorithm right = fastest(4 * n, p, link);
    if (alike(got, of[static_cast<int>(right)])) {
        return {};
    }
    std::string text = name_of(right) + " is the fastest: " + words(of[static_cast<int>(right)]) +
                       ". This rank had " + words(got);
    // on few ranks several have the same messages: the fastest of these is the likeliest to be chosen
    std::optional<Algorithm> ran;
    for (int i = 0; i < 4; ++i) {
        if (alike(got, of[i]) &&
            (!ran || time_s(kAll[i], 4 * n, p, link) < time_s(*ran, 4 * n, p, link))) {
            ran = kAll[i];
        }
    }
    if (!ran) {
        return {false, text + ": none of the four, so more or something else was sent"};
    }
    return {false, text + ": " + chosen(*ran, 4 * n, p, link).text};
}

std::vector<Suspicion> mistakes(const Call& call, const Communicator& comm) {
    auto known = reduction_mistakes(call, comm.size());
    known.push_back({contribution(call, comm).data, "that is this rank's own contribution"});
    known.push_back(
        {scaled(reduction(call, comm.size()), static_cast<float>(comm.size())),
         "that is p times the sum: it was reduced twice"}
    );
    return known;
}

/// The call on a network of kLinks.
Attempt on_link(const NamedLink& link) {
    return {
        .name = "auto_all_reduce",
        .takes = {.op = true},
        .before = contribution,
        .call = [&link](
                    Buffers& b, const Call& call, const Communicator& comm
                ) { auto_all_reduce(b.data, call.op, link.cost, comm); },
        .outcome = [](const Buffers& b, const Call& call,
                      const Communicator& comm) { return reduced(b.data, call, comm, mistakes); }};
}

}  // namespace

TEST_CASE("choose names the algorithm with the smallest predicted time") {
    on_ranks({1}, [](const Communicator&) {
        for (const NamedLink& link : kLinks) {
            for (const int p : {5, 8, 3, 4, 2, 1, 6, 7, 16, 64}) {
                for (std::size_t bytes :
                     {1'000'000UL, 0UL, 4UL, 100UL, 200UL, 400UL, 4096UL, 12'000UL, 30'000UL,
                      100'000UL, 85'000'000UL, (1UL << 32U) + 4}) {
                    INFO(bytes << " bytes, p = " << p << ", " << link.words);
                    REQUIRE(chosen(choose(bytes, p, link.cost), bytes, p, link.cost));
                }
            }
        }
    });
}

TEST_CASE("choose refuses fewer than one rank") {
    on_ranks({1}, [](const Communicator&) {
        CHECK_THROWS_AS(choose(1000, 0, kLinks[0].cost), std::invalid_argument);
        CHECK_THROWS_AS(choose(1000, -1, kLinks[0].cost), std::invalid_argument);
    });
}

TEST_CASE("auto_all_reduce reduces, whatever it chooses, for every length") {
    const NamedLink& link = GENERATE(from_range(kLinks, kLinks + kExtremes));
    INFO(link.words);
    every_length(on_link(link), {3, 1, 2, 4, 5, 8});
}

TEST_CASE("auto_all_reduce combines by mean, product, min and max as well, whatever it chooses") {
    const NamedLink& link = GENERATE(from_range(kLinks, kLinks + kExtremes));
    INFO(link.words);
    every_operation(on_link(link), {3, 1, 2, 4, 5, 8});
}

TEST_CASE("auto_all_reduce sends the messages of the fastest algorithm, and no others") {
    const std::size_t n = GENERATE(1000, 7, 30, 100, 3000);
    on_ranks_each(
        {5, 8, 3, 4, 2, 1}, [](int) { return std::size(kLinks); },
        [n](const Communicator& comm, std::size_t number) {
            const NamedLink& link = kLinks[number];
            INFO(counted(n, "float") << ", p = " << comm.size() << ", " << link.words);
            const Comparison messages = ran_the_fastest(n, link.cost, comm);
            CHECK(messages);
        }
    );
}

TEST_CASE("auto_all_reduce can be called twice in a row") {
    two_in_a_row(on_link(kLinks[0]));
}

TEST_CASE("auto_all_reduce chooses for the ranks of the communicator it is given") {
    on_ranks({8, 5}, [](const Communicator& comm) {
        const Communicator half = comm.split(comm.rank() % 2);
        for (const std::size_t n : {7, 1000}) {
            INFO(n << " floats among " << half.size() << " of the ranks, " << kLinks[0].words);
            const Comparison messages = ran_the_fastest(n, kLinks[0].cost, half);
            CHECK(messages);
        }
    });
}

TEST_CASE("auto_all_reduce throws dist::Error if a message fails") {
    for (const NamedLink& link : kLinks) {
        INFO(link.words);
        reports_failures(on_link(link));
    }
}

TEST_CASE("auto_all_reduce is right on 11 ranks", "[many]") {
    on_many_ranks(on_link(kLinks[0]));
}
