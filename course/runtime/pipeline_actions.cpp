#include "course/runtime/pipeline_actions.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <stdexcept>
#include <string_view>

namespace dist {
namespace {

using Row = std::vector<PipelineAction>;

constexpr std::array<std::string_view, 8> kWords = {"F",      "I",      "W",      "B",
                                                    "SEND_F", "RECV_F", "SEND_B", "RECV_B"};

/// Takes the number away that `text` begins with.
bool take_number(std::string_view& text, int& number) {
    const bool has_digit = !text.empty() && '0' <= text.front() && text.front() <= '9';
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return has_digit && error == std::errc();
}

PipelineAction action_of(std::string_view text) {
    PipelineAction action;
    std::string_view rest = text;
    if (take_number(rest, action.stage)) {
        const std::string_view word = rest.substr(0, rest.find_first_of("0123456789"));
        const auto* const known = std::ranges::find(kWords, word);
        rest.remove_prefix(word.size());
        if (known != kWords.end() && take_number(rest, action.micro_batch) && rest.empty()) {
            action.kind = static_cast<ActionKind>(known - kWords.begin());
            return action;
        }
    }
    throw std::invalid_argument("read_schedule: \"" + std::string(text) + "\" is no action");
}

Row read_row(std::string_view line) {
    Row row;
    while (!line.empty()) {
        const std::string_view text = line.substr(0, line.find(','));
        if (!text.empty()) {
            row.push_back(action_of(text));
        }
        line.remove_prefix(std::min(line.size(), text.size() + 1));
    }
    return row;
}

/// The text of each column of a rank's line.
std::vector<std::string> columns_of(const std::vector<Slot>& slots, double unit) {
    std::set<int> stages;
    for (const Slot& slot : slots) {
        stages.insert(slot.action.stage);
    }
    std::vector<std::string> columns;
    for (const Slot& slot : slots) {
        const std::string text = cell(slot.action);
        columns.resize(static_cast<std::size_t>(std::lround(slot.begin / unit)), ". ");
        columns.push_back(
            stages.size() > 1 ? text : text.substr(text.find_first_not_of("0123456789"))
        );
        const auto end = static_cast<std::size_t>(std::lround(slot.end / unit));
        columns.resize(std::max(columns.size(), end), "--");
    }
    return columns;
}

}  // namespace

PipelineAction peer_of(const PipelineAction& message) {
    const auto [stage, kind, i] = message;
    switch (kind) {
        case ActionKind::send_f:
            return {stage + 1, ActionKind::recv_f, i};
        case ActionKind::recv_f:
            return {stage - 1, ActionKind::send_f, i};
        case ActionKind::send_b:
            return {stage - 1, ActionKind::recv_b, i};
        default:
            return {stage + 1, ActionKind::send_b, i};
    }
}

std::string cell(const PipelineAction& action) {
    return std::to_string(action.stage) +
           std::string(kWords[static_cast<std::size_t>(action.kind)]) +
           std::to_string(action.micro_batch);
}

std::string write_schedule(const Schedule& rows) {
    std::string text;
    for (const Row& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            text += (i == 0 ? "" : ",") + cell(row[i]);
        }
        text += "\n";
    }
    return text;
}

Schedule read_schedule(const std::string& text) {
    Schedule rows;
    std::string_view rest = text;
    while (!rest.empty()) {
        std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        if (line.ends_with('\r')) {
            line.remove_suffix(1);
        }
        rows.push_back(read_row(line));
    }
    return rows;
}

std::string draw_schedule(const std::vector<std::vector<Slot>>& rows, double unit) {
    std::vector<std::vector<std::string>> lines;
    std::size_t width = 0;
    for (const std::vector<Slot>& row : rows) {
        lines.push_back(columns_of(row, unit));
        for (const std::string& column : lines.back()) {
            width = std::max(width, column.size() + 1);
        }
    }
    std::string text;
    for (std::size_t rank = 0; rank < lines.size(); ++rank) {
        std::string line = "rank " + std::to_string(rank) + "  ";
        for (std::string& column : lines[rank]) {
            column.resize(width, ' ');
            line += column;
        }
        text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    return text;
}

}  // namespace dist
