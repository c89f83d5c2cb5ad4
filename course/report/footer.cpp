#include "course/report/footer.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string_view>

#include "course/report/fold.hpp"

namespace dist::cli {

std::string progress_bar(std::size_t done, std::size_t total, std::size_t columns) {
    constexpr std::size_t kLongest = 20;
    const std::size_t length = std::min(kLongest, columns / 2);
    const std::string filled(length * done / total, '#');
    return folded(fmt::format("[{:-<{}}] {} of {} done\n", filled, length, done, total), columns);
}

std::string key_words(bool may_go_on, std::size_t columns) {
    std::string text;
    std::size_t column = 0;
    for (const std::string_view key :
         {"n next", "r run", "h hint", "l list", "c check all", "x reset", "q quit"}) {
        if (key == "n next" && !may_go_on) {
            continue;
        }
        const bool fits = column + 3 + key.size() <= columns;
        text += column == 0 ? "" : fits ? " | " : "\n";
        text += key;
        column = column == 0 || !fits ? key.size() : column + 3 + key.size();
    }
    return text + "\n";
}

}  // namespace dist::cli
