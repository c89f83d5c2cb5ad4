#include "course/grade/grading.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <random>
#include <set>

#include "course/build/setup.hpp"
#include "course/grade/due.hpp"
#include "course/grade/formats.hpp"
#include "course/grade/gradebook.hpp"
#include "course/grade/grader.hpp"
#include "course/grade/points.hpp"
#include "course/grade/similarity.hpp"
#include "course/grade/submissions.hpp"
#include "course/manifest/stub.hpp"
#include "course/process/error.hpp"
#include "course/process/lists.hpp"
#include "course/process/progress_line.hpp"
#include "course/process/seconds_since.hpp"
#include "course/process/workers.hpp"
#include "course/protocol/counted.hpp"

namespace dist::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// Those that are named, or else those that anybody has worked on; in course order.
std::vector<const Exercise*> exercises_to_grade(
    const Context& context,
    const Manifest& manifest,
    const std::vector<std::string>& names,
    HandedIn& handed_in
) {
    std::set<std::string> wanted;
    for (const std::string& list : names) {
        for (const std::string& name : between_commas(list)) {
            wanted.insert(manifest.find(name).name);
        }
    }
    if (wanted.empty()) {
        std::set<std::string> untouched;
        for (const Submission& submission : handed_in.submissions) {
            for (const auto& [exercise, text] : submission.files) {
                const bool stub = text == given_stub(context, manifest.find(exercise));
                (stub ? untouched : wanted).insert(exercise);
            }
            for (const auto& [exercise, why] : submission.unclear) {
                wanted.insert(exercise);
            }
        }
        if (wanted.empty()) {
            wanted = untouched;
        } else if (std::erase_if(untouched, [&](auto& one) { return wanted.contains(one); });
                   !untouched.empty()) {
            handed_in.notes.push_back(fmt::format(
                "{}: not started by anybody, and not graded; --exercises names what is graded",
                fmt::join(untouched, ", ")
            ));
        }
    }
    std::vector<const Exercise*> exercises;
    for (const Exercise& exercise : manifest.exercises) {
        if (wanted.contains(exercise.name)) {
            exercises.push_back(&exercise);
        }
    }
    if (exercises.empty()) {
        throw UsageError("no submission holds a file of an exercise, such as ring_shift.cpp");
    }
    return exercises;
}

