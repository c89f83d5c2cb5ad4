#include "tests/harness/mpi/known_network.hpp"

#include <algorithm>
#include <mutex>
#include <optional>
#include <set>

#include <mpi.h>

#include "tests/harness/roll_call/roll_call.hpp"

namespace dist::harness {
namespace {

struct Network {
    double latency_s = 0;
    double bytes_per_s = 1;
    double warm_up_s = 0;
    double now_s = 0;            // the same zero on every rank, unlike what MPI_Wtime shows
    std::set<int> seen_lengths;  // of the messages that this rank received
};

std::mutex lock;
std::optional<Network> network;

// Small against the precision of a double, large against any delay.
double clock_offset_s() {
    return 5.0 + 3.0 * world_rank();
}

}  // namespace

KnownNetwork::KnownNetwork(double latency_s, double bytes_per_s, double warm_up_s) {
    const std::scoped_lock guard(lock);
    network = Network{latency_s, bytes_per_s, warm_up_s, 0, {}};
}

KnownNetwork::~KnownNetwork() {
    const std::scoped_lock guard(lock);
    network.reset();
}

double departure_s() {
    const std::scoped_lock guard(lock);
    return network ? network->now_s : 0;
}

void note_delivery(double departure_s, int payload_bytes) {
    const std::scoped_lock guard(lock);
    if (!network) {
        return;
    }
    const bool is_first = network->seen_lengths.insert(payload_bytes).second;
    const double arrival_s = departure_s + network->latency_s +
                             payload_bytes / network->bytes_per_s +
                             (is_first ? network->warm_up_s : 0);
    network->now_s = std::max(network->now_s, arrival_s);
}

}  // namespace dist::harness

extern "C" double MPI_Wtime() {
    using namespace dist::harness;
    const std::scoped_lock guard(lock);
    return network ? network->now_s + clock_offset_s() : PMPI_Wtime();
}
