// main() for single-process tests with Catch2 version 2; version 3 brings a library.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
