// Checkpoints: runs that end, or are ended, and go on.
#include <algorithm>
#include <csignal>
#include <functional>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/course/trainer_run.hpp"
#include "tests/course/trainer_support.hpp"

namespace {

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

// The losses of all steps, and the accuracy at the end.
void check_same_course(const std::filesystem::path& parts, const std::filesystem::path& whole) {
    CHECK(losses(parts) == losses(whole));
    CHECK(
        last_with("test_accuracy", read_log(parts)).at("test_accuracy") ==
        last_with("test_accuracy", read_log(whole)).at("test_accuracy")
    );
}

}  // namespace

TEST_CASE(
    "a run that was stopped goes on, bit for bit, as if it had not been", "[trainer][resume]"
) {
    struct Case {
        int ranks;
        const char* model;  // two epochs and more
        std::size_t stop_after;
        const char* save = "";
    };
    const Case one = GENERATE(
        Case{
            2,
            "small --train-size 96 --steps 10 --optimizer adamw --schedule onecycle "
            "--label-smoothing 0.1",
            6},
        Case{2, "small --train-size 96 --steps 10 --optimizer adamw", 6, " --async-save"},
        Case{
            3, "small --train-size 108 --steps 6 --parallel ddp", 3,
            " --async-save --save-every 1"},
        Case{3, "small --train-size 108 --steps 6 --parallel zero2", 3, " --async-save"},
        // stopped between the steps of a group, it goes on to its end; the epoch's last has two
        Case{2, "small --train-size 120 --steps 10 --accumulate 3", 5},
        // on three ranks, where the order of a sum shows
        Case{3, "small --train-size 108 --steps 6 --parallel ddp", 1},
        Case{3, "small --train-size 108 --steps 6 --parallel ddp --last-batch short", 3},
        Case{3, "small --train-size 108 --steps 6 --parallel zero1 --optimizer adamw", 3},
        Case{3, "small --train-size 108 --steps 6 --parallel zero2", 3},
        Case{3, "small --train-size 108 --steps 6 --parallel zero3 --optimizer adamw", 3},
        Case{
            2,
            "gpt --context 32 --layers 2 --width 32 --heads 2 --train-size 96 --steps 6 --parallel "
            "zero3 --optimizer adamw",
            3},
        Case{1, "resnet34-imagenet --train-size 48 --steps 5 --parallel dp --replicas 2", 3},
        Case{2, "resnet34-imagenet --train-size 48 --steps 5", 3}
    );
    const TemporaryFolder folder;
    const std::string common =
        "--model " + std::string(one.model) + " --test-size 30 --batch 12 --log ";
    const auto whole = folder.path() / "whole.jsonl";
    const auto parts = folder.path() / "parts.jsonl";
    const std::string saved =
        parts.string() + " --checkpoint " + (folder.path() / "run").string() + one.save;
    REQUIRE(run_trainer(one.ranks, common + whole.string()).status == 0);
    const std::string stop = " --stop-after " + std::to_string(one.stop_after);
    REQUIRE(run_trainer(one.ranks, common + saved + stop).status == 0);
    REQUIRE(losses(parts).size() >= one.stop_after);
    REQUIRE(losses(parts).size() < losses(whole).size());
    const Run rest = run_trainer(one.ranks, common + saved + " --resume");
    INFO(rest.output);
    REQUIRE(rest.status == 0);
    check_same_course(parts, whole);
    const bool in_parts = contains(one.save, "--async-save");  // an index, and a part of each rank
    CHECK(count_files(folder.path() / "run") == (in_parts ? 1 + one.ranks : 1));
}

TEST_CASE(
    "a run that is killed three times ends with the weights of one that was not",
    "[trainer][resume]"
) {
    const TemporaryFolder folder;
    const std::string common = kLittle + "--batch 8 --steps 30 --log ";
    const auto whole = folder.path() / "whole.jsonl";
    const auto parts = folder.path() / "parts.jsonl";
    REQUIRE(run_trainer(1, common + whole.string()).status == 0);
    const std::string saved = common + parts.string() + GENERATE("", " --async-save") +
                              " --save-every 1 --checkpoint " + (folder.path() / "run").string();
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
    check_same_course(parts, whole);
}

