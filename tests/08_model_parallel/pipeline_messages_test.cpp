// pipeline_messages: messages that never wait in a circle, and every fault of a schedule by its name.
#include "exercises/08_model_parallel/pipeline_messages.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "exercises/01_point_to_point/send_recv.hpp"
#include "tests/08_model_parallel/schedule_rows.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/words/text.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

using enum ActionKind;

int stages_of(const Schedule& rows) {
    int stages = 0;
    for (const Row& row : rows) {
        for (const Action& action : row) {
            stages = std::max(stages, action.stage + 1);
        }
    }
    return stages;
}

int micro_batches_of(const Schedule& rows) {
    return std::ranges::max(rows[0], {}, &Action::micro_batch).micro_batch + 1;
}

std::size_t rank_of(int stage, const Schedule& rows) {
    const auto has = [stage](const Row& row) {
        return std::ranges::find(row, stage, &Action::stage) != row.end();
    };
    return static_cast<std::size_t>(std::ranges::find_if(rows, has) - rows.begin());
}

/// Whether `a` needs `b` before it in one row.
bool needs(const Action& a, const Action& b) {
    const bool is_gradient = a.kind == input_gradient || a.kind == backward;
    const bool b_is_gradient = b.kind == input_gradient || b.kind == backward;
    if (a.micro_batch != b.micro_batch) {
        return false;
    }
    if (a.stage != b.stage) {
        return (a.kind == forward && b.kind == forward && b.stage + 1 == a.stage) ||
               (is_gradient && b_is_gradient && a.stage + 1 == b.stage);
    }
    return (a.kind == forward && b.kind == recv_f) ||
           (is_gradient && (b.kind == forward || b.kind == recv_b)) ||
           (a.kind == weight_gradient && b.kind == input_gradient) ||
           (a.kind == send_f && b.kind == forward) || (a.kind == send_b && b_is_gradient);
}

/// Adds the messages: a RECV right before the computation that needs it, a SEND right behind the one that makes it.
Schedule with_messages(const Schedule& rows) {
    Schedule with;
    for (const Row& row : rows) {
        Row& own = with.emplace_back();
        const auto is_elsewhere = [&](int stage) {
            return 0 <= stage && stage < stages_of(rows) &&
                   std::ranges::find(row, stage, &Action::stage) == row.end();
        };
        for (const auto& [stage, kind, i] : row) {
            const int next = kind == forward ? 1 : -1;
            if (kind != weight_gradient && is_elsewhere(stage - next)) {
                own.push_back({stage, kind == forward ? recv_f : recv_b, i});
            }
            own.push_back({stage, kind, i});
            if (kind != weight_gradient && is_elsewhere(stage + next)) {
                own.push_back({stage, kind == forward ? send_f : send_b, i});
            }
        }
    }
    return with;
}

/// When the last computation ends, if each takes 1, be it I, W or B, and messages nothing.
double time_without_messages(const Schedule& rows) {
    const bool splits = std::ranges::find(rows[0], weight_gradient, &Action::kind) != rows[0].end();
    return simulate_schedule(rows, splits ? PipelineTimes{} : PipelineTimes{1, 0.5, 0.5, 0}).total;
}

/// What a run by hand ends with: when, and who stands where if it does not end.
struct HandRun {
    double end = 0;
    std::vector<Finding> stuck = {};
};

