// The bandwidth is that of the longest message, its latency included.
// state: fail
// says: all of its time, the latency included
#include <vector>

#include <mpi.h>

#include "exercises/01_point_to_point/ping_pong.hpp"
#include "exercises/01_point_to_point/send_recv.hpp"

namespace dist {
namespace {

void round_trip(std::vector<float>& message, const Communicator& comm) {
    if (comm.rank() == 0) {
        send(message, 1, comm);
        recv(message, 1, comm);
    } else {
        recv(message, 0, comm);
        send(message, 0, comm);
    }
}

/// Seconds that one message of `bytes` bytes takes.
double message_s(std::size_t bytes, int repetitions, const Communicator& comm) {
    std::vector<float> message(bytes / sizeof(float));
    round_trip(message, comm);
    const double begin_s = MPI_Wtime();
    for (int i = 0; i < repetitions; ++i) {
        round_trip(message, comm);
    }
    return (MPI_Wtime() - begin_s) / (2.0 * repetitions);
}

}  // namespace

Link ping_pong(int repetitions, const Communicator& comm) {
    expects(comm.size() == 2, "ping_pong: comm must have exactly two ranks");
    expects(repetitions >= 1, "ping_pong: repetitions must be at least 1");
    const double first_s = message_s(kPingPongBytes.front(), repetitions, comm);
    double last_s = 0;
    for (std::size_t i = 1; i < kPingPongBytes.size(); ++i) {
        last_s = message_s(kPingPongBytes[i], repetitions, comm);
    }
    double line[] = {first_s, static_cast<double>(kPingPongBytes.back()) / last_s};
    if (comm.rank() == 0) {
        MPI_CHECK(MPI_Send(line, 2, MPI_DOUBLE, 1, 0, comm.handle()));
    } else {
        MPI_CHECK(MPI_Recv(line, 2, MPI_DOUBLE, 0, 0, comm.handle(), MPI_STATUS_IGNORE));
    }
    return {line[0], line[1]};
}

}  // namespace dist
