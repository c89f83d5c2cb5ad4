// Brings together what every rank has noted of the messages that it received.

#include <algorithm>
#include <numeric>
#include <tuple>

#include <mpi.h>

#include "tests/harness/harness.hpp"
#include "tests/harness/job/gates.hpp"
#include "tests/harness/mpi/traffic.hpp"

namespace dist::harness {

std::vector<MessageRecord> recorded_messages(const Communicator& comm) {
    std::vector<MessageRecord> mine = received_messages();
    for (MessageRecord& message : mine) {
        message.dst = comm.rank();
    }
    gate();  // whoever comes through it takes part in the two calls
    const int my_bytes = static_cast<int>(mine.size() * sizeof(MessageRecord));
    std::vector<int> bytes(static_cast<std::size_t>(comm.size()));
    PMPI_Allgather(&my_bytes, 1, MPI_INT, bytes.data(), 1, MPI_INT, comm.handle());
    std::vector<int> begins(bytes.size());
    std::exclusive_scan(bytes.begin(), bytes.end(), begins.begin(), 0);
    const int all_bytes = begins.back() + bytes.back();
    std::vector<MessageRecord> all(static_cast<std::size_t>(all_bytes) / sizeof(MessageRecord));
    PMPI_Allgatherv(
        mine.data(), my_bytes, MPI_BYTE, all.data(), bytes.data(), begins.data(), MPI_BYTE,
        comm.handle()
    );
    std::ranges::sort(all, {}, [](const MessageRecord& message) {
        return std::tuple(message.end, message.src, message.dst, message.begin);
    });
    return all;
}

}  // namespace dist::harness
