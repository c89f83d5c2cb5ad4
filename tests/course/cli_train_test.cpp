// What train says beside the trainer: whose exercises it stands on, and how a run goes on.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "course/cli/checkpoint_line.hpp"
#include "course/launch/mine.hpp"
#include "tests/course/trainer_support.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist::cli;

TEST_CASE("one line tells which exercises of a stack were tried, and names those that do not pass"
) {
    CHECK(
        describe_tried(
            {{"ring_all_reduce", State::pass},
             {"evaluate", State::not_started},
             {"overlap", State::not_started},
             {"zero1", State::fail}}
        ) == "pass: 1, not started: 2, zero1: fail"
    );
}

TEST_CASE("a run that wrote a checkpoint is told where it is, and the line that goes on") {
    const TemporaryFolder folder;
    const std::string file = (folder.path() / "checkpoint.pt").string();
    dist::trainer::Options options;
    options.checkpoint = folder.path();
    const std::vector<std::string> words = {"./shardlings", "train", "--stop-after",  "3",
                                            "--log",        "a log", "--stop-after=4"};
    const CheckpointLine line(options, words);
    CHECK(line.text(true).empty());
    std::ofstream(file) << "weights";
    const std::string resume = "./shardlings train --log 'a log' --resume\n";
    CHECK(line.text(false) == "checkpoint: " + file + "\nto go on:  " + resume);
    CHECK(
        line.text(true) ==
        "checkpoint: " + file + "\nto go on, with more --epochs or --steps:  " + resume
    );
    CHECK(CheckpointLine(options, words).text(false).empty());  // that one is of an earlier run
    CHECK(CheckpointLine(options, words).text_when_interrupted().starts_with("checkpoint: none yet")
    );
    options.resume = true;  // it is where this run began
    CHECK(
        CheckpointLine(options, words).text_when_interrupted() ==
        "checkpoint: " + file + "\nto go on:  " + resume
    );
    options.async_save = true;
    const std::string index = (folder.path() / "index").string();
    const CheckpointLine in_parts(options, words);
    std::ofstream(index) << "parts";
    CHECK(in_parts.text(false) == "checkpoint: " + index + "\nto go on:  " + resume);
    CHECK(CheckpointLine(dist::trainer::Options(), words).text_when_interrupted().empty());
    CHECK(CheckpointLine(dist::trainer::Options(), words).text(false).empty());
}
