// The diagram as text.
#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <map>

#include "course/diagrams/diagram.hpp"
#include "course/diagrams/repeats.hpp"
#include "course/diagrams/waits.hpp"

namespace dist::diagrams {
namespace {

using harness::MessageRecord;
using Messages = std::vector<MessageRecord>;

constexpr int kMarginColumns = 10;  // "round 12  "
constexpr int kLeastPitch = 4;      // "|-->"
constexpr int kMostPitch = 16;

/// One line: characters, some of them red.
class Row {
  public:
    explicit Row(int columns) : characters_(static_cast<std::size_t>(columns), ' ') {
        red_.resize(characters_.size());
    }

    void put(int column, char character, bool red = false) {
        characters_[static_cast<std::size_t>(column)] = character;
        red_[static_cast<std::size_t>(column)] = red;
    }

    void put(int column, const std::string& text, bool red = false) {
        for (const char character : text) {
            put(column++, character, red);
        }
    }

    [[nodiscard]] std::string text(bool colours) const {
        std::string line;
        bool red = false;
        for (std::size_t i = 0; i < characters_.size(); ++i) {
            if (colours && red_[i] != red) {
                red = red_[i];
                line += red ? "\033[31m" : "\033[0m";
            }
            line += characters_[i];
        }
        line.erase(line.find_last_not_of(' ') + 1);
        return line + (red ? "\033[0m\n" : "\n");
    }

  private:
    std::string characters_;
    std::vector<bool> red_;
};

class Lanes {
  public:
    Lanes(const Diagram& diagram, const Shortened& shown, const TextSize& size)
        : diagram_(diagram), shown_(shown), messages_(shown.messages), size_(size) {
        rounds_ = diagram.stuck.empty() ? 0 : 1;
        for (const MessageRecord& message : messages_) {
            rounds_ = std::max(rounds_, message.end);
            in_floats_ = in_floats_ && message.bytes % sizeof(float) == 0;
        }
        waits_ = waits_of(diagram, messages_, rounds_);
        pitch_ = std::clamp(
            (size.columns - kMarginColumns - 2) / diagram.ranks, kLeastPitch, kMostPitch
        );
    }

    [[nodiscard]] std::string text() const {
        const std::string end = legend();
        std::vector<std::string> rounds;
        const auto headings = headings_of(shown_, diagram_.calls);
        for (int round = 1; round <= rounds_; ++round) {
            const auto heading = headings.find(round);
            std::string names;
            for (const int call : heading == headings.end() ? std::set<int>() : heading->second) {
                names +=
                    (names.empty() ? "" : "; ") + diagram_.calls[static_cast<std::size_t>(call)];
            }
            rounds.push_back(
                names + (names.empty() ? "" : "\n") + text_of(round) + gap_after(round)
            );
        }
        const int room = size_.lines == 0 ? std::numeric_limits<int>::max()
                                          : size_.lines - 3 - (end.empty() ? 0 : 1);
        std::size_t first = 0;
        if (lines_of(rounds, 0, rounds.size()) > room) {
            first = static_cast<std::size_t>(std::max(0, first_red() - 2));
        }
        std::size_t last = first;
        while (last < rounds.size() && lines_of(rounds, first, last + 1) <= room) {
            ++last;
        }
        std::string out = header();
        out += first > 0 ? fmt::format("{:>7}   rounds before\n", "...") : "";
        for (std::size_t i = first; i < last; ++i) {
            out += rounds[i];
        }
        const int more = last == rounds.size() ? 0
                                               : std::max(shown_.rounds, rounds_) -
                                                     shown_.number(static_cast<int>(last));
        out += more > 0
                   ? fmt::format("{:>7}   {} more round{}\n", "...", more, more == 1 ? "" : "s")
                   : "";
        return out + end;
    }

  private:
    [[nodiscard]] int x(int rank) const { return kMarginColumns + 1 + pitch_ / 2 + rank * pitch_; }
    [[nodiscard]] int columns() const { return x(diagram_.ranks - 1) + pitch_ / 2 + 4; }

    static int lines_of(
        const std::vector<std::string>& texts, std::size_t first, std::size_t last
    ) {
        long lines = 0;
        for (std::size_t i = first; i < last; ++i) {
            lines += std::ranges::count(texts[i], '\n');
        }
        return static_cast<int>(lines);
    }

    [[nodiscard]] bool is_red(const MessageRecord& message) const {
        return message.is_excess || message.is_lost;
    }
    [[nodiscard]] bool is_red(int round) const {
        return diagram_.right_rounds > 0 && shown_.number(round) > diagram_.right_rounds;
    }

