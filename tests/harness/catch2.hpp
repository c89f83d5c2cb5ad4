// One include for Catch2 version 2 (one header) and 3 (a library).
#pragma once

#if defined(SHARDLINGS_SIMULATED)
#include "tests/harness/simulated/checks.hpp"
#elif __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <catch2/matchers/catch_matchers.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif

#if !defined(SHARDLINGS_SIMULATED)
#include <exception>
#include <utility>

namespace dist::harness {

/// What a CHECK has caught: set by the tests' main(), thrown again after the check. A rank that
/// went on alone would wait for the others without end.
inline std::exception_ptr caught_by_check;

inline void throw_what_a_check_caught() {
    if (caught_by_check) {
        std::rethrow_exception(std::exchange(caught_by_check, nullptr));
    }
}

}  // namespace dist::harness

#undef CHECK
#undef CHECK_FALSE
#undef CHECK_NOTHROW
#define CHECK(...)                                                                              \
    do {                                                                                        \
        INTERNAL_CATCH_TEST("CHECK", Catch::ResultDisposition::ContinueOnFailure, __VA_ARGS__); \
        ::dist::harness::throw_what_a_check_caught();                                           \
    } while (false)
#define CHECK_FALSE(...)                                                                       \
    do {                                                                                       \
        INTERNAL_CATCH_TEST(                                                                   \
            "CHECK_FALSE",                                                                     \
            Catch::ResultDisposition::ContinueOnFailure | Catch::ResultDisposition::FalseTest, \
            __VA_ARGS__                                                                        \
        );                                                                                     \
        ::dist::harness::throw_what_a_check_caught();                                          \
    } while (false)
#define CHECK_NOTHROW(...)                                                            \
    do {                                                                              \
        INTERNAL_CATCH_NO_THROW(                                                      \
            "CHECK_NOTHROW", Catch::ResultDisposition::ContinueOnFailure, __VA_ARGS__ \
        );                                                                            \
        ::dist::harness::throw_what_a_check_caught();                                 \
    } while (false)
#endif

#pragma push_macro("CHECK")  // words/tensors.hpp takes it back from LibTorch
