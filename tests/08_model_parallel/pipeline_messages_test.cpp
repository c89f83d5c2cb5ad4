// pipeline_messages: messages that never wait in a circle, and every fault of a schedule by its name.
#include "exercises/08_model_parallel/pipeline_messages.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "exercises/01_point_to_point/send_recv.hpp"
#include "tests/08_model_parallel/schedule_rows.hpp"
#include "tests/harness/harness.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

int stages_of(const Schedule& rows) {
    int stages = 0;
    for (const Row& row : rows) {
        for (const Action& action : row) {
            stages = std::max(stages, action.stage + 1);
        }
    }
    return stages;
}

std::size_t rank_of(int stage, const Schedule& rows) {
    const auto has = [stage](const Action& action) { return action.stage == stage; };
    const auto found =
        std::ranges::find_if(rows, [&](const Row& row) { return std::ranges::any_of(row, has); });
    return static_cast<std::size_t>(found - rows.begin());
}

/// The SEND of what a computation makes; itself if no other rank needs that.
Action send_of(const Action& action, const Schedule& rows) {
    const bool is_forward = action.kind == ActionKind::forward;
    const int to = action.stage + (is_forward ? 1 : -1);
    const bool stays = action.kind == ActionKind::weight_gradient || to < 0 ||
                       to >= stages_of(rows) || rank_of(to, rows) == rank_of(action.stage, rows);
    return stays ? action
                 : Action{
                       action.stage, is_forward ? ActionKind::send_f : ActionKind::send_b,
                       action.micro_batch};
}

/// The times at which all computations take 1, whether they are I and W or B.
PipelineTimes ones(const Schedule& rows) {
    const bool splits = std::ranges::any_of(rows[0], [](const Action& action) {
        return action.kind == ActionKind::weight_gradient;
    });
    return splits ? PipelineTimes{} : PipelineTimes{1, 0.5, 0.5, 0};
}

/// Computations and messages in the order of a clock: a message stands where its result is made, before what begins then.
Schedule with_messages(const Schedule& rows) {
    using Entry =
        std::tuple<double, int, Action, Action>;  // when, message or not, of which, itself
    RightTimes times(rows, ones(rows));
    std::vector<std::vector<Entry>> all(rows.size());
    for (std::size_t rank = 0; rank < rows.size(); ++rank) {
        for (std::size_t i = 0; i < rows[rank].size(); ++i) {
            const Action& action = rows[rank][i];
            all[rank].emplace_back(times.begin(rank, i), 1, action, action);
            const Action send = send_of(action, rows);
            if (send != action) {
                const double end = times.end(rank, i);
                all[rank].emplace_back(end, 0, send, send);
                all[rank_of(peer_of(send).stage, rows)].emplace_back(end, 0, send, peer_of(send));
            }
        }
    }
    Schedule with;
    for (auto& entries : all) {
        std::ranges::sort(entries);
        with.emplace_back();
        for (const Entry& entry : entries) {
            with.back().push_back(std::get<3>(entry));
        }
    }
    return with;
}

/// A RECV right before the computation that needs it, and a SEND right behind the one that makes it.
Schedule next_to_their_computations(const Schedule& rows) {
    Schedule with;
    for (const Row& row : rows) {
        with.emplace_back();
        for (const Action& action : row) {
            const auto [stage, kind, i] = action;
            const bool is_forward = kind == ActionKind::forward;
            const int from = is_forward ? stage - 1 : stage + 1;
            const bool comes = kind != ActionKind::weight_gradient && from >= 0 &&
                               from < stages_of(rows) &&
                               rank_of(from, rows) != rank_of(stage, rows);
            if (comes) {
                with.back().push_back(
                    {stage, is_forward ? ActionKind::recv_f : ActionKind::recv_b, i}
                );
            }
            with.back().push_back(action);
            if (const Action send = send_of(action, rows); send != action) {
                with.back().push_back(send);
            }
        }
    }
    return with;
}

