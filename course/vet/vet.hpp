// What a file under test may not do, whatever its tests say: seen in its text, in what it includes and
// in its object, before anything of it runs.
//
// An answer is linked with the code that judges it. So it must not take that code's place, reach for
// it, or reach past it: to MPI's profiling names, to the kernel, to other processes. What is left is all
// that an honest answer needs, and much more.
#pragma once

#include <string>
#include <vector>

#include "course/build/build.hpp"
#include "course/manifest/manifest.hpp"
#include "course/process/context.hpp"

namespace dist::cli {

/// A learner may try things out; a grader takes only what is known to be harmless.
enum class Strictness { learner, grader };

struct Objection {
    std::string sentence;  // "calls fork: no exercise needs processes of its own"
    std::string where;     // "ring_shift.cpp:14"; empty where no line is known
};

/// All that is wrong with a file that was built; empty when nothing is.
std::vector<Objection> objections(
    const Context& context, const Program& program, const Built& built, Strictness strictness
);

/// What an instructor should look at, though an honest answer may have it: "objects with constructors
/// that run before main".
std::vector<std::string> remarks(const Context& context, const Built& built);

}  // namespace dist::cli
