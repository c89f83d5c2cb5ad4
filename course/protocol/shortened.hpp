// Texts that an answer decides on, such as what its exceptions say, cut to a length that records and reports can hold.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

namespace dist {

/// `text` in at most `most` bytes, which say how long it was where it is cut: between characters of UTF-8.
inline std::string shortened(std::string text, std::size_t most) {
    if (text.size() <= most) {
        return text;
    }
    const std::string words = " ... (cut: " + std::to_string(text.size()) + " bytes)";
    most -= std::min(most, words.size());
    while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80) {
        --most;
    }
    return text.erase(most) + words;
}

}  // namespace dist
