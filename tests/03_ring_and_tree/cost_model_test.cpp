// cost_model: the closed forms exactly, the fit of a line, and where two algorithms change places.
#include "exercises/03_ring_and_tree/cost_model.hpp"

#include <cmath>
#include <iomanip>
#include <sstream>
#include <string>
#include <vector>

#include "course/protocol/counted.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/words/quick.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

using enum AllReduceAlgorithm;

constexpr AllReduceAlgorithm kAll[] = {naive, ring, recursive_doubling, halving_doubling};
const char* const kNames[] = {"naive", "ring", "recursive_doubling", "halving_doubling"};

const char* name_of(AllReduceAlgorithm algorithm) {
    return kNames[static_cast<int>(algorithm)];
}

/// What happens in a row for each algorithm, counted by hand; K = 5040 bytes.
struct Count {
    int p;
    double messages[4];
    double bytes[4];
    double added[4];  // bytes
};
constexpr std::size_t kBytes = 5040;  // 2 * 2520: all of 1 to 10, and 16, divide it
constexpr Count kCounts[] = {
    {8, {14, 14, 3, 6}, {70560, 8820, 15120, 8820}, {35280, 4410, 15120, 4410}},
    {4, {6, 6, 2, 4}, {30240, 7560, 10080, 7560}, {15120, 3780, 10080, 3780}},
    {2, {2, 2, 1, 2}, {10080, 5040, 5040, 5040}, {5040, 2520, 5040, 2520}},
    {1, {0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}},
    {3, {4, 4, 3, 4}, {20160, 6720, 15120, 15120}, {10080, 3360, 10080, 7560}},
    {5, {8, 8, 4, 6}, {40320, 8064, 20160, 17640}, {20160, 4032, 15120, 8820}},
    {6, {10, 10, 4, 6}, {50400, 8400, 20160, 17640}, {25200, 4200, 15120, 8820}},
    {7, {12, 12, 4, 6}, {60480, 8640, 20160, 17640}, {30240, 4320, 15120, 8820}},
    {9, {16, 16, 5, 8}, {80640, 8960, 25200, 18900}, {40320, 4480, 20160, 9450}},
    {16, {30, 30, 4, 8}, {151200, 9450, 20160, 9450}, {75600, 4725, 20160, 4725}},
};

struct Guess {
    double value;
    std::string sentence;
};

/// Compares two numbers; `tolerance` is relative. The first guess that fits says what went wrong.
Comparison near(
    double got, double expected, const std::vector<Guess>& guesses = {}, double tolerance = 1e-12
) {
    const auto equal = [&](double a, double b) {
        return std::abs(a - b) <= tolerance * std::abs(b);
    };
    if (equal(got, expected)) {
        return {};
    }
    std::ostringstream text;
    text << std::setprecision(10) << "expected " << expected << ", got " << got;
    if (!std::isfinite(got)) {
        text << ": beta is seconds per byte: multiply by it, do not divide";
    }
    for (const Guess& guess : guesses) {
        if (equal(got, guess.value)) {
            text << ": " << guess.sentence;
            break;
        }
    }
    return {false, text.str()};
}

/// What a wrong count in a row is likely to be; `right` is the table's, `of` reads another entry.
template <class Of>
std::vector<Guess> count_guesses(double right, int algorithm, int p, double each_extra, Of of) {
    std::vector<Guess> known = {
        {algorithm == 0 ? right / (p - 1) : -1.0,  // never below 0
         "rank 0 receives from p-1 ranks, and sends to p-1: one message after the other"},
        {right / 2, "that is half of it: what is gathered at one place must go back to all"},
        {right - 2 * each_extra,
         "p is no power of two: two messages more, in before the steps and out after them"},
        {right - each_extra,
         "p is no power of two: two messages more, and log2 is rounded down, not up"},
        {right / p, "that is divided by p once more"},
        {right * p, "a message of the ring carries K/p bytes, not K"},
    };
    for (int other = 0; other < 4; ++other) {
        if (other != algorithm) {
            known.push_back({of(other), std::string("that is what ") + kNames[other] + " has"});
        }
    }
    return known;
}

