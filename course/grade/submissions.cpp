#include "course/grade/submissions.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <fmt/format.h>
#include <functional>
#include <iterator>
#include <set>

#include "course/grade/entries.hpp"
#include "course/grade/file_names.hpp"
#include "course/grade/submission_reader.hpp"
#include "course/process/error.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

/// How many bytes of valid UTF-8 begin here; 0: none do.
std::size_t character_at(std::string_view bytes, std::size_t at) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
    const unsigned first = byte(at);
    const std::size_t length = first < 0x20 || first == 0x7F ? 0
                               : first < 0x80                ? 1
                               : first < 0xC2                ? 0
                               : first < 0xE0                ? 2
                               : first < 0xF0                ? 3
                               : first < 0xF5                ? 4
                                                             : 0;
    if (length == 0 || at + length > bytes.size()) {
        return 0;
    }
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(at + i) & 0xC0U) != 0x80) {
            return 0;
        }
    }
    const bool wrong = length == 3 && ((first == 0xE0 && byte(at + 1) < 0xA0) ||
                                       (first == 0xED && byte(at + 1) >= 0xA0));
    const bool too_far = length == 4 && ((first == 0xF0 && byte(at + 1) < 0x90) ||
                                         (first == 0xF4 && byte(at + 1) >= 0x90));
    return wrong || too_far ? 0 : length;
}

/// Times without a zone are read in this one.
class Zone {
  public:
    explicit Zone(std::chrono::minutes ahead) {
        const char* const is = std::getenv("TZ");
        before_ = is == nullptr ? std::nullopt : std::optional<std::string>(is);
        const auto minutes = ahead.count();  // POSIX counts to the west
        set(fmt::format(
            "DUE{}{}:{:02}", minutes < 0 ? '+' : '-', std::abs(minutes) / 60, std::abs(minutes) % 60
        ));
    }
    ~Zone() { set(before_); }
    Zone(const Zone&) = delete;
    Zone& operator=(const Zone&) = delete;

  private:
    static void set(const std::optional<std::string>& zone) {
        if (zone) {
            setenv("TZ", zone->c_str(), 1);
        } else {
            unsetenv("TZ");
        }
        tzset();
    }
    std::optional<std::string> before_;
};

/// What lies at the top, by whose it is.
struct TopLevel {
    std::map<std::string, std::vector<fs::path>> of;
    std::map<std::string, std::string> canvas_ids;
    std::vector<std::string> notes;
};

/// Why something at the top is no submission; empty where it is one.
std::string why_nobodys(const fs::directory_entry& entry, const Wanted& wanted) {
    const std::string name = entry.path().filename().string();
    if (entry.is_symlink()) {
        return "not taken, it is a link";
    }
    if (entry.is_directory() || is_archive(entry.path())) {
        return "";
    }
    if (const auto canvas = canvas_name(name);
        canvas && (wanted.contains(canvas->file) || !likely_meant(canvas->file, wanted).empty())) {
        return "";
    }
    if (likely_meant(name, wanted).empty()) {
        return "not taken: it is neither a folder nor an archive (zip, 7z, tar) of a submission";
    }
    return "not taken: put it into a folder with the name of whose it is";
}

TopLevel top_level_of(const fs::path& folder, const Wanted& wanted) {
    static constexpr std::array<std::string_view, 3> kSystems = {
        "__MACOSX", "Thumbs.db", "desktop.ini"};
    TopLevel places;
    std::vector<fs::directory_entry> all;
    std::ranges::copy(fs::directory_iterator(folder), std::back_inserter(all));
    std::ranges::sort(all);
    for (const fs::directory_entry& entry : all) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with(".") || std::ranges::find(kSystems, name) != kSystems.end()) {
            continue;
        }
        if (const std::string why = why_nobodys(entry, wanted); !why.empty()) {
            places.notes.push_back(as_text(name) + ": " + why);
            continue;
        }
        const auto canvas = canvas_name(name);
        const std::string whose = canvas                 ? canvas->student
                                  : entry.is_directory() ? name
                                                         : without_ending(entry.path());
        places.of[whose].push_back(entry.path());
        if (canvas) {
            places.canvas_ids[whose] = canvas->id;
        }
    }
    return places;
}

}  // namespace

std::string digest(const std::string& text) {
    return fmt::format("{:016x}", std::hash<std::string>{}(text));
}

std::string as_text(std::string_view bytes) {
    std::string text;
    for (std::size_t at = 0; at < bytes.size();) {
        const std::size_t length = character_at(bytes, at);
        if (length == 0) {
            text += fmt::format("\\x{:02x}", static_cast<unsigned char>(bytes[at]));
            ++at;
        } else {
            text += bytes.substr(at, length);
            at += length;
        }
    }
    return text;
}

HandedIn read_submissions(
    const fs::path& folder,
    const Manifest& manifest,
    const fs::path& root,
    std::chrono::minutes zone
) {
    if (!fs::is_directory(folder)) {
        throw UsageError(fmt::format(
            "{} is not a folder: it must hold a folder or an archive for each submission",
            folder.string()
        ));
    }
    const Zone its_times(zone);
    const Wanted wanted = wanted_files(manifest);
    TopLevel places = top_level_of(folder, wanted);
    HandedIn handed_in;
    for (const auto& [whose, its] : places.of) {
        Submission& submission =
            handed_in.submissions.emplace_back(read_submission(its, wanted, root));
        submission.name = as_text(whose);
        submission.canvas_id = places.canvas_ids[whose];
    }
    handed_in.notes = std::move(places.notes);
    if (handed_in.submissions.empty()) {
        throw UsageError(fmt::format(
            "{} holds no submission: a folder, a .zip or a .tar.gz for each student{}{}",
            folder.string(), handed_in.notes.empty() ? "" : ". ",
            handed_in.notes.empty() ? "" : handed_in.notes.front()
        ));
    }
    return handed_in;
}

}  // namespace dist::cli
