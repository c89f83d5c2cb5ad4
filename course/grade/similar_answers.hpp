// Which answers to an exercise are nearly the same text.
#pragma once

#include <span>

#include "course/grade/gradebook.hpp"
#include "course/grade/graded.hpp"
#include "course/process/context.hpp"

namespace dist::cli {

/// Writes "similar_to" into the records of an exercise, and its answers into the book.
/// Errors  Interrupted
void note_similar(
    const Context& context, const Exercise& exercise, std::span<Graded> all, Gradebook& book
);

}  // namespace dist::cli
