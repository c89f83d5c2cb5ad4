// Numbers of 64 bits, gathered in place; groups as sorted pairs of key and rank; messages by
// MPI_Send and MPI_Recv, and std::hash for the name, since all ranks are the same program.
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include <mpi.h>

#include "exercises/04_groups_and_rendezvous/split.hpp"

namespace dist {

Group::Group(std::vector<int> ranks, int context, const Communicator& comm)
    : ranks_(std::move(ranks)), context_(context), comm_(&comm) {
    while (ranks_[static_cast<std::size_t>(++rank_)] != comm.rank()) {
    }
}

void Group::send(std::span<const float> data, int dst, int tag) const {
    if (dst < 0 || dst >= size() || dst == rank_ || tag < 0 || tag >= kTags) {
        throw std::invalid_argument("send: no such rank, or no such tag");
    }
    const int n = static_cast<int>(data.size());
    const int to = ranks_[static_cast<std::size_t>(dst)];
    MPI_CHECK(MPI_Ssend(data.data(), n, MPI_FLOAT, to, (context_ << 16) | tag, comm_->handle()));
}

void Group::recv(std::span<float> data, int src, int tag) const {
    if (src < 0 || src >= size() || src == rank_ || tag < 0 || tag >= kTags) {
        throw std::invalid_argument("recv: no such rank, or no such tag");
    }
    const int n = static_cast<int>(data.size());
    const int from = ranks_[static_cast<std::size_t>(src)];
    int came = 0;
    MPI_Status status;
    MPI_CHECK(
        MPI_Recv(data.data(), n, MPI_FLOAT, from, (context_ << 16) | tag, comm_->handle(), &status)
    );
    MPI_CHECK(MPI_Get_count(&status, MPI_FLOAT, &came));
    if (came != n) {
        throw Error("recv: a message of another length came");
    }
}

std::vector<int> ordered_members(
    int color, std::span<const int> colors, std::span<const int> keys
) {
    if (colors.size() != keys.size()) {
        throw std::invalid_argument("ordered_members: a color and a key for each rank");
    }
    std::multimap<int, int> ranks;  // by key; of equal keys in the order in which they came
    for (std::size_t rank = 0; color >= 0 && rank < colors.size(); ++rank) {
        if (colors[rank] == color) {
            ranks.emplace(keys[rank], static_cast<int>(rank));
        }
    }
    std::vector<int> members;
    for (const auto& [key, rank] : ranks) {
        members.push_back(rank);
    }
    return members;
}

Group Groups::split(const std::string& name, int color, int key) {
    if (color < 0 && color != MPI_UNDEFINED) {
        throw std::invalid_argument("split: a color is not negative");
    }
    if (calls_ >= Group::kContexts) {
        throw Error("split: all contexts are taken");
    }
    const auto p = static_cast<std::size_t>(comm_.size());
    std::vector<std::array<std::int64_t, 3>> all(p);
    const auto hash = static_cast<std::int64_t>(std::hash<std::string>()(name));
    all[static_cast<std::size_t>(comm_.rank())] = {hash, color, key};
    MPI_CHECK(MPI_Allgather(
        MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.data(), 3, MPI_INT64_T, comm_.handle()
    ));
    std::vector<std::pair<std::int64_t, int>> members;
    for (std::size_t rank = 0; rank < p; ++rank) {
        if (all[rank][0] != all[0][0]) {
            throw Error(
                "rank " + std::to_string(rank) +
                " of the communicator does not make the call of rank 0; here it is " + name
            );
        }
        if (all[rank][1] == color) {
            members.emplace_back(all[rank][2], static_cast<int>(rank));
        }
    }
    calls_ += 1;
    if (color == MPI_UNDEFINED) {
        return Group();
    }
    std::sort(members.begin(), members.end());
    std::vector<int> ranks;
    for (const auto& member : members) {
        ranks.push_back(member.second);
    }
    return Group(ranks, calls_, comm_);
}

}  // namespace dist
