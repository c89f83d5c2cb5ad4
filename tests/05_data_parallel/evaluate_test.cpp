// What evaluate must do: the counts of one rank alone, with each example on exactly one rank.
#include "exercises/05_data_parallel/evaluate.hpp"

#include <ATen/ops/zeros.h>
#include <algorithm>
#include <c10/core/GradMode.h>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "tests/harness/words/patterns.hpp"
#include "tests/harness/words/refusals.hpp"
#include "tests/harness/words/settings.hpp"
#include "tests/harness/words/tensors.hpp"
#include "tests/harness/words/throws.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kForbid(
    {"collectives"}, "This exercise stands on your own ring_all_reduce, of chapter 03."
);

/// What there is to evaluate.
struct Exam {
    std::size_t n = 7;
    std::size_t batch = 3;
    std::uint32_t right = 0x9b47a536;  // bit i mod 32: does the model get example i right?
    std::size_t classes = 10;
    float highest = 3;       // of all scores; each example has a largest one of its own
    bool contiguous = true;  // are the scores that, in memory?
    std::function<void()> in_load = [] {};     // what load does besides
    std::function<void()> in_forward = [] {};  // and forward
};

/// One call: n examples whose pictures are their numbers, a model, and what this rank asked them for.
struct Trial {
    Exam exam;
    Evaluation got = {};
    std::vector<float> loaded = std::vector<float>(exam.n);  // how often each example
    std::size_t share = 0;                                   // how many in all
    std::vector<int> lengths = {};  // how many each call of load, and of forward, was given
    bool autograd_was_on = false;   // in forward

    void call(const Communicator& comm) {
        const auto forward = [this](const at::Tensor& pictures) { return scores(pictures); };
        const auto load = [this](std::span<const std::size_t> examples) { return batch(examples); };
        got = evaluate(forward, load, exam.n, exam.batch, comm);
    }

    [[nodiscard]] bool is_right(std::size_t i) const { return (exam.right >> i % 32) % 2 == 1; }
    [[nodiscard]] std::size_t label(std::size_t i) const { return (i * 7 + 3) % exam.classes; }

    nn::Batch batch(std::span<const std::size_t> examples) {
        const auto rows = std::ssize(examples);
        exam.in_load();
        lengths.push_back(static_cast<int>(rows));
        std::vector<float> pictures;
        std::vector<float> labels;
        for (const std::size_t i : examples) {
            expects(i < exam.n, "load was asked for an example that is none of 0 to n-1");
            loaded[i] += 1;
            ++share;
            pictures.push_back(static_cast<float>(i));
            labels.push_back(static_cast<float>(label(i)));
        }
        return {filled({rows, 1}, pictures), filled({rows}, labels).to(at::kLong)};
    }

    at::Tensor scores(const at::Tensor& pictures) {
        lengths.push_back(static_cast<int>(pictures.size(0)));
        autograd_was_on = autograd_was_on || c10::GradMode::is_enabled();
        exam.in_forward();
        std::vector<float> all;
        for (const float picture : elements(pictures)) {
            const auto i = static_cast<std::size_t>(picture);
            const std::size_t answer = label(i) + (is_right(i) ? 0 : 1);
            for (std::size_t c = 0; c < exam.classes; ++c) {
                const std::size_t below = (c + exam.classes - answer) % exam.classes;
                all.push_back(exam.highest - static_cast<float>(below + i % 5));
            }
        }
        const auto classes = static_cast<std::int64_t>(exam.classes);
        const at::Tensor result = filled({pictures.size(0), classes}, all);
        return exam.contiguous ? result : result.t().contiguous().t();
    }
};

/// The counts of examples that were loaded so often.
Evaluation counts_of(const std::vector<float>& loaded, const Trial& trial) {
    Evaluation counts;
    for (std::size_t i = 0; i < loaded.size(); ++i) {
        const auto times = static_cast<std::int64_t>(loaded[i]);
        counts.counted += times;
        counts.correct += trial.is_right(i) ? times : 0;
    }
    return counts;
}

/// What all ranks loaded.
struct Shares {
    std::vector<float> loaded;        // how often each example, by all together
    std::vector<Evaluation> of_rank;  // the counts of each one's share
};

