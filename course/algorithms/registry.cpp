#include "course/algorithms/registry.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdexcept>

#include "course/algorithms/collective_names.hpp"
#include "course/algorithms/expected.hpp"

namespace dist::lab {
namespace {

// Bytes that the busiest rank must send, over the size of the whole tensor.
double whole(int p) {
    return p > 1 ? 1.0 : 0.0;
}

double all_but_one_chunk(int p) {
    return static_cast<double>(p - 1) / p;
}

double twice_all_but_one_chunk(int p) {
    return 2 * all_but_one_chunk(p);
}

double chunk(int p) {
    return p > 1 ? 1.0 / p : 0.0;
}

double nothing(int /*p*/) {
    return 0.0;
}

constexpr Collective kCollectives[] = {
    {"all_reduce", "sum", twice_all_but_one_chunk, twice_all_but_one_chunk, whole, expect_sum},
    {"broadcast", "none", whole, whole, whole, expect_roots_data},
    {"reduce", "sum", whole, whole, whole, expect_sum_on_root},
    {"scatter", "none", all_but_one_chunk, chunk, chunk, expect_chunk_of_root},
    {"gather", "none", all_but_one_chunk, all_but_one_chunk, chunk, expect_all_chunks_on_root},
    {"all_gather", "none", all_but_one_chunk, all_but_one_chunk, all_but_one_chunk,
     expect_all_chunks},
    {"reduce_scatter", "sum", all_but_one_chunk, all_but_one_chunk, all_but_one_chunk,
     expect_chunk_of_sum},
    {"all_to_all", "none", all_but_one_chunk, all_but_one_chunk, all_but_one_chunk, expect_blocks},
    {"barrier", "none", nothing, nothing, nothing, expect_nothing},
};
static_assert(std::ranges::equal(kCollectives, kCollectiveNames, {}, &Collective::name));

constexpr Means kMessages = Means::messages;
constexpr Means kLibrary = Means::library;

constexpr Algorithm kAlgorithms[] = {
    {"all_reduce", "naive", "exercise all_reduce: through rank 0 and back", naive_all_reduce,
     kMessages, "all_reduce", all_reduce_s<AllReduceAlgorithm::naive>},
    {"all_reduce", "ring", "exercise ring_all_reduce", ring, kMessages, "ring_all_reduce",
     all_reduce_s<AllReduceAlgorithm::ring>, ring_on_nodes_s},
    {"all_reduce", "recursive_doubling", "exercise recursive_doubling", recursive_doubling,
     kMessages, "recursive_doubling", all_reduce_s<AllReduceAlgorithm::recursive_doubling>},
    {"all_reduce", "halving_doubling", "exercise halving_doubling", halving_doubling, kMessages,
     "halving_doubling", all_reduce_s<AllReduceAlgorithm::halving_doubling>},
    {"all_reduce", "tree", "exercises tree_reduce and tree_broadcast", tree_all_reduce, kMessages,
     "", tree_all_reduce_s},
    {"all_reduce", "hierarchical", "exercise hierarchical_all_reduce, where ranks have nodes",
     hierarchical, kMessages, "hierarchical_all_reduce", nullptr, hierarchical_s},
    {"all_reduce", "auto",
     "the fastest of the first four, and on nodes of hierarchical, in a trial of this run",
     automatic},
    {"all_reduce", "shared", "exercise shared_memory_all_reduce: data in a shared window",
     shared_memory, Means::shared_memory, "shared_memory_all_reduce"},
    {"all_reduce", "mpi", "MPI_Allreduce", mpi_all_reduce, kLibrary},
    {"all_reduce", "mine", "your ring_all_reduce on your own stack", nullptr},
    {"all_reduce", "tcp", "exercise ring_all_reduce on the transport of chapter 04, without MPI",
     nullptr, kLibrary},
    {"all_reduce", "gloo", "Gloo's ring over TCP, which PyTorch takes where there is no GPU",
     nullptr},
    {"broadcast", "naive", "exercise broadcast: one message to each", naive_broadcast, kMessages,
     "broadcast", naive_broadcast_s},
    {"broadcast", "ring", "exercise ring_broadcast, segments of 256 KiB", pipelined_broadcast,
     kMessages, "ring_broadcast", pipeline_s},
    {"broadcast", "tree", "exercise tree_broadcast", binomial_broadcast, kMessages,
     "tree_broadcast", tree_broadcast_s},
    {"broadcast", "mpi", "MPI_Bcast", mpi_broadcast, kLibrary},
    {"reduce", "naive", "exercise reduce: one message from each", naive_reduce, kMessages, "reduce",
     naive_reduce_s},
    {"reduce", "ring", "exercise ring_reduce, segments of 256 KiB", pipelined_reduce, kMessages,
     "ring_reduce"},
    {"reduce", "tree", "exercise tree_reduce", binomial_reduce, kMessages, "tree_reduce",
     tree_reduce_s},
    {"reduce", "mpi", "MPI_Reduce", mpi_reduce, kLibrary},
    {"scatter", "naive", "exercise scatter: one message to each", naive_scatter, kMessages,
     "scatter", chunks_s},
    {"scatter", "mpi", "MPI_Scatter", mpi_scatter, kLibrary},
    {"gather", "naive", "exercise gather: one message from each", naive_gather, kMessages, "gather",
     chunks_s},
    {"gather", "mpi", "MPI_Gather", mpi_gather, kLibrary},
    {"all_gather", "naive", "exercise all_gather: through rank 0 and back", naive_all_gather,
     kMessages, "all_gather", naive_all_gather_s},
    {"all_gather", "ring", "exercise ring_all_gather", chunks_around, kMessages, "ring_all_gather",
     chunks_s},
    {"all_gather", "mpi", "MPI_Allgather", mpi_all_gather, kLibrary},
    {"reduce_scatter", "naive", "exercise reduce_scatter: through rank 0 and back",
     naive_reduce_scatter, kMessages, "reduce_scatter", naive_reduce_scatter_s},
    {"reduce_scatter", "ring", "exercise ring_reduce_scatter", sums_around, kMessages,
     "ring_reduce_scatter", ring_reduce_scatter_s},
    {"reduce_scatter", "mpi", "MPI_Reduce_scatter", mpi_reduce_scatter, kLibrary},
    {"all_to_all", "pairwise", "exercise all_to_all: each rank with one other at a time", pairwise,
     kMessages, "all_to_all", chunks_s},
    {"all_to_all", "mpi", "MPI_Alltoall", mpi_all_to_all, kLibrary},
    {"barrier", "naive", "exercise barrier: through rank 0 and back", naive_barrier, kMessages,
     "barrier", naive_barrier_s},
    {"barrier", "dissemination", "exercise barrier, the one without a root", dissemination,
     kMessages, "", dissemination_barrier_s},
    {"barrier", "mpi", "MPI_Barrier", mpi_barrier, kLibrary},
};

/// Whether collective_names.hpp names the exercises that pass messages.
constexpr bool names_exercises() {
    std::size_t known = 0;
    for (const Algorithm& algorithm : kAlgorithms) {
        if (!algorithm.exercise.empty() && algorithm.means == kMessages) {
            if (known == kCollectiveExercises.size() ||
                kCollectiveExercises[known++] != algorithm.exercise) {
                return false;
            }
        }
    }
    return known == kCollectiveExercises.size();
}
static_assert(names_exercises());

}  // namespace

const Collective& find_collective(std::string_view name) {
    for (const Collective& collective : kCollectives) {
        if (collective.name == name) {
            return collective;
        }
    }
    throw std::invalid_argument(
        fmt::format("no collective \"{}\"; there are: {}", name, collectives_in_words())
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

std::vector<Algorithm> candidates_of_auto(bool on_nodes) {
    std::vector<std::string> names = {"naive", "ring", "recursive_doubling", "halving_doubling"};
    if (on_nodes) {
        names.emplace_back("hierarchical");
    }
    return find_algorithms(find_collective("all_reduce"), names);
}

std::string collectives_in_words() {
    return fmt::format("{}", fmt::join(kCollectiveNames, ", "));
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
