// Whole runs of the trainer, in real processes.
#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <numeric>
#include <sys/wait.h>
#include <unistd.h>

#include "course/cli/process/mpirun.hpp"
#include "course/cli/process/subprocess.hpp"
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
    std::vector<std::string> words = mpirun(ranks, Purpose::work);
    words.push_back(program);
    const std::string command =
        shell_line(words, mpi_environment(ranks, Purpose::work)) + " " + arguments + " 2>&1";
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

using Records = std::vector<nlohmann::json>;

// The last record with this field.
nlohmann::json last_with(const std::string& field, const Records& records) {
    const auto found = std::find_if(records.rbegin(), records.rend(), [&](const auto& record) {
        return record.contains(field);
    });
    REQUIRE(found != records.rend());
    return *found;
}

// Whole lines: the last one may be being written.
std::size_t count_lines(const std::filesystem::path& log) {
    const std::string text = std::filesystem::exists(log) ? read_file(log) : "";
    return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

// Runs the trainer as one process, and kills it when it is time.
Run kill_trainer(const std::string& arguments, const std::function<bool()>& it_is_time) {
    const pid_t child = fork();
    if (child == 0) {
        execl(
            "/bin/sh", "sh", "-c", ("exec " TRAINER " " + arguments + " >/dev/null").c_str(),
            nullptr
        );
        _exit(127);
    }
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
        if (it_is_time()) {
            kill(child, SIGKILL);
        }
        usleep(1000);
    }
    return {.status = WIFSIGNALED(status) ? WTERMSIG(status) : -1, .output = "it ended by itself"};
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

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
    "ddp trains as average does, bit for bit where the order of a sum cannot show", "[trainer]"
) {
    const TemporaryFolder folder;
    const auto run = [&](int ranks, const std::string& way) {
        const auto log = folder.path() / (way + ".jsonl");
        const std::string model = "--model resnet34-imagenet --train-size 36 --test-size 12 ";
        const Run done = run_trainer(
            ranks, model + "--batch 6 --steps 4 --parallel " + way + " --log " + log.string()
        );
        INFO(done.output);
        REQUIRE(done.status == 0);
        auto all = losses(log);
        all.push_back(last_with("test_accuracy", read_log(log)).at("test_accuracy"));
        return all;
    };
    CHECK(run(2, "ddp") == run(2, "average"));  // a + b == b + a, and half of a number is exact
    const auto ddp = run(3, "ddp");
    const auto average = run(3, "average");
    REQUIRE(ddp.size() == 5);
    for (std::size_t step = 0; step < 4; ++step) {
        CHECK(ddp[step] == Approx(average.at(step)).epsilon(1e-3));
    }
}

TEST_CASE("a run that was stopped goes on, bit for bit, as if it had not been", "[trainer]") {
    struct Case {
        int ranks;
        const char* model;  // two epochs and more
        std::size_t stop_after;
    };
    const Case one = GENERATE(
        Case{
            2,
            "small --train-size 96 --steps 10 --optimizer adamw --schedule onecycle "
            "--label-smoothing 0.1",
            6},
        // stopped between the steps of a group, it goes on to its end; the epoch's last has two
        Case{2, "small --train-size 120 --steps 10 --accumulate 3", 5},
        // on three ranks, where the order of a sum shows
        Case{3, "small --train-size 108 --steps 6 --parallel ddp", 3},
        Case{2, "resnet34-imagenet --train-size 48 --steps 5", 3}
    );
    const TemporaryFolder folder;
    const std::string common =
        "--model " + std::string(one.model) + " --test-size 30 --batch 12 --log ";
    const auto whole = folder.path() / "whole.jsonl";
    const auto parts = folder.path() / "parts.jsonl";
    const std::string saved = parts.string() + " --checkpoint " + (folder.path() / "run").string();
    REQUIRE(run_trainer(one.ranks, common + whole.string()).status == 0);
    const std::string stop = " --stop-after " + std::to_string(one.stop_after);
    REQUIRE(run_trainer(one.ranks, common + saved + stop).status == 0);
    REQUIRE(losses(parts).size() >= one.stop_after);
    REQUIRE(losses(parts).size() < losses(whole).size());
    const Run rest = run_trainer(one.ranks, common + saved + " --resume");
    INFO(rest.output);
    REQUIRE(rest.status == 0);
    CHECK(losses(parts) == losses(whole));
    CHECK(
        last_with("test_accuracy", read_log(parts)).at("test_accuracy") ==
        last_with("test_accuracy", read_log(whole)).at("test_accuracy")
    );
    CHECK(count_files(folder.path() / "run") == 1);
}

TEST_CASE(
    "a run that is killed three times ends with the weights of one that was not", "[trainer]"
) {
    const TemporaryFolder folder;
    const std::string common = kLittle + "--batch 8 --steps 30 --log ";
    const auto whole = folder.path() / "whole.jsonl";
    const auto parts = folder.path() / "parts.jsonl";
    REQUIRE(run_trainer(1, common + whole.string()).status == 0);
    const std::string saved = common + parts.string() + " --save-every 1 --checkpoint " +
                              (folder.path() / "run").string();
    for (const std::size_t steps : {5U, 11U, 23U}) {  // an epoch has twelve
        const std::string resume = steps == 5 ? "" : " --resume";
        const Run killed =
            kill_trainer(saved + resume, [&] { return count_lines(parts) >= steps; });
        INFO(killed.output);
        REQUIRE(killed.status == SIGKILL);
    }
    const Run rest = run_trainer(1, saved + " --resume");
    INFO(rest.output);
    REQUIRE(rest.status == 0);
    CHECK(losses(parts) == losses(whole));
    CHECK(
        last_with("test_accuracy", read_log(parts)).at("test_accuracy") ==
        last_with("test_accuracy", read_log(whole)).at("test_accuracy")
    );
}

