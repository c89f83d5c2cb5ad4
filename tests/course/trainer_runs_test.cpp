// Whole runs of the trainer, in real processes.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <numeric>
#include <set>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

#include "course/process/mpirun.hpp"
#include "course/process/session_folder.hpp"
#include "course/process/subprocess.hpp"
#include "tests/course/trainer_run.hpp"
#include "tests/course/trainer_support.hpp"
#include "tests/harness/catch2.hpp"

Run run_trainer(int ranks, const std::string& arguments) {
    return run_program(TRAINER, ranks, arguments);
}

Run run_program(const std::string& program, int ranks, const std::string& arguments) {
    using namespace dist::cli;
    unsetenv("SHARDLINGS_CIFAR10");
    setenv("OMPI_MCA_odls_base_sigkill_timeout", "0", 1);  // a refusal need not wait for mpirun
    Environment environment = mpi_environment(ranks, Purpose::work);
    const SessionFolder session;
    session.add_to(environment);
    std::vector<std::string> words = mpirun(ranks, Purpose::work);
    words.push_back(program);
    const std::string command = shell_line(words, environment) + " " + arguments + " 2>&1";
    FILE* const pipe = popen(command.c_str(), "r");
    Run run;
    std::array<char, 4096> part{};
    while (const std::size_t n = std::fread(part.data(), 1, part.size(), pipe)) {
        run.output.append(part.data(), n);
    }
    run.status = WEXITSTATUS(pclose(pipe));
    return run;
}

std::vector<double> losses(const std::filesystem::path& log) {
    std::vector<double> all;
    for (const auto& record : read_log(log)) {
        if (record.contains("loss")) {
            all.push_back(record.at("loss"));
        }
    }
    return all;
}

namespace {

// 96 pictures, 4 steps an epoch with a global batch of 24

/// What a run computed, and on what.
struct Seen {
    std::vector<double> losses;
    std::set<std::string> convolutions;  // what they were given, on any rank: seen_convolutions.cpp
};

Seen seen_with(int ranks, const std::string& options) {
    const TemporaryFolder folder;
    const auto log = folder.path() / "log.jsonl";
    const Run run = run_program(TRAINER_SEEN, ranks, kLittle + options + " --log " + log.string());
    INFO(run.output);
    REQUIRE(run.status == 0);
    Seen seen{.losses = losses(log), .convolutions = {}};
    const std::string begin = "convolutions: ";
    std::istringstream lines(run.output);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with(begin)) {
            seen.convolutions.insert(line.substr(begin.size()));
        }
    }
    return seen;
}

}  // namespace

std::vector<double> losses_with(int ranks, const std::string& options) {
    return seen_with(ranks, options).losses;
}

TEST_CASE(
    "without real pictures the first line says so, and the synthetic ones are learned", "[trainer]"
) {
    if (std::filesystem::exists(DATASETS "/cifar-10-batches-bin")) {
        WARN("skipped: real pictures are in datasets/");
        return;
    }
    const TemporaryFolder folder;
    const auto log = folder.path() / "log.jsonl";
    const Run run = run_trainer(
        2,
        "--model small --train-size 640 --test-size 100 --batch 32 --epochs 8 --log " + log.string()
    );
    INFO(run.output);
    REQUIRE(run.status == 0);
    CHECK(run.output.rfind("data: SYNTHETIC", 0) == 0);
    CHECK(contains(run.output, "done: test accuracy"));
    const Records records = read_log(log);
    REQUIRE(records.size() == 89);  // 10 steps and a test, 8 times; where the time went
    CHECK(last_with("test_accuracy", records).at("test_accuracy") > 0.6);
    CHECK(last_with("test_accuracy", records).at("synthetic") == true);
    CHECK(records[0].at("loss") == Approx(std::log(10)).margin(1));
    CHECK(records[86].at("loss") < 1);
    CHECK(records[86].at("images") == 80 * 64);
}

