#include "course/vet/symbols.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <fmt/format.h>
#include <memory>
#include <regex>
#include <sstream>

#include "course/vet/names.hpp"
#include "course/vet/tool.hpp"

namespace dist::cli {
namespace {

bool starts_with_one_of(std::string_view text, const auto& prefixes) {
    return std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view prefix) {
        return text.starts_with(prefix);
    });
}

bool is_one_of(std::string_view text, const auto& words) {
    return std::find(words.begin(), words.end(), text) != words.end();
}

/// "dist::Ring::send" of a name as the linker knows it, without what it returns and takes, or is about, as a vtable is; what is
/// local in it is not told. The name itself where it is none of C++.
std::string path_of(const std::string& name) {
    static const std::regex before("_Z(T[VTISWHC]|G[VR]|T[hvc][0-9n_]*)?Z*(N[KVRO]*)?");
    std::smatch start;
    if (!std::regex_search(name, start, before, std::regex_constants::match_continuous)) {
        return name;
    }
    std::string path;
    std::string rest = start.suffix();
    if (rest.size() > 1 && rest[0] == 'S' && std::strchr("tabsiod", rest[1]) != nullptr) {
        path = "std::";  // "St" is the namespace, "Ss" and its like are what std has in it
        rest.erase(0, 2);
    }
    for (const char* at = rest.c_str(); true;) {
        at += *at == 'L' ? 1 : 0;
        char* word = nullptr;
        const std::size_t length =
            std::isdigit(static_cast<unsigned char>(*at)) != 0 ? std::strtoul(at, &word, 10) : 0;
        if (length == 0 || length > std::strlen(word)) {
            break;
        }
        path += (path.empty() || path.ends_with("::") ? "" : "::") + std::string(word, length);
        at = word + length;
    }
    return path;
}

bool is_the_tests(std::string_view path) {
    return starts_with_one_of(path, names::kTests);
}

bool is_harmless_c(std::string_view name) {
    if (name.starts_with("__") && name.ends_with("_chk")) {  // a checked form
        return is_harmless_c(name.substr(2, name.size() - 6));
    }
    const bool named = name.starts_with("sem_open") || name.starts_with("sem_unlink");
    return is_one_of(name, names::kHarmlessC) ||
           (starts_with_one_of(name, names::kHarmlessPrefixes) && !named);
}

/// A checked form counts as the call itself.
bool is_file_call(std::string_view name) {
    const bool checked = name.starts_with("__") && name.ends_with("_chk");
    return is_one_of(checked ? name.substr(2, name.size() - 6) : name, names::kFileCalls);
}

bool is_mpi_data(const std::string& name) {
    static const std::regex data(names::kMpiData);
    return std::regex_match(name, data);
}

bool is_mathematics(std::string_view name) {
    const bool other_precision = name.ends_with('f') || name.ends_with('l');
    return is_one_of(name, names::kMathematics) ||
           (other_precision && is_one_of(name.substr(0, name.size() - 1), names::kMathematics));
}

bool is_compilers(std::string_view name) {
    return starts_with_one_of(name, names::kCompilersPrefixes) ||
           is_one_of(name, names::kCompilers) || name.ends_with("tf3") || name.ends_with("ti3");
}

/// Whether a name of the course's is for answers: those of its inner namespaces are listed, and what exercises declare is in dist itself.
bool is_given(const std::string& path) {
    constexpr std::string_view kCourse = "dist::";
    if (!path.starts_with(kCourse)) {
        return true;
    }
    const bool inner = std::islower(static_cast<unsigned char>(path[kCourse.size()])) != 0 &&
                       path.find("::", kCourse.size()) != std::string::npos;
    return inner ? starts_with_one_of(path + "(", names::kGiven)
                 : !is_one_of(path, names::kNotGiven);
}

/// Of the C++ library, LibTorch and the course: empty when nothing is known against it.
std::string why_not_cxx(std::string_view readable) {
    const auto* const found = std::find_if(
        names::kReaching.begin(), names::kReaching.end(),
        [&](const names::Refused& part) { return readable.find(part.name) != std::string::npos; }
    );
    return found == names::kReaching.end() ? "" : std::string(found->sentence);
}

bool is_known_cxx(std::string_view mangled) {
    static const std::regex of_the_library(names::kOfTheCxxLibrary);
    return std::regex_match(mangled.begin(), mangled.end(), of_the_library) ||
           std::any_of(names::kSpaces.begin(), names::kSpaces.end(), [&](std::string_view space) {
               return mangled.find(space) != std::string_view::npos;
           });
}

bool is_known(std::string_view name) {
    return name.starts_with("_Z")
               ? is_known_cxx(name)
               : is_harmless_c(name) || is_mathematics(name) || is_compilers(name);
}

