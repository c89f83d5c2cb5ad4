#include "course/diagrams/layout.hpp"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <iterator>

namespace dist::diagrams {
namespace {

using harness::MessageRecord;

std::string counted(int count, const char* unit) {
    return fmt::format("{} {}{}", count, unit, count == 1 ? "" : "s");
}

// "12 messages, 3 rounds; a rank sends at most 6 floats, and receives at most 6"
std::string totals(
    const Diagram& diagram, const Layout& layout, const std::vector<MessageRecord>& messages
) {
    const int bytes_of_unit = diagram.in_bytes ? 1 : static_cast<int>(sizeof(float));
    const bool empty = layout.most_bytes == 0;
    std::vector<int> sent(static_cast<std::size_t>(diagram.ranks));
    std::vector<int> received(sent.size());
    int rounds = layout.rounds;
    for (const MessageRecord& message : messages) {
        const int amount = empty ? 1 : message.bytes / bytes_of_unit;
        sent[static_cast<std::size_t>(message.src)] += amount;
        received[static_cast<std::size_t>(message.dst)] += message.is_lost ? 0 : amount;
        rounds = std::max(rounds, message.end);
    }
    return fmt::format(
        "{}, {}; a rank sends at most {}, and receives at most {}",
        counted(static_cast<int>(messages.size()), "message"), counted(rounds, "round"),
        counted(
            *std::ranges::max_element(sent), empty              ? "message"
                                             : diagram.in_bytes ? "byte"
                                                                : "float"
        ),
        *std::ranges::max_element(received)
    );
}

void add_marks(std::vector<Caption>& captions, const Diagram& diagram, const Layout& layout) {
    if (!std::ranges::all_of(layout.waits, &Wait::forever)) {
        captions.push_back({"a grey bar: the rank waits"});
    }
    if (!diagram.stuck.empty()) {
        captions.push_back({"a red bar: it waits in vain", true});
    }
    if (std::ranges::any_of(layout.arrows, &Arrow::is_lost)) {
        captions.push_back({"dashed, with a cross: nobody took it"});
    }
    if (std::ranges::any_of(layout.arrows, &Arrow::is_excess)) {
        captions.push_back({"in red: more than is right", true});
    }
    if (diagram.right_rounds > 0 && layout.rounds > diagram.right_rounds) {
        captions.push_back(
            {fmt::format("rounds in red: at most {} are right", diagram.right_rounds), true}
        );
    }
    for (const std::string& remark : diagram.remarks) {
        captions.push_back({remark, true});
    }
}

std::vector<Caption> captions_of(
    const Diagram& diagram, const Layout& layout, const std::vector<MessageRecord>& messages
) {
    std::vector<Caption> captions = {{totals(diagram, layout, messages)}};
    if (!diagram.legend.empty()) {
        captions.push_back({diagram.legend});
    }
    if (std::ranges::any_of(layout.arrows, &Arrow::waits)) {
        captions.push_back({"dotted: the message waits until its receiver takes it"});
    }
    const int twice = layout.last - layout.ranks;  // the last rank that stands there twice
    if (twice >= layout.first) {
        captions.push_back({fmt::format(
            "on the right: {} once more, the circle is cut open",
            twice == 0 ? "rank 0" : fmt::format("ranks 0 to {}", twice)
        )});
    }
    add_marks(captions, diagram, layout);
    return captions;
}

void add_arrows(
    Layout& layout, const Diagram& diagram, const std::vector<MessageRecord>& messages
) {
    layout.last = diagram.ranks - 1;
    layout.first = diagram.circle ? layout.last : 0;
    for (const MessageRecord& message : messages) {
        Arrow arrow{diagram.label(message), message.src,    message.dst,
                    message.begin,          message.end,    message.bytes,
                    message.is_excess,      message.is_lost};
        if (diagram.circle && arrow.dst < arrow.src) {
            arrow.dst += diagram.ranks;
        }
        layout.labelled.emplace(arrow.src, arrow.begin);
        layout.first = std::min({layout.first, arrow.src, arrow.dst});
        layout.last = std::max(layout.last, arrow.dst);
        layout.rounds = std::max(layout.rounds, arrow.end);
        layout.most_bytes = std::max(layout.most_bytes, arrow.bytes);
        layout.even = layout.even && arrow.bytes == messages.front().bytes;
        layout.arrows.push_back(std::move(arrow));
    }
}

// A round is the higher the farther its messages go: so they do not lie too flat.
void place_rounds(Layout& layout, const std::vector<Gap>& gaps) {
    std::vector<int> farthest(static_cast<std::size_t>(layout.rounds), 1);
    for (const Arrow& arrow : layout.arrows) {
        int& far = farthest[static_cast<std::size_t>(arrow.end - 1)];
        far = std::max(far, std::abs(arrow.dst - arrow.src));
    }
    const int least_px = layout.rounds > 12 ? 30 : 46;
    const auto heading_px = [&](int round) {
        return layout.headings.contains(round) ? kHeadingPx : 0;
    };
    layout.y = {layout.top};
    layout.begins = {layout.top + heading_px(1)};
    for (const int far : farthest) {
        layout.y.push_back(layout.begins.back() + least_px + 10 * far);
        const int round = static_cast<int>(std::ssize(layout.y)) - 1;
        const bool gap = std::ranges::find(gaps, round, &Gap::after) != gaps.end();
        layout.begins.push_back(layout.y.back() + (gap ? kGapPx : 0) + heading_px(round + 1));
    }
}

}  // namespace

int Layout::width() const {
    int width = std::max(x(last) + lane_px / 2 + 16, reason_px);
    for (const Caption& caption : captions) {
        width = std::max(width, width_of(caption.text) + 22);
    }
    return width;
}

Layout lay_out(
    const Diagram& diagram, const Shortened& shown, const std::vector<MessageRecord>& messages
) {
    Layout layout;
    layout.ranks = diagram.ranks;
    layout.rounds = diagram.stuck.empty() ? 0 : 1;
    add_arrows(layout, diagram, shown.messages);
    layout.waits = waits_of(diagram, shown.messages, layout.rounds);
    layout.headings = headings_of(shown, diagram.calls);
    layout.top += kLinePx * static_cast<int>(diagram.reason.size());
    place_rounds(layout, shown.gaps);
    int widest = 50;
    for (const Arrow& arrow : layout.arrows) {
        widest = std::max(widest, width_of(arrow.label.text));
    }
    layout.lane_px = std::max(widest + 22, 440 / (layout.last - layout.first + 1));
    layout.left = 84 + widest / 2;
    layout.captions = captions_of(diagram, layout, messages);
    for (const std::string& line : diagram.reason) {
        layout.reason_px = std::max(layout.reason_px, width_of(line) + 22);
    }
    return layout;
}

}  // namespace dist::diagrams
