#include "course/build/changed.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "course/manifest/cases.hpp"
#include "course/manifest/manifest.hpp"
#include "course/process/error.hpp"
#include "course/process/files.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

using Lines = std::vector<std::string>;

/// "a\nb\n": a, b and "".
Lines lines_of(const std::string& text) {
    Lines lines;
    std::size_t begin = 0;
    for (std::size_t end = 0; end != std::string::npos; begin = end + 1) {
        end = text.find('\n', begin);
        lines.push_back(text.substr(begin, end - begin));
    }
    return lines;
}

/// Lines of the base, from `begin` to before `end`, and what takes their place.
struct Replaced {
    std::size_t begin = 0;
    std::size_t end = 0;
    Lines to = {};
};

/// Errors  UsageError where the change does not apply
Replaced find(const Lines& base, const Change& change, const Case& answer) {
    const Lines from = lines_of(change.from);
    const auto found = std::ranges::search(base, from);
    const bool again =
        !found.empty() &&
        !std::ranges::search(found.begin() + 1, base.end(), from.begin(), from.end()).empty();
    if (found.empty() || again) {
        const InList place = *in_list(answer.file);
        throw UsageError(fmt::format(
            "{}:{}: {} no longer applies: {} {}", place.list.string(), change.line, place.name,
            answer.base.string(),
            again ? "has the lines that it changes more than once: name a line more, before or "
                    "after them"
                  : "does not have the lines that it changes: write the change anew"
        ));
    }
    const auto begin = static_cast<std::size_t>(found.begin() - base.begin());
    return {begin, begin + from.size(), change.to ? lines_of(*change.to) : Lines()};
}

/// Errors  UsageError where one of the changes does not apply
std::string changed(const std::string& text, const Case& answer) {
    const Lines base = lines_of(text);
    std::vector<Replaced> all;
    for (const Change& change : answer.changes) {
        all.push_back(find(base, change, answer));
    }
    std::ranges::sort(all, {}, &Replaced::begin);
    Lines lines;
    std::size_t at = 0;
    const auto keep_until = [&](std::size_t end) {
        const auto rest = std::span(base).subspan(at, end - at);
        lines.insert(lines.end(), rest.begin(), rest.end());
    };
    for (const Replaced& one : all) {
        if (one.begin < at) {
            throw UsageError(fmt::format(
                "{}: two of its changes change the same lines of {}: make one of the two",
                answer.file.string(), answer.base.string()
            ));
        }
        keep_until(one.begin);
        lines.insert(lines.end(), one.to.begin(), one.to.end());
        at = one.end;
    }
    keep_until(base.size());
    return fmt::format("{}", fmt::join(lines, "\n"));
}

/// Errors  UsageError where the list has no such name
Case find(const Context& context, const InList& answer) {
    const std::vector<Case> all = read_list(context, answer.list);
    const auto found = std::ranges::find(all, answer.name, &Case::name);
    if (found == all.end()) {
        std::vector<std::string> names;
        std::ranges::transform(all, std::back_inserter(names), &Case::name);
        const std::string near = nearest(answer.name, names);
        throw UsageError(fmt::format(
            "{} has no [{}]{}", answer.list.string(), answer.name,
            near.empty() ? "" : fmt::format(". Did you mean '{}'?", near)
        ));
    }
    return *found;
}

fs::path source_of(const Context& context, const InList& answer, const fs::path& base) {
    const fs::path list = fs::absolute(answer.list).replace_extension();
    const std::size_t place = std::hash<std::string>{}(list.string());
    return context.build_folder() / "differences" / fmt::format("{:016x}", place) /
           (answer.name + base.extension().string());
}

}  // namespace

fs::path source_of(const Context& context, const fs::path& answer) {
    const std::optional<InList> in = in_list(answer);
    return in ? source_of(context, *in, find(context, *in).base) : fs::absolute(answer);
}

fs::path make_source(const Context& context, const fs::path& answer) {
    const std::optional<InList> in = in_list(answer);
    if (!in) {
        return fs::absolute(answer);
    }
    const Case found = find(context, *in);
    const fs::path base = context.root / found.base;
    if (!fs::is_regular_file(base)) {
        throw UsageError(fmt::format(
            "{} changes {}, which is not there", found.file.string(), found.base.string()
        ));
    }
    const std::string text = changed(read_text(base), found);
    fs::path source = source_of(context, *in, found.base);
    if (read_text(source) != text) {
        fs::create_directories(source.parent_path());
        std::ofstream(source) << text;
    }
    return source;
}

}  // namespace dist::cli