TEST_CASE("a checkpoint has tensors by name, and nothing that torch.load refuses", "[trainer]") {
    const TemporaryFolder folder;
    const std::string to = "--checkpoint " + folder.path().string();
    const Run run = run_trainer(1, kLittle + "--batch 24 --steps 1 --optimizer adamw " + to);
    INFO(run.output);
    REQUIRE(run.status == 0);
    const std::string file = read_file(folder.path() / "checkpoint.pt");
    CHECK(contains(file, "model.conv1.weight"));
    CHECK(contains(file, "optimizer.conv1.weight.exp_avg_sq"));
    // with weights_only=True it takes no other names of Python's than these
    CHECK(contains(file, "_rebuild_tensor_v2"));
    CHECK_FALSE(contains(file, "restore_type_tag"));
}

TEST_CASE(
    "four steps that add up train as one of four times the batch, in every way", "[trainer]"
) {
    const TemporaryFolder folder;
    const auto run = [&](int ranks, const std::string& options) {
        const auto log = folder.path() / "log.jsonl";
        std::filesystem::remove(log);
        const Run done = run_trainer(ranks, kLittle + options + " --log " + log.string());
        INFO(done.output);
        REQUIRE(done.status == 0);
        return losses(log);
    };
    const auto large = run(1, "--batch 24 --steps 8 --parallel none");
    REQUIRE(large.size() == 8);
    for (const std::string way : {"average", "ddp"}) {
        const auto small = run(2, "--batch 3 --steps 32 --accumulate 4 --parallel " + way);
        REQUIRE(small.size() == 32);
        for (std::size_t step = 0; step < large.size(); ++step) {
            const auto first = small.begin() + static_cast<std::ptrdiff_t>(4 * step);
            INFO(way << ", step " << step);
            CHECK(std::accumulate(first, first + 4, 0.0) / 4 == Approx(large[step]).epsilon(1e-4));
        }
    }
}

TEST_CASE("a run goes on with another number of ranks", "[trainer]") {
    const TemporaryFolder folder;
    const auto log = folder.path() / "log.jsonl";
    const std::string common = kLittle + "--steps 8 --log " + log.string() + " --checkpoint " +
                               (folder.path() / "run").string();
    REQUIRE(run_trainer(2, common + " --batch 12 --stop-after 4").status == 0);
    REQUIRE(run_trainer(1, common + " --batch 24 --resume").status == 0);
    CHECK(losses(log).size() == 8);
}

TEST_CASE("optimizer, schedule, smoothing and augmentation are what was asked for", "[trainer]") {
    const TemporaryFolder folder;
    const auto losses_with = [&](const std::string& option) {
        const auto log = folder.path() / "log.jsonl";
        const Run run =
            run_trainer(1, kLittle + "--batch 24 --steps 3 " + option + " --log " + log.string());
        INFO(run.output);
        REQUIRE(run.status == 0);
        return losses(log);
    };
    const auto usual = losses_with("--rate 0.05");
    // from which step on the losses are others: a step moves what the next one sees
    CHECK(losses_with("--optimizer adamw --rate 0.05")[0] == usual[0]);
    CHECK(losses_with("--optimizer adamw --rate 0.05")[1] != usual[1]);
    CHECK(losses_with("--schedule onecycle --rate 0.05")[0] == usual[0]);
    CHECK(losses_with("--schedule onecycle --rate 0.05")[1] != usual[1]);
    CHECK(losses_with("--label-smoothing 0.2 --rate 0.05")[0] != usual[0]);
    CHECK(losses_with("--augment none --rate 0.05")[0] != usual[0]);
}

TEST_CASE("colours side by side in memory train as colours apart, in every way", "[trainer]") {
    const TemporaryFolder folder;
    const auto run = [&](const std::string& options) {
        const auto log = folder.path() / "log.jsonl";
        std::filesystem::remove(log);
        const Run done =
            run_trainer(2, kLittle + "--batch 12 --steps 6 " + options + " --log " + log.string());
        INFO(done.output);
        REQUIRE(done.status == 0);
        return losses(log);
    };
    const auto apart = run("");
    for (const std::string way : {"average", "ddp"}) {
        const auto side_by_side = run("--channels-last --parallel " + way);
        INFO(way);
        REQUIRE(side_by_side.size() == apart.size());
        for (std::size_t step = 0; step < apart.size(); ++step) {
            CHECK(side_by_side[step] == Approx(apart[step]).epsilon(1e-4));
        }
        CHECK(side_by_side != apart);  // other kernels round otherwise
    }
}

TEST_CASE("bfloat16 trains", "[trainer]") {
    const TemporaryFolder folder;
    const auto log = folder.path() / "log.jsonl";
    const Run run =
        run_trainer(2, kLittle + "--batch 12 --steps 8 --dtype bf16 --log " + log.string());
    INFO(run.output);
    REQUIRE(run.status == 0);
    CHECK(losses(log).back() < losses(log).front());
}
