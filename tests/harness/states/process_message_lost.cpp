// Rank 1, a plain process, sends with one tag what rank 0 has received with another: then rank 0 waits for what was sent.
// state: hang in the state under test
// says: rank 1 has sent what rank 0 waits for, and it does not come
// says: rank 0  waits in irecv(from rank 1, group 0, tag 2, 4 bytes)

#include "tests/harness/states/process_transport.hpp"
#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    if (comm.rank() != 0) {
        return;
    }
    on_pair([](Transport& transport, int rank) {
        std::array<std::byte, 4> data{};
        if (rank == 1) {
            transport.send(data, 0, 0, 2);
            transport.recv(data, 0, 0, 9);
        } else {
            // the transport knows no tags: it gives the message to the first receive
            transport.recv(data, 1, 0, 1);
            transport.recv(data, 1, 0, 2);
        }
    });
}

}  // namespace dist
