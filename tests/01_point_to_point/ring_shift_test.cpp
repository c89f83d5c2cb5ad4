// ring_shift: everyone sends right and receives left, and nobody waits for ever.
#include "exercises/01_point_to_point/ring_shift.hpp"

#include "tests/harness/harness.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

int next_of(const Communicator& comm) {
    return (comm.rank() + 1) % comm.size();
}

int prev_of(const Communicator& comm) {
    return (comm.rank() + comm.size() - 1) % comm.size();
}

/// Whether `from_prev` is the previous rank's input(n, prev, salt).
Comparison came_from_prev(
    const std::vector<float>& from_prev, const Communicator& comm, std::uint64_t salt = 0
) {
    const std::size_t n = from_prev.size();
    return same(
        from_prev, input(n, prev_of(comm), salt), 0,
        {
            {input(n, comm.rank(), salt), "that is this rank's own message"},
            {input(n, next_of(comm), salt), "that is the next rank's message: it went left"},
        }
    );
}

}  // namespace

TEST_CASE("ring_shift brings every rank its left neighbour's message") {
    const std::size_t n = GENERATE(7U, 0U, 1U, 1000U, 300'000U);
    on_ranks({3, 2, 4, 5}, [&](const Communicator& comm) {  // three first: the smallest real circle
        INFO(
            comm.size() << " ranks, each sends " << n << " floats; from_prev must be complete when "
                        << "ring_shift returns"
        );
        const auto data = input(n, comm.rank());
        auto to_next = data;
        auto from_prev = poison(n);
        ring_shift(to_next, from_prev, comm);
        CHECK(came_from_prev(from_prev, comm));
        CHECK(same(to_next, data));
    });
}

TEST_CASE("ring_shift with one rank: it is its own neighbour on both sides") {
    const std::size_t n = GENERATE(7U, 0U, 300'000U);
    on_ranks({1}, [&](const Communicator& comm) {
        auto from_prev = poison(n);
        ring_shift(input(n, 0), from_prev, comm);
        CHECK(same(from_prev, input(n, 0)));
    });
}

TEST_CASE("ring_shift sends one message to the right and receives one from the left") {
    const std::size_t n = GENERATE(1U, 1000U);
    on_ranks({2, 3, 4, 5}, [&](const Communicator& comm) {
        const auto to_next = input(n, comm.rank());
        auto from_prev = poison(n);
        const Traffic traffic = record(comm, [&] { ring_shift(to_next, from_prev, comm); });
        INFO(
            "rank " << comm.rank() << " of " << comm.size() << " sends one message to rank "
                    << next_of(comm) << " and receives one from rank " << prev_of(comm)
        );
        CHECK(traffic.messages_sent == 1);
        CHECK(traffic.messages_received == 1);
        CHECK(traffic.bytes_sent == static_cast<long>(n * sizeof(float)));
        CHECK(traffic.sent_to == std::set{next_of(comm)});
        CHECK(traffic.received_from == std::set{prev_of(comm)});
        CHECK(traffic.collectives == 0);
    });
}

TEST_CASE("ring_shift lets all ranks send at the same time") {
    on_ranks({2, 3, 4, 5}, [](const Communicator& comm) {
        const auto to_next = input(1000, comm.rank());
        auto from_prev = poison(1000);
        const Traffic traffic = record(comm, [&] { ring_shift(to_next, from_prev, comm); });
        // Full-duplex it is 1 round. An order in which a rank sends, then receives, or the other
        // way around, is right too: 2 rounds, and 3 on an odd ring, where two senders meet.
        const int allowed_rounds = 2 + comm.size() % 2;
        INFO(
            traffic.rounds << " messages had to wait for each other, one after the other; "
                           << "on a ring all " << comm.size() << " can be under way at once"
        );
        CHECK(traffic.rounds <= allowed_rounds);
    });
}

TEST_CASE("ring_shift takes a different length from every rank") {
    on_ranks({1, 2, 3, 4, 5}, [](const Communicator& comm) {
        const auto length = [](int rank) { return 10 + 3 * static_cast<std::size_t>(rank); };
        const auto to_next = input(length(comm.rank()), comm.rank());
        auto from_prev = poison(length(prev_of(comm)));
        INFO(
            "this rank sends " << to_next.size() << " floats and gets " << from_prev.size()
                               << ": from_prev.size() is the length that comes"
        );
        ring_shift(to_next, from_prev, comm);
        CHECK(came_from_prev(from_prev, comm));
    });
}

TEST_CASE("two calls of ring_shift in a row do not mix") {
    on_ranks({1, 2, 3, 4, 5}, [](const Communicator& comm) {
        const std::size_t n = 1000;
        auto first = poison(n);
        auto second = poison(n);
        ring_shift(input(n, comm.rank(), 1), first, comm);
        ring_shift(input(n, comm.rank(), 2), second, comm);
        CHECK(came_from_prev(first, comm, 1));
        CHECK(came_from_prev(second, comm, 2));
    });
}

TEST_CASE("ring_shift takes no message but the left neighbour's") {
    on_ranks({3, 4, 5}, [](const Communicator& comm) {
        // rank 1 has another message for rank 0 on its way, and rank 1 is not to the left of 0
        const std::size_t n = 7;
        const auto stray = input(n, 1, 9);
        auto from_prev = poison(n);
        auto got_stray = poison(n);
        MPI_Request request = MPI_REQUEST_NULL;
        if (comm.rank() == 1) {
            MPI_Isend(stray.data(), 7, MPI_FLOAT, 0, 0, comm.handle(), &request);
        }
        MPI_Barrier(comm.handle());
        ring_shift(input(n, comm.rank()), from_prev, comm);
        const bool took_the_stray = comm.rank() == 0 && from_prev == stray;
        if (took_the_stray) {
            INFO("rank 0 took a message of rank 1: a source of -1 means \"from anyone\" in this MPI"
            );
            CHECK_FALSE(took_the_stray);
        }
        if (comm.rank() == 0) {
            MPI_Recv(
                got_stray.data(), 7, MPI_FLOAT, took_the_stray ? comm.size() - 1 : 1, MPI_ANY_TAG,
                comm.handle(), MPI_STATUS_IGNORE
            );
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (!took_the_stray) {
            CHECK(came_from_prev(from_prev, comm));
        }
    });
}

TEST_CASE("ring_shift goes around the communicator that was given") {
    on_ranks({2, 3, 4, 5}, [](const Communicator& comm) {
        const Communicator reversed = comm.split(0, -comm.rank());
        const Communicator half = comm.split(comm.rank() % 2);
        for (const Communicator* group : {&reversed, &half}) {
            INFO("a communicator of " << group->size() << " of the ranks, numbered anew");
            auto from_prev = poison(7);
            ring_shift(input(7, group->rank()), from_prev, *group);
            CHECK(came_from_prev(from_prev, *group));
        }
    });
}
