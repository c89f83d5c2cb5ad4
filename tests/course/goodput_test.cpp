// simulate train --mtbf: failures that were played through by hand, and the formulas beside many that were drawn.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "course/process/error.hpp"
#include "course/simulate/cluster.hpp"
#include "course/simulate/goodput_text.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist::cli;

namespace {

constexpr double kHour = 3600;

/// Llama 3's failures: 419 in 54 days, on 16,384 ranks.
FailingJob llama() {
    FailingJob job;
    job.ranks = 16384;
    job.replicas = 128;
    job.mtbf_s = 54 * 24 * kHour / 419;
    return job;
}

}  // namespace

TEST_CASE("durations are read in seconds, minutes, hours and days, and said so") {
    CHECK(parse_duration("--x", "3.1h") == Approx(11160));
    CHECK(parse_duration("--x", "60s") == 60);
    CHECK(parse_duration("--x", "5m") == 300);
    CHECK(parse_duration("--x", "54d") == 54 * 86400);
    CHECK(parse_duration("--x", "90") == 90);
    CHECK(parse_duration("--x", "250ms") == 0.25);
    for (const char* const wrong : {"", "h", "3 h", "-1m", "3hours", "nan", "1e999s"}) {
        INFO(wrong);
        CHECK_THROWS_AS(parse_duration("--x", wrong), UsageError);
    }
    CHECK(duration_in_words(5) == "5s");
    CHECK(duration_in_words(0) == "0s");
    CHECK(duration_in_words(1134) == "18.9m");
    CHECK(duration_in_words(3.1 * kHour) == "3.1h");
    CHECK(duration_in_words(2111 * 24 * kHour) == "2111d");
}

TEST_CASE("what was not yet saved is lost with a failure, also one while a checkpoint is written") {
    FailingJob job;
    job.checkpoint_s = 10;
    job.restart_s = 20;
    const auto goodput = [&](double after_s) { return restart_goodput(job, 100, {{after_s, 0}}); };
    CHECK(goodput(19) == 0);  // while the ranks start
    CHECK(goodput(20 + 109) == 0);
    CHECK(goodput(20 + 110) == Approx(100.0 / 130));
    CHECK(goodput(20 + 219) == Approx(100.0 / 239));  // while the second is written
    CHECK(goodput(20 + 220) == Approx(200.0 / 240));
    CHECK(
        restart_goodput(job, 100, {{19, 0}, {240, 0}, {239, 0}}) == Approx(300.0 / (19 + 240 + 239))
    );
}

TEST_CASE("quorum_step loses the step that was struck, and the share of who is away") {
    FailingJob job;
    job.replicas = 4;
    job.step_s = 10;
    job.restart_s = 25;
    // step 0 is void; 1 and 2 are of three; the replacement is there at 30
    CHECK(quorum_goodput(job, {{5, 0}, {42, 1}}) == Approx((2 * 0.75 + 1) / 5));
    // replica 1 is struck at 47 and once more at 58: it is back at 83, and joins at 90
    CHECK(
        quorum_goodput(job, {{5, 0}, {42, 1}, {11, 1}, {47, 2}}) ==
        Approx((2 * 0.75 + 1 + 3 * 0.75 + 1) / 11)
    );
    // two failures in one step cost one step
    CHECK(quorum_goodput(job, {{51, 0}, {3, 0}}) == Approx(5.0 / 6));
}

TEST_CASE("half of the replicas is no quorum") {
    FailingJob job;
    job.replicas = 4;
    job.step_s = 10;
    job.restart_s = 25;
    // steps 0 and 1 are void, 2 has two of four, 3 has three, 4 has all
    CHECK(quorum_goodput(job, {{1, 0}, {11, 1}, {39, 2}}) == Approx((0 + 0.75 + 1) / 6));
    job.replicas = 2;
    CHECK(quorum_goodput(job, {{1, 0}, {39, 1}}) == Approx(1.0 / 5));
}

TEST_CASE("failures come from their seed, in exponential times, to each replica alike") {
    constexpr std::size_t kMany = 100'000;
    FailingJob job = llama();
    job.replicas = 4;
    const std::vector<RankFailure> failures = draw_failures(job, kMany, 1);
    REQUIRE(failures.size() == kMany);
    double sum_s = 0;
    std::vector<int> strikes(4);
    for (const RankFailure& failure : failures) {
        sum_s += failure.after_s;
        ++strikes.at(static_cast<std::size_t>(failure.replica));
    }
    CHECK(sum_s / kMany == Approx(job.mtbf_s).epsilon(0.01));
    const auto longer = std::ranges::count_if(failures, [&](const RankFailure& failure) {
        return failure.after_s > 2 * job.mtbf_s;
    });
    CHECK(static_cast<double>(longer) / kMany == Approx(std::exp(-2)).epsilon(0.03));
    for (const int count : strikes) {
        CHECK(count == Approx(kMany / 4).epsilon(0.03));
    }
    CHECK(draw_failures(job, 3, 1)[2].after_s == failures[2].after_s);
    CHECK(draw_failures(job, 3, 2)[2].after_s != failures[2].after_s);
    job.mtbf_s *= 2;
    CHECK(draw_failures(job, 3, 1)[2].after_s == Approx(2 * failures[2].after_s));
}

