// Right: a look at a request that leaves it as it is, and collectives that hardly anybody calls.
// state: pass

#include <vector>

#include "tests/harness/harness.hpp"
#include "tests/harness/states/state.hpp"

namespace dist {
namespace {

void expect(bool condition, const char* sentence) {
    if (!condition) {
        throw Error(sentence);
    }
}

void look_at_a_request(const Communicator& comm) {
    const int p = comm.size();
    const float out[3] = {1, 2, 3};
    float in[5] = {};
    MPI_Request requests[2];
    MPI_CHECK(MPI_Irecv(in, 5, MPI_FLOAT, (comm.rank() - 1 + p) % p, 0, comm.handle(), &requests[0])
    );
    MPI_CHECK(MPI_Isend(out, 3, MPI_FLOAT, (comm.rank() + 1) % p, 0, comm.handle(), &requests[1]));
    MPI_Status status;
    for (int there = 0; there == 0;) {
        MPI_CHECK(MPI_Request_get_status(requests[0], &there, &status));
    }
    int n = 0;
    MPI_CHECK(MPI_Get_count(&status, MPI_FLOAT, &n));
    expect(n == 3, "MPI_Request_get_status must show the message's own length");
    MPI_CHECK(MPI_Get_elements(&status, MPI_FLOAT, &n));
    expect(n == 3, "MPI_Get_elements must show the message's own length");
    MPI_CHECK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    expect(in[2] == 3 && in[3] == 0, "the message did not arrive");
}

}  // namespace

void state(const Communicator& comm) {
    const auto p = static_cast<std::size_t>(comm.size());
    look_at_a_request(comm);

    const harness::Traffic traffic = harness::record(comm, [&] {
        const std::vector<int> counts(p, 1);
        const std::vector<float> in(p, static_cast<float>(comm.rank()));
        std::vector<float> out(p);
        std::vector<int> places(p);
        for (std::size_t i = 0; i < p; ++i) {
            places[i] = static_cast<int>(i);
        }
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_CHECK(MPI_Iallgatherv(
            in.data(), 1, MPI_FLOAT, out.data(), counts.data(), places.data(), MPI_FLOAT,
            comm.handle(), &request
        ));
        MPI_CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        expect(out[p - 1] == static_cast<float>(p - 1), "MPI_Iallgatherv went wrong");
        float sum = 0;
        MPI_CHECK(MPI_Reduce_scatter_block(in.data(), &sum, 1, MPI_FLOAT, MPI_SUM, comm.handle()));
        expect(sum == static_cast<float>(p * (p - 1) / 2), "MPI_Reduce_scatter_block went wrong");

        const int length = comm.size();
        const int periodic = 1;
        MPI_Comm ring = MPI_COMM_NULL;
        MPI_CHECK(MPI_Cart_create(comm.handle(), 1, &length, &periodic, 0, &ring));
        float both[2] = {-1, -1};
        MPI_CHECK(MPI_Neighbor_allgather(in.data(), 1, MPI_FLOAT, both, 1, MPI_FLOAT, ring));
        expect(
            both[1] == static_cast<float>((comm.rank() + 1) % comm.size()),
            "MPI_Neighbor_allgather went wrong"
        );
        MPI_CHECK(MPI_Comm_free(&ring));
    });
    expect(traffic.collectives == 3, "three collectives are to be counted");
    expect(traffic.communicators == 1, "one call that makes a communicator is to be counted");
    expect(traffic.messages_sent == 0, "their messages are MPI's own");
}

}  // namespace dist
