// Single changes of a reference, which a test has to refuse: an operator, a number or a name (changes.rules). universalmutator
// makes them, so that they have no favourites.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "course/manifest/manifest.hpp"
#include "course/process/context.hpp"

namespace dist::cli {

struct SingleChange {
    std::size_t line = 0;    // the first that is changed, from 1 on
    std::string difference;  // unified, with one line of context
    std::string text;        // of the whole source
};

/// The change that makes `after` of `before`, the text of `file`.
SingleChange change_of(
    const std::filesystem::path& file, const std::string& before, const std::string& after
);

/// What is wrong where changes cannot be made, and what to do; empty: they can.
std::string mutator_missing(const Context& context);

/// All changes of the exercise's reference, in an order that `seed` draws: a change keeps its place among others when more of them come.
/// Errors  CommandError with the tool's words
std::vector<SingleChange> changes_of(
    const Context& context, const Exercise& exercise, std::uint64_t seed
);

/// Sources that differ from the reference and are equal programs, so that no test can refuse them. The exercise's file in tests/mutants/
/// lists them:
///
///     [[equal]]
///     from = "begin <= end"
///     to = "begin != end"
///     why = "begin never passes end"
///
/// Errors  CommandError that names the entry whose `from` does not stand in the reference exactly once, or that is no such table
std::set<std::string> equal_programs(const Context& context, const Exercise& exercise);

}  // namespace dist::cli
