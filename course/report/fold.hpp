// Lines for a window: broken between words.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dist::cli {

/// `text` in lines of at most so many columns, without a word in two. What follows stands under the line's second column,
/// if it has one ("Edit:   ..."), otherwise a little to the right of its beginning. Colours take no room.
///
/// A path that is longer than a line goes on behind a '/'. A command at a line's end stays whole, so that it can be
/// copied: where it is too long for any line, the terminal breaks it. Of a source line that a compiler quotes, and of
/// the mark under it, what is around the mark is kept.
std::string folded(const std::string& text, std::size_t columns);

/// A command's help: what is said of an option goes on below where it begins.
std::string folded_help(const std::string& text, std::size_t columns);

/// One line, without its end: what follows starts in column `hang`.
std::string folded_line(const std::string& line, std::size_t columns, std::size_t hang);

/// Columns that a text takes: colours take none, and a letter of several bytes is in one.
std::size_t width_of(std::string_view text);

/// To standard output, folded for the terminal that it may be.
void print_folded(const std::string& text);

/// Prose, to standard output: indented, in lines of at most 80 columns. Where a line begins with spaces, so does what follows.
void print_indented(const std::string& text);

}  // namespace dist::cli
