// Bytes on a wire, as one writes them: "06 <1> <2>'/a'" is a byte 06, the numbers 1 and 2 of eight bytes each, little-endian,
// and the text /a.
#pragma once

#include <cctype>
#include <cstdint>
#include <iomanip>
#include <sstream>
#include <string>
#include <string_view>

#include "tests/harness/words/compare.hpp"

namespace dist::harness {

/// A number of eight bytes.
inline std::string number(std::uint64_t value) {
    std::string bytes;
    for (int i = 0; i < 8; ++i) {
        bytes += static_cast<char>(value >> (8 * i));
    }
    return bytes;
}

/// A text as it stands on the wire.
inline std::string text(const std::string& value) {
    return number(value.size()) + value;
}

inline std::string bytes(std::string_view written) {
    std::string all;
    for (std::size_t at = 0; at < written.size();) {
        const char c = written[at];
        if (c == ' ') {
            ++at;
        } else if (c == '\'' || c == '<') {
            const std::size_t end = written.find(c == '<' ? '>' : '\'', at + 1);
            const std::string inside(written.substr(at + 1, end - at - 1));
            all += c == '<' ? number(static_cast<std::uint64_t>(std::stoll(inside))) : inside;
            at = end + 1;
        } else {
            all += static_cast<char>(std::stoi(std::string(written.substr(at, 2)), nullptr, 16));
            at += 2;
        }
    }
    return all;
}

/// For a report: "06 01 00 ... (18 bytes)".
inline std::string in_hex(const std::string& bytes) {
    constexpr std::size_t kMost = 40;
    std::ostringstream out;
    for (std::size_t i = 0; i < bytes.size() && i < kMost; ++i) {
        out << (i > 0 ? " " : "") << std::hex << std::setw(2) << std::setfill('0')
            << static_cast<int>(static_cast<unsigned char>(bytes[i]));
    }
    out << (bytes.size() > kMost ? " ..." : "");
    out << (bytes.empty() ? "nothing" : " (" + std::to_string(bytes.size()) + " bytes)");
    return out.str();
}

inline Comparison same_on_wire(const std::string& got, const std::string& expected) {
    return {got == expected, "expected " + in_hex(expected) + ", got " + in_hex(got)};
}

}  // namespace dist::harness
