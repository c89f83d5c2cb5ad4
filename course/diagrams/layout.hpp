// Where things stand in a diagram. Whole pixels: nothing depends on how a machine rounds.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "course/diagrams/diagram.hpp"
#include "course/diagrams/repeats.hpp"
#include "course/diagrams/waits.hpp"

namespace dist::diagrams {

inline constexpr int kCharacterPx = 7;  // a wide one of 12 px, so that any font fits
inline constexpr int kLabelPx = 18;     // a label's height
inline constexpr int kLinePx = 20;      // of text, at the bottom
inline constexpr int kGapPx = 44;       // between rounds, where others are left out
inline constexpr int kHeadingPx = 36;   // above a round, where its calls are named

inline int width_of(const std::string& text) {
    return kCharacterPx * static_cast<int>(text.size()) + 10;
}

/// A message as it is drawn: it stays on its sender's lane until the last of its rounds.
struct Arrow {
    Label label;
    int src = 0;
    int dst = 0;  // a lane; beyond the last rank on a circle that is cut open
    int begin = 0;
    int end = 0;
    int bytes = 0;
    bool is_excess = false;
    bool is_lost = false;
    [[nodiscard]] bool waits() const { return end - begin > 1; }
};

struct Caption {
    std::string text;
    bool is_red = false;
};

struct Layout {
    std::vector<Arrow> arrows;
    std::vector<Wait> waits;
    std::set<std::pair<int, int>> labelled;  // lane and round of each label
    std::vector<Caption> captions;
    std::vector<int> y;  // of the first round's beginning, and of the end of each
    std::vector<int>
        begins;  // of the round that comes next: lower than y where something is told between
    std::map<int, std::set<int>> headings;  // above rounds: calls
    int rounds = 0;
    int first = 0;  // lane
    int last = 0;
    int ranks = 0;
    int lane_px = 0;
    int left = 0;       // of the first lane
    int top = 92;       // of the first round
    int reason_px = 0;  // its longest line
    int most_bytes = 0;
    bool even = true;  // all messages are equally long

    [[nodiscard]] int x(int lane) const { return left + (lane - first) * lane_px; }
    [[nodiscard]] int width() const;
    [[nodiscard]] int height() const {
        return begins.back() + 26 + kLinePx * static_cast<int>(captions.size());
    }
};

/// shown    what is drawn of `messages`.
Layout lay_out(
    const Diagram& diagram,
    const Shortened& shown,
    const std::vector<harness::MessageRecord>& messages
);

}  // namespace dist::diagrams