/// When the last computation ends, if each takes 1 and messages nothing.
double time_without_messages(const Schedule& rows) {
    RightTimes times(rows, ones(rows));
    double end = 0;
    for (std::size_t rank = 0; rank < rows.size(); ++rank) {
        end = std::max(end, times.end(rank, rows[rank].size() - 1));
    }
    return end;
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
    HandRun run{.end = *std::ranges::max_element(clock)};
    for (std::size_t rank = 0; rank < rows.size(); ++rank) {
        if (next[rank] < rows[rank].size()) {
            const Action& action = rows[rank][next[rank]];
            const auto other = static_cast<int>(rank_of(peer_of(action).stage, rows));
            run.stuck.push_back({Fault::deadlock, static_cast<int>(rank), action, other});
        }
    }
    return run;
}

std::string text_of(const Finding& finding) {
    const char* const names[] = {"misplaced", "repeated", "missing", "too early", "deadlock"};
    std::string text = std::string(names[static_cast<int>(finding.fault)]) + ": " +
                       cell(finding.action) + " of rank " + std::to_string(finding.rank);
    if (finding.waits_for != -1) {
        text += ", which waits for rank " + std::to_string(finding.waits_for);
    }
    return text;
}

std::string text_of(const std::vector<Finding>& findings) {
    std::string text;
    for (const Finding& finding : findings) {
        text += (text.empty() ? "" : "; ") + text_of(finding);
    }
    return text.empty() ? "nothing" : text;
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

/// Computations of every kind, and of stages that go down the ranks and up again.
std::vector<Schedule> computations() {
    std::vector<Schedule> all;
    for (const ScheduleKind kind :
         {ScheduleKind::gpipe, ScheduleKind::one_forward_one_backward, ScheduleKind::interleaved,
          ScheduleKind::zero_bubble}) {
        for (const auto& [p, m] : {std::pair{1, 2}, {2, 1}, {2, 4}, {3, 2}, {3, 6}, {4, 8}}) {
            const int v = kind == ScheduleKind::interleaved ? 2 : 1;
            all.push_back(right_schedule({kind, p, m, v}));
        }
    }
    all.push_back(read_schedule("0F0,0F1,3F0,3B0,0B0,3F1,3B1,0B1\n1F0,2F0,1F1,2F1,2B0,1B0,2B1,1B1")
    );
    return all;
}

/// The schedules that are spoilt: all kinds of actions, small.
std::vector<Schedule> to_spoil() {
    std::vector<Schedule> all;
    for (const PipelineCase& one :
         {PipelineCase{ScheduleKind::one_forward_one_backward, 3, 3},
          {ScheduleKind::zero_bubble, 3, 3},
          {ScheduleKind::interleaved, 2, 2, 2}}) {
        all.push_back(with_messages(right_schedule(one)));
    }
    return all;
}

/// Whether `a` needs `b` before it in one row.
bool needs(const Action& a, const Action& b) {
    using enum ActionKind;
    const bool same = a.micro_batch == b.micro_batch;
    const bool is_gradient = a.kind == input_gradient || a.kind == backward;
    const bool b_is_gradient = b.kind == input_gradient || b.kind == backward;
    if (!same) {
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

/// Sends and receives by this rank's row, where each send waits for its receive. A message tells which one it is.
Comparison goes_through(const Schedule& rows, const Communicator& comm) {
    Comparison all;
    for (const Action& action : rows[comm.rank()]) {
        if (is_message(action.kind)) {
            const auto peer = static_cast<int>(rank_of(peer_of(action).stage, rows));
            const auto [stage, kind, i] = is_send(action.kind) ? peer_of(action) : action;
            const auto right = static_cast<float>(1000 * stage + 100 * static_cast<int>(kind) + i);
            float number = is_send(action.kind) ? right : -1;
            if (is_send(action.kind)) {
                send({&number, 1}, peer, comm);
            } else {
                recv({&number, 1}, peer, comm);
            }
            if (number != right) {
                all = {false, cell(action) + " received another message"};
            }
        }
    }
    return all;
}

using enum ActionKind;

const std::vector<Sends> kSends = {Sends::buffered, Sends::rendezvous};

std::string text_of_sends(Sends sends) {
    return sends == Sends::buffered ? "sends are done at once" : "sends wait";
}

int micro_batches_of(const Schedule& rows) {
    int most = 0;
    for (const Action& action : rows[0]) {
        most = std::max(most, action.micro_batch + 1);
    }
    return most;
}

std::vector<Finding> found_in(const Schedule& rows, Sends sends = Sends::rendezvous) {
    return validate(rows, stages_of(rows), micro_batches_of(rows), sends);
}

void finds(const Schedule& rows, const std::vector<Finding>& right, const std::string& what) {
    for (const Sends sends : kSends) {
        INFO(what << "; " << text_of_sends(sends) << text_of_rows(rows));
        REQUIRE(same_findings(found_in(rows, sends), right));
    }
}

/// For each rank and place in its row.
void at_each_place(
    const std::function<void(const Schedule& rows, std::size_t rank, std::size_t at)>& body
) {
    on_ranks({1}, [&](const Communicator&) {
        for (const Schedule& rows : to_spoil()) {
            for (std::size_t rank = 0; rank < rows.size(); ++rank) {
                for (std::size_t at = 0; at < rows[rank].size(); ++at) {
                    body(rows, rank, at);
                }
            }
        }
    });
}

}  // namespace

TEST_CASE("insert_messages keeps the computations, and inserts each message once on both ranks") {
    on_ranks({1}, [](const Communicator&) {
        for (const Schedule& rows : computations()) {
            const Schedule with = insert_messages(rows);
            INFO(
                "the computations" << text_of_rows(rows) << "\nwith messages" << text_of_rows(with)
            );
            Schedule without = with;
            Schedule messages = with;
            Schedule right = with_messages(rows);
            for (Row& row : without) {
                std::erase_if(row, [](const Action& action) { return is_message(action.kind); });
            }
            for (Schedule* const all : {&messages, &right}) {
                for (Row& row : *all) {
                    std::erase_if(row, [](const Action& action) {
                        return !is_message(action.kind);
                    });
                    std::ranges::sort(row);
                }
            }
            REQUIRE(same_rows(without, rows));
            INFO(
                "the messages alone, sorted" << text_of_rows(messages) << "\nright"
                                             << text_of_rows(right)
            );
            REQUIRE(messages == right);
        }
    });
}

TEST_CASE(
    "insert_messages leaves no deadlock, and lets no rank run ahead, whether sends wait or not"
) {
    on_ranks({1}, [](const Communicator&) {
        for (const Schedule& rows : computations()) {
            const double alone = time_without_messages(rows);
            const Schedule with = insert_messages(rows);
            for (const Sends sends : kSends) {
                const HandRun run = run_by_hand(with, sends);
                INFO(text_of_sends(sends) << text_of_rows(with));
                REQUIRE(same_findings(run.stuck, {}));
                INFO("each computation takes 1, and a message nothing");
                INFO("a RECV too early in its row holds its rank up");
                REQUIRE(run.end == alone);
            }
        }
    });
}

TEST_CASE("insert_messages puts each message between what makes and what needs it") {
    on_ranks({1}, [](const Communicator&) {
        for (const Schedule& rows : computations()) {
            const Schedule with = insert_messages(rows);
            INFO(text_of_rows(with));
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

TEST_CASE("insert_messages refuses an input that never comes, and rows that have messages") {
    on_ranks({1}, [](const Communicator&) {
        for (const char* text :
             {"0B0,0F0", "0F0,0W0,0I0", "0F0,0B0\n1F0,1F1,1B0", "0F0,0B0\n1B0,1F0", "0F0,0B1",
              "0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0",
              "0F0,0RECV_B0,0B0\n1F0,1B0"}) {
            INFO(text);
            CHECK_THROWS_AS(insert_messages(read_schedule(text)), std::invalid_argument);
        }
        CHECK(insert_messages({}).empty());
    });
}

TEST_CASE("validate finds nothing in a schedule that is right") {
    on_ranks({1}, [](const Communicator&) {
        for (const Schedule& rows : computations()) {
            finds(with_messages(rows), {}, "messages in the order of a clock");
            const Schedule close = next_to_their_computations(rows);
            INFO("each RECV right before what needs it" << text_of_rows(close));
            REQUIRE(same_findings(found_in(close, Sends::buffered), {}));
        }
    });
}

TEST_CASE("validate names who waits for whom in a deadlock") {
    on_ranks({1}, [](const Communicator&) {
        const Schedule rows = read_schedule(
            "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
            "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1"
        );
        INFO("1F1B, with each RECV right before what needs it; sends wait" << text_of_rows(rows));
        CHECK(same_findings(
            found_in(rows),
            {{Fault::deadlock, 0, {0, send_f, 1}, 1}, {Fault::deadlock, 1, {1, send_b, 0}, 0}}
        ));
        for (const Schedule& computed : computations()) {
            const Schedule close = next_to_their_computations(computed);
            INFO("sends wait" << text_of_rows(close));
            REQUIRE(same_findings(found_in(close), run_by_hand(close, Sends::rendezvous).stuck));
        }
    });
}

TEST_CASE("validate finds a deadlock of receives, where sends do not wait either") {
    on_ranks({1}, [](const Communicator&) {
        finds(
            read_schedule("0RECV_B0,0F0,0SEND_F0,0F1,0SEND_F1,0B0,0RECV_B1,0B1\n"
                          "1RECV_F1,1RECV_F0,1F0,1F1,1B0,1SEND_B0,1B1,1SEND_B1"),
            {{Fault::deadlock, 0, {0, recv_b, 0}, 1}, {Fault::deadlock, 1, {1, recv_f, 1}, 0}},
            "each rank waits for the other one's message"
        );
        finds(
            read_schedule("0RECV_B0,0F0,0SEND_F0,0B0\n1RECV_F0,1F0,1SEND_F0,1RECV_B0,1B0,1SEND_B0\n"
                          "2RECV_F0,2F0,2B0,2SEND_B0"),
            {{Fault::deadlock, 0, {0, recv_b, 0}, 1},
             {Fault::deadlock, 1, {1, recv_f, 0}, 0},
             {Fault::deadlock, 2, {2, recv_f, 0}, 1}},
            "rank 2 is in no circle, and does not come to its end either"
        );
        const Schedule other_order = read_schedule(
            "0F0,0F1,0SEND_F1,0SEND_F0,0RECV_B0,0B0,0RECV_B1,0B1\n"
            "1RECV_F0,1F0,1RECV_F1,1F1,1B0,1SEND_B0,1B1,1SEND_B1"
        );
        INFO("sent as 1, 0 and received as 0, 1: a RECV takes its own message, if sends do not wait"
        );
        CHECK(same_findings(found_in(other_order, Sends::buffered), {}));
        CHECK(same_findings(
            found_in(other_order),
            {{Fault::deadlock, 0, {0, send_f, 1}, 1}, {Fault::deadlock, 1, {1, recv_f, 0}, 0}}
        ));
    });
}

TEST_CASE("validate finds each action that is missing") {
    at_each_place([](const Schedule& rows, std::size_t rank, std::size_t at) {
        Schedule spoilt = rows;
        const Action gone = rows[rank][at];
        spoilt[rank].erase(spoilt[rank].begin() + static_cast<std::ptrdiff_t>(at));
        finds(spoilt, {{Fault::missing, static_cast<int>(rank), gone}}, "without " + cell(gone));
    });
    on_ranks({1}, [](const Communicator&) {
        const Schedule rows = read_schedule("0F0,0B0");
        INFO("0F0,0B0 alone, of 2 micro-batches, and of 2 stages");
        CHECK(same_findings(
            validate(rows, 1, 2, Sends::buffered),
            {{Fault::missing, 0, {0, forward, 1}}, {Fault::missing, 0, {0, backward, 1}}}
        ));
        const Comparison stage = same_findings(
            validate(rows, 2, 1, Sends::buffered), {{Fault::missing, 0, {0, send_f, 0}},
                                                    {Fault::missing, 0, {0, recv_b, 0}},
                                                    {Fault::missing, -1, {1, recv_f, 0}},
                                                    {Fault::missing, -1, {1, forward, 0}},
                                                    {Fault::missing, -1, {1, backward, 0}},
                                                    {Fault::missing, -1, {1, send_b, 0}}}
        );
        CHECK(stage);
    });
}

TEST_CASE("validate finds each action that is repeated, and I or W beside B") {
    at_each_place([](const Schedule& rows, std::size_t rank, std::size_t at) {
        Schedule spoilt = rows;
        const Action twice = rows[rank][at];
        spoilt[rank].push_back(twice);
        finds(spoilt, {{Fault::repeated, static_cast<int>(rank), twice}}, cell(twice) + " twice");
        if (twice.kind == backward) {
            const Action part = {
                twice.stage, at % 2 == 0 ? input_gradient : weight_gradient, twice.micro_batch};
            spoilt[rank].back() = part;
            finds(
                spoilt, {{Fault::repeated, static_cast<int>(rank), part}},
                cell(part) + " beside " + cell(twice)
            );
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
    at_each_place([](const Schedule& rows, std::size_t rank, std::size_t at) {
        if (at + 1 == rows[rank].size()) {
            return;
        }
        Schedule spoilt = rows;
        std::swap(spoilt[rank][at], spoilt[rank][at + 1]);
        const Action first = rows[rank][at];
        const Action second = rows[rank][at + 1];
        for (const Sends sends : kSends) {
            const std::vector<Finding> right =
                needs(second, first)
                    ? std::vector<Finding>{{Fault::too_early, static_cast<int>(rank), second}}
                    : run_by_hand(spoilt, sends).stuck;
            INFO(
                cell(second) << " before " << cell(first) << ", which stood before it; "
                             << text_of_sends(sends) << text_of_rows(spoilt)
            );
            REQUIRE(same_findings(found_in(spoilt, sends), right));
        }
    });
}

TEST_CASE("validate finds what is misplaced, and looks no further") {
    on_ranks({1}, [](const Communicator&) {
        const auto check = [](const char* text, const std::vector<Finding>& right,
                              const char* what) {
            const Schedule rows = read_schedule(text);
            INFO(text << "\n2 stages, 1 micro-batch: " << what);
            CHECK(same_findings(validate(rows, 2, 1, Sends::rendezvous), right));
        };
        const auto at = [](int rank, const Action& action) {
            return Finding{Fault::misplaced, rank, action};
        };
        check(
            "0F0,0F1,0F1,0F2",
            {at(0, {0, forward, 1}), at(0, {0, forward, 1}), at(0, {0, forward, 2})},
            "no micro-batch 1"
        );
        check("0F0,0B0\n2F0", {at(1, {2, forward, 0})}, "no stage 2");
        check("0F0\n0B0,1F0", {at(1, {0, backward, 0})}, "rank 0 has stage 0");
        check(
            "0F0,0SEND_F0,1RECV_F0,1F0", {at(0, {0, send_f, 0}), at(0, {1, recv_f, 0})},
            "on one rank"
        );
        check("0F0,0RECV_F0\n1F0", {at(0, {0, recv_f, 0})}, "nobody is before stage 0");
        check("0F0,0SEND_B0\n1F0", {at(0, {0, send_b, 0})}, "nobody is before stage 0");
        check(
            "0F0\n1F0,1SEND_F0,1RECV_B0", {at(1, {1, send_f, 0}), at(1, {1, recv_b, 0})},
            "nobody is behind stage 1"
        );
        CHECK(same_findings(
            validate({{{-1, forward, 0}, {0, forward, -1}}}, 2, 1, Sends::buffered),
            {at(0, {-1, forward, 0}), at(0, {0, forward, -1})}
        ));
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
        [&](const Communicator& comm, std::size_t number) {
            const PipelineCase one = cases[number];
            const Schedule rows = insert_messages(pipeline_schedule(one.kind, one.p, one.m, one.v));
            INFO(text_of(one) << text_of_rows(rows));
            CHECK(goes_through(rows, comm));
        }
    );
}
