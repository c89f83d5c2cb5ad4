// Answers that are nearly the same text: something for an instructor to look at, and no verdict.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dist::cli {

/// How much of the shorter of two answers stands in the other as well, from 0 to 1, names, layout and comments
/// aside, and without what the stub has already. 0 where too little is their own to tell.
///
/// Source  Schleimer, Wilkerson & Aiken (2003), "Winnowing: local algorithms for document fingerprinting"
class Fingerprint {
  public:
    Fingerprint(std::string_view text, std::string_view stub);
    [[nodiscard]] double shared_with(const Fingerprint& other) const;

  private:
    std::vector<std::size_t> marks_;  // sorted
};

/// A program without comments, includes and empty lines, for tools that look for copies among many.
std::string normalised(std::string_view text);

}  // namespace dist::cli
