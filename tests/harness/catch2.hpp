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

#pragma push_macro("CHECK")  // words/tensors.hpp takes it back from LibTorch
