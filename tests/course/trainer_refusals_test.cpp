// What the trainer refuses: one clear line, exit status 2, and nothing lost.
#include <algorithm>
#include <fstream>
#include <string>

#include "course/data/synthetic.hpp"
#include "tests/course/trainer_run.hpp"
#include "tests/course/trainer_support.hpp"
#include "tests/harness/catch2.hpp"

namespace fs = std::filesystem;

namespace {

const std::string kTwoSteps = kLittle + "--batch 12 --steps 2 ";

// The line that a refused run prints, once.
std::string refusal(const std::string& arguments) {
    const Run run = run_trainer(2, kTwoSteps + arguments);
    INFO(run.output);
    CHECK(run.status == 2);
    const std::size_t begin = run.output.find("train: ");
    REQUIRE(begin != std::string::npos);
    CHECK(run.output.find("train: ", begin + 1) == std::string::npos);
    return run.output.substr(begin, run.output.find_first_of("\r\n", begin) - begin);
}

void check_contains(const std::string& text, const std::string& part) {
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
}

// A folder like CIFAR-10's, of ten pictures a file.
void make_data(const fs::path& folder) {
    for (const char* const name :
         {"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5",
          "test_batch"}) {
        std::ofstream(folder / (std::string(name) + ".bin"))
            << dist::data::synthetic_records(10, 1);
    }
}

}  // namespace

TEST_CASE("a data folder that is missing or damaged is refused by name", "[refusal]") {
    const TemporaryFolder folder;
    const std::string data = "--data " + folder.path().string();
    check_contains(refusal("--data /nowhere"), "there is no folder /nowhere");
    check_contains(refusal(data), "data_batch_1.bin: cannot be read");
    make_data(folder.path());
    CHECK(run_trainer(2, kTwoSteps + data).status == 0);

    fs::resize_file(folder.path() / "data_batch_3.bin", 3073 * 4 + 5);
    check_contains(
        refusal(data), "data_batch_3.bin: cut off in record 4, after 5 of its 3073 bytes"
    );
    make_data(folder.path());
    std::fstream(folder.path() / "test_batch.bin", std::ios::in | std::ios::out | std::ios::binary)
        << 'c';
    check_contains(refusal(data), "test_batch.bin: record 0 has the label 99");
}

TEST_CASE("an option that cannot be is refused by all ranks in one line", "[refusal]") {
    check_contains(refusal("--parallel zero4"), "\"zero4\" is not there (yet); there is: average");
    check_contains(refusal("--parallel none"), "--parallel none is one process: train -n 1");
    check_contains(refusal("--parallel dp"), "--parallel dp is one process: train -n 1");
    check_contains(
        refusal("--parallel zero2 --shard-ranks 2"),
        "--shard-ranks goes with --parallel zero3, and with 3d where it has --zero 3"
    );
    check_contains(
        refusal("--parallel zero3 --shard-ranks 3"),
        "--shard-ranks 3 does not divide the 2 ranks that share the weights"
    );
    check_contains(refusal("--replicas 3"), "--replicas goes with --parallel dp only");
    check_contains(
        refusal("--batch 49 --last-batch drop"), "--last-batch drop: too few pictures for one step"
    );
    check_contains(
        refusal("--log /nowhere/log.jsonl"), "--log /nowhere/log.jsonl: cannot be written"
    );
    check_contains(refusal("--trace /proc/nowhere"), "/proc/nowhere");
    check_contains(
        refusal("--checkpoint /proc/nowhere"), "--checkpoint /proc/nowhere: cannot be made"
    );
}

TEST_CASE("experts that cannot be, or not in this way, are refused in one line", "[refusal]") {
    const auto check = [](const std::string& options, const std::string& line) {
        check_contains(refusal("--model gpt " + options), line);
    };
    check_contains(refusal("--experts 4"), "--experts goes with --model gpt only");
    check("--expert-choices 2", "--expert-choices goes with --experts only");
    check("--parallel 3d --mesh ep=2", "--mesh ep=2 goes with --experts only");
    check("--experts 2 --expert-choices 3", "--expert-choices 3 is more than --experts 2");
    check("--experts 4 --parallel 3d --mesh ep=3", "--mesh ep=3 does not divide --experts 4");
    check("--experts 4 --parallel dp", "--experts does not go with --parallel dp");
    check("--experts 4 --accumulate 2", "--experts does not go with --accumulate");
    check("--experts 4 --dtype bf16", "--experts computes in fp32");
    check(
        "--experts 4 --parallel 3d --mesh tp=2 --sequence-parallel",
        "--experts takes whole tokens: not with --sequence-parallel"
    );
    check(
        "--experts 4 --parallel 3d --mesh dp=2 --zero 2",
        "--experts has its gradients divided after backward: --zero 0 or 1"
    );
}

TEST_CASE("--device cuda trains, or says why it cannot", "[refusal]") {
    check_contains(
        refusal("--device cuda --parallel average"),
        "--device cuda goes with --parallel ddp or none"
    );
#ifdef TRAINER_GPU
    const std::string ddp = kTwoSteps + "--parallel ddp --dtype bf16 ";
    const Run on_cpu = run_program(TRAINER_GPU, 2, ddp);
    INFO(on_cpu.output);
    CHECK(on_cpu.status == 0);
    const Run on_gpu = run_program(TRAINER_GPU, 2, ddp + "--device cuda");
    INFO(on_gpu.output);
    if (on_gpu.status == 0) {
        check_contains(on_gpu.output, "done: test accuracy");
    } else {
        CHECK(on_gpu.status == 2);
        check_contains(on_gpu.output, "sees no GPU here");
        WARN("skipped: training on a GPU, there is none, or LibTorch is for CPUs");
    }
#else
    WARN("skipped: the trainer for GPUs, built with the CUDA toolkit and NCCL only");
#endif
}

TEST_CASE(
    "a checkpoint of another run, or half of one, is refused and left as it is", "[refusal]"
) {
    const TemporaryFolder folder;
    const std::string checkpoint = "--checkpoint " + folder.path().string() + " ";
    check_contains(refusal(checkpoint + "--resume"), "there is no checkpoint to go on from");
    REQUIRE(run_trainer(2, kTwoSteps + checkpoint + "--stop-after 1").status == 0);
    const fs::path file = folder.path() / "checkpoint.pt";
    const std::string saved = read_file(file);

    check_contains(refusal(checkpoint), "is there already; go on from it with --resume");
    check_contains(
        refusal(checkpoint + "--resume --model resnet34-imagenet"),
        "belongs to a run with model small, not model resnet34-imagenet; give"
    );
    check_contains(
        refusal(checkpoint + "--resume --seed 2 --optimizer adamw"),
        "with seed 1, sgd, rate 0.05 on cosine, not seed 2, adamw, rate 0.001 on cosine; give"
    );
    check_contains(
        refusal(checkpoint + "--resume --dtype bf16"), "belongs to a run with fp32, not bf16; give"
    );
    CHECK(read_file(file) == saved);
    const fs::path notes = folder.path() / "notes.txt";
    std::ofstream(notes) << "precious\n";
    check_contains(
        refusal(checkpoint + "--resume --log " + notes.string()),
        "is not the log of a run that can go on"
    );
    CHECK(read_file(notes) == "precious\n");
    fs::resize_file(file, saved.size() / 2);
    check_contains(refusal(checkpoint + "--resume"), "checkpoint.pt: is damaged or cut off");
    CHECK(fs::file_size(file) == saved.size() / 2);
}
