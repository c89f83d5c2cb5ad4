#include "course/vet/lexer.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <utility>

namespace dist::cli {
namespace {

constexpr std::array<std::string_view, 5> kRawPrefixes = {"R", "LR", "uR", "UR", "u8R"};

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
        if (c == '\n') {
            ++line_;
            directive_ = false;
            names_directive_ = false;
            begins_line_ = true;
        }
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
        const std::size_t begin = at_;
        const char c = next();
        if (begins_line_ && (c == '#' || (c == '%' && peek() == ':'))) {
            directive_ = true;
            names_directive_ = true;
        }
        const auto add = [&](const std::string& text) {
            tokens_.push_back({text, line, directive_, begin, std::min(at_, source_.size())});
            begins_line_ = false;
        };
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
            add("\"\"");
        } else if (is_name_char(c) || (c == '.' && std::isdigit(static_cast<unsigned char>(peek())) != 0)) {
            const std::string text = word(c);
            const bool number = std::isdigit(static_cast<unsigned char>(c)) != 0;
            if (std::exchange(names_directive_, false) && (number || text == "line")) {
                add("#line");
            }
            add(text);
        } else if (c == '#' && peek() == '#') {
            next();
            add("##");
        } else if (c == '%' && source_.substr(at_).starts_with(":%:")) {
            at_ += 3;
            add("##");
        } else if (std::isspace(static_cast<unsigned char>(c)) == 0) {
            add(std::string(1, c));
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

    /// The rest of a name or number; of a raw string what stands for every text.
    std::string word(char first) {
        std::string text(1, first);
        const bool number = first == '.' || std::isdigit(static_cast<unsigned char>(first)) != 0;
        while (!at_end() && (is_name_char(peek()) || (number && goes_on(text.back())))) {
            text += next();
        }
        if (peek() == '"' && std::ranges::find(kRawPrefixes, text) != kRawPrefixes.end()) {
            raw_string();
            return "\"\"";
        }
        return text;
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
    bool begins_line_ = true;
    bool directive_ = false;
    bool names_directive_ = false;  // the next word does
    std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokens_of(std::string_view source) {
    return Lexer(source).all();
}

}  // namespace dist::cli
