// Numbers and texts as they travel in a store's messages.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace dist::net {

/// Appends a number as it stands in memory.
template <class Number>
void put(std::string& message, Number number) {
    static_assert(std::endian::native == std::endian::little, "numbers travel little-endian");
    message.append(reinterpret_cast<const char*>(&number), sizeof number);
}

/// Appends a text: its length, as a uint64, and so many bytes.
inline void put_text(std::string& message, std::string_view text) {
    put(message, std::uint64_t{text.size()});
    message += text;
}

}  // namespace dist::net
