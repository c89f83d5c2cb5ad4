// A transport on which messages are MPI's: what stands on one runs, and is counted, on ranks of MPI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "course/runtime/communicator.hpp"
#include "course/runtime/transport.hpp"

namespace dist {

/// A Transport between the ranks of a communicator, on which nobody else sends. MPI does not say which rank has died, and a
/// message that is too long is an Error of MPI_Wait. One thread uses it.
///
/// Groups are 0 to 4095, tags 0 to 7: both go into MPI's tag, which need not be higher than 32767.
///
/// Errors  std::invalid_argument for another group or tag, and for a message that is longer than an int can say.
class MpiTransport : public Transport {
  public:
    /// comm  outlives the transport.
    explicit MpiTransport(const Communicator& comm) : comm_(comm) {}

    [[nodiscard]] int rank() const override { return comm_.rank(); }
    [[nodiscard]] int size() const override { return comm_.size(); }
    Request isend(std::span<const std::byte> data, int dst, std::uint32_t group, int tag) override;
    Request irecv(std::span<std::byte> data, int src, std::uint32_t group, int tag) override;
    Arrival wait(const Request& request) override;
    bool test(const Request& request) override;
    Arrival probe(int src, std::uint32_t group, int tag) override;

  private:
    const Communicator& comm_;
};

}  // namespace dist
