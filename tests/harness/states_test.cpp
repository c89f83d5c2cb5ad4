// The harness's own test: one program for each state, from tests/harness/states/, takes the place
// of state(). Its neighbours in this file must keep their results whatever it does.

#include "tests/harness/harness.hpp"
#include "tests/harness/states/state.hpp"

using namespace dist;
using namespace dist::harness;

namespace {
const Forbid kNoAllreduce{{"MPI_Allreduce"}, "This program may not call it."};
}

TEST_CASE("before: a test that passes") {
    on_ranks({1, 2, 3, 4}, [](const Communicator& comm) { CHECK(comm.size() > comm.rank()); });
}

TEST_CASE("the state under test") {
    on_ranks({4}, [](const Communicator& comm) {
        INFO("a world of " << comm.size() << " ranks");
        record(comm, [&] { state(comm); });
        CHECK(comm.size() == 4);
    });
}

TEST_CASE("after: a test that passes all the same") {
    on_ranks({2, 3, 4}, [](const Communicator& comm) {
        const int next = (comm.rank() + 1) % comm.size();
        const int prev = (comm.rank() - 1 + comm.size()) % comm.size();
        const auto out = static_cast<float>(comm.rank());
        float in = -1;
        const Traffic traffic = record(comm, [&] {
            MPI_CHECK(MPI_Sendrecv(
                &out, 1, MPI_FLOAT, next, 0, &in, 1, MPI_FLOAT, prev, 0, comm.handle(),
                MPI_STATUS_IGNORE
            ));
        });
        CHECK(in == static_cast<float>(prev));
        CHECK(traffic.rounds == 1);
        CHECK(traffic.bytes_sent == 4);
    });
}