/// Runs rows whose computations take 1 and whose messages take nothing.
HandRun run_by_hand(const Schedule& rows, Sends sends) {
    std::vector<std::size_t> next(rows.size(), 0);
    std::vector<double> clock(rows.size(), 0);
    std::map<Action, double> sent;  // by RECV
    const auto at_front = [&](std::size_t rank, const Action& action) {
        return next[rank] < rows[rank].size() && rows[rank][next[rank]] == action;
    };
    for (bool moves = true; moves;) {
        moves = false;
        for (std::size_t rank = 0; rank < rows.size(); ++rank) {
            if (next[rank] == rows[rank].size()) {
                continue;
            }
            const Action& action = rows[rank][next[rank]];
            if (!is_message(action.kind)) {
                clock[rank] += 1;
            } else if (sends == Sends::rendezvous) {
                const std::size_t other = rank_of(peer_of(action).stage, rows);
                if (!at_front(other, peer_of(action))) {
                    continue;
                }
                ++next[other];
                clock[rank] = clock[other] = std::max(clock[rank], clock[other]);
            } else if (is_send(action.kind)) {
                sent[peer_of(action)] = clock[rank];
            } else if (sent.contains(action)) {
                clock[rank] = std::max(clock[rank], sent[action]);
            } else {
                continue;
            }
            ++next[rank];
            moves = true;
        }
    }
    HandRun run{.end = std::ranges::max(clock)};
    for (std::size_t rank = 0; rank < rows.size(); ++rank) {
        if (next[rank] < rows[rank].size()) {
            const Action& action = rows[rank][next[rank]];
            const auto other = static_cast<int>(rank_of(peer_of(action).stage, rows));
            run.stuck.push_back({Fault::deadlock, static_cast<int>(rank), action, other});
        }
    }
    return run;
}

std::string text_of(const std::vector<Finding>& findings) {
    const char* const names[] = {"misplaced", "repeated", "missing", "too early", "deadlock"};
    std::string all;
    for (const auto& [fault, rank, action, waits_for] : findings) {
        all += text(
            all.empty() ? "" : "; ", names[static_cast<int>(fault)], ": ", cell(action),
            " of rank ", rank
        );
        all += waits_for == -1 ? "" : text(", which waits for rank ", waits_for);
    }
    return all.empty() ? "nothing" : all;
}

Comparison same_findings(std::vector<Finding> got, std::vector<Finding> right) {
    std::ranges::sort(got);
    std::ranges::sort(right);
    return {got == right, "expected " + text_of(right) + "\ngot      " + text_of(got)};
}

/// The rows, for INFO: all of them if they are short.
std::string text_of_rows(const Schedule& rows) {
    std::string text;
    for (const Row& row : rows) {
        text += "\n" + text_of_row(row, 24);
    }
    return text;
}

Schedule rows_of(const PipelineCase& one) {
    return pipeline_schedule(one.kind, one.p, one.m, one.v);
}

/// Computations of every kind, and of stages that go down the ranks and up again.
std::vector<Schedule> computations() {
    std::vector<Schedule> all;
    for (const ScheduleKind kind :
         {ScheduleKind::gpipe, ScheduleKind::one_forward_one_backward, ScheduleKind::interleaved,
          ScheduleKind::zero_bubble}) {
        for (const auto& [p, m] : {std::pair{1, 2}, {2, 1}, {2, 4}, {3, 2}, {3, 6}, {4, 8}}) {
            all.push_back(rows_of({kind, p, m, kind == ScheduleKind::interleaved ? 2 : 1}));
        }
    }
    all.push_back(read_schedule("0F0,0F1,3F0,3B0,0B0,3F1,3B1,0B1\n1F0,2F0,1F1,2F1,2B0,1B0,2B1,1B1")
    );
    return all;
}

/// Schedules of all kinds of actions without a deadlock: all F first, with B and with I and W; two chunks a rank; and
/// stages that are neighbours on one rank.
std::vector<Schedule> to_spoil() {
    std::vector<Schedule> all;
    for (const char* text :
         {"0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1\n2F0,2F1,2B0,2B1",
          "0F0,0F1,0I0,0W0,0I1,0W1\n1F0,1F1,1I0,1W0,1I1,1W1",
          "0F0,2F0,0F1,2F1,2B0,0B0,2B1,0B1\n1F0,3F0,1F1,3F1,3B0,1B0,3B1,1B1",
          "0F0,3F0,3B0,0B0\n1F0,2F0,2B0,1B0"}) {
        all.push_back(with_messages(read_schedule(text)));
    }
    return all;
}

const std::vector<Sends> kSends = {Sends::buffered, Sends::rendezvous};

std::string text_of_sends(Sends sends) {
    return sends == Sends::buffered ? "sends are done at once" : "sends wait";
}

std::vector<Finding> found_in(const Schedule& rows, Sends sends) {
    return validate(rows, stages_of(rows), micro_batches_of(rows), sends);
}