TEST_CASE("a step's log line has its loss, its images, and the seconds of its parts", "[trainer]") {
    const TemporaryFolder folder;
    const auto log = folder.path() / "log.jsonl";
    const Run run = run_trainer(2, kLittle + "--batch 12 --steps 3 --log " + log.string());
    INFO(run.output);
    REQUIRE(run.status == 0);
    const Records records = read_log(log);
    REQUIRE(records.size() == 5);
    for (const char* const field :
         {"step", "epoch", "loss", "images", "images_per_s", "data_s", "forward_s", "backward_s",
          "communication_s", "optimizer_s"}) {
        INFO(field);
        CHECK(records[2].at(field) > 0);
    }
    CHECK(records[3].contains("test_accuracy"));
    CHECK(records[3].contains("duration_s"));
}

TEST_CASE("an epoch's line has the mean loss of its steps, and says of how many", "[trainer]") {
    const TemporaryFolder folder;
    const auto log = folder.path() / "log.jsonl";
    const Run run = run_trainer(2, kLittle + "--batch 12 --steps 6 --log " + log.string());
    INFO(run.output);
    REQUIRE(run.status == 0);
    const std::vector<double> loss = losses(log);
    REQUIRE(loss.size() == 6);
    const Records records = read_log(log);
    CHECK(records[4].at("train_loss") == Approx((loss[0] + loss[1] + loss[2] + loss[3]) / 4));
    CHECK(records[4].at("train_steps") == 4);
    CHECK(records[7].at("train_loss") == Approx((loss[4] + loss[5]) / 2));
    CHECK(records[7].at("train_steps") == 2);
    CHECK(contains(run.output, "epoch 1/2  mean over its 4 steps and all ranks: loss "));
    CHECK(contains(run.output, "epoch 2/2  mean over 2 of its 4 steps and all ranks: loss "));
}

TEST_CASE("at the end a table, and the log, say where the time went", "[trainer]") {
    const TemporaryFolder folder;
    const auto log = folder.path() / "log.jsonl";
    const Run run = run_trainer(
        2, kLittle + "--batch 12 --steps 3 --log " + log.string() + " --checkpoint " +
               (folder.path() / "run").string()
    );
    INFO(run.output);
    REQUIRE(run.status == 0);
    CHECK(contains(run.output, "where rank 0's time went:"));
    const nlohmann::json times = read_log(log).back();
    CHECK(times.at("step") == 3);
    double parts_s = 0;
    for (const char* const part :
         {"data", "forward", "backward", "communication", "optimizer", "evaluation",
          "checkpoint"}) {
        INFO(part);
        CHECK(times.at(std::string(part) + "_s") > 0);
        CHECK(contains(run.output, std::string("\n  ") + part + " "));
        parts_s += times.at(std::string(part) + "_s").get<double>();
    }
    CHECK(parts_s < times.at("total_s"));
}

TEST_CASE("communication is counted apart, wherever it happens", "[trainer]") {
    const std::string way = GENERATE("average", "ddp", "zero1", "zero2", "zero3");
    const TemporaryFolder folder;
    const auto log = folder.path() / "log.jsonl";
    const Run run = run_trainer(
        2, kLittle + "--batch 12 --steps 8 --parallel " + way + " --log " + log.string()
    );
    INFO(run.output);
    REQUIRE(run.status == 0);
    const nlohmann::json times = read_log(log).back();
    CHECK(times.at("communication_s") > 0);
    double parts_s = 0;
    for (const char* const part :
         {"data_s", "forward_s", "backward_s", "communication_s", "optimizer_s"}) {
        INFO(part);
        CHECK(times.at(part) >= 0);
        parts_s += times.at(part).get<double>();
    }
    CHECK(parts_s < times.at("total_s"));
    if (way != "ddp" && way != "zero3") {  // no thread that could hide any
        CHECK(times.at("hidden_s") == 0);
    }
}

