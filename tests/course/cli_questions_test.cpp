// The questions at the end of chapters.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <unistd.h>

#include "course/manifest/questions.hpp"
#include "course/process/error.hpp"
#include "tests/course/cli_support.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist::cli;

namespace {

namespace fs = std::filesystem;

/// A question whose answer is 7 * p + 1, and one with three choices of which two hold.
Question a_number() {
    Question question;
    question.chapter = "01_first";
    question.name = "number";
    question.draw = {"p = 3..5", "n = 7 * p"};
    question.text = "{p} ranks, {n} floats?";
    question.answer = "n + 1";
    question.mistakes = {{"n", "{n} is one too few."}};
    question.why = "{n} and one.";
    return question;
}

Question some_letters() {
    Question question;
    question.chapter = "01_first";
    question.name = "letters";
    question.text = "Which?";
    question.choices = {
        {"this", true, "this holds"}, {"that", false, "that does not"}, {"these", true, "they do"}};
    question.why = "So it is.";
    return question;
}

std::string refused_answer(const Asked& asked, const std::string& answer) {
    try {
        static_cast<void>(judge_answer(asked, answer));
    } catch (const UsageError& error) {
        return error.what();
    }
    return "";
}

/// A course of one chapter with two exercises and these questions, gone at the end.
class CourseWithQuestions {
  public:
    explicit CourseWithQuestions(const std::string& questions) {
        fs::create_directories(root / "exercises/01_first");
        std::ofstream list(root / "exercises/course.toml");
        for (const char* name : {"one", "two"}) {
            list << "[[exercise]]\nname = \"" << name
                 << "\"\nchapter = \"01_first\"\ntitle = \"t\"\ndifficulty = 1\nimportance = 1\n"
                 << "minutes = 1\nranks = 1\nneeds = \"mpi\"\nuses = []\nhints = []\n";
        }
        std::ofstream(root / "exercises/01_first/questions.toml") << questions;
    }
    CourseWithQuestions(const CourseWithQuestions&) = delete;
    CourseWithQuestions& operator=(const CourseWithQuestions&) = delete;
    CourseWithQuestions(CourseWithQuestions&&) = delete;
    CourseWithQuestions& operator=(CourseWithQuestions&&) = delete;
    ~CourseWithQuestions() { fs::remove_all(root); }

