#include "exercises/08_model_parallel/device_mesh.hpp"

#include <utility>

namespace dist {

std::vector<int> mesh_coordinates(
    const std::vector<MeshDim>& dims, const std::string& order, int rank
) {
    throw NotImplemented("device_mesh");
}

std::vector<std::vector<int>> mesh_groups(
    const std::vector<MeshDim>& dims, const std::string& order, const std::string& names
) {
    throw NotImplemented("device_mesh");
}

DeviceMesh::DeviceMesh(std::vector<MeshDim> dims, std::string order, const Communicator& comm)
    : dims_(std::move(dims)), order_(std::move(order)), comm_(&comm) {
    // TODO: how far apart are two ranks that are neighbours along a dimension? From these strides
    // follow coordinates, groups, and the color that all ranks of a group share.
    throw NotImplemented("device_mesh");
}

const Communicator& DeviceMesh::group(const std::string& name) const {
    throw NotImplemented("device_mesh");
}

int DeviceMesh::coordinate(const std::string& name) const {
    throw NotImplemented("device_mesh");
}

int DeviceMesh::size(const std::string& name) const {
    throw NotImplemented("device_mesh");
}

Communicator DeviceMesh::flatten(const std::vector<std::string>& names) const {
    throw NotImplemented("device_mesh");
}

}  // namespace dist
