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

/// What insert_messages() makes: GPipe, 1F1B and zero bubble; two chunks a rank; and stages that are neighbours on one rank.
std::vector<Schedule> with_messages() {
    std::vector<Schedule> all;
    for (const char* text :
         {"0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
          "1RECV_F0,1F0,1RECV_F1,1SEND_F0,1F1,1SEND_F1,1RECV_B0,1B0,1SEND_B0,1RECV_B1,1B1,1SEND_"
          "B1\n"
          "2RECV_F0,2F0,2RECV_F1,2F1,2B0,2SEND_B0,2B1,2SEND_B1",
          "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
          "1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,1F1,1B1,1SEND_B1",
          "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0I0,0W0,0RECV_B1,0I1,0W1\n"
          "1RECV_F0,1F0,1RECV_F1,1I0,1SEND_B0,1F1,1I1,1SEND_B1,1W0,1W1",
          "0F0,0SEND_F0,2RECV_F0,2F0,2SEND_F0,0F1,0SEND_F1,2RECV_F1,2F1,2SEND_F1,"
          "2RECV_B0,2B0,2SEND_B0,0RECV_B0,0B0,2RECV_B1,2B1,2SEND_B1,0RECV_B1,0B1\n"
          "1RECV_F0,1F0,1SEND_F0,3RECV_F0,3F0,1RECV_F1,1F1,1SEND_F1,3RECV_F1,3F1,"
          "3B0,3SEND_B0,1RECV_B0,1B0,1SEND_B0,3B1,3SEND_B1,1RECV_B1,1B1,1SEND_B1",
          "0F0,0SEND_F0,3RECV_F0,3F0,3B0,3SEND_B0,0RECV_B0,0B0\n"
          "1RECV_F0,1F0,2F0,2SEND_F0,2RECV_B0,2I0,1I0,1SEND_B0,2W0,1W0"}) {
        all.push_back(read_schedule(text));
    }
    return all;
}

/// Messages between two computations of a row may stand in any order.
Schedule sorted(Schedule rows) {
    const auto computes = [](const Action& action) { return !is_message(action.kind); };
    for (Row& row : rows) {
        for (auto from = row.begin(); from != row.end();) {
            const auto to = std::find_if(from, row.end(), computes);
            std::sort(from, to);
            from = to == row.end() ? to : to + 1;
        }
    }
    return rows;
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
        for (const Schedule& rows : with_messages()) {
            for (std::size_t rank = 0; rank < rows.size(); ++rank) {
                for (std::size_t at = 0; at < rows[rank].size(); ++at) {
                    body(rows, static_cast<int>(rank), at);
                }
            }
        }
    });
}

}  // namespace

TEST_CASE("insert_messages puts each message down on both ranks in the round that makes it") {
    on_ranks({1}, [](const Communicator&) {
        for (const Schedule& right : with_messages()) {
            Schedule rows = right;
            for (Row& row : rows) {
                std::erase_if(row, [](const Action& action) { return is_message(action.kind); });
            }
            const Schedule with = insert_messages(rows);
            INFO("expected" << text_of_rows(right) << "\ngot" << text_of_rows(with));
            INFO("a RECV too early in its row holds its rank up, one too late stands behind its use"
            );
            REQUIRE(sorted(with) == sorted(right));
        }
    });
}

TEST_CASE("insert_messages leaves no deadlock, whether sends wait or not") {
    on_ranks({1}, [](const Communicator&) {
        for (const ScheduleKind kind :
             {ScheduleKind::gpipe, ScheduleKind::one_forward_one_backward,
              ScheduleKind::interleaved, ScheduleKind::zero_bubble}) {
            for (const auto& [p, m] : {std::pair{1, 2}, {2, 1}, {2, 4}, {3, 2}, {3, 6}, {4, 8}}) {
                const int v = kind == ScheduleKind::interleaved ? 2 : 1;
                const Schedule rows = insert_messages(pipeline_schedule(kind, p, m, v));
                for (const Sends sends : kSends) {
                    INFO(text_of_sends(sends) << text_of_rows(rows));
                    REQUIRE(same_findings(validate(rows, p * v, m, sends), {}));
                }
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
        for (const Schedule& rows : with_messages()) {
            finds(rows, {}, "no rank waits for ever");
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

TEST_CASE("validate finds what stands before that which it needs, and nothing else too early") {
    at_each_place([](Schedule rows, int rank, std::size_t at) {
        Row& row = rows[static_cast<std::size_t>(rank)];
        if (at + 1 == row.size()) {
            return;
        }
        const Action first = row[at];
        const Action second = row[at + 1];
        std::swap(row[at], row[at + 1]);
        // in these rows all needs what stands before it for the same micro-batch, if that is no SEND or W
        const bool needs_it = first.micro_batch == second.micro_batch && !is_send(first.kind) &&
                              first.kind != weight_gradient;
        const std::string what =
            cell(second) + " before " + cell(first) + ", which stood before it";
        if (needs_it) {
            finds(rows, {{Fault::too_early, rank, second}}, what);
            return;
        }
        for (const Sends sends : kSends) {
            const std::vector<Finding> found = found_in(rows, sends);
            INFO(what << "; " << text_of_sends(sends) << text_of_rows(rows));
            INFO("it needs none of what stands behind it: found is " << text_of(found));
            REQUIRE(std::ranges::all_of(found, [](const Finding& one) {
                return one.fault == Fault::deadlock;
            }));
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
            const auto& [way, p, m, v] = cases[which];
            const Schedule rows = insert_messages(pipeline_schedule(way, p, m, v));
            std::vector<std::string> wrong;
            for (const Action& action : rows[static_cast<std::size_t>(comm.rank())]) {
                if (!is_message(action.kind)) {
                    continue;
                }
                const int peer = peer_of(action).stage % 3;
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
