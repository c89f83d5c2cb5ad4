// A network that errs: stands between clients and servers on this machine, and passes on what they send each other, as
// badly as it is told to. It knows bytes, and no protocol.
//
//     FaultyNetwork network(seed());
//     const int edge = network.edge_to(server.port(), {.most_piece = 1});   every byte on its own
//     TcpStore store("127.0.0.1", edge, ...);                               the client connects to the edge
//     network.cut(edge, Way::back);                                         from now on no answer arrives
//     CHECK(network.carried(edge).bytes[Way::there] == 28);
//
// An edge is a port of its own that leads to a server's. Where many talk with many, each pair has one: who asks by which
// port says who asks, and traffic is counted by edge.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

namespace dist::harness {

/// Way::there is from the client, who has connected, to the server; Way::back from the server.
struct Way {
    enum Direction : unsigned { there, back };
};

/// How an edge treats what passes, each way: drawn from the seed, the number of the edge, of the connection, and of the piece.
struct Faults {
    std::size_t most_piece = 0;  // bytes go on in pieces of 1 to so many; 0: as they come
    int most_delay_us = 0;       // each piece waits for 0 to so many microseconds
};

/// What an edge has seen come in.
struct Carried {
    int connections = 0;
    std::array<long, 2> bytes = {};  // by Way; what was dropped is among them
    std::array<long, 2> turns =
        {};  // how often something came this way after nothing, or after the other one
};

class FaultyNetwork {
  public:
    explicit FaultyNetwork(std::uint64_t seed);

    /// Ends all connections. No thread and no descriptor is left.
    ~FaultyNetwork();
    FaultyNetwork(const FaultyNetwork&) = delete;
    FaultyNetwork& operator=(const FaultyNetwork&) = delete;

    /// A new edge to whoever listens at `port` of this machine, also later than now: as long as nobody does, a client is
    /// accepted and reset. Returns the edge: the port that clients connect to.
    int edge_to(int port, Faults faults = {});

    /// Nothing goes this way any more, on all connections of the edge, now and later. Neither end is told. What comes
    /// meanwhile is kept, and mend() lets it go on.
    void cut(int edge, Way::Direction way);
    void mend(int edge, Way::Direction way);

    /// What comes this way next, up to so many bytes, is lost: an answer, a request.
    void drop(int edge, Way::Direction way, long bytes);

    /// Resets all connections of the edge: now; or as soon as so many more bytes have gone this way.
    void reset(int edge);
    void reset_after(int edge, Way::Direction way, long bytes);

    [[nodiscard]] Carried carried(int edge) const;

    /// How many connections of the edge are open.
    [[nodiscard]] int open_connections(int edge) const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace dist::harness
