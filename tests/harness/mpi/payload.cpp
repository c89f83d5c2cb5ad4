#include "tests/harness/mpi/payload.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <sstream>
#include <string_view>

#include "tests/harness/channel.hpp"
#include "tests/harness/mpi/buffers.hpp"

namespace dist::harness {
namespace {

constexpr int kMostValues = 8;
constexpr std::size_t kMostLetters = 24;

template <class T>
std::string values_of(const char* packed, int bytes) {
    std::ostringstream text;
    const int count = bytes / static_cast<int>(sizeof(T));
    for (int i = 0; i < std::min(count, kMostValues); ++i) {
        T value;
        std::memcpy(&value, packed + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
        text << (i > 0 ? " " : "") << value;
    }
    return text.str();
}

/// As text, if it is one.
std::string letters_of(const char* packed, int bytes) {
    const std::string_view all(packed, static_cast<std::size_t>(bytes));
    const bool is_text = std::ranges::all_of(all, [](char one) {
        return std::isprint(static_cast<unsigned char>(one)) != 0;
    });
    return is_text ? std::string(all.substr(0, kMostLetters)) : "";
}

}  // namespace

trace::Payload payload_of(const void* user, const char* packed, int bytes, MPI_Datatype type) {
    if (!channel::keeps_payloads() || bytes == 0) {
        return {};
    }
    return {
        is_contiguous(type) ? reinterpret_cast<std::uint64_t>(user) : 0,
        type == MPI_FLOAT                           ? values_of<float>(packed, bytes)
        : type == MPI_DOUBLE                        ? values_of<double>(packed, bytes)
        : type == MPI_INT                           ? values_of<int>(packed, bytes)
        : type == MPI_LONG || type == MPI_LONG_LONG ? values_of<long>(packed, bytes)
        : type == MPI_UNSIGNED_LONG || type == MPI_UINT64_T
            ? values_of<std::uint64_t>(packed, bytes)
            : letters_of(packed, bytes)};
}

}  // namespace dist::harness
