#include "course/grade/similarity.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <iterator>
#include <set>

#include "course/vet/lexer.hpp"

namespace dist::cli {
namespace {

constexpr std::size_t kWords = 8;    // in a row that make a mark
constexpr std::size_t kWindow = 4;   // of which the least mark is kept
constexpr std::size_t kFewest = 12;  // marks that an answer must have of its own

/// Words that say what a program does; all others are names that somebody gave.
constexpr std::array<std::string_view, 26> kKeywords = {
    "for",         "while",    "if",     "else",  "return", "throw",  "do",       "switch", "case",
    "break",       "continue", "int",    "float", "double", "const",  "auto",     "bool",   "void",
    "static_cast", "new",      "delete", "try",   "catch",  "struct", "template", "using"};

/// The program as words: keywords and what MPI and the course are called by, "n" for any other name, "1" for numbers, and every
/// sign by itself. Comments, includes and layout are gone.
std::vector<std::string> words_of(std::string_view text) {
    std::vector<std::string> words;
    for (const Token& token : tokens_of(text)) {
        const auto first = static_cast<unsigned char>(token.text.front());
        const bool kept = std::ranges::find(kKeywords, token.text) != kKeywords.end() ||
                          token.text.starts_with("MPI_");
        const bool name = std::isalpha(first) != 0 || first == '_';
        if (!token.directive) {
            words.push_back(std::isdigit(first) != 0 ? "1" : name && !kept ? "n" : token.text);
        }
    }
    return words;
}

/// A hash for each kWords words in a row.
std::vector<std::size_t> marks_of(const std::vector<std::string>& words) {
    std::vector<std::size_t> marks;
    for (std::size_t i = 0; i + kWords <= words.size(); ++i) {
        std::string row;
        for (std::size_t w = 0; w < kWords; ++w) {
            row += words[i + w] + " ";
        }
        marks.push_back(std::hash<std::string>{}(row));
    }
    return marks;
}

}  // namespace

std::string normalised(std::string_view text) {
    std::string program;
    std::size_t done = 0;
    for (const Token& token : tokens_of(text)) {
        const std::string_view between = text.substr(done, token.begin - done);
        const std::size_t line = between.rfind('\n');
        done = token.end;
        if (token.directive) {
            continue;
        }
        if (line != std::string_view::npos || program.empty()) {
            program += program.empty() ? "" : "\n";
            program +=
                between.substr(line + 1, between.find_first_not_of(" \t", line + 1) - line - 1);
        } else if (!between.empty()) {
            program += ' ';
        }
        program += text.substr(token.begin, token.end - token.begin);
    }
    return program + "\n";
}

Fingerprint::Fingerprint(std::string_view text, std::string_view stub) {
    const std::vector<std::size_t> given_list = marks_of(words_of(stub));
    const std::set<std::size_t> given(given_list.begin(), given_list.end());
    const std::vector<std::size_t> all = marks_of(words_of(text));
    std::set<std::size_t> kept;
    for (std::size_t i = 0; i + kWindow <= all.size(); ++i) {
        const auto begin = all.begin() + static_cast<std::ptrdiff_t>(i);
        const std::size_t least = *std::min_element(begin, begin + kWindow);
        if (!given.contains(least)) {
            kept.insert(least);
        }
    }
    marks_.assign(kept.begin(), kept.end());
}

double Fingerprint::shared_with(const Fingerprint& other) const {
    const std::size_t fewer = std::min(marks_.size(), other.marks_.size());
    if (fewer < kFewest) {
        return 0;
    }
    std::vector<std::size_t> both;
    std::set_intersection(
        marks_.begin(), marks_.end(), other.marks_.begin(), other.marks_.end(),
        std::back_inserter(both)
    );
    return static_cast<double>(both.size()) / static_cast<double>(fewer);
}

}  // namespace dist::cli