void finds(const Schedule& rows, const std::vector<Finding>& right, const std::string& what) {
    for (const Sends sends : kSends) {
        INFO(what << "; " << text_of_sends(sends) << text_of_rows(rows));
        REQUIRE(same_findings(found_in(rows, sends), right));
    }
}

/// For each rank and each place in its row.
void at_each_place(const std::function<void(const Schedule& rows, int rank, std::size_t at)>& body
) {
    on_ranks({1}, [&](const Communicator&) {
        for (const Schedule& rows : to_spoil()) {
            for (std::size_t rank = 0; rank < rows.size(); ++rank) {
                for (std::size_t at = 0; at < rows[rank].size(); ++at) {
                    body(rows, static_cast<int>(rank), at);
                }
            }
        }
    });
}

}  // namespace

TEST_CASE(
    "insert_messages keeps the computations, and inserts each message once on both ranks, "
    "between what makes and what needs it"
) {
    on_ranks({1}, [](const Communicator&) {
        for (const Schedule& rows : computations()) {
            const Schedule with = insert_messages(rows);
            INFO(
                "the computations" << text_of_rows(rows) << "\nwith messages" << text_of_rows(with)
            );
            Schedule computed = with;
            Schedule sorted = with;
            Schedule right = with_messages(rows);
            for (Row& row : computed) {
                std::erase_if(row, [](const Action& action) { return is_message(action.kind); });
            }
            REQUIRE(computed == rows);
            std::ranges::for_each(sorted, [](Row& row) { std::ranges::sort(row); });
            std::ranges::for_each(right, [](Row& row) { std::ranges::sort(row); });
            INFO("sorted" << text_of_rows(sorted) << "\nright" << text_of_rows(right));
            REQUIRE(sorted == right);
            for (const Row& row : with) {
                for (std::size_t i = 0; i < row.size(); ++i) {
                    for (std::size_t later = i + 1; later < row.size(); ++later) {
                        INFO(cell(row[i]) << " stands before " << cell(row[later]));
                        REQUIRE(!needs(row[i], row[later]));
                    }
                }
            }
        }
    });
}

TEST_CASE(
    "insert_messages leaves no deadlock, and lets no rank run ahead, whether sends wait or not"
) {
    on_ranks({1}, [](const Communicator&) {
        for (const Schedule& rows : computations()) {
            const Schedule with = insert_messages(rows);
            for (const Sends sends : kSends) {
                const HandRun run = run_by_hand(with, sends);
                INFO(text_of_sends(sends) << text_of_rows(with));
                REQUIRE(same_findings(run.stuck, {}));
                INFO("each computation takes 1, and a message nothing");
                INFO("a RECV too early in its row holds its rank up");
                REQUIRE(run.end == time_without_messages(rows));
            }
        }
    });
}

TEST_CASE("insert_messages refuses an input that never comes, and rows that have messages") {
    on_ranks({1}, [](const Communicator&) {
        for (const char* text :
             {"0B0,0F0", "0F0,0W0,0I0", "0F0,0B0\n1F0,1F1,1B0", "0F0,0B1",
              "0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0"}) {
            INFO(text);
            CHECK_THROWS_AS(insert_messages(read_schedule(text)), std::invalid_argument);
        }
        CHECK(insert_messages({}).empty());
    });
}

TEST_CASE("validate finds nothing in a schedule that is right") {
    on_ranks({1}, [](const Communicator&) {
        for (const Schedule& rows : to_spoil()) {
            finds(rows, {}, "no rank waits for ever");
        }
        for (const Schedule& rows : computations()) {
            const Schedule with = with_messages(rows);
            INFO(
                "each RECV right before what needs it; sends are done at once" << text_of_rows(with)
            );
            REQUIRE(same_findings(found_in(with, Sends::buffered), {}));
        }
    });
}

