// A space-time diagram of recorded messages, as SVG or as text: a lane for each rank, time downward, an arrow
// for each message. The same messages give the same bytes, on every machine.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "course/protocol/message_record.hpp"

namespace dist::diagrams {

/// What is written on a message's tail, and its colour: 0 for the whole data, 1 + i for part i.
struct Label {
    std::string text;
    int colour = 0;
};
using Labels = std::function<Label(const harness::MessageRecord&)>;

/// "8 floats", "empty"
Labels floats();

/// "23 bytes", "4 KiB", "empty"
Labels bytes();

/// "chunk 2: 3" for chunk 2, which has 3 of the n floats; floats() for all n.
///
/// part    what a part is called
/// begins  where each part begins, ascending
Labels parts(const std::string& part, std::size_t n, const std::vector<std::size_t>& begins);

/// "[4, 6)" for floats 4 and 5 of n; floats() for all n.
Labels ranges(std::size_t n);

/// "b0: 2" for block 0 of rank 1, which has 2 floats; rank r's data begin at r * p * m.
Labels blocks(std::size_t m, int p);

/// What a picture shows beside the messages.
struct Diagram {
    std::string name;     // of the algorithm, and of the file
    std::string heading;  // "ring_shift: 4 ranks, 8 floats each"
    int ranks = 0;
    Labels label = floats();
    std::string legend = {};  // what the labels mean, if they do not say it
    bool circle = false;      // cut open: the first ranks stand on the right once more
    bool in_bytes = false;    // the totals; otherwise in floats
    bool shortens = false;    // of many rounds, those that repeat are drawn once
    std::vector<std::string> calls =
        {};  // whose messages: by MessageRecord::call; told above the first round of each
    // of a program that may be wrong:
    std::vector<std::string> reason = {};   // lines below the heading, in red
    bool shows_waits = false;               // rounds that a rank spends in waiting are marked
    std::set<int> stuck = {};               // ranks that wait to the end, in vain
    std::set<int> accused = {};             // those that it lies with: in red
    long right_rounds = 0;                  // later ones are in red; 0: none are
    std::vector<std::string> remarks = {};  // lines at the bottom, in red
};

/// The picture. `messages` is ordered as recorded_messages() leaves it, and none goes from a rank
/// to itself.
std::string svg(const Diagram& diagram, const std::vector<harness::MessageRecord>& messages);

struct TextSize {
    int columns = 80;
    int lines = 0;  // at most; 0: as many as it takes
    bool colours = false;
};

/// The same for a terminal: a column for each rank, an arrow for each message in the round in which it is there. Where
/// it has too many lines, it begins shortly before the first that is in red. Without the heading and the remarks.
std::string lanes(
    const Diagram& diagram,
    const std::vector<harness::MessageRecord>& messages,
    const TextSize& size = {}
);

}  // namespace dist::diagrams
