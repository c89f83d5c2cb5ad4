// Without strides: a rank's digits, fastest first. The color is the number that the other digits make, in the order of
// dims, and the key the number of those that may differ.
#include <algorithm>
#include <cstdint>
#include <map>
#include <sstream>
#include <utility>

#include "exercises/08_model_parallel/device_mesh.hpp"

namespace dist {
namespace {

std::vector<std::string> split_text(const std::string& joined) {
    std::vector<std::string> names;
    std::istringstream text(joined + "-");
    for (std::string name; std::getline(text, name, '-');) {
        names.push_back(name);
    }
    return names;
}

/// The size of each name; throws unless dims and order fit together.
std::map<std::string, int> sizes_of(const std::vector<MeshDim>& dims, const std::string& order) {
    std::map<std::string, int> sizes;
    std::int64_t ranks = 1;
    for (const MeshDim& dim : dims) {
        const bool is_new = sizes.insert({dim.name, dim.size}).second;
        const bool is_name = !dim.name.empty() && dim.name.find('-') == std::string::npos;
        expects(is_new && is_name && dim.size >= 1, "device_mesh: this is no dimension");
        ranks *= dim.size;
        expects(ranks <= INT32_MAX, "device_mesh: too many ranks");
    }
    std::vector<std::string> wanted = split_text(order);
    std::ranges::sort(wanted);
    expects(!dims.empty() && wanted.size() == dims.size(), "device_mesh: order has other names");
    for (const std::string& name : wanted) {
        expects(sizes.erase(name) == 1, "device_mesh: order has other names");
    }
    for (const MeshDim& dim : dims) {
        sizes[dim.name] = dim.size;
    }
    return sizes;
}

std::map<std::string, int> digits_of(
    const std::map<std::string, int>& sizes, const std::string& order, int rank
) {
    std::map<std::string, int> digits;
    for (const std::string& name : split_text(order)) {
        digits[name] = rank % sizes.at(name);
        rank /= sizes.at(name);
    }
    expects(rank == 0, "device_mesh: this is no rank of the mesh");
    return digits;
}

/// The number of the group that `rank` is in along `names`, and its place there.
std::pair<int, int> place_along(
    const std::vector<std::string>& names,
    const std::map<std::string, int>& sizes,
    const std::string& order,
    int rank
) {
    for (const std::string& name : names) {
        if (!sizes.contains(name) || std::ranges::count(names, name) > 1) {
            throw std::invalid_argument("device_mesh: what is \"" + name + "\"?");
        }
    }
    const auto digits = digits_of(sizes, order, rank);
    std::vector<std::string> slowest_first = split_text(order);
    std::ranges::reverse(slowest_first);
    int group = 0;
    int place = 0;
    for (const std::string& name : slowest_first) {
        int& number = std::ranges::count(names, name) > 0 ? place : group;
        number = number * sizes.at(name) + digits.at(name);
    }
    return {group, place};
}

}  // namespace

std::vector<int> mesh_coordinates(
    const std::vector<MeshDim>& dims, const std::string& order, int rank
) {
    const auto sizes = sizes_of(dims, order);
    expects(rank >= 0, "device_mesh: ranks are not negative");
    const auto digits = digits_of(sizes, order, rank);
    std::vector<int> coordinates;
    for (const MeshDim& dim : dims) {
        coordinates.push_back(digits.at(dim.name));
    }
    return coordinates;
}

std::vector<std::vector<int>> mesh_groups(
    const std::vector<MeshDim>& dims, const std::string& order, const std::string& names
) {
    const auto sizes = sizes_of(dims, order);
    int ranks = 1;
    for (const MeshDim& dim : dims) {
        ranks *= dim.size;
    }
    std::map<int, std::vector<int>> groups;
    for (int rank = 0; rank < ranks; ++rank) {
        groups[place_along(split_text(names), sizes, order, rank).first].push_back(rank);
    }
    std::vector<std::vector<int>> all;
    for (auto& [number, group] : groups) {
        all.push_back(std::move(group));
    }
    std::ranges::sort(all);
    return all;
}

DeviceMesh::DeviceMesh(std::vector<MeshDim> dims, std::string order, const Communicator& comm)
    : dims_(std::move(dims)), order_(std::move(order)), comm_(&comm) {
    const auto sizes = sizes_of(dims_, order_);
    int ranks = 1;
    for (const MeshDim& dim : dims_) {
        ranks *= dim.size;
    }
    expects(ranks == comm.size(), "device_mesh: the sizes make another number of ranks");
    for (const MeshDim& dim : dims_) {
        const auto [color, key] = place_along({dim.name}, sizes, order_, comm.rank());
        groups_.push_back(comm.split(color, key));
    }
}

const Communicator& DeviceMesh::group(const std::string& name) const {
    for (std::size_t i = 0; i < dims_.size(); ++i) {
        if (dims_[i].name == name) {
            return groups_[i];
        }
    }
    throw std::invalid_argument("device_mesh: what is \"" + name + "\"?");
}

int DeviceMesh::coordinate(const std::string& name) const {
    static_cast<void>(group(name));
    return digits_of(sizes_of(dims_, order_), order_, comm_->rank()).at(name);
}

int DeviceMesh::size(const std::string& name) const {
    static_cast<void>(group(name));
    return sizes_of(dims_, order_).at(name);
}

Communicator DeviceMesh::flatten(const std::vector<std::string>& names) const {
    expects(!names.empty(), "device_mesh: along nothing");
    const auto [color, key] = place_along(names, sizes_of(dims_, order_), order_, comm_->rank());
    return comm_->split(color, key);
}

}  // namespace dist
