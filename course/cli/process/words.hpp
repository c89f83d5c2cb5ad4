// Lists on the command line.
#pragma once

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

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

}  // namespace dist::cli
