// A program as words.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dist::cli {

/// A name, a number, ##, any other sign by itself, or "" for a text in quotes; before what says another line, as #line does, "#line".
/// No comment is one.
struct Token {
    std::string text;
    int line = 0;
    bool directive = false;  // in a line that begins with #
    std::size_t begin = 0;   // where it stands in the source, up to `end`
    std::size_t end = 0;
};

/// `source` has lines that end with LF (source_text.hpp).
std::vector<Token> tokens_of(std::string_view source);

}  // namespace dist::cli