/// Tells every rank, by messages of the test's own.
Shares exchanged(const Trial& trial, const Communicator& comm) {
    const int p = comm.size();
    const auto n = static_cast<int>(trial.exam.n);
    std::vector<float> theirs(trial.exam.n);
    Shares shares{theirs, std::vector<Evaluation>(static_cast<std::size_t>(p))};
    for (int s = 0; s < p; ++s) {
        const int other = (s - comm.rank() + p) % p;  // whose turn it is with this rank as well
        MPI_CHECK(MPI_Sendrecv(
            trial.loaded.data(), n, MPI_FLOAT, other, 0, theirs.data(), n, MPI_FLOAT, other, 0,
            comm.handle(), MPI_STATUS_IGNORE
        ));
        shares.of_rank[static_cast<std::size_t>(other)] = counts_of(theirs, trial);
        accumulate(theirs, shares.loaded, ReduceOp::sum);
    }
    return shares;
}

std::string text_of(const Evaluation& counts) {
    return std::to_string(counts.correct) + " correct of " + std::to_string(counts.counted);
}

/// As few as the exam allows.
long batches_of(std::size_t examples, const Exam& exam) {
    return static_cast<long>(examples / exam.batch + (examples % exam.batch == 0 ? 0 : 1));
}

/// The counts are those of one rank alone; `of_rank`: those of each share.
Comparison right_counts(const Trial& trial, const std::vector<Evaluation>& of_rank = {}) {
    const Evaluation right = counts_of(std::vector<float>(trial.exam.n, 1), trial);
    const Evaluation& got = trial.got;
    std::string meaning =
        ": an answer is the class of the largest score, each call counts from 0, and a mean of "
        "accuracies gives each rank, or batch, the same weight";
    const auto part = static_cast<double>(trial.exam.n) / static_cast<double>(of_rank.size());
    double averaged = 0;
    long batches = 0;
    for (const Evaluation& here : of_rank) {
        const auto length = static_cast<double>(std::max<std::int64_t>(here.counted, 1));
        averaged += static_cast<double>(here.correct) / length * part;
        batches += batches_of(static_cast<std::size_t>(here.counted), trial.exam);
        if (got == here) {
            meaning = ": that is right for one rank's share alone";
        }
    }
    if (got == Evaluation{std::llround(averaged), right.counted}) {
        meaning =
            ": as if the ranks' accuracies were averaged, where a short share weighs as much as a "
            "long one";
    } else if (got == Evaluation{right.correct, batches}) {
        meaning = ": that counts the batches, and not the examples in them";
    }
    return {got == right, "expected " + text_of(right) + ", got " + text_of(got) + meaning};
}

/// load and forward get `batch` examples at a time, then the rest, and never none.
Comparison in_batches(const Trial& trial) {
    const auto calls = 2 * batches_of(trial.share, trial.exam);
    const std::set<int> lengths(trial.lengths.begin(), trial.lengths.end());
    const bool fit = lengths.empty() || (*lengths.begin() > 0 &&
                                         std::cmp_less_equal(*lengths.rbegin(), trial.exam.batch));
    return {
        fit && std::ssize(trial.lengths) == calls,
        "load and forward were called " + std::to_string(trial.lengths.size()) + " times, for " +
            list(lengths) + " examples; right are " + std::to_string(calls) +
            " times, with 1 to `batch`"};
}

/// Makes the call for each of these, and all checks after it.
void tries(const std::vector<int>& worlds, const std::vector<Exam>& exams) {
    on_ranks(worlds, [&](const Communicator& comm) {
        for (const Exam& exam : exams) {
            Trial trial{exam};
            const Traffic traffic = record(comm, [&] { trial.call(comm); });
            const Shares shares = exchanged(trial, comm);
            const long steps = 2L * (comm.size() - 1);
            const Cost cost{.messages_sent = at_most(steps), .bytes_sent = at_most(4 * steps)};
            std::string of_ranks;
            for (const Evaluation& share : shares.of_rank) {
                of_ranks += (of_ranks.empty() ? "" : ", ") + text_of(share);
            }
            INFO("n = " << exam.n << ", batch = " << exam.batch << ", p = " << comm.size());
            const char* const lie = exam.contiguous ? "" : "not contiguous, ";
            INFO("scores: " << lie << exam.classes << " classes, the largest is " << exam.highest);
            INFO("rank by rank: " << of_ranks);
            UNSCOPED_INFO("how often was each example loaded, by all ranks together?");
            CHECK(same(shares.loaded, std::vector<float>(exam.n, 1)));
            UNSCOPED_INFO("one rank has more than its part, and all wait for it");
            CHECK(static_cast<long>(trial.share) <= ceil_div(exam.n, comm.size()));
            CHECK(right_counts(trial, shares.of_rank));
            UNSCOPED_INFO("a rank that has none calls neither: a model may throw where B is 0");
            CHECK(in_batches(trial));
            UNSCOPED_INFO("both counts go together, and once, after the last batch");
            CHECK(within(traffic, cost));
        }
    });
}

