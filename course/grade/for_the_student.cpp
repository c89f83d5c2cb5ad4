#include "course/grade/for_the_student.hpp"

#include <algorithm>
#include <string_view>

#include "course/protocol/shortened.hpp"

namespace dist::cli {
namespace {

/// The longest text of a grade: what a compiler says, or a rank prints.
constexpr std::size_t kMostText = 16384;

/// `text` without `place`NUMBER/, in which an answer lies here, and without --as for all of it.
std::string without_place(const std::string& text, const std::string& place) {
    static constexpr std::string_view kAs = " --as ";
    std::string kept;
    std::size_t done = 0;
    for (std::size_t at = text.find(place); at != std::string::npos; at = text.find(place, done)) {
        const std::size_t number = at + place.size();
        std::size_t end = std::min(text.find_first_not_of("0123456789", number), text.size());
        kept += text.substr(done, at - done);
        if (kept.ends_with(kAs)) {
            kept.resize(kept.size() - kAs.size());
            end = std::min(text.find(' ', end), text.size());
        } else {
            end += end < text.size() && text[end] == '/' ? 1U : 0U;
        }
        done = end;
    }
    return kept + text.substr(done);
}

}  // namespace

void make_for_the_student(Grade& value, const std::vector<std::string>& places) {
    if (value.is_string()) {
        auto text = value.get<std::string>();
        for (const std::string& place : places) {
            text = without_place(text, place);
        }
        value = shortened(std::move(text), kMostText);
    } else if (value.is_structured()) {
        for (Grade& part : value) {
            make_for_the_student(part, places);
        }
    }
}

}  // namespace dist::cli