TEST_CASE("restarts take the time that Daly expects, within 1 %") {
    constexpr std::size_t kMany = 1'000'000;
    FailingJob job = llama();
    const auto check = [&](double interval_s) {
        INFO(interval_s << " s, checkpoint " << job.checkpoint_s << ", restart " << job.restart_s);
        const double goodput = restart_goodput(job, interval_s, draw_failures(job, kMany, 1));
        CHECK(goodput / daly_goodput(job, interval_s) == Approx(1).epsilon(0.01));
    };
    for (const double interval_s : {60.0, 300.0, 1134.0, 3600.0, 3 * kHour}) {
        check(interval_s);
    }
    // a job that hardly comes forward
    job.checkpoint_s = job.mtbf_s / 4;
    job.restart_s = job.mtbf_s / 2;
    check(job.mtbf_s / 2);
    check(job.mtbf_s);
    job.restart_s = 0;
    check(job.mtbf_s);
}

TEST_CASE("quorum_step comes to its formula, within 1 %") {
    constexpr std::size_t kMany = 300'000;
    for (const int replicas : {2, 3, 4, 5, 128, 16384}) {
        for (const double mtbf_s : {20.0, 500.0, 3 * kHour}) {
            FailingJob job;
            job.replicas = replicas;
            job.mtbf_s = mtbf_s;
            const double formula = quorum_formula(job);
            INFO(replicas << " replicas, a failure every " << mtbf_s << " s: " << formula);
            const double goodput = quorum_goodput(job, draw_failures(job, kMany, 1));
            CHECK(goodput == Approx(formula).epsilon(0.01).margin(0.0005));
        }
    }
    FailingJob job = llama();
    CHECK(quorum_formula(job) == Approx(std::exp(-(5 + 300.0 / 128) / job.mtbf_s)));
    job.restart_s = 0;
    CHECK(quorum_formula(job) == Approx(std::exp(-5 / job.mtbf_s)));
    job.mtbf_s = 1e-3;
    job.restart_s = 1e9;
    CHECK(quorum_formula(job) == 0);
}

TEST_CASE("the best interval is Young's to first order, and Daly's as he published it") {
    FailingJob job = llama();
    CHECK(young_interval_s(job) == Approx(std::sqrt(2 * 60 * job.mtbf_s)));
    CHECK(
        1 - young_goodput(job, young_interval_s(job)) - job.restart_s / job.mtbf_s ==
        Approx(std::sqrt(2 * 60 / job.mtbf_s))
    );
    CHECK(young_goodput(job, 30) == 0);  // a checkpoint takes twice as long
    // his figures 3 to 5: checkpoints of 5 minutes
    job.checkpoint_s = 300;
    for (const auto& [mtbf_s, minutes] :
         {std::pair{24 * kHour, 117.0}, std::pair{6 * kHour, 57.0}, std::pair{900.0, 9.1}}) {
        job.mtbf_s = mtbf_s;
        CHECK(daly_interval_s(job) / 60 == Approx(minutes).epsilon(0.006));
    }
    job.mtbf_s = 100;
    CHECK(daly_interval_s(job) == 100);
}

TEST_CASE("the best of the simulated intervals is near Daly's") {
    GoodputWanted wanted;
    wanted.job = llama();
    wanted.restarts_s = {300};
    wanted.failures = 200'000;
    for (const double checkpoint_s : {5.0, 60.0, 600.0}) {
        wanted.job.checkpoint_s = checkpoint_s;
        const GoodputSurvey survey = survey_goodput(wanted);
        CHECK(survey.best_s == Approx(daly_interval_s(wanted.job)).epsilon(0.15));
        const double best = std::ranges::max(survey.curve, {}, &GoodputPoint::daly).interval_s;
        CHECK(
            daly_interval_s(wanted.job) == Approx(best).epsilon(0.09)
        );  // two neighbours' distance
    }
}

TEST_CASE("a survey keeps the failures of a rank and the size of a replica on other ranks") {
    GoodputWanted wanted;
    wanted.job = llama();
    wanted.restarts_s = {60, 300};
    wanted.intervals_s = {600, 1200, 2400};
    const GoodputSurvey survey = survey_goodput(wanted);
    REQUIRE(survey.intervals.size() == 6);
    CHECK(survey.intervals[2].job.restart_s == 60);
    CHECK(survey.intervals[3].job.restart_s == 300);
    CHECK(survey.intervals[4].interval_s == 1200);
    CHECK(survey.intervals[4].restart < survey.intervals[1].restart);
    CHECK(survey.over_ranks.front().job.ranks == 16);
    CHECK(survey.over_ranks.back().job.ranks == 65536);
    double before = 1;
    for (const GoodputPoint& point : survey.over_ranks) {
        const FailingJob& job = point.job;
        INFO(job.ranks);
        CHECK(job.mtbf_s * job.ranks == Approx(wanted.job.mtbf_s * wanted.job.ranks));
        CHECK(job.replicas == (job.ranks < 256 ? 0 : job.ranks / 128));
        CHECK(job.restart_s == 60);
        CHECK(point.interval_s == daly_interval_s(job));
        CHECK(point.restart < before);
        CHECK((job.replicas == 0 || point.quorum > point.restart));
        before = point.restart;
    }
}