/// So many examples, or a batch of so many, must be refused before anything is loaded.
void refuses_exam(std::size_t n, std::size_t batch, const Communicator& comm) {
    bool called = false;
    const auto load = [&](std::span<const std::size_t>) -> nn::Batch {
        called = true;
        throw std::runtime_error("load was called");
    };
    const auto forward = [](const at::Tensor& pictures) { return pictures; };
    refuses(
        comm, "n = " + std::to_string(n) + ", batch = " + std::to_string(batch),
        [&] { evaluate(forward, load, n, batch, comm); },
        [&] {
            return Comparison{!called, "load was called"};
        }
    );
}

/// Seven examples first, which tell most; then every edge of "p shares".
void tries_all_sizes(const std::vector<int>& worlds) {
    std::vector<Exam> exams;
    for (const std::size_t n : {7, 0, 1, 2, 3, 4, 5, 6, 10, 11, 12, 20, 100}) {
        for (const std::size_t batch : {3, 1, 1000}) {
            exams.push_back({.n = n, .batch = batch});
        }
    }
    tries(worlds, exams);
}

Trial trial_of(const Call& call) {
    return {{.n = call.n, .batch = 64, .right = Exam().right >> 8 * call.salt}};
}

/// For the harness's patterns: data is the two counts.
const Attempt kAttempt{
    .name = "evaluate",
    .before = [](const Call&, const Communicator&) { return Buffers(); },
    .call =
        [](Buffers& b, const Call& call, const Communicator& comm) {
            Trial trial = trial_of(call);
            trial.call(comm);
            b.data = {static_cast<float>(trial.got.correct), static_cast<float>(trial.got.counted)};
        },
    .outcome =
        [](const Buffers& b, const Call& call, const Communicator&) {
            Trial trial = trial_of(call);
            trial.got = {std::llround(b.data[0]), std::llround(b.data[1])};
            return right_counts(trial);
        }};

}  // namespace

TEST_CASE(
    "evaluate returns the counts of one rank alone, by one look at each example and one all-reduce"
) {
    tries_all_sizes(kWorlds);
}

TEST_CASE("evaluate adds counts up, whichever of five examples are right") {
    // whatever the shares are, in some of the 32 patterns the mean of their accuracies is wrong
    std::vector<Exam> exams;
    for (std::uint32_t right = 0; right < 32; ++right) {
        exams.push_back({.n = 5, .batch = 2, .right = right});
    }
    tries({3, 1, 2, 4}, exams);
}

