#include "course/lab/registry.hpp"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdexcept>

#include <mpi.h>

#include "course/runtime/error.hpp"
#include "course/runtime/seeded.hpp"
#include "exercises/02_naive_collectives/all_reduce.hpp"
#include "exercises/02_naive_collectives/broadcast.hpp"
#include "exercises/03_ring_and_tree/halving_doubling.hpp"
#include "exercises/03_ring_and_tree/recursive_doubling.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"
#include "exercises/03_ring_and_tree/ring_broadcast.hpp"
#include "exercises/03_ring_and_tree/shared_memory_all_reduce.hpp"
#include "exercises/03_ring_and_tree/tree_broadcast.hpp"
#include "exercises/03_ring_and_tree/tree_reduce.hpp"

namespace dist::lab {
namespace {

void naive_all_reduce(const Call& call) {
    all_reduce(call.data, call.op, call.comm);
}

void ring(const Call& call) {
    ring_all_reduce(call.data, call.op, call.comm);
}

void recursive_doubling(const Call& call) {
    recursive_doubling_all_reduce(call.data, call.op, call.comm);
}

void halving_doubling(const Call& call) {
    halving_doubling_all_reduce(call.data, call.op, call.comm);
}

void tree_all_reduce(const Call& call) {
    tree_reduce(call.data, call.op, call.root, call.comm);
    tree_broadcast(call.data, call.root, call.comm);
}

void mpi_all_reduce(const Call& call) {
    MPI_CHECK(MPI_Allreduce(
        MPI_IN_PLACE, call.data.data(), static_cast<int>(call.data.size()), MPI_FLOAT, MPI_SUM,
        call.comm.handle()
    ));
}

void automatic(const Call& call) {
    call.chosen(call);
}

void shared_memory(const Call& call) {
    shared_memory_all_reduce(*call.shared, call.op, call.comm);
}

void naive_broadcast(const Call& call) {
    broadcast(call.data, call.root, call.comm);
}

// Long enough that a segment's bytes cost more than its message, and one at least.
int segments_of(std::size_t bytes) {
    constexpr std::size_t kSegment = std::size_t{256} << 10U;
    return static_cast<int>(bytes / kSegment) + 1;
}

void pipelined_broadcast(const Call& call) {
    ring_broadcast(call.data, call.root, segments_of(call.data.size_bytes()), call.comm);
}

void binomial_broadcast(const Call& call) {
    tree_broadcast(call.data, call.root, call.comm);
}

void mpi_broadcast(const Call& call) {
    const int n = static_cast<int>(call.data.size());
    MPI_CHECK(MPI_Bcast(call.data.data(), n, MPI_FLOAT, call.root, call.comm.handle()));
}

void expect_roots_data(std::span<float> out, int /*p*/, int /*r*/, std::uint64_t seed) {
    std::ranges::copy(seeded_data(out.size(), 0, seed), out.begin());
}

void expect_sum(std::span<float> out, int p, int /*r*/, std::uint64_t seed) {
    std::fill(out.begin(), out.end(), 0.0F);
    for (int src = 0; src < p; ++src) {
        accumulate(seeded_data(out.size(), src, seed), out, ReduceOp::sum);
    }
}

double broadcast_factor(int p) {
    return p > 1 ? 1.0 : 0.0;
}

double all_reduce_factor(int p) {
    return 2.0 * (p - 1) / p;
}

template <AllReduceAlgorithm algorithm>
double model_s(std::size_t bytes, int p, const LinkCost& link) {
    return predicted_s(algorithm, bytes, p, link);
}

int tree_rounds(int p) {
    return std::bit_width(static_cast<unsigned>(p - 1));
}

double message_s(double bytes, const LinkCost& link) {
    return link.alpha_s + bytes * link.beta_s_per_byte;
}

double tree_all_reduce_s(std::size_t bytes, int p, const LinkCost& link) {
    const auto k = static_cast<double>(bytes);
    return tree_rounds(p) * (2 * message_s(k, link) + k * link.gamma_s_per_byte);
}

double naive_broadcast_s(std::size_t bytes, int p, const LinkCost& link) {
    return (p - 1) * message_s(static_cast<double>(bytes), link);
}

double tree_broadcast_s(std::size_t bytes, int p, const LinkCost& link) {
    return tree_rounds(p) * message_s(static_cast<double>(bytes), link);
}

// The last rank has the first segment after p - 1 messages, and each further one after one more.
double pipelined_broadcast_s(std::size_t bytes, int p, const LinkCost& link) {
    const int segments = segments_of(bytes);
    return p == 1 ? 0.0
                  : (p - 2 + segments) * message_s(static_cast<double>(bytes) / segments, link);
}

constexpr Collective kCollectives[] = {
    {"all_reduce", "sum", all_reduce_factor, expect_sum},
    {"broadcast", "none", broadcast_factor, expect_roots_data},
};

constexpr Algorithm kAlgorithms[] = {
    {"all_reduce", "naive", "exercise all_reduce: through rank 0 and back", naive_all_reduce,
     Means::messages, "all_reduce", model_s<AllReduceAlgorithm::naive>},
    {"all_reduce", "ring", "exercise ring_all_reduce", ring, Means::messages, "ring_all_reduce",
     model_s<AllReduceAlgorithm::ring>},
    {"all_reduce", "recursive_doubling", "exercise recursive_doubling", recursive_doubling,
     Means::messages, "recursive_doubling", model_s<AllReduceAlgorithm::recursive_doubling>},
    {"all_reduce", "halving_doubling", "exercise halving_doubling", halving_doubling,
     Means::messages, "halving_doubling", model_s<AllReduceAlgorithm::halving_doubling>},
    {"all_reduce", "tree", "exercises tree_reduce and tree_broadcast", tree_all_reduce,
     Means::messages, "tree_reduce", tree_all_reduce_s},
    {"all_reduce", "auto", "the fastest of the first four in a trial of this run", automatic},
    {"all_reduce", "shared", "exercise shared_memory_all_reduce: data in a shared window",
     shared_memory, Means::shared_memory, "shared_memory_all_reduce"},
    {"all_reduce", "mpi", "MPI_Allreduce", mpi_all_reduce, Means::library},
    {"all_reduce", "mine", "your ring_all_reduce on your own stack", nullptr},
    {"broadcast", "naive", "exercise broadcast: one message to each", naive_broadcast,
     Means::messages, "broadcast", naive_broadcast_s},
    {"broadcast", "ring", "exercise ring_broadcast, segments of 256 KiB", pipelined_broadcast,
     Means::messages, "ring_broadcast", pipelined_broadcast_s},
    {"broadcast", "tree", "exercise tree_broadcast", binomial_broadcast, Means::messages,
     "tree_broadcast", tree_broadcast_s},
    {"broadcast", "mpi", "MPI_Bcast", mpi_broadcast, Means::library},
};

}  // namespace

const Collective& find_collective(std::string_view name) {
    std::vector<std::string_view> known;
    for (const Collective& collective : kCollectives) {
        if (collective.name == name) {
            return collective;
        }
        known.push_back(collective.name);
    }
    throw std::invalid_argument(
        fmt::format("no collective \"{}\"; there is: {}", name, fmt::join(known, ", "))
    );
}

std::vector<Algorithm> find_algorithms(
    const Collective& collective, const std::vector<std::string>& names
) {
    std::vector<Algorithm> all;
    std::vector<std::string_view> known;
    for (const Algorithm& algorithm : kAlgorithms) {
        if (algorithm.collective == collective.name) {
            all.push_back(algorithm);
            known.push_back(algorithm.name);
        }
    }
    if (names.empty()) {
        return all;
    }
    const auto find = [](std::string_view name, const auto& list) {
        return std::find_if(list.begin(), list.end(), [&](const auto& a) {
            return a.name == name;
        });
    };
    std::vector<Algorithm> chosen;
    for (const std::string& name : names) {
        const auto found = find(name, all);
        if (found == all.end()) {
            throw std::invalid_argument(fmt::format(
                "no algorithm \"{}\" for {}; there are: {}", name, collective.name,
                fmt::join(known, ", ")
            ));
        }
        if (find(name, chosen) == chosen.end()) {
            chosen.push_back(*found);
        }
    }
    return chosen;
}

std::vector<Algorithm> algorithms_of_exercise(std::string_view exercise) {
    std::vector<Algorithm> found;
    std::vector<std::string_view> known;
    for (const Algorithm& algorithm : kAlgorithms) {
        if (algorithm.exercise == exercise) {
            found.push_back(algorithm);
        }
        if (!algorithm.exercise.empty()) {
            known.push_back(algorithm.exercise);
        }
    }
    if (found.empty()) {
        throw std::invalid_argument(fmt::format(
            "{} is no collective by itself; these are: {}", exercise, fmt::join(known, ", ")
        ));
    }
    return found;
}

std::vector<Algorithm> candidates_of_auto() {
    return find_algorithms(
        find_collective("all_reduce"), {"naive", "ring", "recursive_doubling", "halving_doubling"}
    );
}

std::string collectives_in_words() {
    std::vector<std::string_view> names;
    for (const Collective& collective : kCollectives) {
        names.push_back(collective.name);
    }
    return fmt::format("{}", fmt::join(names, " or "));
}

std::string list_of_algorithms() {
    std::string text;
    for (const Collective& collective : kCollectives) {
        text += fmt::format("Algorithms of {}:\n", collective.name);
        for (const Algorithm& algorithm : find_algorithms(collective, {})) {
            text += fmt::format("  {:<20} {}\n", algorithm.name, algorithm.what);
        }
    }
    return text;
}

}  // namespace dist::lab
