// pipeline_schedule: the rows of every kind, and what they take in time and memory, against their formulas.
#include "exercises/08_model_parallel/pipeline_schedule.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/08_model_parallel/schedule_rows.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/words/text.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

using enum ActionKind;
using enum ScheduleKind;

/// What a wrong cell is likely to tell. GPipe has all F of a row first.
std::string likely(const Action* got, const Action* right, bool is_all_f_first) {
    if (got == nullptr || right == nullptr) {
        return got == nullptr ? ": the row ends too early" : ": the row is too long";
    }
    if (got->kind == right->kind && got->micro_batch != right->micro_batch) {
        return ": micro-batches go through in another order";
    }
    if (got->kind == right->kind) {
        return ": that is another stage, so chunks come in another order, or have other numbers";
    }
    if (got->kind == weight_gradient) {
        return ": this W comes too early";
    }
    if (right->kind == weight_gradient) {
        return ": the W that has to come before it is late";
    }
    return right->kind == forward ? ": the backward begins too early, or too few F come first"
           : is_all_f_first       ? ": there is no F more, each micro-batch has one"
                                  : ": one F more than may be in flight: a B comes before it";
}

Comparison same_rows(const Schedule& got, const Schedule& right) {
    for (std::size_t rank = 0; rank < std::min(got.size(), right.size()); ++rank) {
        const Row& row = right[rank];
        const auto [is, should] = std::ranges::mismatch(got[rank], row);
        if (is == got[rank].end() && should == row.end()) {
            continue;
        }
        const bool is_all_f_first =
            std::ranges::is_partitioned(row, [](const Action& one) { return one.kind == forward; });
        const Action* const got_cell = is == got[rank].end() ? nullptr : &*is;
        const Action* const right_cell = should == row.end() ? nullptr : &*should;
        const auto named = [](const Action* one) {
            return one == nullptr ? "no more" : cell(*one);
        };
        return {
            false,
            text(
                "row ", rank, ", cell ", should - row.begin(), ": expected ", named(right_cell),
                ", got ", named(got_cell), likely(got_cell, right_cell, is_all_f_first),
                "\nexpected ", text_of_row(row), "\ngot      ", text_of_row(got[rank])
            )};
    }
    return {
        got.size() == right.size(),
        text("expected a row for each of ", right.size(), " ranks, got ", got.size())};
}

/// For each p and m, and v where there are chunks; the smallest first.
std::vector<PipelineCase> cases_of(ScheduleKind kind) {
    std::vector<PipelineCase> all;
    for (int p = 1; p <= 5; ++p) {
        for (int m = 1; m <= 11; ++m) {
            for (int v = 1; v <= (kind == interleaved ? 3 : 1); ++v) {
                if (kind != interleaved || m % std::max(1, m / p) == 0) {
                    all.push_back({kind, p, m, v});
                }
            }
        }
    }
    return all;
}

const std::vector<ScheduleKind> kKinds = {
    gpipe, one_forward_one_backward, interleaved, zero_bubble};

/// Whether these are the rows.
void is_written(const Schedule& rows, const std::string& text) {
    CHECK(same_rows(rows, read_schedule(text)));
}

void takes(const PipelineCase& one, const PipelineTimes& times, double total, double bubble) {
    const PipelineRun run =
        simulate_schedule(pipeline_schedule(one.kind, one.p, one.m, one.v), times);
    INFO(
        text_of(one) << "; F " << times.forward << ", I " << times.input_gradient << ", W "
                     << times.weight_gradient
    );
    INFO(
        "total " << run.total << ", expected " << total << "; a rank's bubble is the total less "
                 << "what the rank computes: " << bubble
    );
    REQUIRE(run.total == total);
    REQUIRE(run.bubble == std::vector<double>(static_cast<std::size_t>(one.p), bubble));
}

const std::vector<PipelineTimes> kTimes = {
    {1, 1, 1, 0}, {2, 2, 1, 0}, {2, 3, 1, 0}, {3, 2, 2, 0}, {4, 5, 3, 0}};

}  // namespace

TEST_CASE("pipeline_schedule makes GPipe: all F, then all B in the same order") {
    on_ranks({1}, [](const Communicator&) {
        is_written(
            pipeline_schedule(gpipe, 2, 3), "0F0,0F1,0F2,0B0,0B1,0B2\n1F0,1F1,1F2,1B0,1B1,1B2"
        );
    });
}

TEST_CASE("pipeline_schedule makes 1F1B: p-1-s F first, then an F and a B in turn") {
    on_ranks({1}, [](const Communicator&) {
        is_written(
            pipeline_schedule(one_forward_one_backward, 3, 4),
            "0F0,0F1,0F2,0B0,0F3,0B1,0B2,0B3\n"
            "1F0,1F1,1B0,1F2,1B1,1F3,1B2,1B3\n"
            "2F0,2B0,2F1,2B1,2F2,2B2,2F3,2B3"
        );
        INFO("fewer micro-batches than ranks");
        is_written(pipeline_schedule(one_forward_one_backward, 3, 1), "0F0,0B0\n1F0,1B0\n2F0,2B0");
    });
}

