#include "course/manifest/questions.hpp"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <numeric>
#include <set>
#include <stdexcept>

#include "course/manifest/fields.hpp"
#include "course/manifest/formula.hpp"
#include "course/process/error.hpp"
#include "course/runtime/seeded.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

std::string question_file(const std::string& chapter) {
    return "exercises/" + chapter + "/questions.toml";
}

Question read_question(const Fields& fields, const std::string& chapter) {
    Question question;
    question.chapter = chapter;
    question.name = fields.text("name");
    question.draw = fields.texts("draw");
    question.text = fields.text("text");
    question.answer = fields.has("answer") ? fields.text("answer") : "";
    question.why = fields.text("why");
    for (const Fields& mistake : fields.tables("mistake")) {
        question.mistakes.push_back({mistake.text("value"), mistake.text("says")});
    }
    for (const Fields& choice : fields.tables("choice")) {
        question.choices.push_back({choice.text("text"), choice.flag("holds"), choice.text("why")});
    }
    return question;
}

std::string trimmed_word(const std::string& text) {
    const std::size_t begin = text.find_first_not_of(' ');
    const std::size_t end = text.find_last_not_of(' ');
    return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

/// The numbers of the lines "name = formula" and "name = from..to", each of which may use those before it.
Numbers drawn(const std::vector<std::string>& lines, std::uint64_t seed) {
    Numbers numbers;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const std::string& line = lines[i];
        const std::size_t equals = line.find('=');
        if (equals == std::string::npos) {
            throw std::invalid_argument(fmt::format("'{}' lacks a '='", line));
        }
        const std::string value = line.substr(equals + 1);
        const std::size_t dots = value.find("..");
        const std::int64_t from = value_of(value.substr(0, dots), numbers);
        const std::int64_t to =
            dots == std::string::npos ? from : value_of(value.substr(dots + 2), numbers);
        if (to < from) {
            throw std::invalid_argument(fmt::format("'{}' has nothing to draw from", line));
        }
        const auto count = static_cast<std::uint64_t>(to - from) + 1;
        numbers[trimmed_word(line.substr(0, equals))] =
            from + static_cast<std::int64_t>(seeded_bits(seed, i) % count);
    }
    return numbers;
}

/// All orders are drawn (Fisher and Yates).
template <class T>
void shuffle(std::vector<T>& list, std::uint64_t seed) {
    for (std::size_t left = list.size(); left > 1; --left) {
        std::swap(list[left - 1], list[seeded_bits(~seed, left) % left]);
    }
}

char letter(std::size_t choice) {
    return static_cast<char>('a' + choice);
}

Asked with_numbers(const Question& question, std::uint64_t seed) {
    const Numbers numbers = drawn(question.draw, seed);
    Asked asked;
    asked.text = filled_in(question.text, numbers);
    asked.why = filled_in(question.why, numbers);
    asked.lesson = "notebooks_md/" + question.chapter + ".md";
    for (const Mistake& mistake : question.mistakes) {
        asked.mistakes.push_back(
            {std::to_string(value_of(mistake.value, numbers)), filled_in(mistake.says, numbers)}
        );
    }
    for (const Choice& choice : question.choices) {
        asked.choices.push_back(
            {filled_in(choice.text, numbers), choice.holds, filled_in(choice.why, numbers)}
        );
    }
    shuffle(asked.choices, seed);
    for (std::size_t k = 0; k < asked.choices.size(); ++k) {
        asked.text += fmt::format("\n{})  {}", letter(k), asked.choices[k].text);
        asked.answer += asked.choices[k].holds ? std::string(1, letter(k)) : "";
    }
    if (asked.choices.empty()) {
        asked.answer = std::to_string(value_of(question.answer, numbers));
    }
    return asked;
}

