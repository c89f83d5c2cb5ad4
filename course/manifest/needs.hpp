// What exercises stand on beside C++: the kinds that `needs` of exercises/course.toml may name. A new kind is a row in
// needs.cpp, and one in scripts/cmake/needs.cmake.
#pragma once

#include <string>
#include <string_view>

namespace dist::cli {

struct Needs {
    std::string_view word;             // in exercises/course.toml
    std::string_view suffix = ".cpp";  // of an answer's file
    std::string_view install{};  // the group of scripts/setup.sh that it cannot be built without
    std::string_view skipped{};  // why a list passes over it on a machine that lacks it
    bool for_gpu = false;        // may be skipped; its test is linked with the stand-in as well
    bool shares_jobs = true;     // `check` tries several answers in one job: see host_WORD
    bool looked_at = true;       // names in the compiled answer are looked at: see vet.hpp
    bool makes_code = false;     // a library makes code while it runs, so nobody may forbid that
    bool simulated = false;      // its test runs on SimGrid's MPI as well
};

/// The kind of that word.
/// Errors  CommandError that names all words there are
const Needs& needs_named(std::string_view word);

}  // namespace dist::cli