TEST_CASE("validate names who waits for whom in a deadlock") {
    on_ranks({1}, [](const Communicator&) {
        const auto waits = [](int rank, const Action& action, int other) {
            return Finding{Fault::deadlock, rank, action, other};
        };
        const auto check = [](const char* what, const char* text,
                              const std::vector<Finding>& buffered,
                              const std::vector<Finding>& rendezvous) {
            const Schedule rows = read_schedule(text);
            INFO(what << text_of_rows(rows));
            {
                INFO("sends are done at once");
                CHECK(same_findings(found_in(rows, Sends::buffered), buffered));
            }
            INFO("sends wait");
            CHECK(same_findings(found_in(rows, Sends::rendezvous), rendezvous));
        };
        check(
            "1F1B, with each RECV right before what needs it",
            "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
            "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1",
            {}, {waits(0, {0, send_f, 1}, 1), waits(1, {1, send_b, 0}, 0)}
        );
        check(
            "sent as 1, 0 and received as 0, 1: a RECV takes its own message, if sends do not wait",
            "0F0,0F1,0SEND_F1,0SEND_F0,0RECV_B0,0B0,0RECV_B1,0B1\n"
            "1RECV_F0,1F0,1RECV_F1,1F1,1B0,1SEND_B0,1B1,1SEND_B1",
            {}, {waits(0, {0, send_f, 1}, 1), waits(1, {1, recv_f, 0}, 0)}
        );
        const std::vector<Finding> circle = {
            waits(0, {0, recv_b, 0}, 1), waits(1, {1, recv_f, 0}, 0), waits(2, {2, recv_f, 0}, 1)};
        check(
            "each rank waits for the other one's message; rank 2 is in no circle, and does not end",
            "0RECV_B0,0F0,0SEND_F0,0B0\n1RECV_F0,1F0,1SEND_F0,1RECV_B0,1B0,1SEND_B0\n"
            "2RECV_F0,2F0,2B0,2SEND_B0",
            circle, circle
        );
        for (const Schedule& computed : computations()) {
            const Schedule rows = with_messages(computed);
            INFO("sends wait" << text_of_rows(rows));
            REQUIRE(same_findings(
                found_in(rows, Sends::rendezvous), run_by_hand(rows, Sends::rendezvous).stuck
            ));
        }
    });
}

TEST_CASE("validate finds each action that is missing") {
    at_each_place([](Schedule rows, int rank, std::size_t at) {
        Row& row = rows[static_cast<std::size_t>(rank)];
        const Action gone = row[at];
        row.erase(row.begin() + static_cast<std::ptrdiff_t>(at));
        finds(rows, {{Fault::missing, rank, gone}}, "without " + cell(gone));
    });
    on_ranks({1}, [](const Communicator&) {
        const Schedule rows = read_schedule("0F0,0B0");
        INFO("0F0,0B0 alone, of 2 micro-batches, and of 2 stages");
        CHECK(same_findings(
            validate(rows, 1, 2, Sends::buffered),
            {{Fault::missing, 0, {0, forward, 1}}, {Fault::missing, 0, {0, backward, 1}}}
        ));
        CHECK(same_findings(
            validate(rows, 2, 1, Sends::buffered), {{Fault::missing, 0, {0, send_f, 0}},
                                                    {Fault::missing, 0, {0, recv_b, 0}},
                                                    {Fault::missing, -1, {1, recv_f, 0}},
                                                    {Fault::missing, -1, {1, forward, 0}},
                                                    {Fault::missing, -1, {1, backward, 0}},
                                                    {Fault::missing, -1, {1, send_b, 0}}}
        ));
    });
}

TEST_CASE("validate finds each action that is repeated, and I or W beside B") {
    at_each_place([](Schedule rows, int rank, std::size_t at) {
        Row& row = rows[static_cast<std::size_t>(rank)];
        const Action twice = row[at];
        row.push_back(twice);
        finds(rows, {{Fault::repeated, rank, twice}}, cell(twice) + " twice");
        if (twice.kind == backward) {
            row.back().kind = at % 2 == 0 ? input_gradient : weight_gradient;
            const std::string what = cell(row.back()) + " beside " + cell(twice);
            finds(rows, {{Fault::repeated, rank, row.back()}}, what);
        }
    });
    on_ranks({1}, [](const Communicator&) {
        finds(
            read_schedule("0F0,0F0,0F0,0I0"),
            {{Fault::repeated, 0, {0, forward, 0}},
             {Fault::repeated, 0, {0, forward, 0}},
             {Fault::missing, 0, {0, weight_gradient, 0}}},
            "0F0 three times, and no 0W0"
        );
    });
}