TEST_CASE("pipeline_schedule makes interleaved 1F1B: chunks take turns, in groups of micro-batches"
) {
    on_ranks({1}, [](const Communicator&) {
        is_written(
            pipeline_schedule(interleaved, 2, 4, 2),
            "0F0,0F1,2F0,2F1,0F2,2B0,0F3,2B1,2F2,0B0,2F3,0B1,2B2,2B3,0B2,0B3\n"
            "1F0,1F1,3F0,3B0,3F1,3B1,1F2,1B0,1F3,1B1,3F2,3B2,3F3,3B3,1B2,1B3"
        );
        is_written(
            pipeline_schedule(interleaved, 2, 2, 3),
            "0F0,0F1,2F0,2F1,4F0,4F1,4B0,4B1,2B0,2B1,0B0,0B1\n"
            "1F0,1F1,3F0,3F1,5F0,5B0,5F1,5B1,3B0,3B1,1B0,1B1"
        );
        INFO("5 micro-batches on 2 ranks are no two groups; 5 on 3 ranks are one of 5");
        CHECK_THROWS_AS(pipeline_schedule(interleaved, 2, 5, 2), std::invalid_argument);
        is_written(
            {pipeline_schedule(interleaved, 3, 5, 2).back()},
            "2F0,2F1,2F2,2F3,2F4,5F0,5B0,5F1,5B1,5F2,5B2,5F3,5B3,5F4,5B4,2B0,2B1,2B2,2B3,2B4"
        );
    });
}

TEST_CASE("pipeline_schedule makes zero bubble: W waits for s more I, and none stays longer") {
    on_ranks({1}, [](const Communicator&) {
        is_written(
            pipeline_schedule(zero_bubble, 3, 4),
            "0F0,0F1,0F2,0I0,0W0,0F3,0I1,0W1,0I2,0W2,0I3,0W3\n"
            "1F0,1F1,1I0,1F2,1I1,1W0,1F3,1I2,1W1,1I3,1W2,1W3\n"
            "2F0,2I0,2F1,2I1,2F2,2I2,2W0,2F3,2I3,2W1,2W2,2W3"
        );
        INFO("fewer micro-batches than ranks");
        is_written(
            pipeline_schedule(zero_bubble, 3, 2),
            "0F0,0F1,0I0,0W0,0I1,0W1\n1F0,1F1,1I0,1I1,1W0,1W1\n2F0,2I0,2F1,2I1,2W0,2W1"
        );
    });
}

TEST_CASE("pipeline_schedule refuses numbers below 1, and chunks that are none") {
    on_ranks({1}, [](const Communicator&) {
        constexpr int kLeast = std::numeric_limits<int>::min();
        for (const ScheduleKind kind : kKinds) {
            INFO(text_of({kind, 2, 4, 1}) << ", with a number that is less than 1");
            for (const int wrong : {0, -1, kLeast}) {
                CHECK_THROWS_AS(pipeline_schedule(kind, wrong, 4), std::invalid_argument);
                CHECK_THROWS_AS(pipeline_schedule(kind, 2, wrong), std::invalid_argument);
                CHECK_THROWS_AS(pipeline_schedule(kind, 2, 4, wrong), std::invalid_argument);
            }
            if (kind != interleaved) {
                INFO("only interleaved has two chunks a rank");
                CHECK_THROWS_AS(pipeline_schedule(kind, 2, 4, 2), std::invalid_argument);
            }
        }
        for (const auto& [p, m] : {std::pair{2, 5}, {3, 7}, {4, 9}, {4, 11}}) {
            INFO(text_of({interleaved, p, m, 2}) << ": no multiple of m div p");
            CHECK_THROWS_AS(pipeline_schedule(interleaved, p, m, 2), std::invalid_argument);
        }
    });
}

TEST_CASE("simulate_schedule begins each computation when the rank is free and its input there") {
    on_ranks({1}, [](const Communicator&) {
        const auto check = [](const char* rows, const PipelineTimes& t, const std::string& drawn) {
            INFO(rows << "; F " << t.forward << ", I " << t.input_gradient);
            INFO("W " << t.weight_gradient << ", B I + W, and " << t.send << " from rank to rank");
            CHECK(draw_schedule(simulate_schedule(read_schedule(rows), t).rows) == drawn);
        };
        check(
            "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1", {2, 3, 1, 5},
            "rank 0  F0 -- F1 -- .  .  .  .  .  .  .  .  .  .  .  .  .  .  B0 -- -- -- .  .  B1 -- "
            "-- --\n"
            "rank 1  .  .  .  .  .  .  .  F0 -- B0 -- -- -- F1 -- B1 -- -- --\n"
        );
        check(
            "0F0,0I0,0W0\n1F0,1I0,1W0", {1, 2, 3, 1},
            "rank 0  F0 .  .  .  .  .  I0 -- W0 -- --\n"
            "rank 1  .  .  F0 I0 -- W0 -- --\n"
        );
        check(
            "0F0,3F0,3B0,0B0\n1F0,2F0,2B0,1B0", {1, 1, 1, 1},
            "rank 0  0F0 .   .   .   .   3F0 3B0 --  .   .   .   .   .   .   0B0 --\n"
            "rank 1  .   .   1F0 2F0 .   .   .   .   .   2B0 --  1B0 --\n"
        );
    });
}

