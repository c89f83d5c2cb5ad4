// On a known network MPI_Wtime shows what messages take, and afterwards the time of day again.
// state: pass

#include <cmath>
#include <string>
#include <vector>

#include "tests/harness/mpi/known_network.hpp"
#include "tests/harness/states/state.hpp"

namespace dist {
namespace {

constexpr double kLatencyS = 2e-3;
constexpr double kBytesPerS = 1e6;
constexpr double kWarmUpS = 0.5;

void expect_s(const char* what, double elapsed_s, double expected_s) {
    if (!(std::abs(elapsed_s - expected_s) <= 1e-9)) {
        throw Error(
            std::string(what) + ": expected " + std::to_string(expected_s) + " s, got " +
            std::to_string(elapsed_s)
        );
    }
}

void pass_on(int from, int to, int bytes, const Communicator& comm) {
    std::vector<char> data(static_cast<std::size_t>(bytes));
    if (comm.rank() == from) {
        MPI_CHECK(MPI_Send(data.data(), bytes, MPI_CHAR, to, 0, comm.handle()));
    } else if (comm.rank() == to) {
        MPI_CHECK(MPI_Recv(data.data(), bytes, MPI_CHAR, from, 0, comm.handle(), MPI_STATUS_IGNORE)
        );
    }
}

}  // namespace

void state(const Communicator& comm) {
    const int r = comm.rank();
    {
        const harness::KnownNetwork network(kLatencyS, kBytesPerS);
        const double begin_s = MPI_Wtime();
        pass_on(0, 1, 3000, comm);  // 2 ms and 3 ms
        pass_on(1, 2, 3000, comm);
        const double message_s = 5e-3;
        expect_s("a chain of messages", MPI_Wtime() - begin_s, r < 3 ? r * message_s : 0);

        pass_on(0, 3, 3000, comm);  // rank 0's clock has not moved
        pass_on(2, 3, 0, comm);     // rank 2's is two messages ahead
        const double expected_s[] = {0, message_s, 2 * message_s, 2 * message_s + kLatencyS};
        expect_s("two chains that meet", MPI_Wtime() - begin_s, expected_s[r]);

        pass_on(0, 3, 3000, comm);
        expect_s("a message from the past", MPI_Wtime() - begin_s, expected_s[r]);
    }
    {
        const harness::KnownNetwork network(kLatencyS, kBytesPerS, {.warm_up_s = kWarmUpS});
        const double begin_s = MPI_Wtime();
        for (const int bytes : {0, 0, 1000, 1000}) {
            pass_on(0, 1, bytes, comm);
            pass_on(1, 0, bytes, comm);
        }
        // rank 1 is one message behind rank 0; each has had two first messages
        const double expected_s[] = {
            8 * kLatencyS + 4e-3 + 4 * kWarmUpS, 7 * kLatencyS + 3e-3 + 4 * kWarmUpS, 0, 0};
        expect_s("the first of each length is slow", MPI_Wtime() - begin_s, expected_s[r]);
    }
    const double before_s = PMPI_Wtime();
    const double now_s = MPI_Wtime();
    if (now_s < before_s || now_s > PMPI_Wtime()) {
        throw Error("without a known network MPI_Wtime must be MPI's own");
    }
}

}  // namespace dist
