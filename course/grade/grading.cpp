#include "course/grade/grading.hpp"

#include <chrono>
#include <fmt/format.h>
#include <optional>

#include "course/build/setup.hpp"
#include "course/grade/due.hpp"
#include "course/grade/exercises_to_grade.hpp"
#include "course/grade/gradebook.hpp"
#include "course/grade/graded.hpp"
#include "course/grade/grader.hpp"
#include "course/grade/points.hpp"
#include "course/grade/seeds.hpp"
#include "course/grade/similar_answers.hpp"
#include "course/grade/submissions.hpp"
#include "course/grade/summary.hpp"
#include "course/process/error.hpp"
#include "course/process/progress_line.hpp"
#include "course/process/seconds_since.hpp"
#include "course/process/workers.hpp"

namespace dist::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// A grading: one record for each submission and exercise.
class Grading {
  public:
    Grading(Context& context, const GradingOptions& options)
        : context_(context),
          asked_(options),
          manifest_(read_manifest(context.root)),
          points_(options.points.empty() ? Points() : read_points(options.points, manifest_)),
          due_(options.due.empty() ? std::nullopt : std::optional(read_due(options.due))),
          handed_in_(read_submissions(
              options.submissions,
              manifest_,
              context.root,
              due_ ? due_->zone : std::chrono::minutes(0)
          )),
          exercises_(exercises_to_grade(context, manifest_, options.exercises, handed_in_)),
          book_(options.out) {}

    int run() {
        GradeOptions how;
        how.time_limit_s = asked_.time_limit_s;
        how.sandbox = !asked_.no_sandbox;
        if (how.sandbox) {
            install(context_, "grade");
        }
        how.seeds = seeds_of(asked_, book_);
        Grader grader(context_, how);
        recall(how.seeds);
        prepare(grader);
        try {
            grade(grader);
        } catch (const Interrupted&) {  // what is known stands in native/, and --resume reads it
            progress_.clear();
            throw;
        } catch (...) {
            save();
            throw;
        }
        save();
        return print_summary(handed_in_.submissions, items_, notes(), asked_.out);
    }

  private:
    /// What an earlier grading found holds for the same text and the same seeds.
    void recall(const std::vector<std::uint64_t>& seeds) {
        for (const Submission& submission : handed_in_.submissions) {
            for (const Exercise* exercise : exercises_) {
                Graded& item = items_.emplace_back(Graded{&submission, exercise, nullptr});
                std::optional<Grade> known = asked_.resume || asked_.only_failed
                                                 ? book_.read(submission.name, exercise->name)
                                                 : std::nullopt;
                if (!known || !is_current(*known, item, seeds)) {
                    continue;
                }
                const State state = state_in(*known);
                const bool repeat =
                    state == State::harness_error || (asked_.only_failed && state != State::pass);
                if (!repeat) {
                    item.record = std::move(*known);
                }
            }
        }
    }

    static bool is_current(
        const Grade& record, const Graded& item, const std::vector<std::uint64_t>& seeds
    ) {
        const auto file = item.submission->files.find(item.exercise->name);
        const std::string text = file == item.submission->files.end() ? "" : file->second;
        return record.value("seeds", std::vector<std::uint64_t>()) == seeds &&
               record.at("submission").value("digest", "") == digest(text) &&
               record.at("submission").value("id", "") == item.submission->name;
    }

    void prepare(Grader& grader) {
        std::size_t done = 0;
        for (const Exercise* exercise : exercises_) {
            progress_.show(fmt::format(
                "the reference, {} of {}: {}", ++done, exercises_.size(), exercise->name
            ));
            std::vector<std::string> open;
            for (const Graded& item : items_) {
                const auto file = item.submission->files.find(exercise->name);
                if (item.exercise == exercise && item.record.is_null() &&
                    file != item.submission->files.end()) {
                    open.push_back(file->second);
                }
            }
            grader.prepare(*exercise, open);
        }
    }

    void grade(Grader& grader) {
        std::vector<Graded*> open;
        for (Graded& item : items_) {
            if (item.record.is_null()) {
                open.push_back(&item);
            }
        }
        const auto begun = Clock::now();
        auto saved = begun;
        std::size_t done = 0;
        on_threads(
            static_cast<std::size_t>(asked_.jobs), open.size(),
            [&](std::size_t i) {
                Grade record = grader.grade(*open[i]->exercise, *open[i]->submission);
                give(record, *open[i]->submission);
                book_.write(record);
                open[i]->record = std::move(record);
            },
            [&](std::size_t i) {
                ++done;
                progress_.show(fmt::format(
                    "{} of {}, {} left: {}, {}", done, open.size(),
                    time_left(seconds_since(begun), done, open.size()), open[i]->submission->name,
                    open[i]->exercise->name
                ));
                constexpr double kSaveEveryS = 10;
                if (seconds_since(saved) > kSaveEveryS) {
                    save_first(i, open);
                    saved = Clock::now();
                }
            }
        );
    }

    void give(Grade& record, const Submission& submission) const {
        give_points(record, points_);
        give_counted(record, due_, submission.changed);
    }

    /// Only what is surely complete: threads are at work on what comes behind.
    void save_first(std::size_t last, const std::vector<Graded*>& open) {
        const Graded* const behind = last + 1 < open.size() ? open[last + 1] : nullptr;
        std::vector<Grade> records;
        for (const Graded& item : items_) {
            if (&item == behind) {
                break;
            }
            records.push_back(item.record);
        }
        book_.write_all(records, notes());
    }

    void save() {
        progress_.clear();
        for (const Exercise* exercise : exercises_) {
            note_similar(context_, *exercise, items_, book_);
        }
        std::vector<Grade> records;
        for (Graded& item : items_) {
            if (!item.record.is_null()) {
                give(item.record, *item.submission);
                book_.write(item.record);
                records.push_back(item.record);
            }
        }
        book_.write_all(records, notes());
    }

    [[nodiscard]] std::vector<std::string> notes() const {
        return notes_on(handed_in_, due_, asked_.due);
    }

    Context& context_;
    const GradingOptions& asked_;
    Manifest manifest_;
    Points points_;
    std::optional<Due> due_;
    HandedIn handed_in_;
    std::vector<const Exercise*> exercises_;
    Gradebook book_;
    std::vector<Graded> items_;
    ProgressLine progress_;
};

}  // namespace

int grade_all(Context& context, const GradingOptions& options) {
    return Grading(context, options).run();
}

}  // namespace dist::cli
