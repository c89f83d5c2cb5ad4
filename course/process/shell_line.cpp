#include <string>
#include <vector>

#include "course/process/subprocess.hpp"

namespace dist::cli {
namespace {

bool is_plain(const std::string& word) {
    return !word.empty() &&
           word.find_first_not_of(
               "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%^"
           ) == std::string::npos;
}

std::string quoted(const std::string& word) {
    if (is_plain(word)) {
        return word;
    }
    std::string result = "'";
    for (const char c : word) {
        result += c == '\'' ? std::string("'\\''") : std::string(1, c);
    }
    return result + "'";
}

}  // namespace

std::string shell_line(const std::vector<std::string>& command, const Environment& environment) {
    std::string line;
    for (const auto& [name, value] : environment) {
        line += name + "=" + quoted(value) + " ";
    }
    for (const std::string& word : command) {
        line += quoted(word) + " ";
    }
    line.pop_back();
    return line;
}

}  // namespace dist::cli
