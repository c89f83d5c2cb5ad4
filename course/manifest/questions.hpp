// The questions at the end of a chapter: exercises/CHAPTER/questions.toml.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "course/manifest/manifest.hpp"
#include "course/manifest/progress.hpp"

namespace dist::cli {

/// A number that a usual mistake leads to. `value` is a formula.
struct Mistake {
    std::string value;
    std::string says;
};

/// One of several statements, each of which holds or does not.
struct Choice {
    std::string text;
    bool holds = false;
    std::string why;
};

/// As it stands in the file: texts have formulas in braces. It has an answer or choices.
struct Question {
    std::string chapter;
    std::string name;
    std::vector<std::string> draw;  // in this order: "p = 3..7", "n = 1000 * p"
    std::string text;
    std::string answer;  // a formula
    std::vector<Mistake> mistakes;
    std::vector<Choice> choices;
    std::string why;

    /// Unlike any other of the course.
    [[nodiscard]] std::string id() const { return chapter + "/" + name; }
};

/// A question with its numbers drawn.
struct Asked {
    std::string text;               // lettered choices below it, if there are some
    std::string answer;             // the number; or the letters of the choices that hold: "ac"
    std::vector<Mistake> mistakes;  // their values computed
    std::vector<Choice> choices;    // in the order of the letters
    std::string why;
    std::string lesson;  // file
};

struct Judgement {
    bool right = false;
    std::string says;
};

/// The questions of a chapter, in order; none where it has no such file.
/// Errors  CommandError that names file, line and field.
std::vector<Question> read_questions(const std::filesystem::path& root, const std::string& chapter);

/// The same seed draws the same numbers, and the same order of choices, on every machine.
/// Errors  CommandError for an invalid formula.
Asked ask(const Question& question, std::uint64_t seed);

/// `answer` is a number or a sum or product of numbers; or letters, in any order: "ac", "c, a".
/// Errors  UsageError if it is neither.
Judgement judge_answer(const Asked& asked, const std::string& answer);

/// How many of these have been answered.
int answered(const std::vector<Question>& questions, const Progress& progress);

/// The chapter whose number (06, 6) or name this is.
/// Errors  UsageError that names all chapters.
std::string chapter_of(const Manifest& manifest, const std::string& number);

/// What to type when all exercises of a chapter that can run here are done, and a question of it is open: "ask 06". Otherwise empty.
std::string questions_to_ask(
    const std::filesystem::path& root,
    const Manifest& manifest,
    const Progress& progress,
    const std::string& chapter
);

}  // namespace dist::cli