TEST_CASE(
    "a trace has ten steps, with what each rank did, in the form that HTA reads", "[trainer]"
) {
    const TemporaryFolder folder;
    const auto traces = folder.path() / "trace";
    const std::string way = GENERATE("average", "ddp");
    const Run run = run_trainer(
        2, kLittle + "--batch 12 --steps 13 --parallel " + way + " --trace " + traces.string()
    );
    INFO(run.output);
    REQUIRE(run.status == 0);
    CHECK(contains(run.output, "trace of 10 steps"));
    for (const int rank : {0, 1}) {
        const std::string text = read_file(traces / ("rank" + std::to_string(rank) + ".json"));
        CHECK(contains(text, "\"rank\": " + std::to_string(rank)));  // the blank is HTA's wish
        std::map<std::string, std::vector<nlohmann::json>>
            spans;  // by the first word of their names
        const auto document = nlohmann::json::parse(text);
        for (const auto& event : document.at("traceEvents")) {
            const std::string name = event.at("name");
            spans[name.substr(0, name.find_first_of(" #"))].push_back(event);
        }
        const auto& steps = spans["ProfilerStep"];
        REQUIRE(steps.size() == 10);
        CHECK(steps[0].at("name") == "ProfilerStep#3");
        for (const char* const name :
             {"data", "forward", "backward", "optimizer", "ncclDevKernel_AllReduce_Sum_f32_RING"}) {
            INFO(name << " of rank " << rank);
            REQUIRE(spans[name].size() == 10);  // the small model has one bucket
            for (std::size_t i = 0; i < steps.size(); ++i) {
                const double begin = spans[name][i].at("ts");
                const double length = spans[name][i].at("dur");
                const double step = steps[i].at("ts");
                CHECK(begin >= step);
                CHECK(begin + length <= step + steps[i].at("dur").get<double>());
            }
        }
    }
}

TEST_CASE("one, two and three ranks with the same global batch have the same losses", "[trainer]") {
    const TemporaryFolder folder;
    const auto run = [&](int ranks, const std::string& batch) {
        const auto log = folder.path() / (batch + ".jsonl");
        REQUIRE(
            run_trainer(ranks, kLittle + "--steps 10 --batch " + batch + " --log " + log.string())
                .status == 0
        );
        return losses(log);
    };
    const auto one = run(1, "24");
    const auto two = run(2, "12");
    const auto three = run(3, "8");
    REQUIRE(one.size() == 10);
    // sums in another order differ in the seventh digit, and ten steps make more of it
    for (std::size_t step = 0; step < one.size(); ++step) {
        CHECK(two.at(step) == Approx(one[step]).epsilon(1e-4));
        CHECK(three.at(step) == Approx(one[step]).epsilon(1e-4));
    }
}

TEST_CASE(
    "ddp and ZeRO train as average does, bit for bit where the order of a sum cannot show",
    "[trainer]"
) {
    const TemporaryFolder folder;
    const auto run = [&](int ranks, const std::string& way) {
        const auto log = folder.path() / (way + ".jsonl");
        // of the test's 13 pictures one rank has two batches, the other one
        const std::string model = "--model resnet34-imagenet --train-size 36 --test-size 13 ";
        const Run done = run_trainer(
            ranks, model + "--batch 6 --steps 4 --parallel " + way + " --log " + log.string()
        );
        INFO(done.output);
        REQUIRE(done.status == 0);
        auto all = losses(log);
        all.push_back(last_with("test_accuracy", read_log(log)).at("test_accuracy"));
        return all;
    };
    const auto two = run(2, "average");  // a + b == b + a, and half of a number is exact
    for (const std::string way : {"ddp", "zero1", "zero2", "zero3"}) {
        INFO(way);
        CHECK(run(2, way) == two);
    }
    const auto ddp = run(3, "ddp");
    const auto average = run(3, "average");
    REQUIRE(ddp.size() == 5);
    for (std::size_t step = 0; step < 4; ++step) {
        CHECK(ddp[step] == Approx(average.at(step)).epsilon(1e-3));
    }
}

TEST_CASE("zero3 trains as ddp where one rank does not take a branch, or a bias", "[trainer]") {
    for (const int ranks : {2, 3}) {
        const Run run = run_program(BRANCH_NOT_TAKEN, ranks, "");
        INFO(run.output);
        CHECK(run.status == 0);
    }
}

TEST_CASE(
    "four steps that add up train as one of four times the batch, in every way", "[trainer]"
) {
    const auto large = losses_with(1, "--batch 24 --steps 8 --parallel none");
    REQUIRE(large.size() == 8);
    for (const std::string way : {"average", "ddp", "zero1", "zero2", "zero3"}) {
        const auto small = losses_with(2, "--batch 3 --steps 32 --accumulate 4 --parallel " + way);
        REQUIRE(small.size() == 32);
        for (std::size_t step = 0; step < large.size(); ++step) {
            const auto first = small.begin() + static_cast<std::ptrdiff_t>(4 * step);
            INFO(way << ", step " << step);
            CHECK(std::accumulate(first, first + 4, 0.0) / 4 == Approx(large[step]).epsilon(1e-4));
        }
    }
}

