// send and recv: one message from one rank to another, and an error when its length is not the
// expected one.
#include "exercises/01_point_to_point/send_recv.hpp"

#include "course/protocol/counted.hpp"
#include "tests/harness/words/refusals.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

/// Rank 0 sends to the last rank; the ranks between have nothing to do.
const Attempt kAttempt{
    .name = "send_recv",
    .before =
        [](const Call& call, const Communicator& comm) {
            return comm.rank() == 0 ? Buffers{input(call.n, 0, call.salt)}
                                    : Buffers{poison(call.n)};
        },
    .call =
        [](Buffers& b, const Call& /*call*/, const Communicator& comm) {
            if (comm.size() == 1) {
                return;  // there is nobody to send to
            }
            if (comm.rank() == 0) {
                send(b.data, comm.size() - 1, comm);
            } else if (comm.rank() == comm.size() - 1) {
                recv(b.data, 0, comm);
            }
        },
    .outcome =
        [](const Buffers& b, const Call& call, const Communicator& comm) {
            const bool takes_part = comm.rank() == 0 || comm.rank() == comm.size() - 1;
            return takes_part ? same(b.data, input(call.n, 0, call.salt)) : Comparison{};
        }};

const std::vector<int> kPairs = {2, 3, 4, 5};

Cost one_message(const Call& call, const Communicator& comm) {
    const bool sends = comm.rank() == 0;
    const bool receives = comm.rank() == comm.size() - 1;
    return {
        .messages_sent = exactly(sends ? 1 : 0),
        .bytes_sent = exactly(sends ? float_bytes(call.n) : 0),
        .messages_received = exactly(receives ? 1 : 0)};
}

/// Every other rank's three messages to rank 0, each with what else it may be taken for.
std::vector<Suspicion> messages_of_others(int p) {
    std::vector<Suspicion> all;
    for (int src = 1; src < p; ++src) {
        for (const std::uint64_t salt : {0U, 1U, 2U}) {  // a quick rank is ahead
            all.push_back(
                {input(7, src, salt), "that is a message of rank " + std::to_string(src) +
                                          ": recv must take only the one of src"}
            );
        }
    }
    return all;
}

}  // namespace

TEST_CASE("send sends one message, and recv receives it") {
    on_ranks(kPairs, [](const Communicator& comm) {
        for (const std::size_t n : lengths(comm.size())) {
            INFO(
                "rank 0 sends " << counted(n, "float") << " to the last rank of " << comm.size()
                                << ": one message of " << 4 * n << " bytes, and no other"
            );
            const Call call{.n = n};
            Buffers b = kAttempt.before(call, comm);
            const Traffic traffic = record(kAttempt, b, call, comm);
            CHECK(within(traffic, one_message(call, comm)));
        }
    });
}

TEST_CASE("recv gets what send sent, at every length") {
    every_length(kAttempt, kPairs);
}

TEST_CASE("recv takes the message of the rank it was asked for") {
    on_ranks(kPairs, [](const Communicator& comm) {
        for (const std::uint64_t salt : {0U, 1U, 2U}) {
            if (comm.rank() != 0) {
                send(input(7, comm.rank(), salt), 0, comm);
                continue;
            }
            for (int src = comm.size() - 1; src > 0; --src) {
                auto received = poison(7);
                recv(received, src, comm);
                INFO("rank 0 receives from rank " << src);
                CHECK(same(received, input(7, src, salt), 0, messages_of_others(comm.size())));
            }
        }
    });
}

// In the next two tests one side is plain MPI with both messages under way at once, so that the
// other side may take them in any order.

TEST_CASE("recv takes the message with its tag, not the one that came first") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        const auto first = input(7, 0, 1);
        const auto second = input(7, 0, 2);
        if (comm.rank() == 0) {
            MPI_Request requests[2];
            MPI_Isend(first.data(), 7, MPI_FLOAT, 1, 3, comm.handle(), &requests[0]);
            MPI_Isend(second.data(), 7, MPI_FLOAT, 1, 5, comm.handle(), &requests[1]);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        } else if (comm.rank() == 1) {
            auto got_second = poison(7);
            auto got_first = poison(7);
            recv(got_second, 0, comm, 5);
            recv(got_first, 0, comm, 3);
            INFO("rank 0 sent one message with tag 3, then one with tag 5");
            const std::string other = "that is the message with the other tag";
            CHECK(same(got_second, second, 0, {{first, other}}));
            CHECK(same(got_first, first, 0, {{second, other}}));
        }
    });
}

TEST_CASE("send puts its tag on the message") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        const auto first = input(7, 0, 1);
        const auto second = input(7, 0, 2);
        if (comm.rank() == 0) {
            send(first, 1, comm, 3);
            send(second, 1, comm, 5);
        } else if (comm.rank() == 1) {
            auto got_second = poison(7);
            auto got_first = poison(7);
            MPI_Request requests[2];
            MPI_Irecv(got_second.data(), 7, MPI_FLOAT, 0, 5, comm.handle(), &requests[0]);
            MPI_Irecv(got_first.data(), 7, MPI_FLOAT, 0, 3, comm.handle(), &requests[1]);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
            CHECK(same(got_first, first, 0, {{second, "that was sent with tag 5"}}));
            CHECK(same(got_second, second, 0, {{first, "that was sent with tag 3"}}));
        }
    });
}

TEST_CASE("recv refuses a message that is longer or shorter than its buffer") {
    const auto [sent, expected] = GENERATE(
        std::pair<std::size_t, std::size_t>{8, 7}, std::pair<std::size_t, std::size_t>{7, 8},
        std::pair<std::size_t, std::size_t>{3, 0}, std::pair<std::size_t, std::size_t>{0, 3},
        std::pair<std::size_t, std::size_t>{300'000, 1000}
    );
    on_ranks({2, 3}, [&, sent = sent, expected = expected](const Communicator& comm) {
        auto out = comm.rank() == 0 ? input(sent, 0) : poison(expected);
        const Answer got = answer(comm, [&] {
            if (comm.rank() == 0) {
                send(out, 1, comm);
            } else if (comm.rank() == 1) {
                recv(out, 0, comm);
            }
        });
        INFO(
            "rank 0 sent " << sent << " floats, recv's buffer holds " << expected
                           << ": recv must throw dist::Error"
        );
        CHECK(got.what == (comm.rank() == 1 ? kError : kReturned));
        // and the next message, of the right length, arrives as if nothing had been
        auto data = comm.rank() == 0 ? input(5, 0) : poison(5);
        if (comm.rank() == 0) {
            send(data, 1, comm);
        } else if (comm.rank() == 1) {
            recv(data, 0, comm);
            CHECK(same(data, input(5, 0)));
        }
    });
}

TEST_CASE("send and recv count ranks in the communicator that was given") {
    on_other_communicators(kAttempt);
}

TEST_CASE("send and recv throw dist::Error if a message fails") {
    reports_failures(kAttempt, {2});  // who has nothing to do sees no failure
}

TEST_CASE("send and recv refuse messages that are longer than an int can say") {
    {
        INFO("send");
        refuses_more_than_an_int([](std::span<float> floats, const Communicator& comm) {
            send(floats, (comm.rank() + 1) % comm.size(), comm);
        });
    }
    INFO("recv");
    refuses_more_than_an_int([](std::span<float> floats, const Communicator& comm) {
        recv(floats, (comm.rank() + 1) % comm.size(), comm);
    });
}

TEST_CASE("send and recv are right among 11 ranks", "[many]") {
    on_many_ranks(kAttempt);
}
