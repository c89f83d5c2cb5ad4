// The transport of an exercise, seen by the harness: messages and bytes are counted, and who waits for whom is known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>

#include "course/protocol/protocol.hpp"
#include "course/runtime/transport.hpp"

namespace dist::harness {

/// Hands every call on to another Transport, and tells the harness of it: the channel (tests/harness/channel.hpp), and
/// the board. For a rank of on_processes; one of them for all threads.
///
/// Thus a test that hangs names what each rank waits in, for whom, and whether that message was sent. A deadlock that the
/// board proves (Note [Standstill]) is told at once.
class WatchedTransport : public Transport {
  public:
    explicit WatchedTransport(Transport& inner) : inner_(inner) {}

    [[nodiscard]] int rank() const override { return inner_.rank(); }
    [[nodiscard]] int size() const override { return inner_.size(); }
    Request isend(std::span<const std::byte> data, int dst, std::uint32_t group, int tag) override;
    Request irecv(std::span<std::byte> data, int src, std::uint32_t group, int tag) override;
    Arrival wait(const Request& request) override;
    bool test(const Request& request) override;
    Arrival probe(int src, std::uint32_t group, int tag) override;

  private:
    struct Posted {
        Direction direction;
        int peer;
        std::uint32_t group;
        int tag;
        std::size_t bytes;
        int id;  // of a receive, in the channel
    };
    class Waits;

    void keep(const Request& request, const Posted& posted);
    std::optional<Posted> forget(const Request& request);
    int take_off(const Posted& receive);
    void note(const Posted& posted, const Arrival& arrival);

    Transport& inner_;
    std::mutex lock_;
    std::map<const dist::Pending*, Posted> posted_;  // and not waited for yet
};

}  // namespace dist::harness
