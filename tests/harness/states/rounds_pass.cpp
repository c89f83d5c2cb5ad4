// Rounds: what waits for what, over threads and over senders that wait, and how long each order takes.
// state: pass

#include <functional>
#include <string>
#include <thread>

#include "tests/harness/harness.hpp"
#include "tests/harness/states/state.hpp"

namespace dist {
namespace {

void send_to(int dst, const Communicator& comm, int tag = 0) {
    const float x = 1;
    MPI_CHECK(MPI_Send(&x, 1, MPI_FLOAT, dst, tag, comm.handle()));
}

void receive_from(int src, const Communicator& comm, int tag = 0) {
    float x = 0;
    MPI_CHECK(MPI_Recv(&x, 1, MPI_FLOAT, src, tag, comm.handle(), MPI_STATUS_IGNORE));
}

void expect_rounds(
    const std::string& what,
    int full,
    int half,
    const Communicator& comm,
    const std::function<void()>& body
) {
    const harness::Traffic traffic = harness::record(comm, body);
    if (traffic.rounds != full || traffic.half_duplex_rounds != half) {
        throw Error(
            what + ": expected " + std::to_string(full) + " rounds, half duplex " +
            std::to_string(half) + ", got " + std::to_string(traffic.rounds) + " and " +
            std::to_string(traffic.half_duplex_rounds)
        );
    }
}

// Receives a segment, sends it on, receives the next.
void in_turn(int segments, const Communicator& comm) {
    for (int i = 0; i < segments; ++i) {
        if (comm.rank() > 0) {
            receive_from(comm.rank() - 1, comm);
        }
        if (comm.rank() + 1 < comm.size()) {
            send_to(comm.rank() + 1, comm);
        }
    }
}

void all_before_the_first(int segments, const Communicator& comm) {
    for (int i = 0; i < segments && comm.rank() > 0; ++i) {
        receive_from(comm.rank() - 1, comm);
    }
    for (int i = 0; i < segments && comm.rank() + 1 < comm.size(); ++i) {
        send_to(comm.rank() + 1, comm);
    }
}

// Passes on segment i while segment i + 1 comes in.
void at_once(int segments, const Communicator& comm) {
    for (int i = 0; i <= segments; ++i) {
        float in = 0;
        const float out = 1;
        const int dst = i > 0 && comm.rank() + 1 < comm.size() ? comm.rank() + 1 : MPI_PROC_NULL;
        const int src = i < segments && comm.rank() > 0 ? comm.rank() - 1 : MPI_PROC_NULL;
        MPI_CHECK(MPI_Sendrecv(
            &out, 1, MPI_FLOAT, dst, 0, &in, 1, MPI_FLOAT, src, 0, comm.handle(), MPI_STATUS_IGNORE
        ));
    }
}

// Each rank hands the message on by a thread of its own.
void chain_of_threads(const Communicator& comm) {
    if (comm.rank() > 0) {
        receive_from(comm.rank() - 1, comm);
    }
    if (comm.rank() + 1 < comm.size()) {
        std::thread([&] { send_to(comm.rank() + 1, comm); }).join();
    }
}

// Rank r + 1 is sent to when rank r has taken what it was sent: its receive comes late.
void chain_of_senders(const Communicator& comm) {
    if (comm.rank() > 0) {
        send_to(comm.rank() - 1, comm);
    }
    if (comm.rank() + 1 < comm.size()) {
        receive_from(comm.rank() + 1, comm);
    }
}

void two_threads(const Communicator& comm) {
    const int p = comm.size();
    std::thread sender([&] { send_to((comm.rank() + 1) % p, comm); });
    receive_from((comm.rank() - 1 + p) % p, comm);
    sender.join();
}

void joined_threads(const Communicator& comm) {
    std::thread([&] { two_threads(comm); }).join();
    two_threads(comm);
}

}  // namespace

void state(const Communicator& comm) {
    const int p = comm.size();  // 4
    constexpr int kSegments = 8;
    expect_rounds("a chain of threads", p - 1, p - 1, comm, [&] { chain_of_threads(comm); });
    expect_rounds("a chain of senders", p - 1, p - 1, comm, [&] { chain_of_senders(comm); });
    expect_rounds("two threads", 1, 2, comm, [&] { two_threads(comm); });
    expect_rounds("threads one after the other", 2, 4, comm, [&] { joined_threads(comm); });
    const int best = p - 2 + kSegments;
    const int best_half = 2 * kSegments + p - 3;
    expect_rounds("segments at once", best, best_half, comm, [&] { at_once(kSegments, comm); });
    expect_rounds("segments in turn", best_half, best_half, comm, [&] {
        in_turn(kSegments, comm);
    });
    expect_rounds(
        "all segments before the first", (p - 1) * kSegments, (p - 1) * kSegments, comm,
        [&] { all_before_the_first(kSegments, comm); }
    );
}

}  // namespace dist