TEST_CASE("validate finds what stands before that which it needs, and deadlocks of the other swaps"
) {
    at_each_place([](Schedule rows, int rank, std::size_t at) {
        Row& row = rows[static_cast<std::size_t>(rank)];
        if (at + 1 == row.size()) {
            return;
        }
        const Action first = row[at];
        const Action second = row[at + 1];
        std::swap(row[at], row[at + 1]);
        for (const Sends sends : kSends) {
            const std::vector<Finding> early = {{Fault::too_early, rank, second}};
            INFO(cell(second) << " before " << cell(first) << ", which stood before it");
            INFO(text_of_sends(sends) << text_of_rows(rows));
            REQUIRE(same_findings(
                found_in(rows, sends), needs(second, first) ? early : run_by_hand(rows, sends).stuck
            ));
        }
    });
}

TEST_CASE("validate finds what is misplaced, and looks no further") {
    on_ranks({1}, [](const Communicator&) {
        const auto check = [](const Schedule& rows, int rank, const Row& misplaced,
                              const char* what) {
            std::vector<Finding> right;
            for (const Action& action : misplaced) {
                right.push_back({Fault::misplaced, rank, action});
            }
            INFO("2 stages, 1 micro-batch: " << what << text_of_rows(rows));
            CHECK(same_findings(validate(rows, 2, 1, Sends::rendezvous), right));
        };
        check(
            read_schedule("0F0,0F1,0F1,0F2"), 0,
            {{0, forward, 1}, {0, forward, 1}, {0, forward, 2}}, "no micro-batch 1"
        );
        check(
            {{{-1, forward, 0}, {0, forward, -1}}}, 0, {{-1, forward, 0}, {0, forward, -1}},
            "less than 0"
        );
        check(read_schedule("0F0,0B0\n2F0"), 1, {{2, forward, 0}}, "no stage 2");
        check(read_schedule("0F0\n0B0,1F0"), 1, {{0, backward, 0}}, "rank 0 has stage 0");
        check(
            read_schedule("0F0,0SEND_F0,1RECV_F0,1F0"), 0, {{0, send_f, 0}, {1, recv_f, 0}},
            "on one rank"
        );
        check(
            read_schedule("0F0,0RECV_F0,0SEND_B0\n1F0"), 0, {{0, recv_f, 0}, {0, send_b, 0}},
            "nobody is before stage 0"
        );
        check(
            read_schedule("0F0\n1F0,1SEND_F0,1RECV_B0"), 1, {{1, send_f, 0}, {1, recv_b, 0}},
            "nobody is behind stage 1"
        );
    });
}

TEST_CASE("three ranks go through each schedule, and each send waits for its receive") {
    const std::vector<PipelineCase> cases = {
        {ScheduleKind::gpipe, 3, 3},
        {ScheduleKind::one_forward_one_backward, 3, 4},
        {ScheduleKind::interleaved, 3, 3, 2},
        {ScheduleKind::zero_bubble, 3, 4}};
    on_ranks_each(
        {3}, [&](int) { return cases.size(); },
        [&](const Communicator& comm, std::size_t which) {
            const Schedule rows = insert_messages(rows_of(cases[which]));
            std::vector<std::string> wrong;
            for (const Action& action : rows[static_cast<std::size_t>(comm.rank())]) {
                if (!is_message(action.kind)) {
                    continue;
                }
                const auto peer = static_cast<int>(rank_of(peer_of(action).stage, rows));
                const auto [stage, kind, i] = is_send(action.kind) ? peer_of(action) : action;
                const auto right =
                    static_cast<float>(1000 * stage + 100 * static_cast<int>(kind) + i);
                float number = is_send(action.kind) ? right : -1;
                if (is_send(action.kind)) {
                    send({&number, 1}, peer, comm);
                } else {
                    recv({&number, 1}, peer, comm);
                }
                if (number != right) {
                    wrong.push_back(cell(action));
                }
            }
            INFO(text_of(cases[which]) << text_of_rows(rows));
            INFO("received another message: " << text(wrong));
            CHECK(wrong.empty());
        }
    );
}