TEST_CASE(
    "a checkpoint has tensors by name, and nothing that torch.load refuses", "[trainer][resume]"
) {
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

TEST_CASE("a run goes on in another way, and on another number of ranks", "[trainer][resume]") {
    struct Half {
        int ranks;
        const char* way;  // --async-save behind it: what it writes is in parts
    };
    const auto [first, second] = GENERATE(
        std::pair<Half, Half>{{3, "zero1"}, {2, "zero2"}},
        std::pair<Half, Half>{{2, "zero2"}, {3, "zero3"}},
        std::pair<Half, Half>{{4, "zero3"}, {1, "none"}},
        std::pair<Half, Half>{{1, "none"}, {4, "zero1"}},
        std::pair<Half, Half>{{2, "average"}, {3, "ddp"}},
        std::pair<Half, Half>{{3, "zero1 --async-save"}, {2, "ddp"}},
        std::pair<Half, Half>{{2, "average --async-save"}, {3, "zero3 --async-save"}}
    );
    const TemporaryFolder folder;
    const auto log = folder.path() / "log.jsonl";
    const auto arguments = [&](const Half& half) {
        return kLittle + "--steps 8 --optimizer adamw --rate 0.01 --batch " +
               std::to_string(24 / half.ranks) + " --parallel " + half.way + " --log " +
               log.string() + " --checkpoint " + (folder.path() / "run").string();
    };
    const Run begun = run_trainer(first.ranks, arguments(first) + " --stop-after 4");
    INFO(begun.output);
    REQUIRE(begun.status == 0);
    const Run rest = run_trainer(second.ranks, arguments(second) + " --resume");
    INFO(rest.output);
    REQUIRE(rest.status == 0);
    const auto whole =
        losses_with(1, "--steps 8 --optimizer adamw --rate 0.01 --batch 24 --parallel none");
    const auto parts = losses(log);
    REQUIRE(parts.size() == whole.size());
    for (std::size_t step = 0; step < whole.size(); ++step) {
        INFO(
            first.way << " on " << first.ranks << ", then " << second.way << " on " << second.ranks
                      << "; step " << step
        );
        CHECK(parts[step] == Approx(whole[step]).epsilon(1e-3));
    }
}

TEST_CASE("of a checkpoint in a file and one in parts the later one counts", "[trainer][resume]") {
    const TemporaryFolder folder;
    const auto log = folder.path() / "log.jsonl";
    const std::string common = kLittle + "--batch 12 --log " + log.string() + " --checkpoint " +
                               (folder.path() / "run").string() + " --steps 8 ";
    REQUIRE(run_trainer(2, common + "--stop-after 2").status == 0);
    for (const char* const more :
         {"--async-save --stop-after 4", "--stop-after 6", "--async-save"}) {
        const Run run = run_trainer(2, common + "--resume " + more);
        INFO(run.output);
        REQUIRE(run.status == 0);
    }
    CHECK(losses(log).size() == 8);
    CHECK(losses(log) == losses_with(2, "--batch 12 --steps 8"));
}

TEST_CASE("a run goes on with another number of ranks", "[trainer][resume]") {
    const TemporaryFolder folder;
    const auto log = folder.path() / "log.jsonl";
    const std::string common = kLittle + "--steps 8 --log " + log.string() + " --checkpoint " +
                               (folder.path() / "run").string();
    REQUIRE(run_trainer(2, common + " --batch 12 --stop-after 4").status == 0);
    REQUIRE(run_trainer(1, common + " --batch 24 --resume").status == 0);
    CHECK(losses(log).size() == 8);
}

TEST_CASE(
    "with --global-batch a run over 4, 3 and 5 ranks has the losses of one process",
    "[trainer][resume]"
) {
    // ten steps an epoch: the last has 4 windows, fewer than 5 ranks
    const std::string common =
        "--model gpt --context 32 --layers 2 --width 32 --heads 2 --train-size 94 --test-size 30 "
        "--global-batch 10 --steps 24 --log ";
    const auto* const way = GENERATE("average", "ddp", "zero1", "zero2", "zero3");
    const TemporaryFolder folder;
    const auto whole = folder.path() / "whole.jsonl";
    const auto parts = folder.path() / "parts.jsonl";
    const std::string saved = common + parts.string() + " --parallel " + way + " --checkpoint " +
                              (folder.path() / "run").string();
    REQUIRE(run_trainer(1, common + whole.string() + " --parallel none").status == 0);
    REQUIRE(run_trainer(4, saved + " --stop-after 7").status == 0);
    REQUIRE(run_trainer(3, saved + " --resume --stop-after 14").status == 0);
    const Run rest = run_trainer(5, saved + " --resume");
    INFO(rest.output);
    REQUIRE(rest.status == 0);
    REQUIRE(losses(parts).size() == 24);
    for (std::size_t step = 0; step < 24; ++step) {
        INFO(way << "; step " << step);
        CHECK(losses(parts)[step] == Approx(losses(whole)[step]).epsilon(1e-5));
    }
}
