// Several parts in one row of bytes, as a remote call takes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "course/runtime/error.hpp"
#include "course/runtime/rpc.hpp"

namespace dist {

/// Each part, with its length in front.
inline Bytes pack(const std::vector<Bytes>& parts) {
    Bytes row;
    for (const Bytes& part : parts) {
        const std::uint64_t bytes = part.size();
        const auto length = std::as_bytes(std::span(&bytes, 1));
        row.insert(row.end(), length.begin(), length.end());
        row.insert(row.end(), part.begin(), part.end());
    }
    return row;
}

/// The parts that pack() was given.
///
/// Errors  std::invalid_argument if it is no such row.
inline std::vector<Bytes> unpack(std::span<const std::byte> row) {
    std::vector<Bytes> parts;
    while (!row.empty()) {
        std::uint64_t bytes = 0;
        expects(row.size() >= sizeof bytes, "unpack: the length of a part is cut off");
        std::memcpy(&bytes, row.data(), sizeof bytes);
        row = row.subspan(sizeof bytes);
        expects(row.size() >= bytes, "unpack: a part is cut off");
        const auto part = row.first(bytes);
        parts.emplace_back(part.begin(), part.end());
        row = row.subspan(bytes);
    }
    return parts;
}

}  // namespace dist