/// Looking at a name must not cost more than the answer: a type that is made of itself doubles its readable name each time.
std::string why_unreadable(std::string_view name) {
    constexpr std::size_t kLongest = 4000;  // ten times that of any in the course
    constexpr std::size_t kMostParts = 40;  // "S1_" says a part again; no name of the course has 20
    if (name.size() > kLongest) {
        return fmt::format("has a name of {} letters", name.size());
    }
    std::size_t parts = 0;
    for (std::size_t at = name.find('S'); at != std::string_view::npos;
         at = name.find('S', at + 1)) {
        const std::size_t end =
            name.find_first_not_of("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", at + 1);
        parts += end != std::string_view::npos && name[end] == '_' ? 1U : 0U;
    }
    return name.starts_with("_Z") && parts > kMostParts
               ? "has a name whose types are nested too deeply to be read"
               : "";
}

}  // namespace

std::string Symbol::readable() const {
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(
        abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free
    );
    return status == 0 ? text.get() : name;
}

std::vector<Symbol> symbols_of(
    const Context& context, const std::vector<std::filesystem::path>& objects, Table table
) {
    std::vector<std::string> command = {"nm", "--extern-only", "--format=posix"};
    if (table == Table::dynamic) {
        command.emplace_back("--dynamic");
    }
    for (const std::filesystem::path& object : objects) {
        command.push_back(object.string());
    }
    std::vector<Symbol> symbols;
    std::istringstream lines(output_of_tool(context, command));
    for (std::string line; std::getline(lines, line);) {
        const std::size_t space = line.find(' ');
        if (space != std::string::npos && space + 1 < line.size() && line.back() != ':') {
            const std::size_t end = std::min(space, line.find('@'));
            symbols.push_back({line.substr(0, end), line[space + 1]});
        }
    }
    return symbols;
}

std::string why_not_needed(const Symbol& symbol, Strictness strictness) {
    if (std::string why = why_unreadable(symbol.name); !why.empty()) {
        return why;
    }
    const std::string readable = symbol.readable();
    const std::string path = path_of(symbol.name);
    if (symbol.name.starts_with("PMPI_")) {
        return fmt::format(
            "calls {}: the tests do not see its messages; call {}", symbol.name,
            symbol.name.substr(1)
        );
    }
    if (is_the_tests(path)) {
        return fmt::format("uses {}: that is the tests' own", readable);
    }
    if (!is_given(path)) {
        return fmt::format("uses {}: that is the course's, and not for answers", readable);
    }
    if (symbol.name.starts_with("MPI_Win_")) {
        return fmt::format(
            "calls {}: ranks share memory only through SharedBuffer, in exercises that have one",
            symbol.name
        );
    }
    for (const names::Refused& refused : names::kRefused) {
        if (symbol.name == refused.name) {
            return fmt::format("calls {}: {}", symbol.name, refused.sentence);
        }
    }
    if (strictness == Strictness::learner || symbol.name.starts_with("MPI_") ||
        is_mpi_data(symbol.name) || symbol.name.starts_with("nccl") ||
        symbol.name.starts_with("cuda") || symbol.name.starts_with("__cuda")) {
        return "";
    }
    if (const std::string sentence = why_not_cxx(readable); !sentence.empty()) {
        return fmt::format("{}: it needs {}", sentence, readable);
    }
    if (is_file_call(symbol.name)) {
        return fmt::format("reads or writes files: it needs {}", symbol.name);
    }
    return is_known(symbol.name) ? "" : kUnknown;
}

bool is_for_sockets(const Symbol& symbol) {
    std::string_view name = symbol.name;
    if (name.starts_with("__") && name.ends_with("_chk")) {
        name = name.substr(2, name.size() - 6);
    }
    return is_one_of(name, names::kSockets) || path_of(symbol.name).starts_with("dist::net::");
}

std::string why_not_defined(const Symbol& symbol, const Taken& taken, bool is_own) {
    if (std::string why = why_unreadable(symbol.name); !why.empty()) {
        return why;
    }
    const std::string readable = symbol.readable();
    const std::string path = path_of(symbol.name);
    if (symbol.kind == 'i' || symbol.kind == 'I') {
        return fmt::format("defines {} as another name for other code", readable);
    }
    if (!symbol.name.starts_with("_Z")) {
        return symbol.name.starts_with("DW.ref.")
                   ? ""
                   : fmt::format(
                         "defines {} as a name of C: the tests and the libraries would use it",
                         symbol.name
                     );
    }
    if (is_the_tests(path)) {
        return fmt::format("defines {}: that is the tests' own", readable);
    }
    const bool in_place = symbol.name.ends_with("mPv") || symbol.name.ends_with("PvS_");
    if ((symbol.name.starts_with("_Zn") || symbol.name.starts_with("_Zd")) && !in_place) {
        return fmt::format("defines {}, by which the tests count what is allocated", readable);
    }
    const bool from_header = symbol.is_weak() && !is_own;
    const bool own_type = symbol.is_weak() && readable.find("dist::") != std::string::npos;
    if (!from_header && !own_type && starts_with_one_of(path, names::kLibraries)) {
        return fmt::format("defines {}: that is a library's", readable);
    }
    return (from_header ? taken.strong : taken.all).contains(symbol.name)
               ? fmt::format("defines {}: that is the course's, or another exercise's", readable)
               : "";
}

}  // namespace dist::cli
