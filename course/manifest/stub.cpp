#include "course/manifest/stub.hpp"

#include <fmt/format.h>
#include <sstream>

#include "course/process/error.hpp"
#include "course/process/files.hpp"
#include "course/process/subprocess.hpp"

namespace dist::cli {
namespace {

constexpr std::string_view kThrow = "throw NotImplemented(";

/// Comments go, and so does what separates words.
std::string code_of(const std::string& text) {
    std::string code;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        for (const char c : line.substr(0, line.find("//"))) {
            code += c == ' ' || c == '\t' || c == '\r' ? "" : std::string(1, c);
        }
    }
    return code;
}

/// Whether every function of the file says that it is not there, or is one that must not throw and
/// does nothing.
bool does_nothing(const std::string& text) {
    const std::string code = code_of(text);
    const std::size_t throws = occurrences(code, "{throwNotImplemented(\"");
    const std::size_t empty = occurrences(code, "{}") + occurrences(code, "{return*this;}");
    return throws > 0 && occurrences(code, "{") == throws + empty + occurrences(code, "namespace");
}

}  // namespace

std::size_t occurrences(std::string_view text, std::string_view word) {
    std::size_t times = 0;
    for (std::size_t at = text.find(word); at != std::string_view::npos;
         at = text.find(word, at + word.size())) {
        ++times;
    }
    return times;
}

std::optional<std::string> committed_stub(const Context& context, const Exercise& exercise) {
    const std::string source = exercise.source().string();
    try {
        const Ended log = run(context, {"git", "log", "--format=%H", "--", source});
        std::istringstream commits(log.ok() ? log.output : "");
        for (std::string commit; std::getline(commits, commit);) {
            const Ended shown = run(context, {"git", "show", fmt::format("{}:{}", commit, source)});
            if (shown.ok() && shown.output.find("TODO") != std::string::npos &&
                shown.output.find(kThrow) != std::string::npos) {
                return shown.output;
            }
        }
    } catch (const Interrupted&) {
        throw;
    } catch (const CommandError&) {
        // no git
    }
    return std::nullopt;
}

std::string given_stub(const Context& context, const Exercise& exercise) {
    std::string text = read_text(context.root / exercise.source());
    return does_nothing(text) && text.find("TODO") != std::string::npos
               ? text
               : committed_stub(context, exercise).value_or("");
}

bool is_untouched(const Context& context, const Exercise& exercise) {
    const std::string text = read_text(context.root / exercise.source());
    return does_nothing(text) && committed_stub(context, exercise).value_or(text) == text;
}

}  // namespace dist::cli
