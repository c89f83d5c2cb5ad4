// Who is to be in which group of a mesh: found by counting, and by comparing each rank with each other one.
#pragma once

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <mpi.h>

#include "exercises/08_model_parallel/device_mesh.hpp"
#include "tests/harness/harness.hpp"

namespace dist::harness {

/// A mesh as a test gives it.
struct MeshCase {
    std::vector<MeshDim> dims;
    std::string order;
};

/// "dp=2, tp=3, order tp-dp"
inline std::string text_of(const MeshCase& mesh) {
    std::string text;
    for (const MeshDim& dim : mesh.dims) {
        text += dim.name + "=" + std::to_string(dim.size) + ", ";
    }
    return text + "order " + mesh.order;
}

inline std::vector<std::string> names_of(const std::string& joined) {
    std::vector<std::string> names;
    std::size_t begin = 0;
    for (std::size_t end = 0; end != std::string::npos; begin = end + 1) {
        end = joined.find('-', begin);
        names.push_back(joined.substr(begin, end == std::string::npos ? end : end - begin));
    }
    return names;
}

inline int ranks_of(const MeshCase& mesh) {
    int ranks = 1;
    for (const MeshDim& dim : mesh.dims) {
        ranks *= dim.size;
    }
    return ranks;
}

/// The coordinates of all ranks, in the order of dims: counted up as a mileage counter does.
inline std::vector<std::vector<int>> all_coordinates(const MeshCase& mesh) {
    std::vector<std::vector<int>> all;
    std::vector<int> now(mesh.dims.size(), 0);
    while (static_cast<int>(all.size()) < ranks_of(mesh)) {
        all.push_back(now);
        for (const std::string& name : names_of(mesh.order)) {
            const auto is_it = [&](const MeshDim& dim) { return dim.name == name; };
            const auto dim = std::ranges::find_if(mesh.dims, is_it);
            int& coordinate = now[static_cast<std::size_t>(dim - mesh.dims.begin())];
            coordinate = (coordinate + 1) % dim->size;
            if (coordinate != 0) {
                break;
            }
        }
    }
    return all;
}

/// The ranks that differ from `rank` in dimensions of `names` alone; if `turned`, in all others.
inline std::vector<int> members(
    const MeshCase& mesh, const std::string& names, int rank, bool turned = false
) {
    const auto all = all_coordinates(mesh);
    const std::vector<std::string> wanted = names_of(names);
    std::vector<int> ranks;
    for (std::size_t other = 0; other < all.size(); ++other) {
        bool in = true;
        for (std::size_t i = 0; i < mesh.dims.size(); ++i) {
            const bool may_differ = (std::ranges::count(wanted, mesh.dims[i].name) > 0) != turned;
            in = in && (may_differ || all[other][i] == all[static_cast<std::size_t>(rank)][i]);
        }
        if (in) {
            ranks.push_back(static_cast<int>(other));
        }
    }
    return ranks;
}

inline std::string list_of(const std::vector<int>& numbers) {
    std::string text;
    for (const int number : numbers) {
        text += (text.empty() ? "" : ", ") + std::to_string(number);
    }
    return "[" + text + "]";
}

/// The same mesh whose order is turned around, and the one whose order is that of dims.
inline MeshCase turned_around(MeshCase mesh) {
    std::vector<std::string> names = names_of(mesh.order);
    std::ranges::reverse(names);
    mesh.order.clear();
    for (const std::string& name : names) {
        mesh.order += (mesh.order.empty() ? "" : "-") + name;
    }
    return mesh;
}
inline MeshCase in_order_of_dims(MeshCase mesh) {
    mesh.order.clear();
    for (const MeshDim& dim : mesh.dims) {
        mesh.order += (mesh.order.empty() ? "" : "-") + dim.name;
    }
    return mesh;
}

/// How a mesh would be dealt out with a likely mistake.
inline std::vector<std::pair<MeshCase, std::string>> misread(const MeshCase& mesh) {
    const std::string by_dims =
        ": as if ranks were dealt out in the order of dims: order says which varies fastest";
    return {
        {turned_around(mesh), ": as if the last name of order varied fastest: the first does"},
        {in_order_of_dims(mesh), by_dims},
        {turned_around(in_order_of_dims(mesh)), by_dims}};
}

inline Comparison same_coordinates(const std::vector<int>& got, const MeshCase& mesh, int rank) {
    const auto of_rank = [rank](const MeshCase& one) {
        return all_coordinates(one)[static_cast<std::size_t>(rank)];
    };
    if (got == of_rank(mesh)) {
        return {};
    }
    std::string text = "rank " + std::to_string(rank) + ": expected coordinates " +
                       list_of(of_rank(mesh)) + ", in the order of dims, got " + list_of(got);
    for (const auto& [other, why] : misread(mesh)) {
        if (got == of_rank(other)) {
            return {false, text + why};
        }
    }
    return {false, text};
}

/// What a wrong group is likely to be.
inline std::string likely(
    const std::vector<int>& got, const MeshCase& mesh, const std::string& names, int rank
) {
    const std::vector<int> right = members(mesh, names, rank);
    if (std::ranges::is_permutation(got, right)) {
        return ": the right ranks in another order: they ascend";
    }
    for (const auto& [other, why] : misread(mesh)) {
        if (got == members(other, names, rank)) {
            return why;
        }
    }
    if (got == members(mesh, names, rank, true)) {
        return ": these have this coordinate in common; ranks of a group have all others in common";
    }
    if (got.empty()) {
        return ": an empty communicator: a rank is in a group along every dimension";
    }
    return "";
}

inline Comparison same_members(
    const std::vector<int>& got, const MeshCase& mesh, const std::string& names, int rank
) {
    const std::vector<int> right = members(mesh, names, rank);
    if (got == right) {
        return {};
    }
    return {
        false, "along " + names + ", the group of rank " + std::to_string(rank) + ": expected " +
                   list_of(right) + ", got " + list_of(got) + likely(got, mesh, names, rank)};
}

/// All groups, in the order of their first ranks.
inline std::vector<std::vector<int>> all_members(const MeshCase& mesh, const std::string& names) {
    std::vector<std::vector<int>> all;
    for (int rank = 0; rank < ranks_of(mesh); ++rank) {
        std::vector<int> group = members(mesh, names, rank);
        if (group.front() == rank) {
            all.push_back(std::move(group));
        }
    }
    return all;
}

inline Comparison same_groups(
    const std::vector<std::vector<int>>& got, const MeshCase& mesh, const std::string& names
) {
    const auto right = all_members(mesh, names);
    if (got == right) {
        return {};
    }
    for (std::size_t i = 0; i < std::min(got.size(), right.size()); ++i) {
        const Comparison same = same_members(got[i], mesh, names, right[i].front());
        if (!same) {
            return {false, "group " + std::to_string(i) + " " + same.text};
        }
    }
    return {
        false, "along " + names + ": expected " + std::to_string(right.size()) + " groups, got " +
                   std::to_string(got.size())};
}

/// The ranks in `comm` of a group's members, by rank in the group.
inline std::vector<int> ranks_in(const Communicator& comm, const Communicator& group) {
    if (group.size() == 0) {
        return {};
    }
    std::vector<int> there(static_cast<std::size_t>(group.size()));
    std::iota(there.begin(), there.end(), 0);
    std::vector<int> here(there.size());
    MPI_Group of_group = MPI_GROUP_NULL;
    MPI_Group of_comm = MPI_GROUP_NULL;
    MPI_Comm_group(group.handle(), &of_group);
    MPI_Comm_group(comm.handle(), &of_comm);
    MPI_Group_translate_ranks(of_group, group.size(), there.data(), of_comm, here.data());
    MPI_Group_free(&of_group);
    MPI_Group_free(&of_comm);
    return here;
}

/// What is no mesh, and why.
struct NoMesh {
    MeshCase mesh;
    std::string why;
};
inline std::vector<NoMesh> no_meshes() {
    constexpr int kMany = 1 << 16;
    return {
        {{{}, ""}, "no dimension"},
        {{{{"dp", 2}, {"tp", 4}}, "dp"}, "order lacks tp"},
        {{{{"dp", 2}, {"tp", 4}}, "dp-tp-pp"}, "order has pp, which is no dimension"},
        {{{{"dp", 2}, {"tp", 4}}, "dp-pp"}, "order has pp in the place of tp"},
        {{{{"dp", 2}, {"tp", 4}}, "dp-tp-dp"}, "order has dp twice"},
        {{{{"dp", 2}, {"tp", 4}}, "dp-dp"}, "order has dp twice, and no tp"},
        {{{{"dp", 2}, {"tp", 4}}, "dp--tp"}, "order has an empty name"},
        {{{{"dp", 2}, {"tp", 4}}, "dptp"}, "order has no '-'"},
        {{{{"dp", 2}, {"dp", 4}}, "dp-dp"}, "two dimensions are called dp"},
        {{{{"dp", 2}, {"dp", 4}}, "dp"}, "two dimensions are called dp, and order has it once"},
        {{{{"", 2}, {"tp", 4}}, "-tp"}, "a name is empty"},
        {{{{"dp-tp", 8}}, "dp-tp"}, "a name has a '-'"},
        {{{{"dp", 0}, {"tp", 8}}, "dp-tp"}, "a size is 0"},
        {{{{"dp", -2}, {"tp", -4}}, "dp-tp"}, "sizes are negative"},
        {{{{"dp", kMany}, {"tp", kMany}}, "dp-tp"}, "2^32 ranks"},
        {{{{"dp", 3}, {"tp", 1'431'655'768}}, "dp-tp"}, "2^32 + 8 ranks: 8, if an int wraps"}};
}

}  // namespace dist::harness
