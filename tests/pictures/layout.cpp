#include "tests/pictures/layout.hpp"

#include <fmt/format.h>

namespace dist::pictures {
namespace {

using harness::MessageRecord;

std::string counted(int count, const char* unit) {
    return fmt::format("{} {}{}", count, unit, count == 1 ? "" : "s");
}

// "12 messages, 3 rounds; a rank sends at most 6 floats, and receives at most 6"
std::string totals(const Diagram& diagram, const std::vector<MessageRecord>& messages, int rounds) {
    std::vector<int> sent(static_cast<std::size_t>(diagram.ranks));
    std::vector<int> received(sent.size());
    bool whole = true;
    for (const MessageRecord& message : messages) {
        sent[static_cast<std::size_t>(message.src)] += message.bytes;
        received[static_cast<std::size_t>(message.dst)] += message.bytes;
        whole = whole && message.bytes % static_cast<int>(sizeof(float)) == 0;
    }
    const int unit = whole ? static_cast<int>(sizeof(float)) : 1;
    return fmt::format(
        "{}, {}; a rank sends at most {}, and receives at most {}",
        counted(static_cast<int>(messages.size()), "message"), counted(rounds, "round"),
        counted(*std::ranges::max_element(sent) / unit, whole ? "float" : "byte"),
        *std::ranges::max_element(received) / unit
    );
}

std::vector<std::string> captions_of(const Layout& layout, const std::string& totals) {
    std::vector<std::string> captions = {totals};
    if (std::ranges::any_of(layout.arrows, &Arrow::waits)) {
        captions.emplace_back("dotted: the message waits until its receiver takes it");
    }
    const int again = layout.lanes - layout.ranks;
    if (again > 0) {
        captions.push_back(fmt::format(
            "on the right: {} once more, the circle is cut open",
            again == 1 ? "rank 0" : fmt::format("ranks 0 to {}", again - 1)
        ));
    }
    return captions;
}

}  // namespace

int Layout::width() const {
    int width = x(lanes - 1) + lane_px / 2 + 16;
    for (const std::string& caption : captions) {
        width = std::max(width, width_of(caption) + 30);
    }
    return width;
}

Layout lay_out(const Diagram& diagram, const std::vector<MessageRecord>& messages) {
    Layout layout;
    layout.ranks = layout.lanes = diagram.ranks;
    int widest = 50;
    for (const MessageRecord& message : messages) {
        Arrow arrow{diagram.label(message), message.src, message.dst,
                    message.begin,          message.end, message.bytes};
        if (diagram.circle && arrow.dst < arrow.src) {
            arrow.dst += diagram.ranks;
        }
        layout.labelled.emplace(arrow.src, arrow.begin);
        layout.lanes = std::max(layout.lanes, arrow.dst + 1);
        layout.rounds = std::max(layout.rounds, arrow.end);
        layout.most_bytes = std::max(layout.most_bytes, arrow.bytes);
        layout.even = layout.even && arrow.bytes == messages.front().bytes;
        widest = std::max(widest, width_of(arrow.label.text));
        layout.arrows.push_back(std::move(arrow));
    }
    layout.lane_px = std::max(widest + 22, 640 / std::max(layout.lanes, 4) - 60);
    layout.left = 84 + widest / 2;
    layout.captions = captions_of(layout, totals(diagram, messages, layout.rounds));
    return layout;
}

}  // namespace dist::pictures