std::string shown(std::optional<std::size_t> bytes) {
    return bytes ? counted(*bytes, "byte") : "never";
}

}  // namespace

TEST_CASE("predicted_s counts the messages in a row: a link with alpha = 1 s, beta = 0") {
    on_ranks({1}, [](const Communicator&) {
        for (const Count& count : kCounts) {
            for (int i = 0; i < 4; ++i) {
                INFO(kNames[i] << ", p = " << count.p << ", " << kBytes << " bytes");
                const double got = predicted_s(kAll[i], kBytes, count.p, {1.0, 0.0});
                const auto of = [&](int other) { return count.messages[other]; };
                const double right = count.messages[i];
                CHECK(near(got, right, count_guesses(right, i, count.p, 1.0, of)));
            }
        }
    });
}

TEST_CASE("predicted_s counts the bytes in a row: a link with alpha = 0, beta = 1 s per byte") {
    on_ranks({1}, [](const Communicator&) {
        for (const Count& count : kCounts) {
            for (int i = 0; i < 4; ++i) {
                INFO(kNames[i] << ", p = " << count.p << ", " << kBytes << " bytes");
                const double got = predicted_s(kAll[i], kBytes, count.p, {0.0, 1.0});
                const auto of = [&](int other) { return count.bytes[other]; };
                const double right = count.bytes[i];
                CHECK(near(got, right, count_guesses(right, i, count.p, kBytes, of)));
            }
        }
    });
}

TEST_CASE("predicted_s counts the additions in a row: a machine with gamma = 1 s per byte") {
    on_ranks({1}, [](const Communicator&) {
        for (const Count& count : kCounts) {
            for (int i = 0; i < 4; ++i) {
                INFO(kNames[i] << ", p = " << count.p << ", " << kBytes << " bytes");
                const double got = predicted_s(kAll[i], kBytes, count.p, {0.0, 0.0, 1.0});
                CHECK(near(
                    got, count.added[i],
                    {{0.0, "where is gamma?"},
                     {count.bytes[i],
                      "that is what travels: on the way back the bytes are copied, not added"},
                     {count.added[i] - kBytes,
                      "p is no power of two: what the ranks beyond q hand in is added as well"},
                     {count.added[i] + kBytes,
                      "what the ranks beyond q get at the end is the result: nothing to add"}}
                ));
            }
        }
    });
}

