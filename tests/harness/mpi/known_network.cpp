#include "tests/harness/mpi/known_network.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>

#include <mpi.h>

#include "tests/harness/roll_call/roll_call.hpp"

namespace dist::harness {
namespace {

struct Network {
    double latency_s = 0;
    double bytes_per_s = 1;
    KnownNetwork::Delays delays = {};
    double now_s = 0;                  // the same zero on every rank, unlike what MPI_Wtime shows
    std::map<int, int> received = {};  // messages, by their length
};

constexpr int kRendezvousBytes = 65536;
constexpr int kNoise[] = {-1, 1, 0};  // message 1 of a length takes longer, 2 as long, 3 less

std::mutex network_lock;
std::optional<Network> network;

// Small against the precision of a double, large against any delay.
double clock_offset_s() {
    return 5.0 + 3.0 * world_rank();
}

}  // namespace

KnownNetwork::KnownNetwork(double latency_s, double bytes_per_s)
    : KnownNetwork(latency_s, bytes_per_s, Delays{}) {}

KnownNetwork::KnownNetwork(double latency_s, double bytes_per_s, const Delays& delays) {
    const std::scoped_lock guard(network_lock);
    network = Network{latency_s, bytes_per_s, delays};
}

KnownNetwork::~KnownNetwork() {
    const std::scoped_lock guard(network_lock);
    network.reset();
}

double departure_s() {
    const std::scoped_lock guard(network_lock);
    return network ? network->now_s : 0;
}

void note_delivery(double departure_s, int payload_bytes) {
    const std::scoped_lock guard(network_lock);
    if (!network) {
        return;
    }
    const KnownNetwork::Delays& delays = network->delays;
    const int before = network->received[payload_bytes]++;
    double message_s = network->latency_s + payload_bytes / network->bytes_per_s;
    message_s += payload_bytes >= kRendezvousBytes ? delays.rendezvous_s : 0;
    message_s *= 1 + delays.noise * kNoise[before % 3];
    message_s += before == 0 ? delays.warm_up_s : 0;
    const double arrival_s = departure_s + message_s;
    network->now_s = std::max(network->now_s, arrival_s);
}

}  // namespace dist::harness

extern "C" double MPI_Wtime() {
    using namespace dist::harness;
    const std::scoped_lock guard(network_lock);
    return network ? network->now_s + clock_offset_s() : PMPI_Wtime();
}
