// The trainer's parts, each by itself.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "course/parallel/stop.hpp"
#include "course/trainer/account.hpp"
#include "course/trainer/accumulation.hpp"
#include "course/trainer/log.hpp"
#include "course/trainer/options.hpp"
#include "course/trainer/progress.hpp"
#include "course/trainer/schedule.hpp"
#include "tests/course/trainer_support.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist::trainer;

namespace {

Options parse(std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "trainer");
    Options options;
    parse_options(static_cast<int>(arguments.size()), arguments.data(), options);
    return options;
}

std::string refusal(const std::vector<const char*>& arguments) {
    try {
        parse(arguments);
    } catch (const Stop& stop) {
        CHECK(stop.status() == 2);
        return stop.what();
    }
    return "accepted";
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("options are read", "[trainer]") {
    const Options options =
        parse({"--model", "small", "--batch", "32", "--steps", "7", "--log", "a.jsonl"});
    CHECK(options.model == "small");
    CHECK(options.batch == 32);
    CHECK(options.steps == 7U);
    CHECK(options.log == "a.jsonl");
    CHECK(options.parallel == Parallel::average);
    CHECK_FALSE(options.resume);
}

TEST_CASE("options that make no sense are refused in one line", "[trainer]") {
    CHECK(contains(
        refusal({"--parallel", "pipeline"}), "is not there (yet); there is: " + way_names()
    ));
    CHECK(contains(refusal({"--model", "resnet18"}), "resnet34-imagenet"));
    for (const char* const batch : {"0", "-1", "many", "1.5", "99999999999999999999"}) {
        CHECK(contains(
            refusal({"--batch", batch}),
            std::string(batch) + ": give a whole number from 1 to 10^12"
        ));
    }
    for (const char* const rate : {"0", "-0.1", "fast", "nan", "inf", "0.1x"}) {
        CHECK(contains(refusal({"--rate", rate}), std::string(rate) + ": give a number above 0"));
    }
    CHECK(contains(refusal({"--accumulate", "0"}), "--accumulate: 0: give a whole number"));
    for (const char* const replicas : {"0", "65", "two", "-1", "1000"}) {
        CHECK(contains(
            refusal({"--parallel", "dp", "--replicas", replicas}),
            std::string(replicas) + ": give a whole number from 1 to 64"
        ));
    }
    CHECK(contains(refusal({"--timeout", "0"}), "--timeout: 0: give a number above 0"));
    CHECK(contains(refusal({"--last-batch", "keep"}), "short"));
    CHECK(contains(refusal({"--momentum", "nan"}), "from 0 up to 1"));
    CHECK(contains(refusal({"--seed=-1"}), "--seed"));
    CHECK(contains(refusal({"--stop-after", "2"}), "--checkpoint"));
    CHECK(contains(refusal({"--async-save"}), "--checkpoint"));
    CHECK(contains(refusal({"--dtype", "fp16"}), "bf16"));
    CHECK(contains(refusal({"--optimizer", "adam"}), "adamw"));
    CHECK(contains(refusal({"--schedule", "linear"}), "onecycle"));
    CHECK(contains(refusal({"--augment", "all"}), "crop-flip"));
    CHECK(contains(refusal({"--label-smoothing", "1"}), "from 0 up to 1"));
    CHECK(contains(refusal({"--resume"}), "--checkpoint"));
    CHECK(contains(refusal({"--save-every", "2"}), "--checkpoint"));
    CHECK(contains(refusal({"--steps", "2", "--epochs", "2"}), "--steps"));
    CHECK(contains(refusal({"--bacth", "2"}), "--bacth"));
    CHECK_FALSE(contains(refusal({"--batch", "0"}), "\n"));
}

TEST_CASE("a mesh that cuts what cannot be cut is refused in one line", "[trainer]") {
    const auto check_refused = [](std::vector<const char*> options, const char* line) {
        options.insert(
            options.begin(), {"--model", "gpt", "--layers", "4", "--batch", "8", "--parallel", "3d"}
        );
        const std::string text = refusal(options);
        INFO(text);
        CHECK(contains(text, line));
        CHECK_FALSE(contains(text, "\n"));
    };
    check_refused({"--mesh", "tp=3"}, "--mesh tp=3 does not divide --heads 4");
    check_refused(
        {"--mesh", "cp=2", "--context", "18"}, "cp=2 cuts --context into 4 pieces, which do not"
    );
    check_refused({"--mesh", "pp=3"}, "pp=3: the number of stages, 3 does not divide --layers 4");
    check_refused(
        {"--mesh", "pp=2", "--pipeline", "interleaved", "--layers", "6"},
        "--mesh pp=2 with --chunks 2: the number of stages, 4 does not divide --layers 6"
    );
    check_refused(
        {"--mesh", "pp=2", "--pipeline", "interleaved", "--batch", "10", "--micro-batches", "5"},
        "interleaved has rounds of micro-batches, and 2 does not divide --micro-batches 5"
    );
    check_refused(
        {"--mesh", "dp=2", "--micro-batches", "3"}, "--micro-batches 3 does not divide --batch 8"
    );
    check_refused(
        {"--mesh", "tp=4", "--sequence-parallel", "--context", "18"},
        "--mesh tp=4 does not divide --context, where each rank of cp has 18"
    );
    check_refused(
        {"--mesh", "dp=0"}, "dp=0: give dp, pp, cp, tp and ep, each with a number of parts"
    );
    check_refused({"--chunks", "2"}, "--chunks goes with --pipeline interleaved only");
    check_refused({"--zero", "4"}, "--zero");
}

TEST_CASE("what a mesh does not have is refused in one line", "[trainer]") {
    const auto refused = [](std::vector<const char*> options) {
        options.insert(options.begin(), {"--model", "gpt", "--parallel", "3d", "--mesh", "pp=2"});
        return refusal(options);
    };
    CHECK(contains(refused({"--accumulate", "2"}), "adds gradients up by --micro-batches"));
    CHECK(contains(refused({"--dtype", "bf16"}), "--parallel 3d computes in fp32"));
    CHECK(contains(refused({"--label-smoothing", "0.1"}), "has no --label-smoothing"));
    CHECK(contains(refused({"--last-batch", "short"}), "has full batches"));
    CHECK(contains(refused({"--sequence-parallel", "--zero", "2"}), "--zero 0 or 1"));
    CHECK(contains(refused({"--pipeline", "zb", "--zero", "3"}), "--zero 0 to 2"));
    CHECK(contains(refused({"--zero", "1", "--clip-norm", "1"}), "needs whole gradients"));
    CHECK(contains(refusal({"--parallel", "zero1", "--clip-norm", "1"}), "needs whole gradients"));
    CHECK(contains(refusal({"--mesh", "dp=2"}), "--mesh goes with --parallel 3d only"));
    CHECK(contains(refusal({"--zero", "1"}), "--zero goes with --parallel 3d only"));
    CHECK(
        contains(refusal({"--parallel", "3d", "--model", "small"}), "3d goes with --model gpt only")
    );
}

TEST_CASE("the rate rises for a twentieth of the run, then falls on half a cosine", "[trainer]") {
    CHECK(cosine_rate(0.1, 0, 105) == Approx(0.1 / 6));
    CHECK(cosine_rate(0.1, 4, 105) == Approx(0.5 / 6));
    CHECK(cosine_rate(0.1, 5, 105) == 0.1);
    CHECK(cosine_rate(0.1, 55, 105) == Approx(0.05));
    CHECK(cosine_rate(0.1, 104, 105) < 0.0001);
    CHECK(cosine_rate(0.1, 0, 1) == 0.1);
}

TEST_CASE("one cycle has the rates of PyTorch's OneCycleLR", "[trainer]") {
    // torch.optim.lr_scheduler.OneCycleLR(max_lr=0.1, total_steps=20), to six digits
    CHECK(onecycle_rate(0.1, 0, 20) == Approx(0.004));
    CHECK(onecycle_rate(0.1, 1, 20) == Approx(0.013167).epsilon(1e-4));
    CHECK(onecycle_rate(0.1, 2, 20) == Approx(0.037167).epsilon(1e-4));
    CHECK(onecycle_rate(0.1, 5, 20) == Approx(0.1));
    CHECK(onecycle_rate(0.1, 10, 20) == Approx(0.071694).epsilon(1e-4));
    CHECK(onecycle_rate(0.1, 19, 20) == Approx(0.004 / 1e4));
    CHECK(onecycle_rate(0.1, 0, 1) > 0);
}

TEST_CASE("the rate that nobody gave is the optimizer's", "[trainer]") {
    CHECK(parse({}).rate == 0.05);
    CHECK(parse({"--optimizer", "adamw"}).rate == 0.001);
    CHECK(parse({"--optimizer", "adamw", "--rate", "0.01"}).rate == 0.01);
    CHECK(contains(options_help(), "0.001 with adamw"));
}

TEST_CASE("every way of --parallel is found by its name, and told by --help", "[trainer]") {
    for (const Way& way : ways()) {
        INFO(way.name);
        CHECK(parse({"--parallel", way.name.data(), "--model", "gpt"}).parallel == way.parallel);
        CHECK(&way_of(way.parallel) == &way);
        CHECK(contains(options_help(), std::string(way.name) + ": "));
        CHECK_FALSE(way.uses.empty());
    }
    CHECK(find_way("ddp1") == nullptr);
}

TEST_CASE(
    "steps add their gradients up in groups, which end with the epoch and with the run", "[trainer]"
) {
    const Accumulation four{.k = 4, .epoch_steps = 10, .all_steps = 25};
    const std::vector<std::size_t> ends = {4, 4, 4, 4, 8, 8, 8, 8, 10, 10, 14};
    const std::vector<std::size_t> groups = {0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3};
    for (std::size_t step = 0; step < ends.size(); ++step) {
        INFO("step " << step);
        CHECK(four.end(step) == ends[step]);
        CHECK(four.begin(step) == (step < 10 ? step - step % 4 : 10));
        CHECK(four.groups(step) == groups[step]);
    }
    CHECK(four.begin(24) == 24);
    CHECK(four.end(24) == 25);
    CHECK(four.groups(25) == 8);
    const Accumulation one{.k = 1, .epoch_steps = 10, .all_steps = 25};
    CHECK(one.begin(7) == 7);
    CHECK(one.end(7) == 8);
    CHECK(one.groups(17) == 17);
}

TEST_CASE("a table says where the time went, with what is in no part", "[trainer]") {
    const TimeRecord times{.forward_s = 2, .backward_s = 5, .checkpoint_s = 0.5, .total_s = 10};
    const std::string table = to_table(times);
    INFO(table);
    CHECK(contains(table, "  forward             2.0 s  20.0 %\n"));
    CHECK(contains(table, "  communication       0.0 s   0.0 %\n"));
    CHECK(contains(table, "  other               2.5 s  25.0 %\n"));
    CHECK(table.ends_with("  together           10.0 s"));
}

TEST_CASE("a table says where communication was, and how much more was hidden", "[trainer]") {
    TimeRecord times{.forward_s = 2, .communication_s = 1.5, .total_s = 10};
    const std::string apart =
        "communication includes the time for which forward, backward and optimizer waited";
    CHECK(to_table(times).ends_with("  together           10.0 s\n" + apart));
    times.hidden_s = 3;
    CHECK(to_table(times).ends_with(apart + "; 3.0 s more were hidden behind these"));
    CHECK(contains(to_table(times), "  other               6.5 s  65.0 %\n"));
}

TEST_CASE("a run that goes on for another number of steps says so") {
    CHECK(describe_resumption({0, 0}, 8).empty());
    CHECK(describe_resumption({3, 8}, 8) == "going on after step 3 of 8");
    CHECK(
        describe_resumption({500, 500}, 6) ==
        "500 steps are done, and 6 are asked for: nothing is left to train"
    );
    CHECK(describe_resumption({3, 0}, 8) == "going on after step 3 of 8");  // it is not known
    CHECK(
        describe_resumption({3, 8}, 20) ==
        "going on after step 3 of 20; the run was begun for 8 steps: from here on the learning "
        "rate follows the schedule of 20"
    );
}

TEST_CASE("a rank that computed far longer than the others is named", "[trainer]") {
    const std::vector<double> slow = {20.0, 19.0, 40.0};
    CHECK(
        to_straggler(slow) ==
        "rank 2 computed for 40.0 s, rank 1 for 19.0 s: each step waits for the slowest"
    );
    const std::vector<double> close = {20.0, 19.0, 21.0};
    CHECK(to_straggler(close).empty());
    const std::vector<double> alone = {20.0};
    CHECK(to_straggler(alone).empty());
}

TEST_CASE("where bfloat16 is slower, a line says so", "[trainer]") {
    CHECK(
        to_dtype_note(0.010, 0.015) ==
        "a convolution in bfloat16 takes 1.5 times as long as in float32 on this processor: "
        "--dtype fp32 "
        "trains faster"
    );
    CHECK(to_dtype_note(0.010, 0.005).empty());
}

TEST_CASE("a status is one short line", "[trainer]") {
    const Status status{
        .epoch = 2,
        .epochs = 30,
        .step = 39,
        .steps = 78,
        .loss = 1.5,
        .accuracy = 0.25,
        .seen_per_s = 812};
    CHECK(
        to_string(status, false) ==
        "epoch 2/30 step 39/78: loss 1.500  accuracy 25.0 %  812 images/s"
    );
    CHECK(
        to_string(status, true) ==
        "epoch 2/30 [============            ] loss 1.500  accuracy 25.0 %  812 images/s"
    );
    CHECK(
        to_string(status, true, 66) ==
        "epoch 2/30 [=====     ] loss 1.500  accuracy 25.0 %  812 images/s"
    );
    CHECK(to_string(status, true, 20).find("[] loss") != std::string::npos);
}

TEST_CASE("lines are broken between words", "[trainer]") {
    CHECK(wrapped("all of it fits", 14) == "all of it fits");
    CHECK(wrapped("four words, no more", 12) == "four words,\n  no more");
    CHECK(
        wrapped("  data      0.1 s\nthe end of it all", 17) ==
        "  data      0.1 s\nthe end of it all"
    );
    CHECK(wrapped("a_word_that_is_longer", 8) == "a_word_that_is_longer");
    CHECK(wrapped("one two three", std::string::npos) == "one two three");
}

TEST_CASE(
    "a log that is gone on with keeps the steps done, and drops what came after", "[trainer]"
) {
    const TemporaryFolder folder;
    const auto file = folder.path() / "log.jsonl";
    {
        Log log(file);
        for (std::size_t step = 1; step <= 5; ++step) {
            log.write(StepRecord{.step = step, .epoch = 1, .loss = 0.1F});
        }
        EpochRecord epoch;
        epoch.step = 5;
        epoch.epoch = 1;
        epoch.test.accuracy = 0.5;
        log.write(epoch);
        std::ofstream(file, std::ios::app) << "{\"step\": 6, half a li";
    }
    Log(file, 5).write(StepRecord{.step = 6, .epoch = 2});
    CHECK(read_log(file).size() == 7);
    Log(file, 3).write(StepRecord{.step = 4, .epoch = 1});
    CHECK(read_log(file).size() == 4);
    CHECK(read_log(file)[2].at("loss") == 0.1F);
    Log(file).write(StepRecord{.step = 1, .epoch = 1});
    CHECK(read_log(file).size() == 1);
}