TEST_CASE("predicted_s adds all three, for any size: 1 us a message, 10 GB/s, 20 GB/s added") {
    on_ranks({1}, [](const Communicator&) {
        const LinkCost link{1e-6, 1e-10, 5e-11};
        for (const std::size_t bytes :
             {1001UL, 0UL, 4UL, 1UL << 20U, 6'000'000'001UL, 1UL << 62U}) {
            for (const Count& count : kCounts) {
                for (int i = 0; i < 4; ++i) {
                    INFO(kNames[i] << ", p = " << count.p << ", " << bytes << " bytes");
                    const double tensors = count.bytes[i] / kBytes;
                    const double start_s = count.messages[i] * 1e-6;
                    const double bytes_s = tensors * static_cast<double>(bytes) * 1e-10;
                    const double added = count.added[i] / kBytes;
                    const double added_s = added * static_cast<double>(bytes) * 5e-11;
                    const double got = predicted_s(kAll[i], bytes, count.p, link);
                    REQUIRE(near(
                        got, start_s + bytes_s + added_s,
                        {{start_s, "that is alpha's part alone"},
                         {bytes_s, "that is beta's part alone"},
                         {start_s + bytes_s, "where is gamma's part?"},
                         {start_s + bytes_s + 4 * added_s, "gamma is for a byte, not for a float"},
                         {start_s + 8 * bytes_s + added_s, "beta is for a byte, not for a bit"}}
                    ));
                }
            }
        }
    });
}

TEST_CASE("predicted_s and crossover_bytes refuse fewer than one rank") {
    on_ranks({1}, [](const Communicator&) {
        const LinkCost link{1e-6, 1e-10};
        for (const int p : {0, -1}) {
            for (const AllReduceAlgorithm a : kAll) {
                INFO(name_of(a) << ", p = " << p);
                CHECK_THROWS_AS(predicted_s(a, 1000, p, link), std::invalid_argument);
                CHECK_THROWS_AS(crossover_bytes(a, ring, p, link), std::invalid_argument);
                CHECK_THROWS_AS(crossover_bytes(ring, a, p, link), std::invalid_argument);
            }
        }
    });
}

TEST_CASE("fit finds alpha and beta of points on a line") {
    on_ranks({1}, [](const Communicator&) {
        std::vector<Measurement> points;
        for (const std::size_t bytes : {1UL << 20U, 4UL, 85'000'000UL, 4096UL, 4UL}) {
            points.push_back({bytes, 2e-6 + static_cast<double>(bytes) * 1e-10});
        }
        const LinkCost link = fit(points);
        INFO("alpha = 2 us, 10 GB/s; sizes 4 bytes to 85 MB");
        CHECK(near(link.alpha_s, 2e-6, {{1e-10, "that is beta"}}, 1e-6));
        CHECK(near(link.beta_s_per_byte, 1e-10, {{1e10, "that is bytes per second"}}, 1e-6));
        INFO("no message tells what an addition costs: gamma is 0");
        CHECK(link.gamma_s_per_byte == 0.0);
    });
}

TEST_CASE("fit takes a few operations for each point") {
    on_ranks({1}, [](const Communicator&) {
        std::vector<Measurement> points(40'000, {8, 1.0});
        points.push_back({16, 2.0});
        const Comparison quick = takes_a_few_operations(
            "the pairs of points", [&] { REQUIRE(fit(points).beta_s_per_byte > 0.0); }, 10
        );
        CHECK(quick);
    });
}

TEST_CASE("fit gives the nearest line also where that begins below 0 seconds") {
    on_ranks({1}, [](const Communicator&) {
        const LinkCost link = fit(std::vector<Measurement>{{10, 1.0}, {20, 3.0}});
        INFO("10 bytes took 1 s, 20 bytes 3 s: the line may meet 0 bytes below 0 seconds");
        CHECK(near(link.alpha_s, -1.0, {}, 1e-6));
        CHECK(near(link.beta_s_per_byte, 0.2, {}, 1e-6));
    });
}

TEST_CASE("fit weighs by relative errors") {
    on_ranks({1}, [](const Communicator&) {
        const std::vector<Measurement> points = {{0, 1.0}, {10, 1.0}, {10, 2.0}};
        const LinkCost link = fit(points);
        INFO("0 bytes took 1 s, 10 bytes once 1 s and once 2 s.");
        INFO("At 10 bytes ((x - 1)/1)^2 + ((x - 2)/2)^2 is smallest for x = 1.2.");
        CHECK(near(link.alpha_s, 1.0, {}, 1e-6));
        CHECK(near(
            link.beta_s_per_byte, 0.02,
            {{0.05, "that is the fit without weights: an error counts as a part of the time"},
             {0.1 / 3, "the error is divided by the time, and then squared: 1/seconds^2"}},
            1e-6
        ));
    });
}

TEST_CASE("fit refuses points that determine no line, and times that are not above 0") {
    on_ranks({1}, [](const Communicator&) {
        {
            INFO("no point, one point, one size three times: through these go many lines, or none");
            CHECK_THROWS_AS(fit({}), std::invalid_argument);
            CHECK_THROWS_AS(fit(std::vector<Measurement>{{8, 1.0}}), std::invalid_argument);
            CHECK_THROWS_AS(
                fit(std::vector<Measurement>{{7, 0.1}, {7, 0.3}, {7, 0.7}}), std::invalid_argument
            );
        }
        CHECK_THROWS_AS(fit(std::vector<Measurement>{{7, 0.0}, {9, 0.3}}), std::invalid_argument);
        CHECK_THROWS_AS(fit(std::vector<Measurement>{{7, -0.1}, {9, 0.3}}), std::invalid_argument);
        INFO("NaN is a time that is not above 0");
        CHECK_THROWS_AS(
            fit(std::vector<Measurement>{{7, std::nan("")}, {9, 0.3}}), std::invalid_argument
        );
    });
}

TEST_CASE("crossover_bytes: from 9012 bytes on the ring is not slower than recursive doubling") {
    on_ranks({1}, [](const Communicator&) {
        const LinkCost link{0x1p-20, 0x1p-30};  // alpha/beta = 1024 bytes, and no rounding
        {
            INFO(
                "p = 8, alpha/beta = 1024 bytes: 11 alpha more, 1.25 K beta less; 8.8 * 1024 = "
                "9011.2"
            );
            CHECK(shown(crossover_bytes(recursive_doubling, ring, 8, link)) == "9012 bytes");
        }
        {
            INFO("the ring starts slower, but gains with every byte; the other way round, never");
            CHECK(shown(crossover_bytes(ring, recursive_doubling, 8, link)) == "never");
        }
        {
            INFO("p = 8: as many bytes in a row, 6 messages and not 14");
            CHECK(shown(crossover_bytes(ring, halving_doubling, 8, link)) == "0 bytes");
            CHECK(shown(crossover_bytes(halving_doubling, ring, 8, link)) == "never");
        }
        CHECK(shown(crossover_bytes(ring, ring, 8, link)) == "0 bytes");
        CHECK(shown(crossover_bytes(naive, ring, 5, link)) == "0 bytes");
        CHECK(shown(crossover_bytes(naive, recursive_doubling, 1, link)) == "0 bytes");
    });
}

TEST_CASE("crossover_bytes: the additions count as well") {
    on_ranks({1}, [](const Communicator&) {
        const LinkCost link{0x1p-20, 0x1p-30, 0x1p-30};
        {
            INFO(
                "p = 8, alpha/beta = 1024 bytes, gamma = beta: the ring starts 11 alpha behind, "
                "and "
                "gains 1.25 K beta and 2.125 K gamma; 11 * 1024 / 3.375 = 3337.5"
            );
            CHECK(shown(crossover_bytes(recursive_doubling, ring, 8, link)) == "3338 bytes");
        }
        INFO("p = 2, bytes travel for nothing: the ring adds half as much");
        const LinkCost slow_cores{0x1p-20, 0.0, 0x1p-30};
        CHECK(shown(crossover_bytes(recursive_doubling, ring, 2, slow_cores)) == "2048 bytes");
    });
}

TEST_CASE("crossover_bytes takes a few operations, wherever the crossover is") {
    on_ranks({1}, [](const Communicator&) {
        const LinkCost link{0x1p-6, 0x1p-30};  // alpha/beta = 2^24 bytes; 8.8 times that
        const Comparison quick = takes_a_few_operations("the sizes below it", [&] {
            const auto bytes = crossover_bytes(recursive_doubling, ring, 8, link);
            REQUIRE(shown(bytes) == "147639501 bytes");
        });
        CHECK(quick);
    });
}

TEST_CASE("at the crossover the two predictions agree, and one byte before it b is slower") {
    on_ranks({1}, [](const Communicator&) {
        const LinkCost link{3e-6, 0.7e-10, 0.3e-10};
        for (const AllReduceAlgorithm a : kAll) {
            for (const AllReduceAlgorithm b : kAll) {
                for (const int p : {3, 2, 4, 5, 8, 9}) {
                    const auto from = crossover_bytes(a, b, p, link);
                    INFO(
                        "from " << name_of(a) << " to " << name_of(b) << ", p = " << p << ": "
                                << shown(from)
                    );
                    const auto slower_s = [&](std::size_t bytes) {
                        const double a_s = predicted_s(a, bytes, p, link);
                        return (predicted_s(b, bytes, p, link) - a_s) / a_s;
                    };
                    if (from) {
                        CHECK(slower_s(*from) <= 1e-12);
                        CHECK(slower_s(10 * *from + 1'000'000) <= 1e-12);
                        CHECK((*from <= 1 || slower_s(*from - 2) > 0));
                    } else {
                        CHECK(slower_s(1'000'000'000) > 0);
                    }
                }
            }
        }
    });
}
