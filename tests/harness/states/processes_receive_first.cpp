// Both ranks, which are plain processes, receive before they send.
// state: hang in the state under test
// says: 0 waits for 1, 1 waits for 0: every rank receives first, and nobody has sent
// says: rank 0  waits in irecv(from rank 1, group 3, tag 5, 4 bytes)
// says: processes_receive_first.cpp:18

#include "tests/harness/states/process_transport.hpp"
#include "tests/harness/states/state.hpp"

namespace dist {

void state(const Communicator& comm) {
    if (comm.rank() != 0) {
        return;
    }
    on_pair([](Transport& transport, int rank) {
        std::array<std::byte, 4> data{};
        transport.recv(data, 1 - rank, 3, 5);
        transport.send(data, 1 - rank, 3, 5);
    });
}

}  // namespace dist
