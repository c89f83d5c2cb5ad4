#include "course/build/difference.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <sstream>
#include <string>
#include <vector>

#include "course/process/error.hpp"
#include "course/process/files.hpp"
#include "course/process/subprocess.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

/// The file that a difference is made against, relative to the repository.
/// Errors  UsageError when no line names one.
fs::path base_of(const fs::path& difference) {
    std::istringstream lines(read_text(difference));
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("--- ")) {
            return line.substr(4, line.find_first_of("\t\r", 4) - 4);
        }
    }
    throw UsageError(fmt::format(
        "{} is no difference: no line '--- FILE' names the file that it changes",
        difference.string()
    ));
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
        lines.push_back(line);
    }
    return lines;
}

/// A place that a difference changes: the lines that stand there before, and the number of the first, from 1.
struct Hunk {
    std::size_t line = 0;
    std::vector<std::string> before = {};
};

std::vector<Hunk> hunks_of(const std::string& difference) {
    const std::string begin = "@@ -";
    std::vector<Hunk> hunks;
    for (const std::string& line : lines_of(difference)) {
        if (line.starts_with(begin)) {
            hunks.push_back({.line = std::strtoul(line.c_str() + begin.size(), nullptr, 10)});
        } else if (!hunks.empty() && (line.starts_with("-") || line.starts_with(" "))) {
            hunks.back().before.push_back(line.substr(1));
        }
    }
    return hunks;
}

/// How often a hunk's lines stand in `base`, and whether they do so at its number.
struct Places {
    std::size_t count = 0;
    bool at_its_number = false;
};

Places places_of(const Hunk& hunk, const std::vector<std::string>& base) {
    Places places;
    auto from = base.begin();
    while (!hunk.before.empty()) {
        from = std::search(from, base.end(), hunk.before.begin(), hunk.before.end());
        if (from == base.end()) {
            break;
        }
        ++places.count;
        ++from;  // so it is the number of the line that was found
        places.at_its_number =
            places.at_its_number || hunk.line == static_cast<std::size_t>(from - base.begin());
    }
    return places;
}

/// Lines that stand twice are found by their number, which is that of an older file.
/// Errors  UsageError where it may be the wrong one that is changed
void expect_one_place(const fs::path& difference, const fs::path& base, const std::string& text) {
    const std::vector<std::string> lines = lines_of(text);
    for (const Hunk& hunk : hunks_of(read_text(difference))) {
        const Places places = places_of(hunk, lines);
        if (places.count > 1 && !places.at_its_number) {
            throw UsageError(fmt::format(
                "{}: what it changes stands {} times in {}, and not at line {}: make the change "
                "anew",
                difference.string(), places.count, base.string(), hunk.line
            ));
        }
    }
}

}  // namespace

bool is_difference(const fs::path& file) {
    return file.extension() == ".diff";
}

fs::path source_of(const Context& context, const fs::path& file) {
    fs::path absolute = fs::absolute(file);
    if (!is_difference(file)) {
        return absolute;
    }
    const std::size_t place = std::hash<std::string>{}(absolute.parent_path().string());
    const fs::path folder = context.build_folder() / "differences" / fmt::format("{:016x}", place);
    return folder / file.stem().replace_extension(base_of(file).extension());
}

fs::path make_source(const Context& context, const fs::path& file) {
    fs::path source = source_of(context, file);
    if (!is_difference(file)) {
        return source;
    }
    const fs::path base = base_of(file);
    if (!fs::is_regular_file(context.root / base)) {
        throw UsageError(
            fmt::format("{} changes {}, which is not there", file.string(), base.string())
        );
    }
    expect_one_place(file, base, read_text(context.root / base));
    fs::create_directories(source.parent_path());
    fs::remove(source);
    // no fuzz: a line that is not as it was is a difference that no longer means what it says
    const Ended ended =
        run(context,
            {"patch", "--silent", "--force", "--fuzz=0", "--reject-file=-", "--output",
             source.string(), (context.root / base).string(), fs::absolute(file).string()});
    if (!ended.ok()) {
        fs::remove(source);
        throw UsageError(fmt::format(
            "{} no longer applies to {}: make the change anew", file.string(), base.string()
        ));
    }
    return source;
}

}  // namespace dist::cli
