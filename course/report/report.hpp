// What people read.
#pragma once

#include <string>
#include <string_view>

#include "course/manifest/manifest.hpp"
#include "course/result/result.hpp"

namespace dist::cli {

/// What a report tells beyond the run itself.
struct Telling {
    bool output = false;    // what the program printed in tests that passed, too
    std::string next = {};  // after a pass: the exercise to go on with; empty: there is none
    /// after a pass: the command that asks what the chapter was about; empty: nothing is to be asked
    std::string questions = {};
};

/// The run as text: passing tests in a line each, the first failing one in full, then what to type.
/// `exercise` is null for a self test.
std::string report(
    const Result& result, const Exercise* exercise, bool colours, const Telling& telling = {}
);

/// True when standard output is a terminal that knows colours and NO_COLOR is not set.
bool use_colours();

enum class Colour { none, red, green, yellow, blue, bold, dim };
/// `text` in a colour, or as it is.
std::string paint(std::string_view text, Colour colour, bool colours);

}  // namespace dist::cli
