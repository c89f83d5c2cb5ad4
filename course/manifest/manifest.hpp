// The one list of exercises: exercises/course.toml.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "course/manifest/needs.hpp"

namespace dist::cli {

/// One exercise. All paths are relative to the repository.
struct Exercise {
    std::string name;
    std::string chapter;  // "03_ring_and_tree"
    std::string title;
    std::string needs = "mpi";  // see needs.hpp
    int difficulty = 1;
    int importance = 1;
    int minutes = 0;
    int ranks = 1;                  // the most processes its test uses
    bool files = false;             // its answers write and read files
    bool sockets = false;           // its answers use sockets, and run on no simulated ranks
    bool walk = false;              // `prove` goes through all orders of events: NAME_walk.cpp
    std::vector<std::string> uses;  // exercises that the stub includes
    std::vector<std::string> hints;

    [[nodiscard]] const Needs& kind() const { return needs_named(needs); }
    [[nodiscard]] bool for_gpu() const { return kind().for_gpu; }
    [[nodiscard]] bool simulated() const { return kind().simulated && !sockets; }
    [[nodiscard]] std::filesystem::path source() const;  // what the student edits
    [[nodiscard]] std::filesystem::path header() const;
    [[nodiscard]] std::filesystem::path solution() const;
    [[nodiscard]] std::filesystem::path test() const;
    [[nodiscard]] std::filesystem::path lesson() const;
    /// The folder; the list beside it has the same name: see cases.hpp.
    [[nodiscard]] std::filesystem::path mutants() const;
    [[nodiscard]] std::filesystem::path alternatives() const;
};

/// A program that is built and run like an exercise: the harness's own test. Each file of `cases`
/// is tried in the place of `source`.
struct SelfTest {
    std::string program;
    std::filesystem::path source;
    std::filesystem::path cases;
    int ranks = 1;
};

/// What build and launch need to know of an exercise or a self test.
struct Program {
    std::string name;
    std::filesystem::path source;  // the file under test, relative to the repository
    int ranks = 1;
    std::string needs = "mpi";
    bool on_stand_in = false;  // a GPU exercise, without CUDA and NCCL: see gpu.hpp
    bool simulated =
        false;  // a module for SimGrid's MPI, no test: see scripts/cmake/exercises.cmake
    bool simulated_test = false;  // the test, as such a module
    bool walk = false;            // its walk, in the place of its test: see Exercise::walk
    bool files = false;           // as Exercise::files
    bool sockets = false;         // as Exercise::sockets
    bool vetted = false;          // an exercise: its tests are those of its source
    bool looked_at =
        false;  // its object, too: see vet.hpp. What nvcc makes of a file is another thing

    [[nodiscard]] const Needs& kind() const { return needs_named(needs); }
    [[nodiscard]] bool for_gpu() const { return kind().for_gpu; }
    [[nodiscard]] std::string target() const {
        return name + (walk             ? "_walk"
                       : simulated_test ? "_simulated_test"
                       : simulated      ? "_simulated"
                       : on_stand_in    ? "_host_test"
                                        : "_test");
    }
};
Program program_of(const Exercise& exercise);
Program program_of(const SelfTest& self_test);

struct Manifest {
    std::vector<Exercise> exercises;  // in course order
    std::vector<SelfTest> self_tests;

    /// The exercise of that name; a path to one of its files names it too.
    /// Errors  UsageError with the nearest name.
    [[nodiscard]] const Exercise& find(std::string_view name) const;

    /// The exercises of these names and all that they stand on, by `uses`; in course order.
    [[nodiscard]] std::vector<const Exercise*> stack_of(const std::vector<std::string>& names
    ) const;
};

/// Reads exercises/course.toml.
/// Errors  CommandError that names file, line and field.
Manifest read_manifest(const std::filesystem::path& root);

/// The name that takes the fewest edits to reach; empty when none is near.
std::string nearest(std::string_view name, const std::vector<std::string>& names);

}  // namespace dist::cli
