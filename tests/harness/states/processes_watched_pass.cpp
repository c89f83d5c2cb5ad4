// Ranks that are plain processes talk through a watched transport: it is counted, and who naps while others wait is waited for.
// state: pass

#include <chrono>
#include <thread>

#include "tests/harness/states/process_transport.hpp"
#include "tests/harness/states/state.hpp"

namespace dist {
namespace {

void nap() {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
}

void talk(Transport& transport, int rank) {
    std::array<std::byte, 4> data{};
    if (rank == 0) {
        transport.send(std::span(data).first(3), 1, 7, 1);
        std::thread late([&] {
            nap();  // and has done nothing with messages yet
            transport.send(data, 1, 7, 2);
        });
        transport.recv(data, 1, 7, 3);
        late.join();
    } else {
        CHECK(transport.probe(0, 7, 1).src == 0);
        const Request first = transport.irecv(std::span(data).first(3), 0, 7, 1);
        CHECK_FALSE(transport.test(first));
        transport.wait(first);
        transport.recv(data, 0, 7, 2);
        nap();
        transport.send(data, 0, 7, 3);
    }
}

}  // namespace

void state(const Communicator& comm) {
    if (comm.rank() != 0) {
        return;
    }
    using harness::exactly;
    const harness::Processes run = on_pair(talk);
    CHECK(harness::within(
        run, 0,
        {.messages_sent = exactly(2),
         .bytes_sent = exactly(7),
         .messages_received = exactly(1),
         .rounds = exactly(3),
         .sent_to = std::set{1}}
    ));
    CHECK(harness::within(run, 1, {.messages_sent = exactly(1), .bytes_sent = exactly(4)}));
    CHECK(run.messages.size() == 3);
}

}  // namespace dist
