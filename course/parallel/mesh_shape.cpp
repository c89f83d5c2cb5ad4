#include "course/parallel/mesh_shape.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace dist::trainer {

namespace {

struct Dimension {
    const char* name;
    int MeshShape::*size;
};

constexpr std::array<Dimension, 5> kDimensions = {{
    {"dp", &MeshShape::dp},
    {"pp", &MeshShape::pp},
    {"cp", &MeshShape::cp},
    {"tp", &MeshShape::tp},
    {"ep", &MeshShape::ep},
}};

/// 0 if it is no number of parts.
int parts_in(const std::string& text) {
    constexpr int kMost = 4096;
    int parts = 0;
    const char* const end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, parts);
    return error == std::errc() && stopped == end && parts <= kMost ? std::max(parts, 0) : 0;
}

std::string twice_in(const std::string& text, const std::string& name) {
    return text + ": " + name + " stands there twice";
}

}  // namespace

long long ranks_of(const MeshShape& shape) {
    return 1LL * shape.tp * shape.cp * shape.ep * shape.dp * shape.pp;
}

MeshShape read_mesh(const std::string& text) {
    MeshShape shape;
    std::vector<std::string> seen;
    std::istringstream words(text);
    for (std::string word; std::getline(words, word, ',');) {
        const std::string name = word.substr(0, word.find('='));
        const auto dimension =
            std::ranges::find(kDimensions, name, [](const Dimension& d) { return d.name; });
        const int parts = word.size() > name.size() ? parts_in(word.substr(name.size() + 1)) : 0;
        if (dimension == kDimensions.end() || parts == 0) {
            throw std::invalid_argument(
                word + ": give dp, pp, cp, tp and ep, each with a number of parts: dp=2,pp=2,tp=2"
            );
        }
        if (std::ranges::find(seen, name) != seen.end()) {
            throw std::invalid_argument(twice_in(text, name));
        }
        seen.push_back(name);
        shape.*dimension->size = parts;
    }
    return shape;
}

std::string describe(const MeshShape& shape) {
    std::string text;
    for (const auto& [name, size] : kDimensions) {
        text += (text.empty() ? "" : ",") + std::string(name) + "=" + std::to_string(shape.*size);
    }
    return text;
}

}  // namespace dist::trainer
