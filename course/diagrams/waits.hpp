// Rounds that ranks spend in waiting.
#pragma once

#include <vector>

#include "course/diagrams/diagram.hpp"

namespace dist::diagrams {

/// A rank waits in the rounds between begin and end: `forever` if to the end of the picture, in vain.
struct Wait {
    int rank = 0;
    int begin = 0;
    int end = 0;
    bool forever = false;
};

/// All waits, by rank. In rounds nothing but messages takes time: a rank that neither sends nor receives in one, and
/// does so later, waits. None if the diagram does not show them.
std::vector<Wait> waits_of(
    const Diagram& diagram, const std::vector<harness::MessageRecord>& messages, int rounds
);

}  // namespace dist::diagrams
