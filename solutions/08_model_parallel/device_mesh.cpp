#include "exercises/08_model_parallel/device_mesh.hpp"

#include <limits>
#include <utility>

namespace dist {
namespace {

std::vector<std::string> names_in(const std::string& joined) {
    std::vector<std::string> names(1);
    for (const char letter : joined) {
        if (letter == '-') {
            names.emplace_back();
        } else {
            names.back() += letter;
        }
    }
    return names;
}

std::size_t place_of(const std::string& name, const std::vector<MeshDim>& dims) {
    for (std::size_t i = 0; i < dims.size(); ++i) {
        if (dims[i].name == name) {
            return i;
        }
    }
    throw std::invalid_argument("device_mesh: no dimension is called \"" + name + "\"");
}

/// The places in dims of names that all differ.
std::vector<std::size_t> places_of(
    const std::vector<std::string>& names, const std::vector<MeshDim>& dims
) {
    std::vector<bool> taken(dims.size(), false);
    std::vector<std::size_t> places;
    for (const std::string& name : names) {
        const std::size_t place = place_of(name, dims);
        expects(!taken[place], "device_mesh: a name stands twice");
        taken[place] = true;
        places.push_back(place);
    }
    return places;
}

struct Grid {
    std::vector<int> strides;  // in the order of dims: from a rank to its neighbour there
    int ranks = 1;
};

Grid grid_of(const std::vector<MeshDim>& dims, const std::string& order) {
    for (const MeshDim& dim : dims) {
        expects(
            !dim.name.empty() && dim.name.find('-') == std::string::npos,
            "device_mesh: a name has letters, and no '-'"
        );
        expects(dim.size >= 1, "device_mesh: sizes are >= 1");
    }
    const std::vector<std::size_t> fastest_first = places_of(names_in(order), dims);
    expects(
        fastest_first.size() == dims.size(), "device_mesh: order must have every dimension once"
    );
    Grid grid{.strides = std::vector<int>(dims.size())};
    for (const std::size_t place : fastest_first) {
        grid.strides[place] = grid.ranks;
        expects(
            dims[place].size <= std::numeric_limits<int>::max() / grid.ranks,
            "device_mesh: more ranks than an int can count"
        );
        grid.ranks *= dims[place].size;
    }
    return grid;
}

/// The first rank of `rank`'s group along these dimensions: its coordinates there are 0.
int first_of_group(
    int rank,
    const std::vector<std::size_t>& places,
    const std::vector<MeshDim>& dims,
    const Grid& grid
) {
    int first = rank;
    for (const std::size_t place : places) {
        const int stride = grid.strides[place];
        first -= rank / stride % dims[place].size * stride;
    }
    return first;
}

}  // namespace

std::vector<int> mesh_coordinates(
    const std::vector<MeshDim>& dims, const std::string& order, int rank
) {
    const Grid grid = grid_of(dims, order);
    expects(0 <= rank && rank < grid.ranks, "mesh_coordinates: rank must be one of the mesh");
    std::vector<int> coordinates;
    for (std::size_t i = 0; i < dims.size(); ++i) {
        coordinates.push_back(rank / grid.strides[i] % dims[i].size);
    }
    return coordinates;
}

std::vector<std::vector<int>> mesh_groups(
    const std::vector<MeshDim>& dims, const std::string& order, const std::string& names
) {
    const Grid grid = grid_of(dims, order);
    const std::vector<std::size_t> places = places_of(names_in(names), dims);
    std::vector<std::vector<int>> groups;
    std::vector<std::size_t> group_of(static_cast<std::size_t>(grid.ranks));
    for (int rank = 0; rank < grid.ranks; ++rank) {
        const int first = first_of_group(rank, places, dims, grid);
        if (first == rank) {  // before all others of its group
            group_of[static_cast<std::size_t>(rank)] = groups.size();
            groups.emplace_back();
        }
        groups[group_of[static_cast<std::size_t>(first)]].push_back(rank);
    }
    return groups;
}

DeviceMesh::DeviceMesh(std::vector<MeshDim> dims, std::string order, const Communicator& comm)
    : dims_(std::move(dims)), order_(std::move(order)), comm_(&comm) {
    const Grid grid = grid_of(dims_, order_);
    expects(grid.ranks == comm.size(), "device_mesh: sizes must multiply to comm.size()");
    for (std::size_t i = 0; i < dims_.size(); ++i) {
        groups_.push_back(comm.split(first_of_group(comm.rank(), {i}, dims_, grid)));
    }
}

const Communicator& DeviceMesh::group(const std::string& name) const {
    return groups_[place_of(name, dims_)];
}

int DeviceMesh::coordinate(const std::string& name) const {
    return group(name).rank();
}

int DeviceMesh::size(const std::string& name) const {
    return group(name).size();
}

Communicator DeviceMesh::flatten(const std::vector<std::string>& names) const {
    expects(!names.empty(), "flatten: at least one dimension");
    const std::vector<std::size_t> places = places_of(names, dims_);
    return comm_->split(first_of_group(comm_->rank(), places, dims_, grid_of(dims_, order_)));
}

}  // namespace dist
