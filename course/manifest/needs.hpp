// What exercises stand on beside C++: the kinds that `needs` of exercises/course.toml may name. A new kind is a row in
// needs.cpp, and one in scripts/cmake/needs.cmake.
#pragma once

#include <string>
#include <string_view>

namespace dist::cli {

struct Needs {
    std::string_view word;    // in exercises/course.toml
    std::string_view suffix;  // of an answer's file
    std::string_view
        install;  // the group of scripts/setup.sh without which nothing is built; empty: none
    std::string_view skipped;  // why a list passes over it on a machine that lacks it; empty: never
    bool for_gpu;              // may be skipped; its test is linked with the stand-in as well
    bool
        shares_jobs;  // `check` tries several answers in one job, which the target host_WORD starts
    bool looked_at;   // names in the compiled answer are looked at: see vet.hpp
    bool makes_code;  // a library makes code while it runs, so nobody may forbid that
    bool simulated;   // its test runs on SimGrid's MPI as well
};

/// The kind of that word.
/// Errors  CommandError that names all words there are
const Needs& needs_named(std::string_view word);

}  // namespace dist::cli