std::vector<std::uint64_t> draw_seeds(const GradingOptions& options) {
    std::random_device device;
    // nobody finds it by trying all that there are; and JSON holds it
    const auto drawn = [&] { return 1 + (std::uint64_t{device()} << 20U | device() >> 12U); };
    std::vector<std::uint64_t> seeds(static_cast<std::size_t>(options.seeds));
    for (std::size_t i = 0; i < seeds.size(); ++i) {
        seeds[i] = (options.seed > 0 ? options.seed + static_cast<std::uint64_t>(i) : drawn());
    }
    return seeds;
}

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
        how.seeds = begin();
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
        return end();
    }

  private:
    struct Item {
        const Submission* submission;
        const Exercise* exercise;
        Grade record;  // null until it is known
    };

    std::vector<std::uint64_t> begin() {
        const bool go_on = asked_.resume || asked_.only_failed;
        if (book_.has_grades() && !go_on) {
            throw UsageError(fmt::format(
                "{} holds grades already: --resume goes on with them, --only-failed repeats what "
                "did not pass; or name another folder",
                asked_.out
            ));
        }
        std::vector<std::uint64_t> seeds = go_on ? book_.seeds() : std::vector<std::uint64_t>();
        if (seeds.empty()) {
            seeds = draw_seeds(asked_);
            book_.write_seeds(seeds);
        } else if ((asked_.seed > 0 && asked_.seed != seeds.front()) ||
                   (asked_.seeds > 1 && static_cast<std::size_t>(asked_.seeds) != seeds.size())) {
            throw UsageError(fmt::format(
                "{} was begun with other inputs ({} of them), and goes on with those: leave out "
                "--seed and --seeds, or name another folder",
                asked_.out, seeds.size()
            ));
        }
        return seeds;
    }

    /// What an earlier grading found holds for the same text and the same seeds.
    void recall(const std::vector<std::uint64_t>& seeds) {
        for (const Submission& submission : handed_in_.submissions) {
            for (const Exercise* exercise : exercises_) {
                Item& item = items_.emplace_back(Item{&submission, exercise, nullptr});
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
        const Grade& record, const Item& item, const std::vector<std::uint64_t>& seeds
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
            for (const Item& item : items_) {
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
        std::vector<Item*> open;
        for (Item& item : items_) {
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
    void save_first(std::size_t last, const std::vector<Item*>& open) {
        const Item* const behind = last + 1 < open.size() ? open[last + 1] : nullptr;
        std::vector<Grade> records;
        for (const Item& item : items_) {
            if (&item == behind) {
                break;
            }
            records.push_back(item.record);
        }
        book_.write_all(records, notes());
    }

    void save() {
        progress_.clear();
        note_similar();
        std::vector<Grade> records;
        for (Item& item : items_) {
            if (!item.record.is_null()) {
                give(item.record, *item.submission);
                book_.write(item.record);
                records.push_back(item.record);
            }
        }
        book_.write_all(records, notes());
    }

    void note_similar() {
        constexpr double kNearly = 0.9;
        for (const Exercise* exercise : exercises_) {
            const std::string stub = given_stub(context_, *exercise);
            std::map<std::string, std::string> answers;
            std::vector<std::pair<Item*, Fingerprint>> all;
            for (Item& item : items_) {
                const auto file = item.submission->files.find(exercise->name);
                if (item.exercise == exercise && file != item.submission->files.end() &&
                    !item.record.is_null()) {
                    item.record["similar_to"] = Grade::array();
                    all.emplace_back(&item, Fingerprint(file->second, stub));
                    answers[item.submission->name] = file->second;
                }
            }
            book_.write_similar(exercise->name, stub, answers);
            for (const auto& [item, text] : all) {
                go_on_unless_interrupted();
                for (const auto& [other, its_text] : all) {
                    const double share = item == other ? 0 : text.shared_with(its_text);
                    if (share >= kNearly) {
                        item->record["similar_to"].push_back(
                            {{"id", other->submission->name}, {"share", share}}
                        );
                    }
                }
            }
        }
    }

    [[nodiscard]] std::vector<std::string> notes() const {
        std::vector<std::string> all = handed_in_.notes;
        for (const Submission& submission : handed_in_.submissions) {
            for (const std::string& note : submission.notes) {
                all.push_back(submission.name + ": " + note);
            }
            if (due_ && submission.changed) {
                const std::string doubt = due_->doubt(submission.name, *submission.changed);
                if (!doubt.empty()) {
                    all.push_back(submission.name + ": " + doubt);
                }
            }
        }
        for (const auto& dates :
             {due_ ? due_->exceptions : Dates(), due_ ? due_->handed_in : Dates()}) {
            for (const auto& [name, date] : dates) {
                if (std::ranges::find(handed_in_.submissions, name, &Submission::name) ==
                    handed_in_.submissions.end()) {
                    all.push_back(name + ": has a date in " + asked_.due + ", and no submission");
                }
            }
        }
        return all;
    }

    int end() {
        std::size_t longest = 0;
        for (const Submission& submission : handed_in_.submissions) {
            longest = std::max(longest, submission.name.size());
        }
        std::size_t ours = 0;
        for (const Submission& submission : handed_in_.submissions) {
            double score = 0;
            double counted = 0;
            double most = 0;
            int days = 0;
            std::string others;
            for (const Item& item : items_) {
                if (item.submission != &submission) {
                    continue;
                }
                const State state = state_in(item.record);
                score += score_of(item.record);
                counted += counted_of(item.record);
                days = item.record.value("days_late", 0);
                most += max_score_of(item.record);
                ours += state == State::harness_error ? 1U : 0U;
                if (state != State::pass) {
                    others += fmt::format(
                        "{}{} {}", others.empty() ? "" : ", ", item.exercise->name, name_of(state)
                    );
                }
            }
            std::string late;
            if (days > 0) {
                late = fmt::format(
                    "{}: {:g} count{}", late_by(days), counted, others.empty() ? "" : "; "
                );
            }
            fmt::print(
                "{:{}}  {:>4g} of {:<4g} {}{}\n", submission.name, longest, score, most, late,
                others
            );
        }
        for (const std::string& note : notes()) {
            fmt::print("to look at: {}\n", note);
        }
        fmt::print(
            "{} written: results.csv, report.html, canvas.csv, junit.xml, gradescope, exercism, "
            "similar\n",
            asked_.out
        );
        if (ours > 0) {
            std::fflush(stdout);
            fmt::print(
                stderr,
                "{} could not be graded, through no fault of theirs: --resume tries again\n",
                harness::counted(ours, "answer")
            );
            return exit_status::kOurs;
        }
        return exit_status::kDone;
    }

    Context& context_;
    const GradingOptions& asked_;
    Manifest manifest_;
    Points points_;
    std::optional<Due> due_;
    HandedIn handed_in_;
    std::vector<const Exercise*> exercises_;
    Gradebook book_;
    std::vector<Item> items_;
    ProgressLine progress_;
};

}  // namespace

int grade_all(Context& context, const GradingOptions& options) {
    return Grading(context, options).run();
}

}  // namespace dist::cli
