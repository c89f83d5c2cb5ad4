#include "course/build/lines.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <sstream>

namespace dist::cli {

namespace fs = std::filesystem;

std::string steps_of(const std::string& output) {
    const std::size_t last = output.rfind("\n[");
    if (last == std::string::npos) {
        return "";
    }
    return "building " + output.substr(last + 2, output.find(' ', last) - last - 2);
}

double link_seconds(const std::string& output) {
    double before = 0;
    double now = 0;
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t space = line.find(' ');
        if (!line.starts_with("[") || space == std::string::npos) {
            continue;
        }
        before = now;
        now = std::strtod(line.c_str() + space, nullptr);
        if (line.find("Linking CXX executable") != std::string::npos) {
            return now - before;
        }
    }
    return 0;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    for (std::size_t at = text.find(from); at != std::string::npos;
         at = text.find(from, at + to.size())) {
        text.replace(at, from.size(), to);
    }
    return text;
}

std::string word_after(const std::string& line, const std::string& flag) {
    const std::size_t begin = line.find(flag) + flag.size();
    return line.substr(begin, line.find(' ', begin) - begin);
}

std::vector<fs::path> inputs_of(const std::string& link) {
    std::vector<fs::path> inputs;
    std::istringstream words(link);
    for (std::string word; words >> word;) {
        const bool made_here = fs::path(word).is_relative();
        if (made_here && (word.ends_with(".o") || word.ends_with(".a")) &&
            std::find(inputs.begin(), inputs.end(), word) == inputs.end()) {
            inputs.emplace_back(word);
        }
    }
    return inputs;
}

std::vector<fs::path> dependencies_in(const std::string& rule) {
    std::vector<fs::path> files;
    std::string word;
    const auto end_word = [&] {
        if (!word.empty() && !word.ends_with(":")) {
            files.emplace_back(word);
        }
        word.clear();
    };
    for (std::size_t i = 0; i < rule.size(); ++i) {
        const bool escapes = rule[i] == '\\' && i + 1 < rule.size();
        if (escapes && rule[i + 1] == ' ') {
            word += rule[++i];
        } else if (std::isspace(static_cast<unsigned char>(rule[i])) != 0 || (escapes && rule[i + 1] == '\n')) {
            end_word();
        } else {
            word += rule[i];
        }
    }
    end_word();
    return files;
}

}  // namespace dist::cli
