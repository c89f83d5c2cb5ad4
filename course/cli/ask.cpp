// ask: the questions at the end of a chapter, each with numbers of the reader's own.
#include <fmt/format.h>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <unistd.h>

#include "course/cli/command.hpp"
#include "course/manifest/manifest.hpp"
#include "course/manifest/progress.hpp"
#include "course/manifest/questions.hpp"
#include "course/process/error.hpp"
#include "course/process/subprocess.hpp"
#include "course/report/fold.hpp"
#include "course/report/report.hpp"

namespace dist::cli {
namespace {

constexpr std::uint64_t kSeeds = 999'999;  // short enough to be typed

struct AskArguments {
    std::string chapter;
    std::string answer;
    bool has_answer = false;
    int number = 0;          // of the question, from 1; 0: the first that is not answered
    std::uint64_t seed = 0;  // 0: the reader's own
};

/// The questions of one chapter, for one reader.
class Examination {
  public:
    Examination(Context& context, const AskArguments& arguments)
        : context_(context), arguments_(arguments), progress_(read_progress(context.root)) {
        chapter_ = chapter_of(read_manifest(context.root), arguments.chapter);
        questions_ = read_questions(context.root, chapter_);
        if (arguments.number > static_cast<int>(questions_.size()) || questions_.empty()) {
            throw UsageError(fmt::format("chapter {} has {} questions", chapter_, questions_.size())
            );
        }
        if (arguments.seed == 0 && progress_.seed == 0) {
            std::random_device device;
            progress_.seed = 1 + device() % kSeeds;
            write_progress(context.root, progress_);
        }
    }

    /// Returns the exit status.
    int run() {
        if (!choose()) {
            refuse_all_answered();
        }
        if (context_.json) {
            return print_json();
        }
        if (arguments_.has_answer) {
            return judge(arguments_.answer) ? exit_status::kDone : exit_status::kFailed;
        }
        if (isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0) {
            return talk();
        }
        print_question();
        fmt::print(
            "Answer:  ./shardlings ask {} --question {}{} --answer ...\n", chapter_.substr(0, 2),
            number_, arguments_.seed == 0 ? "" : fmt::format(" --seed {}", arguments_.seed)
        );
        return exit_status::kDone;
    }

  private:
    /// The question that was asked for or, without a number, the first that is not answered. False: there is none.
    bool choose() {
        number_ = arguments_.number;
        for (std::size_t k = 0; number_ == 0 && k < questions_.size(); ++k) {
            number_ = is_answered(questions_[k]) ? 0 : static_cast<int>(k) + 1;
        }
        if (number_ != 0) {
            asked_ = ask(question(), arguments_.seed != 0 ? arguments_.seed : progress_.seed);
        }
        return number_ != 0;
    }

    [[nodiscard]] const Question& question() const {
        return questions_[static_cast<std::size_t>(number_ - 1)];
    }

    [[nodiscard]] bool is_answered(const Question& question) const {
        return progress_.answered.contains(question.id());
    }

    [[noreturn]] void refuse_all_answered() const {
        const bool expected_one = arguments_.has_answer || context_.json;
        throw CommandError(
            expected_one ? exit_status::kUsage : exit_status::kDone,
            fmt::format(
                "all {} questions of {} are answered; --question 1 asks the first one again",
                questions_.size(), chapter_
            )
        );
    }

    void print_question() const {
        const std::string heading =
            fmt::format("{}, question {} of {}", chapter_, number_, questions_.size());
        fmt::print("{}\n\n", paint(heading, Colour::bold, use_colours()));
        print_indented(asked_.text + "\n\n");
    }

    /// Only an answer with the reader's own numbers is remembered.
    void remember_answer() {
        if (arguments_.seed == 0) {
            progress_ = read_progress(context_.root);
            progress_.answered.insert(question().id());
            write_progress(context_.root, progress_);
        }
    }

    /// Prints what is said of the answer. Returns whether it is right.
    bool judge(const std::string& answer) {
        const Judgement judgement = judge_answer(asked_, answer);
        fmt::print(
            "{}\n", judgement.right ? paint("Right.", Colour::green, use_colours())
                                    : paint("Not yet.", Colour::red, use_colours())
        );
        print_indented(judgement.says + "\n\n");
        if (judgement.right) {
            remember_answer();
        }
        return judgement.right;
    }

