#include "course/grade/submissions.hpp"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <functional>
#include <set>

#include "course/grade/entries.hpp"
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

/// What the manifest calls the files, and the exercise that each belongs to.
using Wanted = std::map<std::string, std::string>;

bool is_source(const fs::path& file) {
    return file.extension() == ".cpp" || file.extension() == ".cu";
}

/// "Ring_Shift (1).cpp" is likely meant for ring_shift.cpp.
std::string likely_meant(const std::string& name, const Wanted& wanted) {
    std::string plain;
    for (const char c : fs::path(name).stem().string()) {
        plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    std::replace(plain.begin(), plain.end(), '-', '_');
    std::replace(plain.begin(), plain.end(), ' ', '_');
    std::string best;
    for (const auto& [file, exercise] : wanted) {
        const std::string stem = fs::path(file).stem().string();
        if (plain.starts_with(stem) && stem.size() > fs::path(best).stem().string().size()) {
            best = file;
        }
    }
    return best;
}

Submission read_submission(const fs::path& place, const std::string& name, const Wanted& wanted) {
    Submission submission;
    submission.name = as_text(name);
    std::map<std::string, std::vector<std::string>> places;
    const auto take = [&](const Entry& entry) {
        const std::string file = fs::path(entry.path).filename().string();
        if (file.starts_with("._")) {
            return;  // what a Mac adds to an archive
        }
        const auto found = wanted.find(file);
        if (found == wanted.end()) {
            const std::string meant = is_source(file) ? likely_meant(file, wanted) : "";
            if (!meant.empty()) {
                submission.notes.push_back(
                    fmt::format("{}: not taken; is it meant as {}?", entry.path, meant)
                );
            }
            return;
        }
        const std::string& exercise = found->second;
        const std::string text = entry.read(kMostSource);
        if (text.size() > kMostSource) {
            submission.notes.push_back(fmt::format(
                "{}: not taken, it is longer than {} KB", entry.path, kMostSource >> 10U
            ));
            return;
        }
        const auto known = submission.files.find(exercise);
        if (known == submission.files.end() && places[exercise].empty()) {
            submission.files[exercise] = text;
        } else if (known != submission.files.end() && known->second == text) {
            return;  // the same file twice
        } else {
            submission.files.erase(exercise);
        }
        places[exercise].push_back(entry.path);
        submission.changed = std::max(submission.changed, entry.changed);
    };
    try {
        for (std::string& sentence : for_each_entry(place, take)) {
            submission.notes.push_back(std::move(sentence));
        }
    } catch (const std::exception& error) {  // of one submission; the others are to be graded
        submission.notes.push_back(fmt::format("cannot be read: {}", error.what()));
    }
    for (auto& [exercise, paths] : places) {
        if (paths.size() > 1) {
            std::sort(paths.begin(), paths.end());
            submission.unclear[exercise] =
                fmt::format("{} and {} differ: which of them is handed in?", paths[0], paths[1]);
        }
    }
    if (submission.files.empty() && submission.unclear.empty()) {
        submission.notes.emplace_back("no file of an exercise is in it");
    }
    return submission;
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

std::vector<Submission> read_submissions(const fs::path& folder, const Manifest& manifest) {
    if (!fs::is_directory(folder)) {
        throw UsageError(fmt::format(
            "{} is not a folder: it must hold a folder or an archive for each submission",
            folder.string()
        ));
    }
    Wanted wanted;
    for (const Exercise& exercise : manifest.exercises) {
        wanted[exercise.source().filename().string()] = exercise.name;
    }
    std::vector<fs::path> places;
    for (const auto& entry : fs::directory_iterator(folder)) {
        if (!entry.path().filename().string().starts_with(".") && !entry.is_symlink() &&
            (entry.is_directory() || is_archive(entry.path()))) {
            places.push_back(entry.path());
        }
    }
    std::sort(places.begin(), places.end());
    std::vector<Submission> submissions;
    std::set<std::string> names;
    for (const fs::path& place : places) {
        std::string name =
            fs::is_directory(place) ? place.filename().string() : without_ending(place);
        if (!names.insert(name).second) {
            name = place.filename().string();  // a folder and an archive of one name
            names.insert(name);
        }
        submissions.push_back(read_submission(place, name, wanted));
    }
    if (submissions.empty()) {
        throw UsageError(fmt::format(
            "{} holds no submission: a folder, a .zip or a .tar.gz for each student",
            folder.string()
        ));
    }
    return submissions;
}

}  // namespace dist::cli
