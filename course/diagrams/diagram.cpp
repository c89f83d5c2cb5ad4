#include "course/diagrams/diagram.hpp"

#include <array>
#include <fmt/format.h>
#include <map>

#include "course/diagrams/layout.hpp"

namespace dist::diagrams {
namespace {

using harness::MessageRecord;

// Each is dark enough for white text on it, and for a line on white.
constexpr std::array kColours = {"#1d4ed8", "#c2410c", "#15803d", "#7e22ce", "#0e7490",
                                 "#854d0e", "#be185d", "#475569", "#b91c1c"};

constexpr const char* kRed = "#dc2626";
constexpr const char* kDark = "#1f2937";

constexpr int kHeadPx = 8;  // of an arrow

int y_of(const Layout& layout, int round) {
    return layout.y[static_cast<std::size_t>(round)];
}

int begin_of(const Layout& layout, int round) {
    return layout.begins[static_cast<std::size_t>(round)];
}

const char* colour_of(const Arrow& arrow) {
    return arrow.is_excess || arrow.is_lost
               ? kRed
               : kColours[static_cast<std::size_t>(arrow.label.colour) % kColours.size()];
}

// What the picture shows, in words: for those who do not see it.
std::string description(const Shortened& shown) {
    std::string text;
    int round = 0;
    for (const MessageRecord& message : shown.messages) {
        text +=
            message.end == round
                ? ", "
                : fmt::format("{}Round {}: ", round == 0 ? "" : ". ", shown.number(message.end));
        text += fmt::format("{} to {}", message.src, message.dst);
        round = message.end;
    }
    return text + ".";
}

std::string opening(const Diagram& diagram, const Layout& layout, const std::string& words) {
    return fmt::format(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {0} {1}' width='{0}' height='{1}' "
        "role='img' aria-labelledby='t d' "
        "font-family='sans-serif' font-size='12' text-anchor='middle'>\n"
        "<title id='t'>{2}: every message, round by round</title>\n"
        "<desc id='d'>{3}</desc>\n"
        "<rect width='{0}' height='{1}' rx='8' fill='#ffffff'/>\n"
        "<text x='16' y='30' font-size='15' font-weight='bold' fill='#1f2937' "
        "text-anchor='start'>{2}</text>\n",
        layout.width(), layout.height(), diagram.heading, words
    );
}

std::string reason_of(const Diagram& diagram) {
    std::string text;
    int y = 50;
    for (const std::string& line : diagram.reason) {
        text += fmt::format(
            "<text x='16' y='{}' fill='{}' text-anchor='start'>{}</text>\n", y, kRed, line
        );
        y += kLinePx;
    }
    return text;
}

std::string waits_of(const Layout& layout) {
    std::string text;
    for (const Wait& wait : layout.waits) {
        text += fmt::format(
            "<rect x='{}' y='{}' width='10' height='{}' rx='5' fill='{}'/>\n",
            layout.x(wait.rank) - 5, begin_of(layout, wait.begin) + 4,
            y_of(layout, wait.end) - begin_of(layout, wait.begin) - (wait.forever ? 0 : 8),
            wait.forever ? "#fca5a5" : "#d1d5db"
        );
    }
    return text.empty() ? "" : "<g>\n" + text + "</g>\n";
}

std::string gaps_of(const Layout& layout, const Shortened& shown) {
    std::string text;
    for (const Gap& gap : shown.gaps) {
        text += fmt::format(
            "<rect x='16' y='{0}' width='{1}' height='{2}' fill='#f3f4f6'/>\n"
            "<text x='26' y='{3}' fill='#4b5563' text-anchor='start'>... {4}</text>\n",
            y_of(layout, gap.after) + 12, layout.width() - 32, kGapPx - 22,
            y_of(layout, gap.after) + kGapPx / 2 + 5, gap.text
        );
    }
    return text;
}

// Each call in the colour of its messages.
std::string headings_of(const Diagram& diagram, const Layout& layout) {
    std::string text;
    for (const auto& [round, calls] : layout.headings) {
        const int y = begin_of(layout, round - 1);
        std::string names;
        for (const int call : calls) {
            names += fmt::format(
                "<tspan fill='{}'>{}</tspan>",
                kColours[static_cast<std::size_t>(call - 1) % kColours.size()],
                (names.empty() ? "" : "      ") + diagram.calls[static_cast<std::size_t>(call)]
            );
        }
        text += fmt::format(
            "<rect x='16' y='{}' width='{}' height='20' fill='#eff6ff'/>\n"
            "<text x='26' y='{}' text-anchor='start' xml:space='preserve'>{}</text>\n",
            y - 32, layout.width() - 32, y - 18, names
        );
    }
    return text;
}

std::string rounds_and_lanes(const Diagram& diagram, const Layout& layout, const Shortened& shown) {
    std::string lines = "<g stroke='#e5e7eb'>\n";
    std::string names = "<g fill='#6b7280'>\n";
    for (int round = 0; round <= layout.rounds; ++round) {
        lines += fmt::format("<path d='M16 {}H{}'/>\n", y_of(layout, round), layout.width() - 16);
        if (round > 0) {
            names += fmt::format(
                "<text x='42' y='{}'{}>round {}</text>\n",
                (begin_of(layout, round - 1) + y_of(layout, round)) / 2 + 4,
                diagram.right_rounds > 0 && shown.number(round) > diagram.right_rounds
                    ? fmt::format(" fill='{}'", kRed)
                    : "",
                shown.number(round)
            );
        }
    }
    lines += "</g>\n<g stroke='#9ca3af' stroke-width='1.5'>\n";
    names += fmt::format("</g>\n<g font-size='14' fill='{}'>\n", kDark);
    for (int lane = layout.first; lane <= layout.last; ++lane) {
        const bool again = lane - layout.ranks >= layout.first;
        lines += fmt::format(
            "<path d='M{} {}V{}'{}/>\n", layout.x(lane), y_of(layout, 0) - 16,
            begin_of(layout, layout.rounds) + 10, again ? " stroke-dasharray='6 5'" : ""
        );
        names += fmt::format(
            "<text x='{}' y='{}'{}>rank {}</text>\n", layout.x(lane), y_of(layout, 0) - 24,
            again                            ? " fill='#6b7280'"
            : diagram.accused.contains(lane) ? fmt::format(" fill='{}' font-weight='bold'", kRed)
                                             : "",
            lane % layout.ranks
        );
    }
    return lines + "</g>\n" + names + "</g>\n";
}

int root_of(int square) {
    int root = 0;
    while ((root + 1) * (root + 1) <= square) {
        ++root;
    }
    return root;
}

// The line from its sender's lane to where its head begins, in the last of its rounds.
std::string line_of(const Layout& layout, const Arrow& arrow) {
    const bool meets_label = layout.labelled.count({arrow.dst, arrow.end}) > 0;
    const int x = layout.x(arrow.src);
    const int y = begin_of(layout, arrow.end - 1) + (arrow.waits() ? 0 : kLabelPx / 2);
    const int dx = layout.x(arrow.dst) - x;
    const int dy = y_of(layout, arrow.end) - (meets_label ? kLabelPx / 2 + 3 : 4) - y;
    const int length = root_of(dx * dx + dy * dy);
    if (arrow.is_lost) {
        return fmt::format("M{} {}L{} {}", x, y, x + dx / 2, y + dy / 2);
    }
    return fmt::format(
        "M{} {}L{} {}", x, y, x + dx - dx * kHeadPx / length, y + dy - dy * kHeadPx / length
    );
}

std::string stroke_of(const Layout& layout, const Arrow& arrow) {
    const int tenths =
        layout.even ? 20 : 15 + 30 * (arrow.bytes / 4) / std::max(1, layout.most_bytes / 4);
    return fmt::format("{}.{}", tenths / 10, tenths % 10);
}

std::string arrows_of(const Layout& layout) {
    std::map<std::string, std::string> by_colour;
    std::string waits;
    std::string lost;
    for (const Arrow& arrow : layout.arrows) {
        if (arrow.is_lost) {
            lost += fmt::format("<path d='{}'/>\n", line_of(layout, arrow));
            continue;
        }
        by_colour[colour_of(arrow)] += fmt::format(
            "<path stroke-width='{}' d='{}'/>\n", stroke_of(layout, arrow), line_of(layout, arrow)
        );
        if (arrow.waits()) {
            waits += fmt::format(
                "<path stroke='{}' d='M{} {}V{}'/>\n", colour_of(arrow), layout.x(arrow.src),
                begin_of(layout, arrow.begin), begin_of(layout, arrow.end - 1)
            );
        }
    }
    std::string text;
    if (!waits.empty()) {
        text = "<g stroke-width='3' stroke-dasharray='1 6' stroke-linecap='round'>\n" + waits +
               "</g>\n";
    }
    if (!lost.empty()) {
        text += fmt::format(
            "<marker id='lost' viewBox='0 0 10 10' refX='5' refY='5' markerWidth='10' "
            "markerHeight='10' markerUnits='userSpaceOnUse'>"
            "<path d='M1 1L9 9M9 1L1 9' stroke='{0}' stroke-width='2'/></marker>\n"
            "<g stroke='{0}' stroke-width='2' stroke-dasharray='4 4' "
            "marker-end='url(#lost)'>\n{1}</g>\n",
            kRed, lost
        );
    }
    for (const auto& [colour, lines] : by_colour) {
        text += fmt::format(
            "<marker id='h{1}' viewBox='0 0 10 10' refX='1' refY='5' markerWidth='10' "
            "markerHeight='10' markerUnits='userSpaceOnUse' orient='auto'>"
            "<path d='M0 0L10 5L0 10z' fill='{0}'/></marker>\n"
            "<g stroke='{0}' marker-end='url(#h{1})'>\n{2}</g>\n",
            colour, colour.substr(1), lines
        );
    }
    return text;
}

std::string labels_of(const Layout& layout) {
    std::string boxes = "<g>\n";
    std::string texts = "<g fill='#ffffff'>\n";
    std::string dots = "<g fill='#6b7280'>\n";
    for (const Arrow& arrow : layout.arrows) {
        const int width = width_of(arrow.label.text);
        boxes += fmt::format(
            "<rect x='{}' y='{}' width='{}' height='{}' rx='9' fill='{}'/>\n",
            layout.x(arrow.src) - width / 2, begin_of(layout, arrow.begin) - kLabelPx / 2, width,
            kLabelPx, colour_of(arrow)
        );
        texts += fmt::format(
            "<text x='{}' y='{}'>{}</text>\n", layout.x(arrow.src),
            begin_of(layout, arrow.begin) + 4, arrow.label.text
        );
        if (!arrow.is_lost && layout.labelled.count({arrow.dst, arrow.end}) == 0) {
            dots += fmt::format(
                "<circle cx='{}' cy='{}' r='3'/>\n", layout.x(arrow.dst), y_of(layout, arrow.end)
            );
        }
    }
    return dots + "</g>\n" + boxes + "</g>\n" + texts + "</g>\n";
}

}  // namespace

std::string svg(const Diagram& diagram, const std::vector<MessageRecord>& messages) {
    const Shortened shown = diagram.shortens ? shortened(messages) : whole(messages);
    const Layout layout = lay_out(diagram, shown, messages);
    std::string text = opening(diagram, layout, description(shown)) + reason_of(diagram) +
                       rounds_and_lanes(diagram, layout, shown) + waits_of(layout) +
                       arrows_of(layout) + labels_of(layout) + gaps_of(layout, shown) +
                       headings_of(diagram, layout);
    text += "<g fill='#4b5563' text-anchor='start'>\n";
    int y = begin_of(layout, layout.rounds) + 36;
    for (const Caption& caption : layout.captions) {
        text += fmt::format(
            "<text x='16' y='{}'{}>{}</text>\n", y,
            caption.is_red ? fmt::format(" fill='{}'", kRed) : "", caption.text
        );
        y += kLinePx;
    }
    return text + "</g>\n</svg>\n";
}

}  // namespace dist::diagrams
