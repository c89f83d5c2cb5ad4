// pipeline_messages: messages that never wait in a circle, and every fault of a schedule by its name.
#include "exercises/08_model_parallel/pipeline_messages.hpp"

#include "tests/08_model_parallel/schedule_findings.hpp"
#include "tests/08_model_parallel/schedule_on_ranks.hpp"
#include "tests/harness/harness.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

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

TEST_CASE("insert_messages leaves no deadlock, whether sends wait or not") {
    on_ranks({1}, [](const Communicator&) {
        for (const Schedule& rows : computations()) {
            const Schedule with = insert_messages(rows);
            for (const Sends sends : kSends) {
                INFO(text_of_sends(sends) << text_of_rows(with));
                REQUIRE(same_findings(run_by_hand(with, sends).stuck, {}));
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

TEST_CASE("insert_messages lets no rank run ahead: rows take as long as without messages") {
    on_ranks({1}, [](const Communicator&) {
        for (const Schedule& rows : computations()) {
            const double alone = time_without_messages(rows);
            const Schedule with = insert_messages(rows);
            for (const Sends sends : kSends) {
                INFO(
                    text_of_sends(sends) << "; each computation takes 1, and a message nothing; a "
                                            "RECV too early in its row holds its rank up"
                                         << text_of_rows(with)
                );
                REQUIRE(run_by_hand(with, sends).end == alone);
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
        check("0F0,0F1,0F1", {at(0, {0, forward, 1}), at(0, {0, forward, 1})}, "no micro-batch 1");
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
            const Comparison result = computes_as_one(rows, comm);
            CHECK(result);
        }
    );
}