TEST_CASE("GPipe and 1F1B have a bubble of p-1 F and B, a rate of (p-1)/(m+p-1)") {
    on_ranks({1}, [](const Communicator&) {
        for (const ScheduleKind kind : {gpipe, one_forward_one_backward}) {
            for (const PipelineCase& one : cases_of(kind)) {
                for (const PipelineTimes& t : kTimes) {
                    const double each = t.forward + t.input_gradient + t.weight_gradient;
                    takes(one, t, (one.m + one.p - 1) * each, (one.p - 1) * each);
                }
            }
        }
    });
}

TEST_CASE("interleaved has the bubble of p-1 chunks: (p-1)/(v m) of what a rank computes") {
    on_ranks({1}, [](const Communicator&) {
        for (const PipelineCase& one : cases_of(interleaved)) {
            for (const PipelineTimes& t : kTimes) {
                const double each = t.forward + t.input_gradient + t.weight_gradient;
                if (one.m >= one.p) {
                    takes(one, t, (one.v * one.m + one.p - 1) * each, (one.p - 1) * each);
                }
            }
        }
    });
}

TEST_CASE("zero bubble has a bubble of p-1 times F + I - W, where W is no longer than F and I") {
    on_ranks({1}, [](const Communicator&) {
        for (const PipelineCase& one : cases_of(zero_bubble)) {
            for (const PipelineTimes& t : kTimes) {
                const double each = t.forward + t.input_gradient + t.weight_gradient;
                const double bubble =
                    (one.p - 1) * (t.forward + t.input_gradient - t.weight_gradient);
                if (one.m >= one.p) {
                    takes(one, t, one.m * each + bubble, bubble);
                }
            }
        }
    });
}

TEST_CASE("simulate_schedule counts what is in flight from its F to its B or W") {
    on_ranks({1}, [](const Communicator&) {
        for (const ScheduleKind kind : kKinds) {
            for (const auto& [of, p, m, v] : cases_of(kind)) {
                std::vector<int> most;
                for (int s = 0; s < p; ++s) {
                    const int chunks = 2 * (p - 1 - s) + (v - 1) * (m / std::max(1, m / p)) + 1;
                    const int room = kind == gpipe         ? m
                                     : kind == interleaved ? chunks
                                     : kind == zero_bubble ? p
                                                           : p - s;
                    most.push_back(std::min(room, m * v));
                }
                INFO(text_of({kind, p, m, v}));
                INFO(
                    "GPipe m, 1F1B min(p-s, m), zero bubble min(p, m) on every rank: what its W "
                    "waits for stays"
                );
                const Schedule rows = pipeline_schedule(kind, p, m, v);
                REQUIRE(simulate_schedule(rows).most_in_flight == most);
            }
        }
    });
}

TEST_CASE("simulate_schedule leaves messages out, and takes rows of any lengths") {
    on_ranks({1}, [](const Communicator&) {
        const Schedule with = read_schedule(
            "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n\n"
            "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1"
        );
        const Schedule without = read_schedule("0F0,0F1,0B0,0B1\n\n1F0,1B0,1F1,1B1");
        const PipelineRun run = simulate_schedule(with);
        INFO("messages stand in rows 0 and 2, and row 1 is empty");
        CHECK(draw_schedule(run.rows) == draw_schedule(simulate_schedule(without).rows));
        CHECK(run.most_in_flight == std::vector{2, 0, 1});
        CHECK(run.bubble == std::vector<double>{3, 9, 3});
        CHECK(simulate_schedule({}).total == 0);
        const PipelineRun forward_only = simulate_schedule(read_schedule("0F0,0F1\n1F0,1F1"));
        CHECK(forward_only.total == 3);
        CHECK(forward_only.most_in_flight == std::vector{2, 2});
    });
}

TEST_CASE("simulate_schedule refuses rows that never end, and says what never begins") {
    on_ranks({1}, [](const Communicator& comm) {
        const std::vector<std::pair<std::string, std::vector<std::string>>> wrong = {
            {"0B0,0F0\n1F0,1B0", {"0B0", "1F0"}},
            {"0F0,0B0\n1F0,1F1,1B0", {"0B0", "1F1"}},
            {"0F0,0B0\n1F0", {"0B0"}},
            {"0F0,0W0,0I0", {"0W0"}},
            {"0I0,0F0", {"0I0"}},
            {"0F0,0B1,0W0", {"0B1", "0W0"}}};
        for (const auto& one : wrong) {
            const std::vector<std::string>& never = one.second;
            const Answer got = answer(comm, [&] {
                static_cast<void>(simulate_schedule(read_schedule(one.first)));
            });
            INFO(
                one.first << "\nit threw \"" << got.text
                          << "\"; what never begins: " << never.front()
            );
            CHECK(got.what == kInvalidArgument);
            const bool says = std::ranges::any_of(never, [&](const std::string& text) {
                return got.text.find(text) != std::string::npos;
            });
            CHECK(says);
        }
    });
}
