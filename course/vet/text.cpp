#include "course/vet/text.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fmt/format.h>
#include <sstream>

#include "course/vet/lexer.hpp"
#include "course/vet/source_text.hpp"

namespace dist::cli {
namespace {

template <class Words>
bool is_one_of(const Words& words, std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

constexpr std::array<std::string_view, 3> kAssembler = {"asm", "__asm", "__asm__"};
constexpr std::array<std::string_view, 6> kStack = {
    "__builtin_return_address", "__builtin_frame_address", "__builtin_eh_return",
    "__builtin_setjmp",         "__builtin_longjmp",       "__builtin_unwind_init"};

std::string why_not(const Token& token, Strictness strictness) {
    if (is_one_of(kAssembler, token.text)) {
        return "holds assembler: no exercise needs any";
    }
    if (is_one_of(kStack, token.text)) {
        return fmt::format("uses {}: no exercise needs to know its own stack", token.text);
    }
    if (token.text == "#line") {
        return "says by #line that it stands in another file: no exercise needs that";
    }
    if (strictness == Strictness::grader && token.text == "##") {
        return "joins words by ##, so that its text does not say what it does";
    }
    return "";
}

}  // namespace

std::vector<Objection> objections_to_text(
    std::string_view source, const std::string& file, Strictness strictness
) {
    std::vector<Objection> found;
    for (const Token& token : tokens_of(with_plain_lines(source))) {
        if (const std::string sentence = why_not(token, strictness); !sentence.empty()) {
            found.push_back({sentence, fmt::format("{}:{}", file, token.line)});
        }
    }
    return found;
}

std::vector<Objection> objections_to_preprocessed(
    const std::string& text, const std::string& source, const std::string& file
) {
    // `# 14 "/path/file.cpp" 2` stands before what is of line 14 of that file
    std::string own;
    std::vector<int> numbers = {0};
    bool is_own = false;
    int number = 0;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line); ++number) {
        if (line.starts_with("# ")) {
            is_own = line.find("\"" + source + "\"") != std::string::npos;
            number = std::atoi(line.c_str() + 2) - 1;
        } else if (is_own) {
            own += line + "\n";
            numbers.push_back(number);
        }
    }
    const bool attributes =
        own.find("__attribute") != std::string::npos || own.find("gnu") != std::string::npos;
    std::vector<Objection> found;
    for (const Token& token : tokens_of(own)) {
        const bool section = token.text == "section" || token.text == "__section__";
        const bool ident = token.text == "ident" || token.text == "sccs";
        const std::string sentence =
            (section && attributes) || (ident && own.find("#" + token.text) != std::string::npos)
                ? "writes into the assembler's text"
                : why_not(token, Strictness::grader);
        if (!sentence.empty()) {
            found.push_back(
                {sentence,
                 fmt::format("{}:{}", file, numbers.at(static_cast<std::size_t>(token.line)))}
            );
        }
    }
    return found;
}

}  // namespace dist::cli
