#include "course/grade/exercises_to_grade.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

#include "course/manifest/stub.hpp"
#include "course/process/error.hpp"
#include "course/process/lists.hpp"

namespace dist::cli {

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

}  // namespace dist::cli
