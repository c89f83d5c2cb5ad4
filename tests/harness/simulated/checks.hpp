// What tests of exercises use of Catch2, for SimGrid's MPI. There every rank is a copy of the test in one process, with
// variables of its own; Catch2 3 is a library that no such copy can hold (its code is not position-independent), and one
// for all ranks would mix their checks.
#pragma once

#include <cstddef>
#include <exception>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace dist::harness::simulated {

struct TestCase {
    void (*body)();
    std::string name;
    std::string tags;
};

/// All tests, in the order they were written.
std::vector<TestCase>& test_cases();

struct Register {
    Register(void (*body)(), const char* name, const char* tags = "") {
        test_cases().push_back({body, name, tags});
    }
};

/// Runs the test once for each choice that GENERATE has, until `failed` says so.
void run_choices(const TestCase& test, bool (*failed)());

/// The number of this GENERATE's value, of so many.
std::size_t choose(std::size_t count);

template <class T, class... Others>
T generate(T first, Others... others) {
    const T values[] = {first, T(others)...};
    return values[choose(1 + sizeof...(others))];
}
template <class T>
struct Range {
    std::vector<T> values;
};
template <class Iterator>
auto from_range(Iterator begin, Iterator end) {
    return Range<typename std::iterator_traits<Iterator>::value_type>{{begin, end}};
}
template <class T>
T generate(Range<T> range) {
    return range.values[choose(range.values.size())];
}

/// One INFO, for as long as it lives.
class Info {
  public:
    explicit Info(std::string text);
    ~Info();
    Info(const Info&) = delete;
    Info& operator=(const Info&) = delete;
};

/// A failed REQUIRE.
struct RequirementFailed {};

struct Place {
    const char* expression;
    const char* file;
    int line;
};

/// A check and how it went; `expansion` says what was seen.
void note_check(bool holds, const std::string& expansion, const Place& place);

template <class Value>
bool check(const Value& value, const Place& place) {
    const auto holds = static_cast<bool>(value);
    std::string expansion = "it does not hold";
    if constexpr (requires { value.text; }) {
        expansion = value.text;
    }
    note_check(holds, expansion, place);
    return holds;
}

/// How an expression ended: "" where it threw a Wanted, otherwise what it did.
template <class Wanted, class Expression>
std::string thrown_by(const Expression& expression) {
    try {
        expression();
    } catch (const Wanted&) {
        return "";
    } catch (const std::exception& error) {
        return std::string("it threw another exception: ") + error.what();
    }
    return "nothing was thrown";
}

}  // namespace dist::harness::simulated

using dist::harness::simulated::from_range;

// NOLINTBEGIN(cppcoreguidelines-macro-usage): the names are Catch2's
#define SHARDLINGS_JOINED_NOW(a, b) a##b
#define SHARDLINGS_JOINED(a, b) SHARDLINGS_JOINED_NOW(a, b)
#define SHARDLINGS_PLACE(...) \
    { #__VA_ARGS__, __FILE__, __LINE__ }
#define SHARDLINGS_TEST(function, ...)                                                          \
    static void function();                                                                     \
    static const ::dist::harness::simulated::Register SHARDLINGS_JOINED(function, _registered)( \
        &(function), __VA_ARGS__                                                                \
    );                                                                                          \
    static void function()
#define TEST_CASE(...) SHARDLINGS_TEST(SHARDLINGS_JOINED(shardlings_test_, __LINE__), __VA_ARGS__)
#define GENERATE(...) ::dist::harness::simulated::generate(__VA_ARGS__)
#define INFO(...)                                                                              \
    const ::dist::harness::simulated::Info SHARDLINGS_JOINED(shardlings_info_, __LINE__)([&] { \
        std::ostringstream shardlings_text;                                                    \
        shardlings_text << __VA_ARGS__;                                                        \
        return shardlings_text.str();                                                          \
    }())
#define CHECK(...) \
    static_cast<void>(::dist::harness::simulated::check(__VA_ARGS__, SHARDLINGS_PLACE(__VA_ARGS__)))
#define CHECK_FALSE(...) CHECK(!(__VA_ARGS__))
#define FAIL_CHECK(...) \
    ::dist::harness::simulated::note_check(false, __VA_ARGS__, SHARDLINGS_PLACE(__VA_ARGS__))
#define REQUIRE(...)                                                                          \
    do {                                                                                      \
        if (!::dist::harness::simulated::check(__VA_ARGS__, SHARDLINGS_PLACE(__VA_ARGS__))) { \
            throw ::dist::harness::simulated::RequirementFailed();                            \
        }                                                                                     \
    } while (false)
#define CHECK_THROWS_AS(expression, ...)                                         \
    do {                                                                         \
        const std::string shardlings_end =                                       \
            ::dist::harness::simulated::thrown_by<__VA_ARGS__>([&] {             \
                static_cast<void>(expression);                                   \
            });                                                                  \
        ::dist::harness::simulated::note_check(                                  \
            shardlings_end.empty(), shardlings_end, SHARDLINGS_PLACE(expression) \
        );                                                                       \
    } while (false)
#define CHECK_NOTHROW(...)                                                        \
    do {                                                                          \
        std::string shardlings_end;                                               \
        try {                                                                     \
            static_cast<void>(__VA_ARGS__);                                       \
        } catch (const std::exception& shardlings_error) {                        \
            shardlings_end = shardlings_error.what();                             \
        }                                                                         \
        ::dist::harness::simulated::note_check(                                   \
            shardlings_end.empty(), shardlings_end, SHARDLINGS_PLACE(__VA_ARGS__) \
        );                                                                        \
    } while (false)
// NOLINTEND(cppcoreguidelines-macro-usage)