TEST_CASE("evaluate takes the largest of each example's scores, however they come") {
    const std::vector<Exam> exams = {
        {.n = 20, .classes = 2},        {.n = 20, .classes = 100},
        {.n = 20, .highest = -1},       {.n = 20, .highest = 200},
        {.n = 20, .contiguous = false}, {.n = 100'003, .batch = 5000, .classes = 3}};
    tries({3, 2, 1}, exams);
}

TEST_CASE("evaluate takes batches without an end: 2^32, and the largest number there is") {
    std::vector<Exam> exams;
    for (const std::size_t batch :
         {std::size_t{1} << 32U, std::numeric_limits<std::size_t>::max()}) {
        for (const std::size_t n : {20, 1}) {
            exams.push_back({.n = n, .batch = batch});
        }
    }
    tries({3, 1}, exams);
}

TEST_CASE("evaluate counts 2^24 - 1 examples, to the last one") {
    on_ranks({3}, [](const Communicator& comm) {
        const std::size_t n = (std::size_t{1} << 24U) - 1;
        // the model always answers 0, and the label is 1 for every fourth example
        const auto load = [](std::span<const std::size_t> examples) {
            const at::Tensor labels = at::empty({std::ssize(examples)}, at::kLong);
            std::ranges::transform(examples, labels.data_ptr<std::int64_t>(), [](std::size_t i) {
                return i % 4 == 0 ? 1 : 0;
            });
            return nn::Batch{at::empty({std::ssize(examples), 1}), labels};
        };
        const auto forward = [](const at::Tensor& pictures) {
            const at::Tensor scores = at::zeros({pictures.size(0), 2});
            scores.select(1, 0).fill_(1);
            return scores;
        };
        const Evaluation got = evaluate(forward, load, n, 100'000, comm);
        const auto counted = static_cast<std::int64_t>(n);
        const Evaluation right{counted - (counted + 3) / 4, counted};
        INFO("expected " << text_of(right) << ", got " << text_of(got));
        INFO("a float holds all whole numbers up to 2^24, and few of their thirds");
        CHECK((got == right));
    });
}

TEST_CASE("evaluate calls forward without autograd, and leaves autograd as it was") {
    on_ranks({1, 2, 3}, [](const Communicator& comm) {
        for (const bool before : {true, false}) {
            Trial trial;
            const c10::AutoGradMode mode(before);
            const Settings settings;
            trial.call(comm);
            const Comparison after = settings.unchanged();
            UNSCOPED_INFO("forward must not record what backward() would need: nobody calls it");
            CHECK_FALSE(trial.autograd_was_on);
            INFO("what comes next, training perhaps, must find autograd as it was");
            CHECK(after);
        }
    });
}

TEST_CASE("evaluate hands on whatever load and forward throw, and autograd is then as it was") {
    on_ranks({1, 2, 3}, [](const Communicator& comm) {
        for (const bool before : {true, false}) {
            const c10::AutoGradMode mode(before);
            const std::size_t n = 4 * static_cast<std::size_t>(comm.size());  // two batches a rank
            Comparison after;
            const auto call = [&](const Bomb& bomb) {
                const Settings settings;
                const std::shared_ptr<void> at_the_end(nullptr, [&](void*) {
                    after = settings.unchanged();
                    c10::GradMode::set_enabled(before);
                });
                Trial({.n = n, .in_load = bomb, .in_forward = bomb}).call(comm);
            };
            everything_throws(4, call, [&] {
                Trial trial{{.n = n}};
                trial.call(comm);
                return after ? right_counts(trial) : after;
            });
        }
    });
}

TEST_CASE("evaluate leaves autograd as it was if a message fails") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        const c10::AutoGradMode mode(true);
        const Settings settings;
        Trial trial;
        {
            const FailingMessages failing;
            answer(comm, [&] { trial.call(comm); });
        }
        const Comparison after = settings.unchanged();
        c10::GradMode::set_enabled(true);
        CHECK(after);
    });
}

TEST_CASE("evaluate may be called in forward: the one outside goes on where it was") {
    on_ranks({3, 2}, [](const Communicator& comm) {
        const Communicator self = comm.split(comm.rank());
        Comparison inside;
        const auto another = [&] {
            Trial trial{{.n = 11, .batch = 4, .right = 0x2a5}};
            trial.call(self);
            const Comparison result = right_counts(trial);
            inside = inside ? result : inside;
        };
        Trial trial{{.n = 20, .in_forward = another}};
        trial.call(comm);
        const Shares shares = exchanged(trial, comm);
        INFO("each rank's forward evaluates another set, on that rank alone");
        CHECK(inside);
        UNSCOPED_INFO("how often was each example loaded, by all ranks together?");
        CHECK(same(shares.loaded, std::vector<float>(20, 1)));
        CHECK(right_counts(trial, shares.of_rank));
    });
}

TEST_CASE("evaluate refuses 2^24 examples, and batches of none, before it loads any") {
    on_ranks({3, 1}, [](const Communicator& comm) {
        refuses_exam(std::size_t{1} << 24U, 3, comm);
        refuses_exam(7, 0, comm);
        refuses_exam(0, 0, comm);
    });
}

TEST_CASE("evaluate refuses more examples than 32 bits count, of which they take a few for all") {
    on_ranks({3, 1}, [](const Communicator& comm) {
        refuses_exam((std::size_t{1} << 32U) + 3, 3, comm);
    });
}

TEST_CASE("evaluate can be called twice in a row") {
    two_in_a_row(kAttempt, "is something left of the first call?");
}

TEST_CASE("evaluate stays inside the communicator it is given") {
    on_other_communicators(kAttempt);
}

TEST_CASE("evaluate throws dist::Error if a message fails") {
    reports_failures(kAttempt);
}

TEST_CASE("evaluate is right on 11 ranks", "[many]") {
    tries_all_sizes({11});
}
