// Builds a test, with the student's file or with another in its place.
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "course/manifest/manifest.hpp"
#include "course/process/context.hpp"

namespace dist::cli {

/// Rooms of the course whose headers an answer may include, beside those of exercises.
constexpr std::array<const char*, 6> kOpenRooms = {
    "course/runtime/", "course/nn/", "course/files/", "course/net/", "course/gpu/", "course/data/"};

struct Built {
    bool ok = false;
    std::filesystem::path executable;
    std::filesystem::path library;  // of it and its test: see link_library()
    std::string error;  // the first error only, paths relative to the repository; for people
    std::string log;    // everything the compiler said
    std::filesystem::path preprocessed;  // by a cautious build: what the compiler saw of it
    std::filesystem::path source;        // the file under test
    std::filesystem::path object;        // what became of it; empty: it did not compile
    std::vector<std::filesystem::path> included;  // by it
    std::vector<std::filesystem::path> others;    // the rest of the program, but shared libraries
    double compile_s = 0;
    double link_s = 0;
};

/// Builds the test of `program`. `as` takes the place of its source; empty: the source itself.
/// Works, with `as`, even when the source itself does not compile. Configures first when need be.
/// Errors  CommandError when a part of the course itself does not build, or LibTorch is missing.
Built build_test(Context& context, const Program& program, const std::filesystem::path& as = {});

/// How to compile one file in the place of a program's source, and link the test with it.
struct Recipe {
    Program program;
    std::string compile;  // the build's own lines
    std::string link;
    std::string object;  // what stands in them for the object and the executable
    std::string executable;
    std::vector<std::filesystem::path> others;  // the link's further objects and archives
};

/// Brings everything but the source of `program` up to date. Asks no build tool where that is so already: where no file that tests
/// are made of is newer than the last time that they were brought up to date for this program.
/// more  targets of the course
Recipe prepare(Context& context, const Program& program, const std::vector<std::string>& more = {});

/// What an answer of this text calls beside its test's parts, for `more`: the references of the exercises whose headers it includes.
std::vector<std::string> references_named(
    const Context& context, const Program& program, const std::string& answer
);
/// What will be compiled for `answer`; empty where a list cannot make it.
std::string text_of(const Context& context, const std::filesystem::path& answer);

/// Errors  UsageError where `as` is no file
void expect_file(const std::filesystem::path& as);

/// How a file from a stranger is compiled.
struct Caution {
    bool sandbox =
        false;  // in one it sees the headers that it may include, and nothing else of the course
    double limit_s = 0;  // 0: none
};

/// Compiles and links; needs nothing else of the build folder, so several may run at a time.
Built build_as(
    const Context& context,
    const Recipe& recipe,
    const std::filesystem::path& as,
    const Caution& caution = {}
);

/// The first half of build_as(): compiles.
Built compile_as(
    const Context& context,
    const Recipe& recipe,
    const std::filesystem::path& as,
    const Caution& caution = {}
);
/// The second half: links what was compiled, if it was.
Built link_program(
    const Context& context, const Recipe& recipe, Built built, const Caution& caution = {}
);
/// The same as a shared object, in which names of the harness, of MPI and of LibTorch stay open: for a job that
/// tries several answers.
Built link_library(const Context& context, const Recipe& recipe, Built built);

/// Folders outside of the system's from which the programs of this recipe load libraries.
std::vector<std::filesystem::path> library_folders(const Recipe& recipe);

/// Builds targets of the course, such as the trainer's program.
/// Errors  CommandError, status 3, with the first error.
void build_targets(Context& context, const std::vector<std::string>& targets);

}  // namespace dist::cli
