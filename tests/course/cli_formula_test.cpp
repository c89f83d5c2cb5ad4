#include <stdexcept>
#include <string>
#include <utility>

#include "course/manifest/formula.hpp"
#include "tests/course/cli_support.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist::cli;

namespace {

std::string refused_formula(const std::string& formula, const Numbers& numbers = {}) {
    try {
        static_cast<void>(value_of(formula, numbers));
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("a formula follows the rules of arithmetic, in whole numbers") {
    const Numbers numbers = {{"n", 10}, {"p", 4}};
    CHECK(value_of("2 * n * (p - 1) / p", numbers) == 15);
    CHECK(value_of("2+3*4-10/4%3") == 12);
    CHECK(value_of("-(3 - 10)") == 7);
    CHECK(value_of("10 - 3 - 2") == 5);
    CHECK(value_of("(1 - 4) % 5") == 2);
    CHECK(value_of("(1 - 4) / 5") == -1);
    CHECK(value_of("min(n, p) + max(n, p)", numbers) == 14);
    CHECK(value_of("pow2(log2(9))") == 16);
    for (const auto& [of, is] : {std::pair(1, 0), {2, 1}, {3, 2}, {4, 2}, {5, 3}}) {
        CHECK(value_of("log2(" + std::to_string(of) + ")") == is);
    }
}

TEST_CASE("a formula that is none is refused with what is wrong") {
    CHECK(has(refused_formula("2 *"), "ends where a number should be"));
    CHECK(has(refused_formula("2 * )"), "')' where a number should be"));
    CHECK(has(refused_formula("(1"), "lacks a ')'"));
    CHECK(has(refused_formula("1 2"), "'2' where nothing should follow"));
    CHECK(has(refused_formula("q"), "'q', which is no number"));
    CHECK(has(refused_formula("sqrt(4)"), "no function 'sqrt'"));
    CHECK(has(refused_formula("1 / 0"), "divides by less than 1"));
    CHECK(has(refused_formula("9223372036854775807 + 1"), "beyond 64 bits"));
    CHECK(has(refused_formula("4611686018427387904 * 2"), "beyond 64 bits"));
    CHECK(has(refused_formula("9223372036854775808"), "no whole number of 64 bits"));
    CHECK(has(refused_formula(std::string(100000, '(')), "too long"));
    CHECK(has(refused_formula("log2(0)"), "log2 of less than 1"));
}

TEST_CASE("a text shows the values of its formulas") {
    CHECK(filled_in("{p} and {2 * p}.", {{"p", 3}}) == "3 and 6.");
    CHECK(filled_in("no number", {}) == "no number");
    CHECK_THROWS(filled_in("{p", {{"p", 3}}));
    CHECK_THROWS(filled_in("{q}", {{"p", 3}}));
}
