// send and recv: one message from one rank to another, and an error when its length is not the
// expected one.
#include "exercises/01_point_to_point/send_recv.hpp"

#include <string>
#include <utility>

#include "tests/harness/harness.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

/// What recv throws when rank 0 sends `sent` elements to rank 1, which expects `expected`; "" if
/// nothing.
std::string recv_error(std::size_t sent, std::size_t expected, const Communicator& comm) {
    if (comm.rank() == 0) {
        send(input(sent, 0), 1, comm);
    } else if (comm.rank() == 1) {
        auto received = poison(expected);
        try {
            recv(received, 0, comm);
        } catch (const Error& error) {
            return error.what();
        }
    }
    return "";
}

}  // namespace

TEST_CASE("recv gets what send sent, in one message, at every length") {
    const std::size_t n = GENERATE(7U, 0U, 1U, 1000U, 300'000U);
    on_ranks({2, 3, 4, 5}, [&](const Communicator& comm) {
        INFO(
            "rank 0 sends " << n << " floats to the last rank of " << comm.size()
                            << ": one message of " << 4 * n << " bytes, and no other"
        );
        const bool is_src = comm.rank() == 0;
        const bool is_dst = comm.rank() == comm.size() - 1;
        const auto data = input(n, 0);
        auto to_send = data;
        auto received = poison(n);
        const Traffic traffic = record(comm, [&] {
            if (is_src) {
                send(to_send, comm.size() - 1, comm);
            } else if (is_dst) {
                recv(received, 0, comm);
            }
        });
        const long n_bytes = static_cast<long>(n * sizeof(float));
        CHECK(traffic.messages_sent == (is_src ? 1 : 0));
        CHECK(traffic.messages_received == (is_dst ? 1 : 0));
        CHECK(traffic.bytes_sent == (is_src ? n_bytes : 0));
        CHECK(same(to_send, data));
        if (is_dst) {
            CHECK(same(received, data));
        }
    });
}

TEST_CASE("recv takes the message of the rank it was asked for") {
    on_ranks({2, 3, 4, 5}, [](const Communicator& comm) {
        const std::size_t n = 7;
        for (const std::uint64_t salt : {0U, 1U, 2U}) {
            const auto mine = input(n, comm.rank(), salt);
            if (comm.rank() != 0) {
                send(mine, 0, comm);
                continue;
            }
            std::vector<std::vector<float>> received(comm.size(), poison(n));
            for (int src = comm.size() - 1; src > 0; --src) {
                recv(received[src], src, comm);
            }
            for (int src = 1; src < comm.size(); ++src) {
                INFO("rank 0 receives from rank " << src);
                std::vector<Suspicion> suspicions;
                for (int other = 1; other < comm.size(); ++other) {
                    for (const std::uint64_t any_salt : {0U, 1U, 2U}) {  // a quick rank is ahead
                        suspicions.push_back(
                            {input(n, other, any_salt), "that is a message of rank " +
                                                            std::to_string(other) +
                                                            ": recv must take only the one of src"}
                        );
                    }
                }
                CHECK(same(received[src], input(n, src, salt), 0, suspicions));
            }
        }
    });
}

// In the next two tests one side is plain MPI with both messages under way at once, so that the
// other side may take them in any order.

TEST_CASE("recv takes the message with its tag, not the one that came first") {
    on_ranks({2, 3}, [](const Communicator& comm) {
        const std::size_t n = 7;
        const auto first = input(n, 0, 1);
        const auto second = input(n, 0, 2);
        if (comm.rank() == 0) {
            MPI_Request requests[2];
            MPI_Isend(first.data(), 7, MPI_FLOAT, 1, 3, comm.handle(), &requests[0]);
            MPI_Isend(second.data(), 7, MPI_FLOAT, 1, 5, comm.handle(), &requests[1]);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        } else if (comm.rank() == 1) {
            auto got_second = poison(n);
            auto got_first = poison(n);
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
        const std::size_t n = 7;
        const auto first = input(n, 0, 1);
        const auto second = input(n, 0, 2);
        if (comm.rank() == 0) {
            send(first, 1, comm, 3);
            send(second, 1, comm, 5);
        } else if (comm.rank() == 1) {
            auto got_second = poison(n);
            auto got_first = poison(n);
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
        const bool recv_threw_an_error = !recv_error(sent, expected, comm).empty();
        if (comm.rank() == 1) {
            INFO(
                "rank 0 sent " << sent << " floats, recv's buffer holds " << expected
                               << ": recv must throw dist::Error"
            );
            CHECK(recv_threw_an_error);
        }

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

TEST_CASE("src and dst are ranks of the communicator that was given") {
    on_ranks({2, 3, 4, 5}, [](const Communicator& comm) {
        const Communicator reversed = comm.split(0, -comm.rank());
        const std::size_t n = 7;
        INFO("the ranks in reversed order: the numbers are those of the communicator that was given"
        );
        if (reversed.rank() == 0) {
            send(input(n, 0), 1, reversed);
        } else if (reversed.rank() == 1) {
            auto received = poison(n);
            recv(received, 0, reversed);
            CHECK(same(received, input(n, 0)));
        }
    });
}
