// Long runs made short: rounds that repeat what came before are left out of a picture.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "course/protocol/message_record.hpp"

namespace dist::diagrams {

/// Rounds that are left out.
struct Gap {
    int after = 0;     // the round that is drawn above them, from 1
    std::string text;  // "12 more rounds alike"
};

/// The rounds of a picture.
struct Shortened {
    std::vector<harness::MessageRecord>
        messages;              // of the rounds that are drawn, which count from 1
    std::vector<int> numbers;  // of each of these rounds, in the run
    std::vector<Gap> gaps;
    int rounds = 0;  // of the run

    /// Of a round that is drawn, in the run.
    [[nodiscard]] int number(int round) const {
        const auto known = static_cast<int>(numbers.size());
        return round <= known ? numbers[static_cast<std::size_t>(round - 1)] : round;
    }
};

/// Leaves out rounds that repeat those before them, one alone or several together, where that spares at least as
/// many as are worth a line. A run of few rounds stays whole.
///
/// messages  as recorded_messages() leaves them.
Shortened shortened(const std::vector<harness::MessageRecord>& messages);

/// What stands above a drawn round: the calls whose messages arrive in it, where they are others than in the round before.
std::map<int, std::set<int>> headings_of(
    const Shortened& shown, const std::vector<std::string>& calls
);

/// All rounds, each drawn.
Shortened whole(const std::vector<harness::MessageRecord>& messages);

}  // namespace dist::diagrams
