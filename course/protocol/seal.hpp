// A keyed checksum for each line of a rank's records: the launcher knows by it that the tests wrote the line, as the next one, and
// that not a byte of it has changed.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

namespace dist::harness {

using SealKey = std::array<std::uint64_t, 2>;

/// SipHash-2-4: who does not know the key cannot tell the sum of any text.
///
/// Source  Aumasson & Bernstein (2012), "SipHash: a fast short-input PRF".
inline std::uint64_t keyed_sum(const SealKey& key, std::string_view text) {
    std::uint64_t a = key[0] ^ 0x736f6d6570736575U;
    std::uint64_t b = key[1] ^ 0x646f72616e646f6dU;
    std::uint64_t c = key[0] ^ 0x6c7967656e657261U;
    std::uint64_t d = key[1] ^ 0x7465646279746573U;
    const auto rounds = [&](int n) {
        for (int i = 0; i < n; ++i) {
            a += b;
            c += d;
            b = std::rotl(b, 13) ^ a;
            d = std::rotl(d, 16) ^ c;
            a = std::rotl(a, 32);
            c += b;
            a += d;
            b = std::rotl(b, 17) ^ c;
            d = std::rotl(d, 21) ^ a;
            c = std::rotl(c, 32);
        }
    };
    const auto take = [&](std::uint64_t word) {
        d ^= word;
        rounds(2);
        a ^= word;
    };
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        word |= std::uint64_t{static_cast<unsigned char>(text[i])} << (8 * (i % 8));
        if (i % 8 == 7) {
            take(word);
            word = 0;
        }
    }
    take(word | std::uint64_t{text.size()} << 56U);
    c ^= 0xff;
    rounds(4);
    return a ^ b ^ c ^ d;
}

/// The seals of one rank's lines, in their order. After each line the key is replaced by one that is made of it: no line that
/// stands in the file says anything about the key that is in memory then.
class Seal {
  public:
    Seal() = default;
    /// key  of the job.
    Seal(const SealKey& key, int rank) : key_(made_of(key, std::to_string(rank))) {}

    /// The next line, of a JSON object that is not empty: its seal stands before all else.
    std::string sealed(const std::string& object) {
        return begin_of_next(object) + object.substr(1);
    }

    /// The object of a line; none where the line is not the next one.
    std::optional<std::string> opened(const std::string& line) {
        const std::string object = "{" + line.substr(std::min(line.size(), kBeginSize));
        return line.starts_with(begin_of_next(object)) ? std::optional(object) : std::nullopt;
    }

  private:
    static constexpr std::size_t kBeginSize =
        std::string_view(R"({"seal":"0123456789abcdef",)").size();

    std::string begin_of_next(std::string_view object) {
        std::array<char, kBeginSize + 1> text{};
        const auto sum = static_cast<unsigned long long>(keyed_sum(key_, object));
        std::snprintf(text.data(), text.size(), R"({"seal":"%016llx",)", sum);
        key_ = made_of(key_, "next");
        return text.data();
    }
    static SealKey made_of(const SealKey& key, const std::string& name) {
        return {keyed_sum(key, name + " 0"), keyed_sum(key, name + " 1")};
    }

    SealKey key_{};
};

}  // namespace dist::harness
