// From a training log to its picture, and the command that draws it.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <vector>

#include "course/plots/gnuplot.hpp"
#include "course/plots/page.hpp"
#include "course/plots/training_log.hpp"
#include "course/plots/training_picture.hpp"
#include "tests/course/cli_support.hpp"
#include "tests/course/trainer_support.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist::plots;

namespace {

namespace fs = std::filesystem;

/// Lines as the trainer writes them. A step has 32 pictures and takes 0.4 s.
std::string step_line(std::size_t step, const std::string& loss = "2.5") {
    return fmt::format(
        R"({{"step":{0},"epoch":1,"loss":{1},"accuracy":0.25,"images":{2},"images_per_s":80.0,)"
        R"("rate":0.05,"data_s":0.01,"forward_s":0.1,"backward_s":0.2,"communication_s":0.05,)"
        R"("optimizer_s":0.04}})"
        "\n",
        step, loss, 32 * step
    );
}

std::string epoch_line(std::size_t step, double accuracy, bool synthetic) {
    return fmt::format(
        R"({{"step":{},"epoch":1,"train_steps":2,"train_loss":2.5,"train_accuracy":0.25,)"
        R"("test_accuracy":{},"test_images":300,"synthetic":{},"evaluation_s":1.0,"duration_s":2.0}})"
        "\n",
        step, accuracy, synthetic
    );
}

std::string log_of_steps(std::size_t steps) {
    std::string text;
    for (std::size_t step = 1; step <= steps; ++step) {
        text += step_line(step);
    }
    return text;
}

TrainingLog log_of(const std::string& text, const std::string& name = "a.jsonl") {
    std::istringstream in(text);
    return read_log(in, name);
}

std::string refusal(const std::string& text) {
    try {
        log_of(text);
    } catch (const LogError& error) {
        return error.what();
    }
    return "";
}

/// The lines of a data block.
std::vector<std::string> block(const std::string& script, const std::string& name) {
    std::vector<std::string> lines;
    std::istringstream in(script.substr(script.find("$" + name + " << EOD\n")));
    std::string line;
    std::getline(in, line);
    while (std::getline(in, line) && line != "EOD") {
        lines.push_back(line);
    }
    return lines;
}

struct Outcome {
    int status;
    std::string out;
    std::string err;
};

/// The command, run in a folder. Its PATH is that of the test, or another.
Outcome plot(const fs::path& folder, const std::string& arguments, const std::string& path = "") {
    const std::string environment = path.empty() ? "" : "PATH=" + path;
    const int ended =
        std::system(fmt::format(
                        "cd {} && SHARDLINGS_ROOT={} {} {} plot {} >.out 2>.err", folder.string(),
                        REPOSITORY, environment, SHARDLINGS_CLI, arguments
        )
                        .c_str());
    Outcome outcome{WEXITSTATUS(ended), read_file(folder / ".out"), read_file(folder / ".err")};
    fs::remove(folder / ".out");
    fs::remove(folder / ".err");
    return outcome;
}

void write(const fs::path& file, const std::string& text) {
    std::ofstream(file) << text;
}

}  // namespace

TEST_CASE("a log's steps, tests and times are read, and where a test stands among the pictures") {
    const TrainingLog log = log_of(
        log_of_steps(2) + epoch_line(2, 0.5, true) + step_line(3) + epoch_line(3, 0.4, true) +
        R"({"step":3,"data_s":0.03,"forward_s":0.3,"total_s":10.0})"
    );
    REQUIRE(log.steps.size() == 3);
    CHECK(log.steps[2].seen == 96);
    REQUIRE(log.tests.size() == 2);
    CHECK(log.tests[0].seen == 64);
    CHECK(log.synthetic == true);
    CHECK(log.times.forward_s == Approx(0.3));
    CHECK(log.times.total_s == 10.0);
    CHECK(log.cut_line == 0);
    const std::string table = training_table({log});
    CHECK(has(table, "a.jsonl       3       2     40.0 %     50.0 %        80.0     0.17\n"));
    CHECK(has(table, "0.3 %    3.0 %     6.0 %          1.5 %      1.2 %  88.0 %\n"));
    CHECK(has(table, "a.jsonl: synthetic pictures, not real ones\n"));
}

TEST_CASE("a run on text has tokens in the place of pictures") {
    const TrainingLog log =
        log_of(R"({"step":1,"loss":5,"accuracy":0.1,"tokens":256,"tokens_per_s":512})"
               "\n"
               R"({"step":1,"test_accuracy":0.2,"test_tokens":80})");
    CHECK(log.of_text);
    CHECK(log.steps[0].seen == 256);
    CHECK(has(training_table({log}), "tokens/s"));
    CHECK(has(training_script({log}), "'Training on text'"));
    CHECK(has(training_script({log}), "tokens per second"));
    CHECK(has(training_script({log}), "tokens seen by all ranks"));
    CHECK(has(
        refusal(
            step_line(1) + R"({"step":2,"loss":5,"accuracy":0.1,"tokens":256,"tokens_per_s":512})"
        ),
        "two runs in one file"
    ));
}

