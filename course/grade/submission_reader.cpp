#include "course/grade/submission_reader.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <set>

#include "course/grade/entries.hpp"
#include "course/process/error.hpp"
#include "course/process/files.hpp"
#include "course/vet/source_text.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

bool is_loose(const fs::path& place) {
    return !fs::is_directory(place) && !is_archive(place);
}

/// A file of an exercise.
struct Found {
    std::string path;
    std::string text;
    std::optional<std::chrono::sys_seconds> changed;
    std::string
        copy;  // where it is in exercises/ of a copy of the course: the copy's place, with a / behind it
    bool is_in_copy = false;  // ... and whether it is
};

/// A sentence about a path.
struct Note {
    std::string path;
    std::string sentence;
};

/// All that bears one name.
class SubmissionReader {
  public:
    SubmissionReader(const Wanted& wanted, const fs::path& root) : wanted_(wanted), root_(root) {}

    /// `before` stands before the paths of what is in it.
    void read(const fs::path& place, const std::string& before) {
        const auto loose = is_loose(place) ? canvas_name(place.filename().string()) : std::nullopt;
        try {
            const auto refused = for_each_entry(place, [&](Entry entry) {
                const std::string file =
                    loose ? loose->file : fs::path(entry.path).filename().string();
                entry.path = before + entry.path;
                take(entry, file);
            });
            for (const auto& [path, why] : refused) {
                notes_.push_back(
                    path.empty() ? Note{"", before + why}
                                 : Note{before + path, fmt::format("not taken, {}", why)}
                );
            }
        } catch (const Interrupted&) {
            throw;
        } catch (const std::exception& error) {  // of one submission; the others are to be graded
            notes_.push_back({"", fmt::format("{}cannot be read: {}", before, error.what())});
        }
    }

    Submission submission() {
        Submission submission;
        for (auto& [exercise, all] : found_) {
            std::erase_if(all, [&](const Found& one) { return is_the_courses(one.path); });
            if (!all.empty()) {
                choose(exercise, all, submission);
            }
        }
        for (const auto& [path, sentence] : notes_) {
            if (!is_the_courses(path)) {
                const std::string place = path.empty() ? "" : path + ": ";
                submission.notes.push_back(place + sentence);
            }
        }
        if (submission.files.empty() && submission.unclear.empty()) {
            submission.notes.emplace_back("no file of an exercise is in it");
        }
        return submission;
    }

  private:
    void take(const Entry& entry, const std::string& file) {
        if (file.starts_with("._")) {
            return;  // what a Mac adds to an archive
        }
        const auto found = wanted_.find(file);
        if (found == wanted_.end()) {
            note_if_meant(entry, file);
            return;
        }
        const Exercise& exercise = *found->second;
        const std::string text = entry.read(kMostSource);
        if (text.size() > kMostSource) {
            notes_.push_back(
                {entry.path, fmt::format("not taken, it is longer than {} KB", kMostSource >> 10U)}
            );
            return;
        }
        Found one{entry.path, text, entry.changed, "", false};
        if (const std::string source = exercise.source().string();
            ("/" + entry.path).ends_with("/" + source)) {
            one.is_in_copy = true;
            one.copy = entry.path.substr(0, entry.path.size() - source.size());
            copies_.insert(one.copy);
        }
        found_[exercise.name].push_back(std::move(one));
    }

    void note_if_meant(const Entry& entry, const std::string& file) {
        const std::string meant = likely_meant(file, wanted_);
        if (meant.empty()) {
            return;
        }
        const std::string text = entry.read(kMostSource);
        const fs::path header = wanted_.at(meant)->header();
        const bool is_program =
            text.find('\0') != std::string::npos && fs::path(file).extension().empty();
        const bool is_given =
            header.filename() == file && with_plain_lines(text) == read_text(root_ / header);
        if (!is_program && !is_given) {
            notes_.push_back({entry.path, fmt::format("not taken; is it meant as {}?", meant)});
        }
    }

    /// Whether it is beside the exercises in a copy of the course, in what is no student's.
    [[nodiscard]] bool is_the_courses(const std::string& path) const {
        static constexpr std::array<std::string_view, 10> kCourses = {
            "solutions/", "tests/",       "course/",       "build/",    ".git/",
            "scripts/",   ".shardlings/", "notebooks_md/", "datasets/", "compile_commands.json"};
        return std::ranges::any_of(copies_, [&](const std::string& copy) {
            return path.starts_with(copy) &&
                   std::ranges::any_of(kCourses, [&](std::string_view own) {
                       return std::string_view(path).substr(copy.size()).starts_with(own);
                   });
        });
    }

    /// In a copy of the course the answer is in exercises/. Of several that differ none is taken.
    void choose(const std::string& exercise, std::vector<Found>& all, Submission& submission) {
        std::ranges::sort(all, {}, [](const Found& one) {
            return std::pair(!one.is_in_copy, one.path);
        });
        const Found& first = all.front();
        for (const Found& one : all) {
            if (one.text == first.text) {
                continue;
            }
            if (one.is_in_copy == first.is_in_copy) {
                submission.unclear[exercise] = fmt::format(
                    "{} and {} differ: which of them is handed in?", first.path, one.path
                );
                break;
            }
            notes_.push_back({one.path, fmt::format("not taken, since {} is there", first.path)});
        }
        if (const std::string why = why_no_source(first.text); !why.empty()) {
            submission.unclear[exercise] = fmt::format("{} {}", first.path, why);
        }
        if (!submission.unclear.contains(exercise)) {
            submission.files[exercise] = with_plain_lines(first.text);
        }
        for (const Found& one : all) {
            submission.changed = std::max(submission.changed, one.changed);
        }
    }

    const Wanted& wanted_;
    const fs::path& root_;
    std::map<std::string, std::vector<Found>> found_;  // by exercise
    std::set<std::string> copies_;                     // of the course
    std::vector<Note> notes_;
};

}  // namespace

Submission read_submission(
    const std::vector<fs::path>& places, const Wanted& wanted, const fs::path& root
) {
    SubmissionReader reader(wanted, root);
    for (const fs::path& place : places) {
        const bool alone = places.size() == 1 || is_loose(place);
        reader.read(place, alone ? "" : as_text(place.filename().string()) + ": ");
    }
    return reader.submission();
}

}  // namespace dist::cli