    fs::path root = fs::temp_directory_path() / ("cli_questions_" + std::to_string(getpid()));
};

std::string refused_file(const std::string& text) {
    const CourseWithQuestions course(text);
    try {
        for (const Question& question : read_questions(course.root, "01_first")) {
            static_cast<void>(ask(question, 1));
        }
    } catch (const CommandError& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("a seed draws the same numbers each time, and all numbers are drawn by some seed") {
    const Question question = a_number();
    CHECK(ask(question, 5).text == ask(question, 5).text);
    std::set<std::string> texts;
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        texts.insert(ask(question, seed).text);
    }
    CHECK(
        texts ==
        std::set<std::string>{"3 ranks, 21 floats?", "4 ranks, 28 floats?", "5 ranks, 35 floats?"}
    );
}

TEST_CASE("a number is right or wrong, and a usual mistake is explained") {
    const Question question = a_number();
    std::uint64_t seed = 1;
    while (ask(question, seed).answer != "29") {
        ++seed;
    }
    const Asked asked = ask(question, seed);
    for (const char* right : {"29", " 29 ", "28 + 1", "4 * 7 + 1"}) {
        CHECK(judge_answer(asked, right).right);
        CHECK(judge_answer(asked, right).says == "28 and one.");
    }
    CHECK_FALSE(judge_answer(asked, "28").right);
    CHECK(judge_answer(asked, "28").says == "28 is one too few.");
    CHECK(has(judge_answer(asked, "30").says, "It is not 30."));
    CHECK(has(judge_answer(asked, "30").says, "notebooks_md/01_first.md"));
    CHECK(has(refused_answer(asked, "many"), "give a whole number"));
    CHECK(has(refused_answer(asked, "n + 1"), "'n', which is no number"));
}

TEST_CASE("letters are right when all that hold are given, in any order") {
    const Question question = some_letters();
    std::set<std::string> orders;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const Asked asked = ask(question, seed);
        orders.insert(asked.answer);
        std::string backwards(asked.answer.rbegin(), asked.answer.rend());
        CHECK(judge_answer(asked, asked.answer).right);
        CHECK(judge_answer(asked, backwards).right);
        CHECK(judge_answer(asked, asked.answer.substr(0, 1) + ", " + asked.answer[1]).right);
        CHECK_FALSE(judge_answer(asked, "abc").right);
        CHECK(has(judge_answer(asked, "abc").says, "that does not"));
        CHECK_FALSE(judge_answer(asked, asked.answer.substr(0, 1)).right);
        CHECK(has(refused_answer(asked, "d"), "from a to c"));
        CHECK(has(refused_answer(asked, " "), "no letter"));
    }
    CHECK(orders == std::set<std::string>{"ab", "ac", "bc"});
}

TEST_CASE("a faulty file of questions is named, with its line or its question") {
    const std::string good = "[[question]]\nname = \"q\"\ntext = \"t\"\nwhy = \"w\"\n";
    CHECK(refused_file(good + "draw = []\nanswer = \"1\"\n").empty());
    CHECK(
        has(refused_file(good + "answer = \"1\"\n"),
            "exercises/01_first/questions.toml:1: [[questions.question]] has no list 'draw'")
    );
    CHECK(has(refused_file("[[question\n"), "exercises/01_first/questions.toml:1: "));
    CHECK(has(refused_file(good + "draw = []\nanswer = \"p\"\n"), "question 'q': 'p' has 'p'"));
    CHECK(has(
        refused_file(good + "draw = [\"p = 3..2\"]\nanswer = \"p\"\n"), "has nothing to draw from"
    ));
}

TEST_CASE(
    "questions are named when the last exercise of their chapter is done, until all are answered"
) {
    const std::string two =
        "[[question]]\nname = \"a\"\ntext = \"t\"\nwhy = \"w\"\ndraw = []\nanswer = \"1\"\n"
        "[[question]]\nname = \"b\"\ntext = \"t\"\nwhy = \"w\"\ndraw = []\nanswer = \"1\"\n";
    const CourseWithQuestions course(two);
    const Manifest manifest = read_manifest(course.root);
    Progress progress;
    const auto named = [&] {
        return questions_to_ask(course.root, manifest, progress, "01_first");
    };
    CHECK(named().empty());
    progress.done = {"one"};
    CHECK(named().empty());
    progress.done = {"one", "two"};
    CHECK(named() == "ask 01");
    progress.answered = {"01_first/a"};
    CHECK(named() == "ask 01");
    progress.answered = {"01_first/a", "01_first/b"};
    CHECK(named().empty());
    progress.answered.clear();
    progress.done = {"one"};
    progress.skipped = {"two"};
    CHECK(named() == "ask 01");
    CHECK(read_questions(course.root, "02_second").empty());
}

TEST_CASE("a chapter is named by its number or its name") {
    const Manifest manifest = read_manifest(REPOSITORY);
    for (const char* name : {"3", "03", "03_ring_and_tree"}) {
        CHECK(chapter_of(manifest, name) == "03_ring_and_tree");
    }
    for (const char* name : {"", "0", "33", "ring"}) {
        CHECK_THROWS_AS(chapter_of(manifest, name), UsageError);
    }
}

TEST_CASE("every chapter has at least two questions, and each can be answered with any numbers") {
    const Manifest manifest = read_manifest(REPOSITORY);
    std::set<std::string> chapters;
    for (const Exercise& exercise : manifest.exercises) {
        chapters.insert(exercise.chapter);
    }
    for (const std::string& chapter : chapters) {
        INFO(chapter);
        const std::vector<Question> questions = read_questions(REPOSITORY, chapter);
        CHECK(questions.size() >= 2);
        std::set<std::string> names;
        for (const Question& question : questions) {
            INFO(question.name);
            CHECK(names.insert(question.name).second);
            CHECK(question.answer.empty() != question.choices.empty());
            std::set<std::string> answers;
            bool mistaken = false;
            for (std::uint64_t seed = 1; seed <= 200; ++seed) {
                const Asked asked = ask(question, seed);
                answers.insert(asked.answer);
                mistaken =
                    mistaken || asked.answer.empty() || !judge_answer(asked, asked.answer).right;
                for (const Mistake& mistake : asked.mistakes) {
                    // otherwise a wrong way to think would be called right
                    INFO(asked.text << " mistake: " << mistake.value);
                    CHECK(mistake.value != asked.answer);
                }
            }
            CHECK_FALSE(mistaken);
            CHECK(answers.size() >= 5);  // a copied answer is seldom right
        }
    }
}
