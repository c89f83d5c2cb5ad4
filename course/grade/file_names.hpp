// What names of files say: whose they are, where Canvas has named them, and which exercise they are likely meant for.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "course/manifest/manifest.hpp"

namespace dist::cli {

/// What Canvas makes of a file that somebody uploads: "lovelaceada_LATE_1234_56789_ring_shift-1.cpp".
struct CanvasName {
    std::string student;  // "lovelaceada_1234": the same for all that she hands in
    std::string id;       // "1234"
    std::string file;     // "ring_shift.cpp": without the number of a later upload
};

std::optional<CanvasName> canvas_name(const std::string& name);

/// The files that are asked for, and the exercise of each.
using Wanted = std::map<std::string, const Exercise*>;

Wanted wanted_files(const Manifest& manifest);

/// The file that "copy of Ring-Shift (1).CPP" is likely meant for; empty: none.
std::string likely_meant(const std::string& name, const Wanted& wanted);

}  // namespace dist::cli