/// The first choice that was taken for what it is not decides what is said.
Judgement judge_letters(const Asked& asked, const std::string& answer) {
    const char last = letter(asked.choices.size() - 1);
    std::set<char> taken;
    for (const char given : answer) {
        const char sign = static_cast<char>(std::tolower(static_cast<unsigned char>(given)));
        if (sign >= 'a' && sign <= last) {
            taken.insert(sign);
        } else if (sign != ' ' && sign != ',') {
            throw UsageError(fmt::format(
                "'{}' is no answer here: give the letters of all that are true, from a to {}",
                answer, last
            ));
        }
    }
    if (taken.empty()) {
        throw UsageError("no letter was given; at least one of these is true");
    }
    for (std::size_t k = 0; k < asked.choices.size(); ++k) {
        const Choice& choice = asked.choices[k];
        if (taken.contains(letter(k)) != choice.holds) {
            return {false, fmt::format("Look at {} again. {}", letter(k), choice.why)};
        }
    }
    return {true, asked.why};
}

Judgement judge_number(const Asked& asked, const std::string& answer) {
    std::string value;
    try {
        value = std::to_string(value_of(answer));
    } catch (const std::invalid_argument& error) {
        throw UsageError(fmt::format(
            "{}: give a whole number, or a formula of numbers such as 2 * 1000", error.what()
        ));
    }
    if (value == asked.answer) {
        return {true, asked.why};
    }
    const auto known =
        std::find_if(asked.mistakes.begin(), asked.mistakes.end(), [&](const Mistake& mistake) {
            return mistake.value == value;
        });
    return {
        false, known != asked.mistakes.end()
                   ? known->says
                   : fmt::format("It is not {}. The lesson may help: {}", value, asked.lesson)};
}

}  // namespace

std::vector<Question> read_questions(const fs::path& root, const std::string& chapter) {
    const std::string file = question_file(chapter);
    std::vector<Question> questions;
    if (!fs::exists(root / file)) {
        return questions;
    }
    try {
        const toml::table document = toml::parse_file((root / file).string());
        for (const Fields& fields : Fields(document, file, "questions").tables("question")) {
            questions.push_back(read_question(fields, chapter));
        }
    } catch (const toml::parse_error& error) {
        throw CommandError(
            exit_status::kOurs,
            fmt::format("{}:{}: {}", file, error.source().begin.line, error.description())
        );
    }
    return questions;
}

Asked ask(const Question& question, std::uint64_t seed) {
    try {
        return with_numbers(question, seed);
    } catch (const std::invalid_argument& error) {
        throw CommandError(
            exit_status::kOurs, fmt::format(
                                    "{}: question '{}': {}", question_file(question.chapter),
                                    question.name, error.what()
                                )
        );
    }
}

Judgement judge_answer(const Asked& asked, const std::string& answer) {
    return asked.choices.empty() ? judge_number(asked, answer) : judge_letters(asked, answer);
}

int answered(const std::vector<Question>& questions, const Progress& progress) {
    return static_cast<int>(std::count_if(
        questions.begin(), questions.end(),
        [&](const Question& question) { return progress.answered.contains(question.id()); }
    ));
}

std::string chapter_of(const Manifest& manifest, const std::string& number) {
    std::set<std::string> numbers;
    for (const Exercise& exercise : manifest.exercises) {
        const std::string two_digits = exercise.chapter.substr(0, 2);
        if (number == exercise.chapter || (number.size() == 1 ? "0" : "") + number == two_digits) {
            return exercise.chapter;
        }
        numbers.insert(two_digits);
    }
    throw UsageError(
        fmt::format("there is no chapter '{}'; there are {}", number, fmt::join(numbers, ", "))
    );
}

std::string questions_to_ask(
    const fs::path& root,
    const Manifest& manifest,
    const Progress& progress,
    const std::string& chapter
) {
    const bool gpu = gpu_here();
    const bool through = std::all_of(
        manifest.exercises.begin(), manifest.exercises.end(),
        [&](const Exercise& exercise) {
            return exercise.chapter != chapter || progress.done.contains(exercise.name) ||
                   !passed_over(exercise, progress, gpu).empty();
        }
    );
    if (!through) {
        return "";
    }
    const std::vector<Question> questions = read_questions(root, chapter);
    const bool open = answered(questions, progress) < static_cast<int>(questions.size());
    return open ? "ask " + chapter.substr(0, 2) : "";
}

}  // namespace dist::cli
