#include "course/grade/similarity.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <iterator>
#include <set>
#include <sstream>

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

bool is_name(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// Behind the comment or include that begins here; here, if none does.
std::size_t end_of_comment(std::string_view text, std::size_t at) {
    if (text.substr(at).starts_with("//") || text[at] == '#') {
        return std::min(text.find('\n', at), text.size());
    }
    return text.substr(at).starts_with("/*") ? std::min(text.find("*/", at), text.size() - 2) + 2
                                             : at;
}

/// Behind the text in quotes that begins here.
std::size_t end_of_text(std::string_view text, std::size_t at) {
    for (++at; at < text.size() && text[at] != '"'; ++at) {
        at += text[at] == '\\' ? 1U : 0U;
    }
    return std::min(at + 1, text.size());
}

/// The program as words: keywords and what MPI and the course are called by, "n" for any other name, "1" for numbers, and every
/// sign by itself. Comments, includes and layout are gone.
std::vector<std::string> words_of(std::string_view text) {
    std::vector<std::string> words;
    for (std::size_t at = 0; at < text.size();) {
        const char c = text[at];
        if (const std::size_t after = end_of_comment(text, at); after > at) {
            at = after;
        } else if (c == '"') {
            words.emplace_back("\"");
            at = end_of_text(text, at);
        } else if (is_name(c)) {
            std::size_t end = at;
            while (end < text.size() && is_name(text[end])) {
                ++end;
            }
            const std::string word(text.substr(at, end - at));
            const bool keyword =
                std::find(kKeywords.begin(), kKeywords.end(), word) != kKeywords.end() ||
                word.starts_with("MPI_");
            const bool digits = std::isdigit(static_cast<unsigned char>(c)) != 0;
            words.push_back(keyword ? word : digits ? "1" : "n");
            at = end;
        } else {
            if (std::isspace(static_cast<unsigned char>(c)) == 0) {
                words.emplace_back(1, c);
            }
            ++at;
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
    for (std::size_t at = 0; at < text.size();) {
        if (const std::size_t after = end_of_comment(text, at); after > at) {
            at = after;
        } else if (text[at] == '"') {
            const std::size_t end = end_of_text(text, at);
            program += text.substr(at, end - at);
            at = end;
        } else {
            program += text[at++];
        }
    }
    std::string lines;
    std::istringstream in(program);
    for (std::string line; std::getline(in, line);) {
        line.erase(line.find_last_not_of(" \t\r") + 1);
        if (!line.empty()) {
            lines += line + "\n";
        }
    }
    return lines;
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
