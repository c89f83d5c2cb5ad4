// The places of a mesh of actors, by number and by named dimensions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "course/runtime/error.hpp"

namespace dist {

/// One dimension: "gpus", and how many there are.
struct ActorDim {
    std::string name;
    int size = 1;
};

/// An index in some dimensions or in all: {} is all places, {{"gpus", 1}} those with gpus=1.
using ActorSlice = std::map<std::string, int>;

/// The index of a place in each dimension. Places are numbered, and the last dimension runs
/// fastest: in {{"hosts", 2}, {"gpus", 4}} place 5 is hosts=1, gpus=1.
inline ActorSlice indices_of(const std::vector<ActorDim>& dims, int place) {
    ActorSlice indices;
    for (std::size_t i = dims.size(); i-- > 0;) {
        indices[dims[i].name] = place % dims[i].size;
        place /= dims[i].size;
    }
    return indices;
}

/// The places of a slice, in ascending order.
///
/// Errors  std::invalid_argument if there is no such dimension, or no such index in it.
inline std::vector<int> places_of(const std::vector<ActorDim>& dims, const ActorSlice& slice) {
    int n = 1;
    for (const ActorDim& dim : dims) {
        expects(dim.size >= 1, "places_of: a dimension has size 1 at least");
        n *= dim.size;
    }
    std::vector<int> places;
    for (int place = 0; place < n; ++place) {
        const ActorSlice indices = indices_of(dims, place);
        if (std::ranges::includes(indices, slice)) {
            places.push_back(place);
        }
    }
    expects(!places.empty(), "places_of: there is no such slice");
    return places;
}

/// "trainers[hosts=1, gpus=1]"
inline std::string actor_name(
    const std::string& name, const std::vector<ActorDim>& dims, int place
) {
    const ActorSlice indices = indices_of(dims, place);
    std::string text;
    for (const ActorDim& dim : dims) {
        text += (text.empty() ? "" : ", ") + dim.name + "=" + std::to_string(indices.at(dim.name));
    }
    return name + "[" + text + "]";
}

}  // namespace dist