    /// Asks until all are answered, or until an empty line. Returns the exit status.
    int talk() {
        do {
            print_question();
            if (!answered_at_prompt()) {
                return exit_status::kDone;
            }
        } while (arguments_.number == 0 && arguments_.seed == 0 && choose());
        return exit_status::kDone;
    }

    /// False: the reader has had enough.
    bool answered_at_prompt() {
        for (bool right = false; !right;) {
            fmt::print("Answer (an empty line ends): ");
            std::fflush(stdout);
            std::string line;
            const bool came = static_cast<bool>(std::getline(std::cin, line));
            if (!came) {
                fmt::print("\n");
            }
            if (interrupted()) {
                throw Interrupted();
            }
            if (!came || line.find_first_not_of(' ') == std::string::npos) {
                return false;
            }
            try {
                right = judge(line);
            } catch (const UsageError& error) {
                print_indented(std::string(error.what()) + "\n\n");
            }
        }
        return true;
    }

    int print_json() {
        nlohmann::ordered_json document = {
            {"format", 1},
            {"chapter", chapter_},
            {"question", number_},
            {"total", questions_.size()},
            {"name", question().name},
            {"seed", arguments_.seed != 0 ? arguments_.seed : progress_.seed},
            {"text", asked_.text},
        };
        int status = exit_status::kDone;
        if (arguments_.has_answer) {
            const Judgement judgement = judge_answer(asked_, arguments_.answer);
            document["answer"] = arguments_.answer;
            document["right"] = judgement.right;
            document["says"] = judgement.says;
            if (judgement.right) {
                remember_answer();
            }
            status = judgement.right ? exit_status::kDone : exit_status::kFailed;
        }
        document["answered"] = is_answered(question());
        fmt::print("{}\n", document.dump(2));
        return status;
    }

    Context& context_;
    const AskArguments& arguments_;
    Progress progress_;
    std::string chapter_;
    std::vector<Question> questions_;
    int number_ = 0;
    Asked asked_;
};

}  // namespace

void add_ask(Command& app, Context& context) {
    auto command = app.add_subcommand("ask", "Ask the questions at the end of a chapter");
    auto arguments = std::make_shared<AskArguments>();
    command.add_option("CHAPTER", arguments->chapter, "01, 02, ...").required();
    const Option answer = command.add_option(
        "--answer", arguments->answer,
        "Check this answer: a number, or the letters of all that are true"
    );
    const Option number = command.add_option(
        "--question", arguments->number, "Its number; without it, the first that is not answered"
    );
    const Option seed = command.add_option(
        "--seed", arguments->seed,
        "Draw the question's numbers from this; the answer does not count then"
    );
    command.add_flag("--json", context.json, "One JSON document on standard output, nothing else");
    command.footer(
        "Each question has numbers of your own, drawn when you are first asked, so a neighbour's "
        "answer\n"
        "does not help. A wrong answer is explained where it is a usual one. Nothing waits for "
        "your answers:\n"
        "list shows which chapters' questions are answered.\n"
        "  ./shardlings ask 03                        at a terminal: asks, and waits for your "
        "answers\n"
        "  ./shardlings ask 03 --answer 42            checks one: exit status 0 if it is right, 1 "
        "if not\n"
        "  ./shardlings ask 03 --answer '2 * 21'      the same\n"
        "  ./shardlings ask 03 --question 2 --seed 7  what everybody with seed 7 is asked\n"
        "Questions and formulas are in exercises/CHAPTER/questions.toml: reading them gives the "
        "answers away."
    );
    command.callback([&context, arguments, answer, number, seed] {
        arguments->has_answer = answer.count() > 0;
        if (number.count() > 0 && arguments->number < 1) {
            throw UsageError("--question counts from 1");
        }
        if (seed.count() > 0 && arguments->seed == 0) {
            throw UsageError("--seed counts from 1");
        }
        context.status = Examination(context, *arguments).run();
    });
}

}  // namespace dist::cli
