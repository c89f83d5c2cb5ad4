#include "course/vet/text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <sstream>

namespace dist::cli {
namespace {

constexpr std::array<std::string_view, 5> kRawPrefixes = {"R", "LR", "uR", "UR", "u8R"};

template <class Words>
bool is_one_of(const Words& words, std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_name_char(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' ||
           static_cast<unsigned char>(c) >= 0x80;
}

/// Reads a source word by word.
class Lexer {
  public:
    explicit Lexer(std::string_view source) : source_(source) {}

    std::vector<Token> all() {
        while (!at_end()) {
            step();
        }
        return std::move(tokens_);
    }

  private:
    [[nodiscard]] bool at_end() {
        skip_splices();
        return at_ >= source_.size();
    }
    /// A backslash at the end of a line joins it with the next, also inside of a word; blanks may follow it.
    void skip_splices() {
        while (at_ < source_.size() && source_[at_] == '\\') {
            const std::size_t end = source_.find_first_not_of(" \t\f\v\r", at_ + 1);
            if (end == std::string_view::npos || source_[end] != '\n') {
                return;
            }
            at_ = end + 1;
            ++line_;
        }
    }
    char next() {
        skip_splices();
        const char c = at_ < source_.size() ? source_[at_] : '\n';
        line_ += c == '\n' ? 1 : 0;
        ++at_;
        return c;
    }
    char peek() {
        skip_splices();
        return at_ < source_.size() ? source_[at_] : '\n';
    }

    /// A number, as a preprocessor sees it: 1'000, 1.5, 1e+10, 0x1p-3.
    bool goes_on(char before) {
        const char c = peek();
        const bool separator =
            c == '\'' && at_ + 1 < source_.size() && is_name_char(source_[at_ + 1]);
        const bool sign = (c == '+' || c == '-') && std::strchr("eEpP", before) != nullptr;
        return separator || sign || c == '.';
    }

    void step() {
        const int line = line_;
        const char c = next();
        if (c == '/' && peek() == '/') {
            while (!at_end() && peek() != '\n') {
                next();
            }
        } else if (c == '/' && peek() == '*') {
            next();
            for (char before = ' '; !at_end();) {
                const char now = next();
                if (before == '*' && now == '/') {
                    break;
                }
                before = now;
            }
        } else if (c == '"' || c == '\'') {
            literal(c);
        } else if (is_name_char(c) || (c == '.' && std::isdigit(static_cast<unsigned char>(peek())) != 0)) {
            word(c, line);
        } else if (c == '#' && peek() == '#') {
            next();
            tokens_.push_back({"##", line});
        } else if (c == '%' && source_.substr(at_).starts_with(":%:")) {
            at_ += 3;
            tokens_.push_back({"##", line});
        } else if (c == '#' || (c == '%' && peek() == ':')) {
            in_directive_ = tokens_.empty() || tokens_.back().line < line;
        }
    }

    void literal(char quote) {
        while (!at_end()) {
            const char c = next();
            if (c == '\\') {
                next();
            } else if (c == quote || c == '\n') {
                return;
            }
        }
    }

    void word(char first, int line) {
        std::string text(1, first);
        const bool number = first == '.' || std::isdigit(static_cast<unsigned char>(first)) != 0;
        while (!at_end() && (is_name_char(peek()) || (number && goes_on(text.back())))) {
            text += next();
        }
        if (peek() == '"' && is_one_of(kRawPrefixes, text)) {
            raw_string();
            return;
        }
        if (in_directive_ && (number || text == "line")) {
            tokens_.push_back({"#line", line});
        }
        in_directive_ = false;
        tokens_.push_back({text, line});
    }

    /// From the quote of R"word(...)word" on; a splice is none inside of it.
    void raw_string() {
        const std::size_t open = source_.find('(', at_);
        if (open == std::string_view::npos) {
            at_ = source_.size();
            return;
        }
        const std::string end = ")" + std::string(source_.substr(at_ + 1, open - at_ - 1)) + "\"";
        const std::size_t close = source_.find(end, open);
        const std::size_t after =
            close == std::string_view::npos ? source_.size() : close + end.size();
        line_ += static_cast<int>(std::count(
            source_.begin() + static_cast<std::ptrdiff_t>(at_),
            source_.begin() + static_cast<std::ptrdiff_t>(after), '\n'
        ));
        at_ = after;
    }

    std::string_view source_;
    std::size_t at_ = 0;
    int line_ = 1;
    bool in_directive_ = false;  // its word is next
    std::vector<Token> tokens_;
};

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

std::vector<Token> tokens_of(std::string_view source) {
    return Lexer(source).all();
}

std::vector<Objection> objections_to_text(
    std::string_view source, const std::string& file, Strictness strictness
) {
    std::vector<Objection> found;
    for (const Token& token : tokens_of(source)) {
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