TEST_CASE("a run that has no last line has the time of its steps and tests") {
    const TrainingLog log = log_of(log_of_steps(2) + epoch_line(2, 0.5, false));
    CHECK(log.times.total_s == Approx(2 * 0.4 + 1.0));
    CHECK(has(training_script({log}), "'Training on CIFAR-10'"));
}

TEST_CASE("a line that is cut off at the end is left out, and told") {
    const TrainingLog log = log_of(log_of_steps(2) + R"({"step":3,"epo)");
    CHECK(log.steps.size() == 2);
    CHECK(log.cut_line == 3);
    CHECK(has(training_table({log}), "a.jsonl: line 3 is cut off"));
}

TEST_CASE("a loss that is no number is a gap, and the steps are counted") {
    const TrainingLog log = log_of(step_line(1) + step_line(2, "null") + step_line(3, "null"));
    CHECK(std::isnan(log.steps[1].loss));
    CHECK(block(training_script({log}), "train0")[1] == "64 NaN 25 80");
    CHECK(has(training_table({log}), "in 2 of 3 steps, in step 2 first\n"));
}

TEST_CASE("what is no log is refused with its line") {
    CHECK(has(refusal(step_line(1) + "{\n"), "a.jsonl:2: is no JSON"));
    CHECK(has(refusal("text"), "a.jsonl:1: is no JSON"));
    CHECK(
        has(refusal("[1]\n"), R"(a.jsonl:1: is no line of a training log: it has no number "step")")
    );
    CHECK(has(refusal("{\"step\":1}\n"), R"(it has no number "images")"));
    CHECK(has(refusal("{\"step\":-1}\n"), R"(has -1 where "step" counts from 1)"));
    CHECK(has(refusal(step_line(1, "\"x\"")), R"(it has no number "loss")"));
    CHECK(has(refusal(epoch_line(1, 0.5, false)), "no step comes before it"));
    CHECK(has(refusal(log_of_steps(2) + step_line(1)), "a.jsonl:3: step 1 comes after step 2"));
    CHECK(has(refusal(""), "a.jsonl: no step in it yet"));
}

TEST_CASE("names are as long as it takes to tell the files apart") {
    CHECK(
        short_names({"/r/1/log.jsonl", "/r/2/log.jsonl", "/r/2/b.jsonl"}) ==
        std::vector<std::string>{"1/log.jsonl", "2/log.jsonl", "b.jsonl"}
    );
    CHECK(
        short_names({"/a/x/log", "/b/x/log", "/log"}) ==
        std::vector<std::string>{"a/x/log", "b/x/log", "/log"}
    );
}

TEST_CASE(
    "up to 300 steps are points of their own; of more, as many pictures are one point in all runs"
) {
    CHECK(block(training_script({log_of(log_of_steps(300))}), "train0").size() == 300);
    const std::string script =
        training_script({log_of(log_of_steps(600)), log_of(log_of_steps(5), "b.jsonl")});
    const auto points = block(script, "train0");
    REQUIRE(points.size() == 300);
    CHECK(points[0] == "0.048 2.5 25 80");  // steps 1 and 2: the mean of 32 and 64, in thousands
    CHECK(block(script, "train1").size() == 3);
    CHECK(has(script, "means over 64 pictures"));
}

TEST_CASE("synthetic pictures are named in the title, and where they are only some in the legend") {
    const TrainingLog synthetic = log_of(step_line(1) + epoch_line(1, 0.5, true));
    const TrainingLog real = log_of(step_line(1) + epoch_line(1, 0.5, false), "it's.jsonl");
    CHECK(has(training_script({synthetic}), "set multiplot title 'Training on synthetic pictures"));
    const std::string both = training_script({synthetic, real});
    CHECK(has(both, "set multiplot title 'Training: in part on synthetic pictures"));
    CHECK(has(both, "title 'a.jsonl (synthetic)'"));
    CHECK(has(both, "title 'it''s.jsonl'"));
    for (const std::size_t i : {0, 1}) {
        CHECK(has(both, kStyles[i].colour));
    }
}

TEST_CASE("a loss that explodes gets a logarithmic axis, and others one from 0") {
    CHECK(has(training_script({log_of(step_line(1) + step_line(2, "1e30"))}), "set logscale y"));
    CHECK(has(training_script({log_of(log_of_steps(2))}), "set yrange [0:2.625]"));
}

TEST_CASE("plot draws what gnuplot can draw, beside the first log or where it is told") {
    if (!missing_gnuplot().empty()) {
        WARN("gnuplot is not installed: nothing was drawn");
        return;
    }
    const TemporaryFolder folder;
    write(folder.path() / "a.jsonl", log_of_steps(3) + epoch_line(3, 0.5, true));
    write(folder.path() / "nan.jsonl", step_line(1, "null") + "{\"st");
    const Outcome both = plot(folder.path(), "a.jsonl nan.jsonl");
    INFO(both.err);
    CHECK(both.status == 0);
    CHECK(both.err.empty());
    CHECK(has(both.out, "The picture is in a.svg\n"));
    CHECK(has(read_file(folder.path() / "a.svg"), "nan.jsonl"));
    CHECK(plot(folder.path(), "nan.jsonl --svg b.svg").err.empty());
    CHECK(has(read_file(folder.path() / "b.svg"), "</svg>"));
    if (fs::exists("/dev/full")) {
        const Outcome full = plot(folder.path(), "a.jsonl --svg /dev/full");
        CHECK(full.status == 1);
        CHECK(full.err == "shardlings: cannot write /dev/full: No space left on device\n");
    }
    CHECK(count_files(folder.path()) == 4);
}

