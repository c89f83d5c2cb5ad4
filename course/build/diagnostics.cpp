#include "course/build/diagnostics.hpp"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <string>
#include <vector>

#include "course/process/files.hpp"

namespace dist::cli {
namespace {

std::vector<std::string> lines_of(std::string_view text) {
    std::vector<std::string> lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        lines.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

std::string without_root(std::string text, const std::filesystem::path& root) {
    const std::string prefix = root.string() + "/";
    for (std::size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix)) {
        text.erase(at, prefix.size());
    }
    return text;
}

bool is_error(const std::string& line) {
    return line.find(" error: ") != std::string::npos &&
           line.find("ld returned") == std::string::npos &&
           // gold's: see link_error
           line.find("undefined reference to ") == std::string::npos &&
           line.find("multiple definition of ") == std::string::npos;
}

/// "(+2 more: --verbose)", or nothing.
std::string and_more(long count) {
    return count > 0 ? fmt::format("\n(+{} more: --verbose)", count) : "";
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
    for (std::size_t at = text.find(from); at != std::string::npos;
         at = text.find(from, at + to.size())) {
        text.replace(at, from.size(), to);
    }
}

/// "float const" as "const float".
void put_const_first(std::string& text) {
    constexpr std::string_view kConst = " const";
    const auto is_name = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == ':';
    };
    for (std::size_t at = text.find(kConst); at != std::string::npos;
         at = text.find(kConst, at + kConst.size())) {
        const std::size_t end = at + kConst.size();
        std::size_t begin = at;
        while (begin > 0 && is_name(text[begin - 1])) {
            --begin;
        }
        if (begin < at && (end == text.size() || !is_name(text[end]))) {
            text.replace(begin, end - begin, "const " + text.substr(begin, at - begin));
        }
    }
}

/// A line with the source lines under it; `next` is then the line behind them.
std::string with_excerpt(const std::vector<std::string>& lines, std::size_t& next) {
    std::string text = lines[next];
    while (++next < lines.size() && is_excerpt(lines[next])) {
        text += "\n" + lines[next];
    }
    return text;
}

/// The declaration of the course that the compiler shows with an error, in the lines from `next` on; or nothing.
std::string declaration(
    const std::vector<std::string>& lines, std::size_t next, const std::string& prefix
) {
    const auto leads_there = [](const std::string& line) {
        return line.starts_with("In file included from") ||
               line.starts_with("                 from");
    };
    while (next < lines.size() && leads_there(lines[next])) {
        ++next;
    }
    const bool here = next < lines.size() && lines[next].starts_with(prefix) &&
                      lines[next].find(" note: ") != std::string::npos;
    return here ? "\n" + with_excerpt(lines, next) : "";
}

/// The error's line, the source lines under it, the declaration that it is about, and where in the repository it came
/// from.
std::string compiler_error(
    const std::vector<std::string>& lines, std::size_t at, const std::filesystem::path& root
) {
    const std::string prefix = root.string() + "/";
    std::size_t next = at;
    std::string text = with_excerpt(lines, next);
    text += declaration(lines, next, prefix);
    if (!lines[at].starts_with(prefix) && lines[at].starts_with("/")) {
        // an error inside a library's header: the line of the course that led there is what helps
        const auto led_there = [&](const char* words) {
            return std::find_if(lines.begin(), lines.end(), [&](const std::string& line) {
                return line.find(prefix) != std::string::npos &&
                       line.find(words) != std::string::npos;
            });
        };
        auto from = led_there("required from");
        from = from == lines.end() ? led_there("from /") : from;
        if (from != lines.end()) {
            text += "\n  " + *from;
        }
    }
    const long more = std::count_if(lines.begin(), lines.end(), is_error) - 1;
    return without_root(text, root) + and_more(more);
}

/// The part of `line` in quotes after `words`: `...' in the linker's spelling.
std::string quoted_after(const std::string& line, const std::string& words) {
    const std::size_t begin = line.find(words);
    if (begin == std::string::npos) {
        return "";
    }
    const std::size_t from = begin + words.size() + 1;
    const std::size_t end = line.rfind('\'');
    const bool closed = end != std::string::npos && end > from;
    return line.substr(from, closed ? end - from : std::string::npos);
}

/// The name of the source file in a line of the linker: "/a/b.cpp:(.text+0x1): undefined ..." is of "b.cpp".
std::string caller_in(const std::string& line) {
    const std::string object = line.substr(0, line.find(": undefined reference"));
    const std::size_t end = object.rfind(".cpp:");
    if (end == std::string::npos) {
        return "";
    }
    const std::size_t before = object.find_last_of("/: ", end);
    const std::size_t begin = before == std::string::npos ? 0 : before + 1;
    return object.substr(begin, end + 4 - begin);
}

/// mold's "error: undefined symbol: f()" in the words of ld.
void say_as_ld(std::string& line) {
    const std::string_view molds = ": undefined symbol: ";
    if (const std::size_t at = line.find(molds); at != std::string::npos) {
        line = line.substr(0, at) + ": undefined reference to `" + line.substr(at + molds.size()) +
               "'";
    }
}

/// The exercise's header that declares the function `name`, relative to `root`; "" where none does.
std::string header_with(const std::string& name, const std::filesystem::path& root) {
    std::error_code none;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(root / "exercises", none)) {
        const auto declares = [&](const std::string& line) {
            return !line.starts_with("//") && !line.starts_with(" ") &&
                   line.find(" " + name + "(") != std::string::npos;
        };
        if (entry.path().extension() == ".hpp" &&
            std::ranges::any_of(lines_of(read_text(entry.path())), declares)) {
            return inside(root, entry.path());
        }
    }
    return "";
}