TEST_CASE("dp trains as one replica does, however many threads share the batch", "[trainer]") {
    const auto alone = losses_with(1, "--batch 24 --steps 8 --parallel none");
    for (const std::string replicas : {"1", "2", "3", "5"}) {
        const auto shared =
            losses_with(1, "--batch 24 --steps 8 --parallel dp --replicas " + replicas);
        REQUIRE(shared.size() == alone.size());
        for (std::size_t step = 0; step < alone.size(); ++step) {
            INFO(replicas << " replicas, step " << step);
            CHECK(shared[step] == Approx(alone[step]).epsilon(1e-4));
        }
    }
}

TEST_CASE("the last batch of an epoch is filled, short or dropped", "[trainer]") {
    // 96 pictures, two ranks with 20 each: two steps of 40, and 16 pictures more
    const auto images = [](const std::string& last_batch) {
        const TemporaryFolder folder;
        const auto log = folder.path() / "log.jsonl";
        const Run run = run_trainer(
            2, kLittle + "--batch 20 --epochs 2 --parallel ddp --last-batch " + last_batch +
                   " --log " + log.string()
        );
        INFO(run.output);
        REQUIRE(run.status == 0);
        std::vector<std::size_t> seen;
        for (const auto& record : read_log(log)) {
            if (record.contains("images")) {
                seen.push_back(record.at("images"));
            }
        }
        return seen;
    };
    using Seen = std::vector<std::size_t>;
    CHECK(images("fill") == Seen{40, 80, 120, 160, 200, 240});
    CHECK(images("short") == Seen{40, 80, 96, 136, 176, 192});
    CHECK(images("drop") == Seen{40, 80, 120, 160});
}

TEST_CASE("optimizer, schedule, smoothing and augmentation are what was asked for", "[trainer]") {
    const std::string common = "--batch 24 --steps 3 ";
    const auto usual = losses_with(1, common + "--rate 0.05");
    // from which step on the losses are others: a step moves what the next one sees
    CHECK(losses_with(1, common + "--optimizer adamw --rate 0.05")[0] == usual[0]);
    CHECK(losses_with(1, common + "--optimizer adamw --rate 0.05")[1] != usual[1]);
    CHECK(losses_with(1, common + "--schedule onecycle --rate 0.05")[0] == usual[0]);
    CHECK(losses_with(1, common + "--schedule onecycle --rate 0.05")[1] != usual[1]);
    CHECK(losses_with(1, common + "--label-smoothing 0.2 --rate 0.05")[0] != usual[0]);
    CHECK(losses_with(1, common + "--augment none --rate 0.05")[0] != usual[0]);
}

TEST_CASE("colours side by side in memory train as colours apart, in every way", "[trainer]") {
    using Texts = std::set<std::string>;
    const std::string common = "--batch 12 --steps 6 ";
    const Seen apart = seen_with(2, common);
    CHECK(apart.convolutions == Texts{"pictures Float apart, weights Float apart"});
    for (const std::string way : {"average", "ddp"}) {
        const Seen side_by_side = seen_with(2, common + "--channels-last --parallel " + way);
        INFO(way);
        CHECK(
            side_by_side.convolutions ==
            Texts{"pictures Float side by side, weights Float side by side"}
        );
        REQUIRE(side_by_side.losses.size() == apart.losses.size());
        for (std::size_t step = 0; step < apart.losses.size(); ++step) {
            CHECK(side_by_side.losses[step] == Approx(apart.losses[step]).epsilon(1e-4));
        }
    }
}

TEST_CASE("bfloat16 trains, on every thread of dp as well", "[trainer]") {
    const Seen two = seen_with(2, "--batch 12 --steps 8 --dtype bf16");
    CHECK(two.losses.back() < two.losses.front());
    const Seen threads = seen_with(1, "--batch 24 --steps 1 --parallel dp --dtype bf16");
    for (const Seen& seen : {two, threads}) {
        CHECK(
            seen.convolutions ==
            std::set<std::string>{"pictures BFloat16 apart, weights BFloat16 apart"}
        );
    }
}