TEST_CASE("what plot cannot do is one line, and leaves nothing") {
    const TemporaryFolder folder;
    write(folder.path() / "a.jsonl", log_of_steps(3));
    write(folder.path() / "empty.jsonl", "");
    struct Case {
        std::string arguments;
        int status;
        std::string says;
    };
    const std::vector<Case> cases = {
        {"absent.jsonl", 2, "plot: absent.jsonl: cannot be read (No such file or directory)"},
        {".", 2, "plot: .: is a folder"},
        {"empty.jsonl", 2, "plot: empty.jsonl: no step in it yet"},
        {"a.jsonl ./a.jsonl", 2, "plot: ./a.jsonl is given twice"},
        {"a.jsonl --svg a.jsonl", 2, "plot: a.jsonl is a log, and would be replaced"},
        {"a.jsonl --svg absent/a.svg", 1, "cannot write absent/a.svg"},
        {"a.jsonl --svg .", 1, "cannot write .: Is a directory"},
    };
    for (const Case& one : cases) {
        const Outcome outcome = plot(folder.path(), one.arguments);
        INFO(one.arguments << ": " << outcome.err);
        CHECK(outcome.status == one.status);
        CHECK(outcome.err.starts_with("shardlings: " + one.says));
        CHECK(outcome.err.find('\n') + 1 == outcome.err.size());
    }
    const Outcome without = plot(folder.path(), "a.jsonl", "/nowhere");
    CHECK(without.status == 2);
    CHECK(has(without.err, "gnuplot-nox"));
    CHECK(count_files(folder.path()) == 2);
}

TEST_CASE("names that would stand on each other move apart, as little as they have to, in order") {
    CHECK(apart({0.5, 0.1}, 0.1) == std::vector{0.5, 0.1});
    const std::vector<double> two = apart({0.5, 0.5}, 0.1);
    CHECK(two[0] == Approx(0.45));
    CHECK(two[1] == Approx(0.55));
    const std::vector<double> pushed = apart({0.30, 0.90, 0.34, 0.32}, 0.1);
    CHECK(pushed[0] == Approx(0.22));
    CHECK(pushed[3] == Approx(0.32));
    CHECK(pushed[2] == Approx(0.42));
    CHECK(pushed[1] == Approx(0.9));
    const std::vector<double> at_the_top = apart({1.0, 1.0, 1.0}, 0.1);
    CHECK(at_the_top[0] == Approx(0.8));
    CHECK(at_the_top[2] == Approx(1.0));
    CHECK(apart({}, 0.1).empty());
}

TEST_CASE("lines of the same height show all their marks: each has a lane between the ticks") {
    const std::vector<Spot> points{{1, 1e-3}, {4, 1e-3}, {16, 1e-3}};
    const Page page{
        .title = "title",
        .ticks = {{1, "one"}, {4, "four"}, {16, "sixteen"}},
        .bands = {},
        .panels = {{"time", "%g", {{"a", kStyles[0], points}, {"b", kStyles[1], points}}}}};
    const std::string script = script_of(page);
    const auto first_x = [&](const std::string& block) {
        return std::stod(script.substr(script.find(block + " << EOD\n") + block.size() + 8));
    };
    // two lanes of 9 pixels, where the way from one tick to the next is a third of 463.6
    const double half_a_lane = 4.5 / (463.6 / 3);
    CHECK(first_x("$panel0line0") == Approx(std::pow(4.0, -half_a_lane)));
    CHECK(first_x("$panel0line1") == Approx(std::pow(4.0, half_a_lane)));
    CHECK(script.find("set label 'a' at graph 1.05") != std::string::npos);
    CHECK(script.find("set label 'b' at graph 1.05") != std::string::npos);
}

TEST_CASE("a few points that are far below the others end a panel only where that is asked for") {
    Page page{
        .title = "title",
        .ticks = {{1, "1"}, {2, "2"}, {4, "4"}},
        .bands = {},
        .panels = {{"ratio", "%g", {{"a", kStyles[0], {{1, 0.01}, {2, 1}, {4, 2}}}}}}};
    CHECK(script_of(page).find("set yrange [0.008:2.5]") != std::string::npos);
    page.panels.front().cut_below = 0.5;
    const std::string cut = script_of(page);
    CHECK(cut.find("set yrange [0.4:2.5]") != std::string::npos);
    CHECK(cut.find("'ratio (what is lower still lies below)'") != std::string::npos);
    // of a line that is lower as a whole something is seen
    page.panels.front().curves.push_back({"b", kStyles[1], {{1, 0.01}, {2, 0.1}, {4, 0.01}}});
    CHECK(script_of(page).find("set yrange [0.08:2.5]") != std::string::npos);
}