std::string link_error(
    const std::vector<std::string>& lines,
    const std::filesystem::path& root,
    const std::string& file,
    std::string_view header
) {
    for (const std::string& line : lines) {
        if (const std::string symbol = quoted_after(line, "undefined reference to ");
            !symbol.empty()) {
            const std::string signature = readable_signature(symbol);
            const std::string name = signature.substr(0, signature.find('('));
            if (header.find(name + "(") != std::string_view::npos) {
                return fmt::format(
                    "{} does not define {} as the header declares it", file, signature
                );
            }
            const std::string caller = caller_in(line);
            const bool other = !caller.empty() && caller != std::filesystem::path(file).filename();
            if (const std::string its_header = header_with(name, root); !its_header.empty()) {
                return fmt::format(
                    "{} calls {}: include \"{}\", so that it is built too", other ? caller : file,
                    signature, its_header
                );
            }
            return fmt::format(
                "{} calls {}, which is defined nowhere{}", other ? caller : file, signature,
                other ? "; if that file is not yours: is a library here of another version, or "
                        "made by another compiler?"
                      : ""
            );
        }
        std::string symbol = quoted_after(line, "multiple definition of ");
        symbol = symbol.substr(0, symbol.find('\''));
        if (symbol == "main") {
            return fmt::format("{} defines main; the test has its own, so leave it out", file);
        }
        if (!symbol.empty()) {
            return fmt::format(
                "{} defines {}, which the course defines already; give yours another name, or make "
                "it static",
                file, readable_signature(symbol)
            );
        }
    }
    return "";
}

/// What CMake says is wrong: the indented lines under "CMake Error".
std::string cmake_error(const std::vector<std::string>& lines) {
    const auto is_start = [](const std::string& line) { return line.starts_with("CMake Error"); };
    const auto start = std::find_if(lines.begin(), lines.end(), is_start);
    std::string text;
    for (auto line = start; line != lines.end(); ++line) {
        if (line->starts_with("  ")) {
            text += (text.empty() ? "" : " ") + line->substr(2);
        } else if (!text.empty()) {
            break;
        }
    }
    return start == lines.end() || !text.empty() ? text : *start;
}

}  // namespace

bool is_excerpt(const std::string& line) {
    const std::size_t bar = line.find_first_not_of(" 0123456789");
    return bar != std::string::npos && bar > 0 && line[bar] == '|' && line[bar - 1] == ' ';
}

std::string readable_signature(std::string symbol) {
    for (const std::string_view any_extent : {", 18446744073709551615ul>", ", -1ul>"}) {
        replace_all(symbol, any_extent, ">");
    }
    replace_all(symbol, "dist::", "");
    put_const_first(symbol);
    return symbol;
}

std::string first_error(
    std::string_view log,
    const std::filesystem::path& root,
    const std::string& file,
    std::string_view header
) {
    std::vector<std::string> lines = lines_of(log);
    std::ranges::for_each(lines, say_as_ld);
    const auto error = std::find_if(lines.begin(), lines.end(), is_error);
    if (error != lines.end() && !error->starts_with("collect2")) {
        return compiler_error(lines, static_cast<std::size_t>(error - lines.begin()), root);
    }
    if (std::string text = link_error(lines, root, file, header); !text.empty()) {
        return text;
    }
    if (std::string text = cmake_error(lines); !text.empty()) {
        return without_root(text, root);
    }
    std::string tail = "the build failed; its last words were:";
    for (std::size_t i = lines.size() > 5 ? lines.size() - 5 : 0; i < lines.size(); ++i) {
        tail += "\n  " + lines[i];
    }
    return without_root(tail, root);
}

}  // namespace dist::cli
