// A call that refuses its arguments, on all ranks or on one, is counted; lengths beyond an int need no
// memory; requests can fail in another order than that of their list.
// state: pass

#include <stdexcept>
#include <string>

#include "tests/harness/harness.hpp"
#include "tests/harness/states/state.hpp"

namespace dist {
namespace {

void expect(bool condition, const std::string& sentence) {
    if (!condition) {
        throw Error(sentence);
    }
}

void refused(const Communicator& comm) {
    const float x = 1;
    const harness::Answer late = harness::answer(comm, [&] {
        float in = 0;
        const int next = (comm.rank() + 1) % comm.size();
        const int prev = (comm.rank() - 1 + comm.size()) % comm.size();
        MPI_CHECK(MPI_Sendrecv(
            &x, 1, MPI_FLOAT, next, 0, &in, 1, MPI_FLOAT, prev, 0, comm.handle(), MPI_STATUS_IGNORE
        ));
        expects(comm.rank() != 2, "rank 2 refuses, when the message has left");
    });
    const bool refuses = comm.rank() == 2;
    expect(
        late.what == (refuses ? harness::kInvalidArgument : harness::kReturned),
        "one rank refuses: " + late.what
    );
    expect(late.text.starts_with(refuses ? "rank 2 refuses" : ""), "what(): " + late.text);
    expect(late.traffic.messages_sent == 1, "a message that left before is counted");
}

void too_long(const Communicator& comm) {
    const harness::Reserved room((std::size_t{1} << 32U) + 3);
    expect(room.floats().size() == (std::size_t{1} << 32U) + 3, "its length is what was asked for");
    const harness::Answer answer = harness::answer(comm, [&] {
        const auto data = room.floats().first((std::size_t{1} << 31U) + 3);
        if (comm.rank() == 0) {  // an int makes a negative number of it
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_CHECK(MPI_Isend(
                data.data(), static_cast<int>(data.size()), MPI_FLOAT, 1, 0, comm.handle(), &request
            ));
        } else if (comm.rank() == 1) {  // and here of what is left 2^31 - 1
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_CHECK(MPI_Isend(data.data(), 0x7FFFFFFF, MPI_FLOAT, 0, 0, comm.handle(), &request));
        }
    });
    const bool sends = comm.rank() < 2;
    expect(
        answer.what == (sends ? harness::kError : harness::kReturned),
        "it cannot be sent: " + answer.what
    );
    expect(answer.traffic.messages_sent == 0, "and nothing was sent");
}

void out_of_order(const Communicator& comm) {
    const float two[2] = {1, 2};
    if (comm.rank() == 1 || comm.rank() == 2) {
        const harness::LateMessages late(comm.rank() == 1 ? 100 : 0);
        MPI_CHECK(MPI_Send(two, 2, MPI_FLOAT, 0, 0, comm.handle()));
    } else if (comm.rank() == 0) {
        float in[2] = {};
        MPI_Request requests[2];
        MPI_CHECK(MPI_Irecv(&in[0], 1, MPI_FLOAT, 1, 0, comm.handle(), &requests[0]));
        MPI_CHECK(MPI_Irecv(&in[1], 1, MPI_FLOAT, 2, 0, comm.handle(), &requests[1]));
        int first = -1;
        expect(
            MPI_Waitany(2, requests, &first, MPI_STATUS_IGNORE) == MPI_ERR_TRUNCATE && first == 1,
            "the second request fails first"
        );
        expect(
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE) == MPI_ERR_TRUNCATE, "the first one later"
        );
    }
}

}  // namespace

void state(const Communicator& comm) {
    refused(comm);
    too_long(comm);
    out_of_order(comm);
}

}  // namespace dist
