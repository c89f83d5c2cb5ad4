#include "course/vet/vet.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <mutex>
#include <set>
#include <sstream>

#include "course/process/files.hpp"
#include "course/process/subprocess.hpp"
#include "course/vet/layout.hpp"
#include "course/vet/symbols.hpp"
#include "course/vet/text.hpp"
#include "course/vet/tool.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

std::string why_not_included(const Context& context, const Built& built, const fs::path& file) {
    static constexpr std::string_view kStandIn = "tests/harness/gpu/stand_in/";  // for CUDA
    const std::string name = inside(context.root, file);
    if (fs::equivalent(file, built.source) || name.starts_with(kStandIn)) {
        return "";
    }
    const auto lies_in = [&](std::string_view folder) { return name.starts_with(folder); };
    const bool refused =
        lies_in("solutions/") || lies_in("tests/") ||
        (lies_in("course/") && std::none_of(kOpenRooms.begin(), kOpenRooms.end(), lies_in));
    return refused ? fmt::format(
                         "includes {}: {}", name,
                         name.starts_with("solutions/") ? "write the answer yourself"
                                                        : "that is not for answers"
                     )
                   : "";
}

/// In which line a file asks for a name, by the compiler's own notes; empty when it has none.
std::string line_that_needs(const Context& context, const Built& built, const std::string& name) {
    std::istringstream lines(
        output_of_tool(context, {"nm", "--line-numbers", "--undefined-only", built.object.string()})
    );
    for (std::string line; std::getline(lines, line);) {
        const std::size_t at = line.find(" " + name + "\t");
        if (at != std::string::npos) {
            return fs::path(line.substr(at + name.size() + 2)).filename().string();
        }
    }
    return "";
}

/// The C and C++ libraries, whose functions an answer's would take the place of.
std::vector<fs::path> system_libraries(const Context& context) {
    std::vector<fs::path> files;
    for (const char* const library : {"libstdc++.so.6", "libc.so.6"}) {
        std::string file = run(context, {"c++", std::string("-print-file-name=") + library}).output;
        file.resize(std::min(file.find('\n'), file.size()));
        if (fs::path(file).is_absolute()) {  // else the compiler knows of none
            files.emplace_back(file);
        }
    }
    return files;
}

/// Of one test the same for every answer: found once in a command.
const Taken& taken_by_others(const Context& context, const Built& built) {
    static std::mutex one_at_a_time;
    static std::map<std::vector<fs::path>, Taken> known;
    const std::lock_guard lock(one_at_a_time);
    const auto [place, is_new] = known.try_emplace(built.others);
    Taken& taken = place->second;
    if (is_new) {
        std::vector<Symbol> symbols = symbols_of(context, built.others);
        for (Symbol& symbol : symbols_of(context, system_libraries(context), Table::dynamic)) {
            symbols.push_back(std::move(symbol));
        }
        for (const Symbol& symbol : symbols) {
            if (!symbol.is_needed()) {
                taken.all.insert(symbol.name);
                if (!symbol.is_weak()) {
                    taken.strong.insert(symbol.name);
                }
            }
        }
    }
    return taken;
}

/// Bytes of static variables in an answer. None in the course has a tenth of it.
constexpr std::size_t kMostVariables = 64 << 10;

bool is_code(const std::string& section) {
    return section == ".text" || section.starts_with(".text.");
}

/// Code stands where compilers put it, and nothing runs before main but the constructors of objects.
std::string why_not_section(const std::string& name, const std::string& flags) {
    static constexpr std::array<std::string_view, 7> kEarly = {
        ".preinit_array", ".init", ".fini", ".fini_array", ".ctors", ".dtors", ".interp"};
    const bool code = flags.find("CODE") != std::string::npos;
    const bool written = flags.find("READONLY") == std::string::npos;
    if ((code && (written || !is_code(name))) || name.starts_with(".gnu.lto") ||
        std::find(kEarly.begin(), kEarly.end(), name) != kEarly.end()) {
        return fmt::format("has a section {} of its own", name);
    }
    return "";
}

}  // namespace

std::vector<Objection> objections(
    const Context& context, const Program& program, const Built& built, Strictness strictness
) {
    const std::string file = built.source.filename().string();
    const std::string source = read_text(built.source);
    std::vector<Objection> found = objections_to_text(source, file, strictness);
    if (found.empty() && !built.preprocessed.empty()) {  // macros of headers hide words as well
        found =
            objections_to_preprocessed(read_text(built.preprocessed), built.source.string(), file);
    }
    for (const fs::path& included : built.included) {
        if (const std::string why = why_not_included(context, built, included); !why.empty()) {
            found.push_back({why, ""});
        }
    }
    const Taken& taken = taken_by_others(context, built);
    const Layout layout = layout_of(context, built.object);
    const std::set<std::string> headers = from_headers(context, built);
    std::vector<std::string> unknown;
    for (const Symbol& symbol : symbols_of(context, {built.object})) {
        if (symbol.is_needed()) {
            if (program.sockets && is_for_sockets(symbol)) {
                continue;
            }
            const std::string why = why_not_needed(symbol, strictness);
            if (why == kUnknown) {
                unknown.push_back(symbol.readable());
                continue;
            }
            const bool may = program.files && why.starts_with("reads or writes files");
            if (!why.empty() && !may) {
                found.push_back({why, line_that_needs(context, built, symbol.name)});
            }
        } else if (const std::string why =
                       why_not_defined(symbol, taken, !headers.contains(symbol.name));
                   !why.empty()) {
            found.push_back({why, ""});
        }
    }
    if (layout.cut) {  // what nm lists is less
        found.push_back({"has more names than can be looked at", ""});
    }
    for (const auto& [name, flags] : layout.sections) {
        if (const std::string why = why_not_section(name, flags); !why.empty()) {
            found.push_back({why, ""});
        }
    }
    if (layout.variables_bytes > kMostVariables) {
        found.push_back(
            {fmt::format(
                 "has {} bytes in variables that live as long as the program: what a call needs "
                 "lives in it, and in memory that "
                 "tests count",
                 layout.variables_bytes
             ),
             ""}
        );
    }
    for (const auto& [section, name] : layout.data) {
        if (is_code(section)) {
            found.push_back(
                {fmt::format("has data among its code, in a section that is executed: {}", name),
                 ""}
            );
        }
    }
    if (!unknown.empty()) {
        found.push_back(
            {fmt::format("needs {}: not known to be harmless", fmt::join(unknown, ", ")), ""}
        );
    }
    return found;
}

std::vector<std::string> remarks(const Context& context, const Built& built) {
    for (const auto& [name, flags] : layout_of(context, built.object).sections) {
        if (name.starts_with(".init_array")) {
            return {
                "runs code before main: that of objects at file scope, or what <iostream> brings"};
        }
    }
    return {};
}

}  // namespace dist::cli