    [[nodiscard]] int first_red() const {
        int first = diagram_.right_rounds > 0 ? static_cast<int>(diagram_.right_rounds) + 1 : 1;
        for (const MessageRecord& message : messages_) {
            if (is_red(message)) {
                first = diagram_.right_rounds > 0 ? std::min(first, message.end) : message.end;
                break;
            }
        }
        return std::min(first, rounds_);
    }

    [[nodiscard]] std::string gap_after(int round) const {
        const auto gap = std::ranges::find(shown_.gaps, round, &Gap::after);
        return gap == shown_.gaps.end() ? "" : fmt::format("{:>7}   {}\n", "...", gap->text);
    }

    [[nodiscard]] std::string header() const {
        Row row(columns());
        const bool whole = pitch_ >= 8;
        row.put(0, whole ? "" : "rank");
        for (int rank = 0; rank < diagram_.ranks; ++rank) {
            const std::string name = (whole ? "rank " : "") + std::to_string(rank);
            row.put(
                x(rank) - static_cast<int>(name.size()) / 2, name, diagram_.accused.contains(rank)
            );
        }
        return row.text(size_.colours);
    }

    [[nodiscard]] Row empty_row(int round) const {
        Row row(columns());
        for (int rank = 0; rank < diagram_.ranks; ++rank) {
            row.put(x(rank), '|');
        }
        for (const Wait& wait : waits_) {
            if (wait.begin < round && round <= wait.end) {
                row.put(x(wait.rank), ':', wait.forever);
            }
        }
        return row;
    }

    void draw(Row& row, const MessageRecord& message) const {
        const int step = message.src < message.dst ? 1 : -1;
        const int begin = x(message.src) + step;
        int end = x(message.dst) - step;
        end = message.is_lost ? begin + (end - begin) / 2 : end;
        const bool red = is_red(message);
        for (int column = begin; column != end; column += step) {
            row.put(column, message.is_excess ? '!' : '-', red);
        }
        row.put(end, message.is_lost ? 'x' : step > 0 ? '>' : '<', red);
        const std::string label = std::to_string(
            in_floats_ ? message.bytes / static_cast<int>(sizeof(float)) : message.bytes
        );
        const int room = std::abs(end - begin);
        const int width = static_cast<int>(label.size());
        if (width < room) {
            row.put(std::min(begin, end + (step > 0 ? 0 : 1)) + (room - width) / 2, label, red);
        }
    }

    /// Messages that do not lie over each other share a line.
    [[nodiscard]] std::string text_of(int round) const {
        std::vector<Row> rows;
        std::vector<std::vector<std::pair<int, int>>> taken;
        for (const MessageRecord& message : messages_) {
            if (message.end != round || message.src == message.dst) {
                continue;
            }
            const int low = std::min(message.src, message.dst);
            const int high = std::max(message.src, message.dst);
            std::size_t line = 0;
            while (line < rows.size() && std::ranges::any_of(taken[line], [&](const auto& other) {
                       return low < other.second && other.first < high;
                   })) {
                ++line;
            }
            if (line == rows.size()) {
                rows.push_back(empty_row(round));
                taken.emplace_back();
            }
            draw(rows[line], message);
            taken[line].emplace_back(low, high);
        }
        if (rows.empty()) {
            rows.push_back(empty_row(round));
        }
        rows.front().put(0, fmt::format("round {}", shown_.number(round)), is_red(round));
        std::string text;
        for (const Row& row : rows) {
            text += row.text(size_.colours);
        }
        return text;
    }

    [[nodiscard]] std::string legend() const {
        std::string text;
        const auto add = [&](bool needed, const std::string& part) {
            text += needed ? (text.empty() ? "" : "; ") + part : "";
        };
        const auto any = [&](auto member) { return std::ranges::any_of(messages_, member); };
        add(!messages_.empty(), in_floats_ ? "numbers: floats" : "numbers: bytes");
        add(!waits_.empty(), "a colon: the rank waits");
        add(any(&MessageRecord::is_lost), "x: nobody took it");
        add(any(&MessageRecord::is_excess), "!: more than is right");
        add(is_red(rounds_), fmt::format("at most {} rounds are right", diagram_.right_rounds));
        return text.empty() ? "" : text + "\n";
    }

    const Diagram& diagram_;
    const Shortened& shown_;
    const Messages& messages_;
    const TextSize& size_;
    std::vector<Wait> waits_;
    int rounds_ = 0;
    int pitch_ = 0;
    bool in_floats_ = true;
};

}  // namespace

std::string lanes(const Diagram& diagram, const Messages& messages, const TextSize& size) {
    const Shortened shown = diagram.shortens ? shortened(messages) : whole(messages);
    return Lanes(diagram, shown, size).text();
}

}  // namespace dist::diagrams
