// A network whose delays are known, for exercises that measure one. No wall clock is involved.
#pragma once

namespace dist::harness {

/// While it lives, MPI_Wtime is a virtual clock of this rank, which only messages move. Make one on
/// every rank, inside the body of on_ranks. Without one, MPI_Wtime is MPI's own.
///
/// A message leaves at the sender's time t and is there at t + latency_s + bytes / bytes_per_s, and what
/// Delays adds: a receiver's clock goes there when the message is delivered, if it is not past it already. Sending
/// takes the sender no time, and messages do not get in each other's way. As on a real cluster, the
/// clocks of two ranks have nothing to do with each other. Collectives move no clock.
class KnownNetwork {
  public:
    /// What a message takes beside the line: nothing, if not said otherwise.
    struct Delays {
        double warm_up_s =
            0;  // the first of each length that a rank receives, as if memory had to be set up
        double noise =
            0;  // by this fraction the second takes longer and the fourth less, and so on
        double rendezvous_s = 0;  // from 64 KiB on, as if sender and receiver had to meet first
    };
    KnownNetwork(double latency_s, double bytes_per_s);
    KnownNetwork(double latency_s, double bytes_per_s, const Delays& delays);
    ~KnownNetwork();
    KnownNetwork(const KnownNetwork&) = delete;
    KnownNetwork& operator=(const KnownNetwork&) = delete;
};

/// The virtual time at which a message leaves now. Goes into its header.
double departure_s();

/// A message that left at `departure_s` is delivered: moves this rank's clock.
void note_delivery(double departure_s, int payload_bytes);

}  // namespace dist::harness
