// Exercise 04: a transport of your own, over sockets, on which all that you wrote before runs without MPI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "course/net/socket.hpp"
#include "course/runtime/transport.hpp"

namespace dist {

/// What stands before each message on the wire, as it stands in memory here. So many bytes follow it.
struct Frame {
    std::uint32_t group = 0;
    std::int32_t tag = 0;
    std::uint64_t bytes = 0;
};

/// A Transport over TCP, with one connection for each pair of ranks.
///
/// A send is done when the kernel has all of the message; it waits for no receive. What comes before somebody asks for it
/// is kept. Messages move while a call waits, or looks (test): those of other threads and all other ranks as well. So two
/// ranks may send each other 100 MB at the same time, and then receive. A rank may send to itself.
///
/// Cost    of a message sizeof(Frame) bytes beside its own. A message goes from the sender's memory to the kernel, and from
///         there to the place of a receive that waits for it, without another copy. While nothing moves, a call that
///         waits sleeps; a signal does not end it.
/// Errors  of all calls: Error, which names the rank that has died or left, as soon as its connection ends; what had come from
///         it before can still be received.
/// Source  Gloo, gloo/transport/tcp; Open MPI, opal/mca/btl/tcp.
class TcpTransport : public Transport {
  public:
    /// sockets  of full_mesh(): connected with the rank of each place; none at this rank's own.
    ///
    /// Errors  std::invalid_argument if there is no such place, or one has no socket.
    TcpTransport(std::vector<net::Socket> sockets, int rank);

    /// Closes all connections. What has been sent still arrives, unless somebody sends to this rank afterwards. Nothing is
    /// written into the places of receives any more: they may be gone. No descriptor and no thread is left.
    ~TcpTransport() override;
    TcpTransport(const TcpTransport&) = delete;
    TcpTransport& operator=(const TcpTransport&) = delete;

    [[nodiscard]] int rank() const override;
    [[nodiscard]] int size() const override;
    Request isend(std::span<const std::byte> data, int dst, std::uint32_t group, int tag) override;
    Request irecv(std::span<std::byte> data, int src, std::uint32_t group, int tag) override;
    Arrival wait(const Request& request) override;
    bool test(const Request& request) override;
    Arrival probe(int src, std::uint32_t group, int tag) override;

  private:
    struct State;  // yours: in your .cpp
    std::unique_ptr<State> state_;
};

}  // namespace dist
