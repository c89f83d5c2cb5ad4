// simulate train: how a step is put together, against steps that were worked out by hand.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

#include "course/process/error.hpp"
#include "course/simulate/measured_work.hpp"
#include "course/simulate/step_limits.hpp"
#include "course/simulate/trained_text.hpp"
#include "tests/course/cli_support.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist::cli;
using dist::trainer::Parallel;

namespace {

constexpr std::size_t kFloats = 1000;  // of all layers

/// So many equal layers, each a part with one parameter: forward 8 ms, backward 16 ms, optimizer 2 ms.
Training layers(std::size_t n) {
    Training training;
    training.bucket_cap_mb = 0;  // a bucket for each
    training.work = {.forward_s = 8e-3, .backward_s = 16e-3, .optimizer_s = 2e-3};
    for (std::size_t i = n; i-- > 0;) {
        training.model.parameters.push_back(
            {.number = i, .part = i, .floats = kFloats / n, .multiply_adds = 7}
        );
    }
    return training;
}

/// As the lesson of chapter 06 has it: a millisecond for a message, and two for a quarter of the floats. The loss is free.
double lesson_s(const std::string& /*collective*/, std::size_t floats) {
    return floats < 3 ? 0 : 1e-3 + 8e-3 * static_cast<double>(floats) / kFloats;
}

double milliseconds_of(Parallel way, std::size_t n, int p = 2) {
    return 1e3 * step_on(way, layers(n), p, lesson_s).step_s;
}

/// A file that goes when the test ends.
class LogFile {
  public:
    explicit LogFile(const std::string& text)
        : path_(
              std::filesystem::temp_directory_path() /
              ("log-" + std::to_string(getpid()) + ".jsonl")
          ) {
        std::ofstream(path_) << text;
    }
    ~LogFile() { std::filesystem::remove(path_); }
    LogFile(const LogFile&) = delete;
    LogFile& operator=(const LogFile&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

std::string step_line(int step, double forward_s, double communication_s) {
    return "{\"step\":" + std::to_string(step) + ",\"images\":" + std::to_string(32 * step) +
           ",\"data_s\":0.001,\"forward_s\":" + std::to_string(forward_s) +
           ",\"backward_s\":0.2,\"communication_s\":" + std::to_string(communication_s) +
           ",\"optimizer_s\":0.01}\n";
}

}  // namespace

TEST_CASE("messages after backward are exposed, buckets beside it hidden: as chapter 06 predicts") {
    // 25, 19 and 48.4 ms after backward has begun: notebooks_md/06_ddp.md
    CHECK(milliseconds_of(Parallel::average, 4) == Approx(8 + 25 + 2));
    CHECK(milliseconds_of(Parallel::ddp, 4) == Approx(8 + 19 + 2));
    CHECK(milliseconds_of(Parallel::ddp, 40) == Approx(8 + 48.4 + 2));
    const StepTime ddp = step_on(Parallel::ddp, layers(4), 2, lesson_s);
    CHECK(ddp.communication_s == Approx(12e-3));
    CHECK(ddp.exposed_s == Approx(3e-3));
    CHECK(ddp.hidden_s() == Approx(9e-3));
    CHECK(step_on(Parallel::average, layers(4), 2, lesson_s).hidden_s() == Approx(0).margin(1e-12));
}

TEST_CASE("ZeRO's steps are put together as its exercises make them") {
    // the optimizer's 2 ms are shared out; a row's collective takes 9 ms, a layer's 3
    CHECK(milliseconds_of(Parallel::zero1, 4) == Approx(24 + 9 + 1 + 9));
    CHECK(milliseconds_of(Parallel::zero2, 4) == Approx(24 + 4 * 3 + 1 + 4 * 3));
    // forward ends after 14 ms: a gather takes 3, a layer 2. Backward: gathered at 17, computed at 21, met at 24; then 28
    // and 31, 35 and 38, 42 and 45, for each of these layers was gathered while the one before computed
    CHECK(milliseconds_of(Parallel::zero3, 4) == Approx(45 + 1));
    CHECK(step_on(Parallel::zero3, layers(4), 2, lesson_s).communication_s == Approx(36e-3));
    CHECK(milliseconds_of(Parallel::zero1, 4, 4) == Approx(24 + 9 + 0.5 + 9));
}

TEST_CASE("servers step what the workers push, beside the next step where weights may be older") {
    Training training = layers(4);
    const auto milliseconds = [&](int p) {
        return 1e3 * step_on(Parallel::ps, training, p, lesson_s).step_s;
    };
    CHECK(milliseconds(3) == Approx(24 + 9 + 2 + 9));
    training.servers = 2;  // of 500 floats each
    CHECK(milliseconds(4) == Approx(24 + 5 + 1 + 5));
    CHECK(workers_of(Parallel::ps, training, 4) == 2);
    CHECK(workers_of(Parallel::ddp, training, 4) == 4);
    training.staleness = 1;
    CHECK(milliseconds(4) == Approx(24));
    training.work.forward_s = 0;
    training.work.backward_s = 5e-3;
    CHECK(milliseconds(4) == Approx(11));  // the servers are the limit
}

TEST_CASE("rows that are cut into shards are filled up, and the loss is averaged") {
    std::vector<std::pair<std::string, std::size_t>> asked;
    const ExchangeTime note = [&](const std::string& collective, std::size_t floats) {
        asked.emplace_back(collective, floats);
        return 0.0;
    };
    step_on(Parallel::zero1, layers(4), 3, note);
    CHECK(
        asked == decltype(asked){{"reduce_scatter", 1002}, {"all_gather", 1002}, {"all_reduce", 2}}
    );
    CHECK_THROWS_AS(step_on(Parallel::dp, layers(4), 3, note), std::invalid_argument);
}

TEST_CASE("a bucket is full when it holds its limit, and waits for those before it") {
    const auto order = layers(5).model.backwards();
    CHECK(order.front().number == 4);
    CHECK(
        plan_buckets(order, {1, 1600}) == std::vector<std::vector<std::size_t>>{{0}, {1, 2}, {3, 4}}
    );
    CHECK(plan_buckets(order, {4000}).size() == 1);
    CHECK(plan_buckets(order, {3999}).size() == 1);
    CHECK(plan_buckets(order, {3200}) == std::vector<std::vector<std::size_t>>{{0, 1, 2, 3}, {4}});
}

TEST_CASE("lengths that are not simulated lie on lines between those that are") {
    CHECK(lengths_to_simulate({2, 5, 9}, 3) == std::vector<std::size_t>{2, 5, 9});
    CHECK(lengths_to_simulate({2, 5, 9, 11, 40}, 3) == std::vector<std::size_t>{2, 9, 40});
    CHECK(on_the_line({{2, 1.0}, {10, 3.0}, {20, 4.0}}, 6) == 2.0);
    CHECK(on_the_line({{2, 1.0}, {10, 3.0}, {20, 4.0}}, 10) == 3.0);
    CHECK(on_the_line({{2, 1.0}, {10, 3.0}, {20, 4.0}}, 15) == 3.5);
    CHECK(on_the_line({{2, 1.0}}, 2) == 1.0);
}

TEST_CASE("the limit of a step is what a rank computes, or a card") {
    const auto limits = [](Parallel way, int ranks, int servers, StepTime time) {
        const TrainedStep step{.way = way, .ranks = ranks, .time = time, .servers = servers};
        return limits_of(step, layers(4));
    };
    constexpr double kBytes = 4000;
    // 8 workers and two servers, to each of which go 8 messages of half the floats, and back
    const StepLimits ps =
        limits(Parallel::ps, 10, 2, {.step_s = 9, .exposed_s = 6, .weights_s = 4});
    CHECK(ps.server.bytes == 2 * 8 * kBytes / 2);
    CHECK(ps.server.seconds == 4);
    CHECK(ps.worker.bytes == 2 * kBytes);
    CHECK(ps.worker.seconds == 1);
    CHECK(ps.compute_s == 3);
    CHECK(ps.longest() == std::string("server's card"));
    const StepTime ring{.step_s = 5, .exposed_s = 2, .weights_s = 2};
    CHECK(limits(Parallel::ddp, 4, 1, ring).worker.bytes == 4 * kBytes * 3 / 4);
    CHECK(limits(Parallel::zero3, 4, 1, ring).worker.bytes == 6 * kBytes * 3 / 4);
    CHECK(limits(Parallel::ddp, 4, 1, ring).longest() == std::string("compute"));
    const StepTime slow{.step_s = 5, .exposed_s = 4, .weights_s = 4};
    CHECK(limits(Parallel::ddp, 4, 1, slow).longest() == std::string("worker's card"));
}

TEST_CASE("a log gives the medians of its steps, if they waited for nobody") {
    std::string text;
    for (const auto& [step, forward_s] :
         {std::pair{1, 9.0}, {2, 8.0}, {3, 0.1}, {4, 0.3}, {5, 0.2}}) {
        text += step_line(step, forward_s, 0);
    }
    text += R"({"step":5,"epoch":1,"test_accuracy":0.1})"
            "\n"
            R"({"step":5,"total_s":3})"
            "\n";
    const LogFile log(text);
    const MeasuredWork measured = read_measured_work(log.path());
    CHECK(measured.work.forward_s == 0.2);
    CHECK(measured.work.step_s() == Approx(0.411));
    CHECK(measured.batch == 32);
    CHECK(measured.steps == 3);
    for (const std::string& wrong :
         {std::string("{}\n"), std::string("none\n"), step_line(1, 1, 0) + step_line(2, 1, 0),
          step_line(1, 1, 0) + step_line(2, 1, 0) + step_line(3, 0.1, 0.1)}) {
        INFO(wrong);
        CHECK_THROWS_AS(read_measured_work(LogFile(wrong).path()), UsageError);
    }
    CHECK_THROWS_AS(read_measured_work("/there/is/none"), UsageError);
}

TEST_CASE("the models that can be simulated are there by name") {
    const TrainedModel model = read_model(REPOSITORY, "resnet34");
    CHECK(model.floats() == 21'282'122);
    CHECK(model.parts() == 18);
    CHECK(model.share(0) == 0);
    CHECK_THROWS_AS(read_model(REPOSITORY, "resnet33"), UsageError);
}

TEST_CASE("the table of a training names ways, ranks and the fastest") {
    TrainingSimulation wanted;
    wanted.training = layers(4);
    wanted.training.model.name = "small";
    wanted.ways = {Parallel::average, Parallel::ddp};
    wanted.ranks = {2};
    Trained trained;
    for (const Parallel way : wanted.ways) {
        trained.steps.push_back(
            {.way = way,
             .ranks = 2,
             .time = step_on(way, wanted.training, 2, lesson_s),
             .images_per_s = 4000,
             .efficiency = 0.5}
        );
    }
    const std::string text = table_of(trained, wanted);
    INFO(text);
    CHECK(
        has(text,
            "     2 average         35 ms       9 ms       0 us       9 ms       4000     50.0 %\n")
    );
    CHECK(
        has(text,
            "     2 ddp             29 ms      12 ms       9 ms       3 ms       4000     50.0 %  "
            "fastest\n")
    );
    CHECK(has(csv_of(trained), "\nddp,2,0.0"));
    CHECK(has(json_of(trained, wanted), "\"parallel\":\"ddp\",\"ranks\":2"));
    CHECK(has(csv_of(trained), ",4000,0.5,0\n"));
    CHECK(has(picture_of(trained, wanted), "$way1 using 1:2"));
}
