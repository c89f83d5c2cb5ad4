#include "exercises/04_groups_and_rendezvous/split.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <mpi.h>

#include "course/runtime/seeded.hpp"
#include "exercises/01_point_to_point/send_recv.hpp"

namespace dist {
namespace {

/// What one rank tells all others.
struct Told {
    std::uint64_t name = 0;  // its fingerprint
    int color = 0;
    int key = 0;
};

std::uint64_t fingerprint(const std::string& name) {
    std::uint64_t bits = 0;
    for (const char c : name) {
        bits = seeded_bits(bits, static_cast<unsigned char>(c));
    }
    return bits;
}

std::vector<Told> told_by_all(const Told& mine, const Communicator& comm) {
    constexpr int kBytes = sizeof(Told);
    std::vector<Told> all(static_cast<std::size_t>(comm.size()));
    MPI_CHECK(MPI_Allgather(&mine, kBytes, MPI_BYTE, all.data(), kBytes, MPI_BYTE, comm.handle()));
    return all;
}

void expect_one_name(const std::vector<Told>& all, const std::string& name) {
    const auto other =
        std::ranges::find_if(all, [&](const Told& rank) { return rank.name != all[0].name; });
    if (other == all.end()) {
        return;
    }
    const auto known = [&](const Told& rank) {
        return rank.name == fingerprint(name) ? "\"" + name + "\"" : "by another name";
    };
    throw Error(
        "split: rank " + std::to_string(other - all.begin()) + " calls it " + known(*other) +
        ", and rank 0 " + known(all[0]) + ": all ranks make the same calls in the same order"
    );
}

}  // namespace

Group::Group(std::vector<int> ranks, int context, const Communicator& comm)
    : ranks_(std::move(ranks)), context_(context), comm_(&comm) {
    rank_ = static_cast<int>(std::ranges::find(ranks_, comm.rank()) - ranks_.begin());
}

void Group::send(std::span<const float> data, int dst, int tag) const {
    expects(
        0 <= dst && dst < size() && dst != rank_, "send: dst must be another rank of the group"
    );
    expects(0 <= tag && tag < kTags, "send: a group's tags are 0 to kTags - 1");
    dist::send(data, ranks_[static_cast<std::size_t>(dst)], *comm_, context_ * kTags + tag);
}

void Group::recv(std::span<float> data, int src, int tag) const {
    expects(
        0 <= src && src < size() && src != rank_, "recv: src must be another rank of the group"
    );
    expects(0 <= tag && tag < kTags, "recv: a group's tags are 0 to kTags - 1");
    dist::recv(data, ranks_[static_cast<std::size_t>(src)], *comm_, context_ * kTags + tag);
}

std::vector<int> ordered_members(
    int color, std::span<const int> colors, std::span<const int> keys
) {
    expects(colors.size() == keys.size(), "ordered_members: every rank has a color and a key");
    std::vector<int> ranks;
    for (std::size_t rank = 0; rank < colors.size(); ++rank) {
        if (colors[rank] == color && color != MPI_UNDEFINED) {
            ranks.push_back(static_cast<int>(rank));
        }
    }
    std::ranges::stable_sort(ranks, {}, [&](int rank) {
        return keys[static_cast<std::size_t>(rank)];
    });
    return ranks;
}

Group Groups::split(const std::string& name, int color, int key) {
    expects(color >= 0 || color == MPI_UNDEFINED, "split: color must be >= 0, or MPI_UNDEFINED");
    if (calls_ == Group::kContexts) {
        throw Error("split: there are no more contexts for groups of this communicator");
    }
    const std::vector<Told> all = told_by_all({fingerprint(name), color, key}, comm_);
    expect_one_name(all, name);
    ++calls_;  // on all ranks: those without a group must not fall behind
    if (color == MPI_UNDEFINED) {
        return {};
    }
    std::vector<int> colors;
    std::vector<int> keys;
    for (const Told& rank : all) {
        colors.push_back(rank.color);
        keys.push_back(rank.key);
    }
    return {ordered_members(color, colors, keys), calls_, comm_};
}

}  // namespace dist
