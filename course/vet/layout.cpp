#include "course/vet/layout.hpp"

#include <sstream>

#include "course/process/subprocess.hpp"

namespace dist::cli {

namespace fs = std::filesystem;

Layout layout_of(const Context& context, const fs::path& object) {
    RunOptions options;
    options.folder = context.build_folder();
    options.environment = {{"LC_ALL", "C"}};
    const Ended ended = run(context, {"objdump", "-h", "-t", "-w", object.string()}, options);
    Layout layout;
    std::istringstream lines(ended.output);
    for (std::string line; std::getline(lines, line);) {
        // "  0 .text  00000010 ...  CONTENTS, ALLOC, LOAD, READONLY, CODE"
        std::istringstream words(line);
        int number = 0;
        std::string name;
        if (line.starts_with(" ") && words >> number >> name) {
            const std::string flags = line.substr(line.find(name) + name.size());
            if (flags.find("ALLOC") != std::string::npos &&
                flags.find("READONLY") == std::string::npos) {
                layout.variables_bytes += std::stoul(flags, nullptr, 16);  // its length comes first
            }
            layout.sections.emplace_back(name, flags);
            continue;
        }
        // "0000000000000000 l     O .rodata	0000000000000008 name": seven letters, of which O says data, and F function
        constexpr std::size_t kLetters = 17;
        const std::size_t tab = line.find('\t');
        if (tab == std::string::npos || tab <= kLetters + 8) {
            continue;
        }
        const std::string section = line.substr(kLetters + 8, tab - kLetters - 8);
        const std::string symbol = line.substr(line.rfind(' ') + 1);
        if (line[kLetters + 6] == 'O') {
            layout.data.emplace_back(section, symbol);
        } else if (line[kLetters + 6] == 'F') {
            layout.functions.emplace_back(section + line.substr(0, kLetters), symbol);
        }
    }
    return layout;
}

std::set<std::string> from_headers(
    const Context& context, const Built& built, const Layout& layout
) {
    RunOptions options;
    options.folder = context.build_folder();
    options.environment = {{"LC_ALL", "C"}};
    const Ended ended =
        run(context,
            {"nm", "--line-numbers", "--extern-only", "--defined-only", built.object.string()},
            options);
    std::set<std::string> names;
    std::istringstream lines(ended.output);
    for (std::string line; std::getline(lines, line);) {  // "0000 W name\t/usr/include/x.hpp:14"
        std::istringstream words(line);
        std::string address;
        std::string name;
        std::string place;
        char kind = '?';
        words >> address >> kind >> name;
        std::getline(words >> std::ws, place);
        const fs::path file = place.substr(0, place.rfind(':'));
        const bool data = kind == 'V' || kind == 'u';
        if (place.empty() ? data : file.filename() != built.source.filename()) {
            names.insert(name);
        }
    }
    // nm is sure of one name of a function; a destructor has two or three
    std::set<std::string> places;
    for (const auto& [place, name] : layout.functions) {
        if (names.contains(name)) {
            places.insert(place);
        }
    }
    for (const auto& [place, name] : layout.functions) {
        if (places.contains(place)) {
            names.insert(name);
        }
    }
    return names;
}

}  // namespace dist::cli
