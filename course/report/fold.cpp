#include "course/report/fold.hpp"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <sstream>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

#include "course/build/diagnostics.hpp"
#include "course/process/screen.hpp"

namespace dist::cli {
namespace {

constexpr std::size_t kHang = 2;
constexpr std::size_t kFewest = 10;  // columns that are left to what follows
constexpr std::string_view kCommand = " ./shardlings ";

/// What may not be broken, and the spaces before it.
struct Piece {
    std::size_t gap = 0;
    std::string_view text;
    std::size_t word = 0;  // columns of all that it is a part of
};

std::string without_colours(std::string_view text) {
    std::string plain;
    bool escape = false;
    for (const char c : text) {
        escape = escape || c == '\033';
        plain += escape ? "" : std::string(1, c);
        escape = escape && c != 'm';
    }
    return plain;
}

/// Where the command begins that is the line's end; its length if there is none.
std::size_t command_in(std::string_view line, std::size_t room) {
    const std::size_t at = line.find(kCommand);
    if (at == line.npos) {
        return line.size();
    }
    const bool labelled = at > 0 && line[at - 1] == ' ';
    return labelled || width_of(line.substr(at + 1)) <= room ? at + 1 : line.size();
}

/// `room`: what a line takes at most.
std::vector<Piece> pieces_of(std::string_view line, std::size_t room) {
    const std::size_t command = command_in(line, room);
    std::vector<Piece> pieces;
    for (std::size_t at = 0; at < line.size();) {
        const std::size_t begin = std::min(line.find_first_not_of(' ', at), line.size());
        std::size_t end = begin == command ? line.size() : line.find(' ', begin);
        end = std::min(end, line.size());
        const std::string_view word = line.substr(begin, end - begin);
        const bool parts = begin != command && width_of(word) > room;
        for (std::size_t from = 0; from < word.size();) {
            const std::size_t slash = parts ? word.find('/', from) : word.npos;
            const std::size_t to = std::min(slash, word.size() - 1) + 1;
            pieces.push_back(
                {from == 0 ? begin - at : 0, word.substr(from, to - from), width_of(word)}
            );
            from = to;
        }
        at = end;
    }
    return pieces;
}

/// Where the line's second column starts; for one column a little to the right of it.
std::size_t hang_of(std::string_view line, std::size_t columns) {
    const std::string plain = without_colours(line);
    const std::size_t first = std::min(plain.find_first_not_of(' '), plain.size());
    const std::size_t second = plain.find_first_not_of(' ', plain.find("  ", first));
    return second <= columns / 3 ? second : first + kHang;
}

/// Source lines with the mark under them, all cut to the same part.
std::string cut_excerpt(const std::vector<std::string>& lines, std::size_t columns) {
    const std::size_t margin = lines.empty() ? 0 : lines[0].find('|') + 2;
    const std::size_t room = columns > margin ? columns - margin : 1;
    std::size_t from = 0;
    for (const std::string& line : lines) {
        if (const std::size_t mark = line.find('^'); mark != line.npos && mark >= columns) {
            from = mark - margin - room / 2;
        }
    }
    std::string text;
    for (const std::string& line : lines) {
        const bool code = line.size() > margin + from;
        text += line.substr(0, margin) + (code ? line.substr(margin + from, room) : "") + "\n";
    }
    return text;
}

}  // namespace

std::size_t width_of(std::string_view text) {
    const std::string plain = without_colours(text);
    return static_cast<std::size_t>(std::count_if(plain.begin(), plain.end(), [](unsigned char c) {
        return (c & 0xC0U) != 0x80U;  // the others are inside a letter
    }));
}

std::string folded_line(const std::string& line, std::size_t columns, std::size_t hang) {
    if (width_of(line) <= columns) {
        return line;
    }
    columns = std::max(columns, kFewest);
    hang = std::min(hang, columns - kFewest);
    std::string text;
    std::size_t column = 0;
    for (const Piece& piece : pieces_of(line, columns - hang)) {
        const std::size_t width = width_of(piece.text);
        const std::size_t end = column + piece.gap + width;
        const std::size_t begin = width <= columns - hang ? hang : std::min(hang, kHang);
        // a path in a far second column is read more easily on lines of its own
        const bool far = piece.gap > 1 && column + piece.gap > begin;
        const std::size_t wanted = far ? column + piece.gap + piece.word : end;
        if (column > begin && wanted > columns) {
            text += "\n" + std::string(begin, ' ');
            column = begin + width;
        } else {
            text += std::string(piece.gap, ' ');
            column = end;
        }
        text += piece.text;
    }
    return text;
}

std::string folded(const std::string& text, std::size_t columns) {
    std::string out;
    std::vector<std::string> excerpt;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (is_excerpt(line)) {
            excerpt.push_back(line);
            continue;
        }
        out += cut_excerpt(std::exchange(excerpt, {}), columns);
        out += folded_line(line, columns, hang_of(line, columns)) + "\n";
    }
    return out + cut_excerpt(excerpt, columns);
}

std::string folded_help(const std::string& text, std::size_t columns) {
    constexpr std::size_t kOption = 30;  // CLI11's second column
    std::string out;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const bool option = line.starts_with("  ") && line.size() > kOption &&
                            line[kOption - 1] == ' ' && line[kOption] != ' ';
        const bool prose = !line.starts_with(" ");
        const std::size_t hang = option ? kOption : prose ? 0 : hang_of(line, columns);
        out += folded_line(line, columns, hang) + "\n";
    }
    return out;
}

void print_folded(const std::string& text) {
    fmt::print("{}", folded(text, columns_of(STDOUT_FILENO)));
}

void print_indented(const std::string& text) {
    constexpr std::size_t kOfProse = 80;  // longer lines are hard to read
    const std::size_t columns = std::min(kOfProse, columns_of(STDOUT_FILENO));
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t spaces = line.find_first_not_of(' ');
        const std::size_t hang = kHang + (spaces == std::string::npos ? 0 : spaces);
        fmt::print("{}\n", line.empty() ? "" : folded_line("  " + line, columns, hang));
    }
}

}  // namespace dist::cli
