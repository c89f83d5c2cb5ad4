#include "course/vet/layout.hpp"

#include <cstdlib>
#include <map>
#include <sstream>
#include <system_error>

#include "course/vet/tool.hpp"

namespace dist::cli {

namespace fs = std::filesystem;

Layout layout_of(const Context& context, const fs::path& object) {
    const Ended ended = run_tool(context, {"objdump", "-h", "-t", "-w", object.string()});
    Layout layout;
    layout.cut = ended.cut;
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
        // "0000000000000000 l     O .rodata	0000000000000008 name": seven letters, of which O says data
        constexpr std::size_t kLetters = 17;
        const std::size_t tab = line.find('\t');
        if (tab != std::string::npos && tab > kLetters + 8 && line[kLetters + 6] == 'O') {
            layout.data.emplace_back(
                line.substr(kLetters + 8, tab - kLetters - 8), line.substr(line.rfind(' ') + 1)
            );
        }
    }
    return layout;
}

namespace {

/// In which file the code of an address begins, by name. A linked file has one function an address, an object has not.
std::map<unsigned long, std::string> files_of_code(const Context& context, const fs::path& linked) {
    std::map<unsigned long, std::string> files;
    std::istringstream lines(
        output_of_tool(context, {"readelf", "--debug-dump=decodedline", "--wide", linked.string()})
    );
    for (std::string line; std::getline(lines, line);) {  // "vector.tcc   123   0x5cc0   x"
        std::istringstream words(line);
        std::string file;
        std::string number;
        std::string address;
        const bool is_row = words >> file >> number >> address && address.starts_with("0x");
        if (is_row && number != "-") {  // there, what came before it ends
            files.try_emplace(std::strtoul(address.c_str(), nullptr, 16), file);
        }
    }
    return files;
}

}  // namespace

std::set<std::string> from_headers(const Context& context, const Built& built) {
    const std::string linked = built.object.string() + ".alone";
    run_tool(
        context, {"ld", "-shared", "--noinhibit-exec", "--defsym=__dso_handle=0", "-o", linked,
                  built.object.string()}
    );
    const std::map<unsigned long, std::string> files = files_of_code(context, linked);
    const std::string own = built.source.filename().string();
    std::set<std::string> names;
    std::istringstream lines(
        output_of_tool(context, {"nm", "--line-numbers", "--extern-only", "--defined-only", linked})
    );
    for (std::string line; std::getline(lines, line);) {  // "5cc0 W name\t/usr/include/x.hpp:14"
        std::istringstream words(line);
        std::string address;
        std::string name;
        char kind = '?';
        words >> address >> kind >> name;
        if (kind == 'V' || kind == 'u') {  // vtables have no line
            if (line.find("/" + own + ":") == std::string::npos) {
                names.insert(name);
            }
        } else if (const auto file = files.find(std::strtoul(address.c_str(), nullptr, 16));
                   file != files.end() && file->second != own) {
            names.insert(name);
        }
    }
    std::error_code ignored;
    fs::remove(context.build_folder() / linked, ignored);
    return names;
}

}  // namespace dist::cli
