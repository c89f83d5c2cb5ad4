#include "course/grade/file_names.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <regex>
#include <string_view>

namespace dist::cli {
namespace {

constexpr std::array<std::string_view, 21> kSourceEndings = {
    "",    "cpp",  "cc",  "cxx", "c++", "cp",   "c",   "cu",   "h",   "hh", "hpp",
    "hxx", "cpp~", "txt", "bak", "old", "orig", "rtf", "docx", "odt", "pdf"};

std::string lower(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) {
        return static_cast<char>(std::tolower(c));
    });
    return text;
}

/// Its letters and digits, up to the first dot.
std::string letters_of(const std::string& name) {
    std::string letters = lower(name.substr(0, name.find('.')));
    std::erase_if(letters, [](unsigned char c) { return std::isalnum(c) == 0; });
    return letters;
}

}  // namespace

std::optional<CanvasName> canvas_name(const std::string& name) {
    static const std::regex names(
        "([^_]+)_(?:late_)?([0-9]+)_[0-9]+_(.*?)(?:-[0-9]+)?(\\.[^.]*)?", std::regex::icase
    );
    std::smatch found;
    if (!std::regex_match(name, found, names)) {
        return std::nullopt;
    }
    return CanvasName{
        found[1].str() + "_" + found[2].str(), found[2], found[3].str() + found[4].str()};
}

Wanted wanted_files(const Manifest& manifest) {
    Wanted wanted;
    for (const Exercise& exercise : manifest.exercises) {
        wanted[exercise.source().filename().string()] = &exercise;
    }
    return wanted;
}

std::string likely_meant(const std::string& name, const Wanted& wanted) {
    const std::size_t dot = name.rfind('.');
    const std::string ending = dot == std::string::npos ? "" : lower(name.substr(dot + 1));
    if (std::ranges::find(kSourceEndings, ending) == kSourceEndings.end()) {
        return "";
    }
    constexpr std::size_t kFewest = 5;  // shorter names stand in many words
    const std::string letters = letters_of(name);
    std::string best;
    for (const auto& [file, exercise] : wanted) {
        const std::string its = letters_of(file);
        const bool meant =
            its.size() < kFewest ? letters == its : letters.find(its) != std::string::npos;
        if (meant && its.size() > letters_of(best).size()) {
            best = file;
        }
    }
    return best;
}

}  // namespace dist::cli
