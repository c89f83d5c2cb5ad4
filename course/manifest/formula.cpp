#include "course/manifest/formula.hpp"

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <fmt/format.h>
#include <stdexcept>

namespace dist::cli {
namespace {

constexpr std::size_t kLongestFormula = 200;  // letters: a formula is read by calls within calls

/// One function for each level of the grammar:
///
///     sum      product { (+ | -) product }
///     product  factor { (* | / | %) factor }
///     factor   number | name | function ( sum { , sum } ) | ( sum ) | - factor
class FormulaReader {
  public:
    FormulaReader(std::string_view text, const Numbers& numbers) : text_(text), numbers_(numbers) {
        if (text.size() > kLongestFormula) {
            refuse("is too long");
        }
    }

    std::int64_t whole() {
        const std::int64_t value = sum();
        if (at_ < text_.size()) {
            refuse(fmt::format("has '{}' where nothing should follow", text_[at_]));
        }
        return value;
    }

  private:
    std::int64_t sum() {
        std::int64_t value = product();
        for (char sign = any_of("+-"); sign != 0; sign = any_of("+-")) {
            value = combined(value, sign, product());
        }
        return value;
    }

    std::int64_t product() {
        std::int64_t value = factor();
        for (char sign = any_of("*/%"); sign != 0; sign = any_of("*/%")) {
            value = combined(value, sign, factor());
        }
        return value;
    }

    std::int64_t factor() {
        if (any_of("-") != 0) {
            return combined(0, '-', factor());
        }
        if (any_of("(") != 0) {
            const std::int64_t value = sum();
            expect(')');
            return value;
        }
        const std::string_view word = next_word();
        if (word.empty()) {
            refuse(
                at_ < text_.size() ? fmt::format("has '{}' where a number should be", text_[at_])
                                   : "ends where a number should be"
            );
        }
        if (std::isdigit(static_cast<unsigned char>(word.front())) != 0) {
            return number(word);
        }
        return any_of("(") != 0 ? function(word) : named(word);
    }

    std::int64_t number(std::string_view word) const {
        std::int64_t value = 0;
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
        if (error != std::errc() || end != word.data() + word.size()) {
            refuse(fmt::format("has '{}', which is no whole number of 64 bits", word));
        }
        return value;
    }

    std::int64_t named(std::string_view word) const {
        const auto found = numbers_.find(word);
        if (found == numbers_.end()) {
            refuse(fmt::format("has '{}', which is no number", word));
        }
        return found->second;
    }

    std::int64_t function(std::string_view name) {
        const std::int64_t first = sum();
        std::int64_t value = 0;
        if (name == "log2") {
            if (first < 1) {
                refuse("takes log2 of less than 1");
            }
            value =
                static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(first - 1)));
        } else if (name == "pow2") {
            if (first < 0 || first > 62) {
                refuse("takes pow2 of a number that is not from 0 to 62");
            }
            value = std::int64_t{1} << first;
        } else if (name == "min" || name == "max") {
            expect(',');
            const std::int64_t second = sum();
            value = name == "min" ? std::min(first, second) : std::max(first, second);
        } else {
            refuse(fmt::format("has no function '{}'; there are min, max, log2 and pow2", name));
        }
        expect(')');
        return value;
    }

    std::int64_t combined(std::int64_t a, char sign, std::int64_t b) const {
        std::int64_t value = 0;
        const bool overflows = sign == '+'   ? __builtin_add_overflow(a, b, &value)
                               : sign == '-' ? __builtin_sub_overflow(a, b, &value)
                                             : sign == '*' && __builtin_mul_overflow(a, b, &value);
        if (overflows) {
            refuse("goes beyond 64 bits");
        }
        if (sign == '/' || sign == '%') {
            if (b < 1) {
                refuse("divides by less than 1");
            }
            const bool below = a % b < 0;
            value = sign == '/' ? a / b - (below ? 1 : 0) : a % b + (below ? b : 0);
        }
        return value;
    }

    void skip_spaces() {
        while (at_ < text_.size() && text_[at_] == ' ') {
            ++at_;
        }
    }

    /// The next sign if it is one of these, otherwise 0.
    char any_of(std::string_view signs) {
        skip_spaces();
        const bool there = at_ < text_.size() && signs.find(text_[at_]) != std::string_view::npos;
        return there ? text_[at_++] : '\0';
    }

    void expect(char sign) {
        if (any_of(std::string_view(&sign, 1)) == 0) {
            refuse(fmt::format("lacks a '{}'", sign));
        }
    }

    std::string_view next_word() {
        skip_spaces();
        const std::size_t begin = at_;
        while (at_ < text_.size() &&
               (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_')) {
            ++at_;
        }
        return text_.substr(begin, at_ - begin);
    }

    [[noreturn]] void refuse(const std::string& what) const {
        throw std::invalid_argument(fmt::format("'{}' {}", text_.substr(0, kLongestFormula), what));
    }

    std::string_view text_;
    const Numbers& numbers_;
    std::size_t at_ = 0;
};

}  // namespace

std::int64_t value_of(std::string_view formula, const Numbers& numbers) {
    return FormulaReader(formula, numbers).whole();
}

std::string filled_in(std::string_view text, const Numbers& numbers) {
    std::string result;
    while (!text.empty()) {
        const std::size_t open = text.find('{');
        result += text.substr(0, open);
        if (open == std::string_view::npos) {
            break;
        }
        const std::size_t close = text.find('}', open);
        if (close == std::string_view::npos) {
            throw std::invalid_argument("a '{' has no '}'");
        }
        result += std::to_string(value_of(text.substr(open + 1, close - open - 1), numbers));
        text.remove_prefix(close + 1);
    }
    return result;
}

}  // namespace dist::cli
