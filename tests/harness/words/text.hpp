// Text of any values: "rank 2 ends at 30 ms", and conditions that end a play with such a text.
#pragma once

#include <chrono>
#include <ranges>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace dist::harness {

namespace parts {

template <class T>
void put(std::ostream& out, const T& value);

template <class Rep, class Period>
void put(std::ostream& out, const std::chrono::duration<Rep, Period>& time) {
    out << std::chrono::duration_cast<std::chrono::milliseconds>(time).count() << " ms";
}

template <class T>
void put(std::ostream& out, const T& value) {
    if constexpr (std::is_convertible_v<T, std::string_view>) {
        out << std::string_view(value);
    } else if constexpr (std::is_same_v<T, bool>) {
        out << (value ? "true" : "false");
    } else if constexpr (std::ranges::range<T>) {
        const char* between = "";
        for (const auto& one : value) {
            out << std::exchange(between, ", ");
            put(out, one);
        }
        out << (std::ranges::empty(value) ? "none" : "");
    } else {
        out << value;
    }
}

}  // namespace parts

/// The values one after the other. A list has commas, a duration its unit; an empty list is "none".
template <class... Values>
std::string text(const Values&... values) {
    std::ostringstream out;
    (parts::put(out, values), ...);
    return out.str();
}

/// A line of the test: TestLine, which clang 14 does not know.
struct TestLine {
    const char* file = "";
    int number = 0;

    /// As a default argument, the line of the call.
    static TestLine here(const char* file = __builtin_FILE(), int number = __builtin_LINE()) {
        return {file, number};
    }
};

/// A condition, and the line of the test that states it.
struct Condition {
    // NOLINTNEXTLINE(google-explicit-constructor): so that the line is the caller's
    Condition(bool is_true, TestLine line = TestLine::here()) : holds(is_true), at(line) {}

    bool holds;
    TestLine at;
};

/// Ends what a rank of a world does, and so the play.
struct Unmet : std::runtime_error {
    Unmet(const std::string& text, TestLine line) : std::runtime_error(text), at(line) {}
    TestLine at;
};

/// Unless it holds, the play ends with this text, which names the rank and when.
template <class... Values>
void must(const Condition& condition, const Values&... values) {
    if (!condition.holds) {
        throw Unmet(text(values...), condition.at);
    }
}

/// As must(got == expected): "what has to be x, and is y".
template <class Got, class Expected>
void must_be(
    const Got& got,
    const Expected& expected,
    const std::string& what,
    TestLine at = TestLine::here()
) {
    must({got == expected, at}, what, " has to be \"", expected, "\", and is \"", got, "\"");
}

}  // namespace dist::harness
