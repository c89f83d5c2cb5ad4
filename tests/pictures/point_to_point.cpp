// The pictures of chapter 01.
#include "exercises/01_point_to_point/hello_ranks.hpp"
#include "exercises/01_point_to_point/isend_irecv.hpp"
#include "exercises/01_point_to_point/ping_pong.hpp"
#include "exercises/01_point_to_point/ring_shift.hpp"
#include "exercises/01_point_to_point/send_recv.hpp"
#include "tests/harness/mpi/known_network.hpp"
#include "tests/pictures/draw.hpp"

using namespace dist;
using namespace dist::diagrams;

TEST_CASE("hello_ranks") {
    draw(
        {"hello_ranks", "hello_ranks: 4 ranks", 4, bytes(), "", false, true},
        [](const Communicator& comm) { hello_ranks(comm); }
    );
}

TEST_CASE("send_recv") {
    draw({"send_recv", "send_recv: rank 0 sends 3 floats", 2}, [](const Communicator& comm) {
        auto data = numbered(3);
        if (comm.rank() == 0) {
            send(data, 1, comm);
        } else {
            recv(data, 0, comm);
        }
    });
}

TEST_CASE("isend_irecv") {
    draw(
        {"isend_irecv", "isend_irecv: 2 ranks exchange 3 floats", 2},
        [](const Communicator& comm) {
            const int other = 1 - comm.rank();
            const auto out = numbered(3);
            std::vector<float> in(out.size());
            Request requests[] = {isend(out, other, comm), irecv(in, other, comm)};
            wait_all(requests);
        }
    );
}

TEST_CASE("ring_shift") {
    draw(
        {"ring_shift", "ring_shift: 4 ranks, 3 floats each", 4, floats(), "", true},
        [](const Communicator& comm) {
            const auto to_next = numbered(3);
            std::vector<float> from_prev(to_next.size());
            ring_shift(to_next, from_prev, comm);
        }
    );
}

TEST_CASE("ping_pong") {
    draw(
        {"ping_pong", "ping_pong: 5 lengths, 1 repetition", 2, bytes(), "", false, true},
        [](const Communicator& comm) {
            const harness::KnownNetwork network(1e-6, 1e9);
            ping_pong(1, comm);
        }
    );
}
