// Lists on the command line.
#pragma once

#include <algorithm>
#include <charconv>
#include <fmt/core.h>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "course/process/error.hpp"

namespace dist::cli {

/// "a,b" is a and b: what stands between commas, each once, without what is empty.
inline std::vector<std::string> between_commas(const std::string& text) {
    std::vector<std::string> words;
    std::istringstream in(text);
    for (std::string word; std::getline(in, word, ',');) {
        if (!word.empty() && std::ranges::find(words, word) == words.end()) {
            words.push_back(word);
        }
    }
    return words;
}

/// "2,8,4" of an option --ranks: the numbers of ranks, or of what else it counts, ascending, each
/// once.
///
/// Errors  UsageError if one is no number from `least` to `most`, or if there is none.
inline std::vector<int> ranks_between_commas(
    const std::string& text, int least, int most, const std::string& counted = "ranks"
) {
    std::set<int> ranks;
    for (const std::string& word : between_commas(text)) {
        int number = 0;
        const char* const end = word.data() + word.size();
        const auto [rest, error] = std::from_chars(word.data(), end, number);
        if (error != std::errc() || rest != end || number < least || number > most) {
            throw UsageError(fmt::format(
                "--{} {}: \"{}\" is no number of {} from {} to {}", counted, text, word, counted,
                least, most
            ));
        }
        ranks.insert(number);
    }
    if (ranks.empty()) {
        throw UsageError("--" + counted + " names none");
    }
    return {ranks.begin(), ranks.end()};
}

/// The rest of the first line that holds this; empty if none does.
inline std::string rest_of_line(const std::string& mark, const std::string& text) {
    const std::size_t at = text.find(mark);
    const std::size_t begin = at + mark.size();
    return at == std::string::npos ? "" : text.substr(begin, text.find('\n', begin) - begin);
}

}  // namespace dist::cli
