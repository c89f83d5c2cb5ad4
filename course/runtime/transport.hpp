// What carries messages between processes: under MPI's calls, Gloo's, NCCL's, there is always one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "course/runtime/error.hpp"

namespace dist {

/// What has come, or waits to be received.
struct Arrival {
    int src = -1;
    int tag = 0;
    std::size_t bytes = 0;  // of the whole message
};

/// A message that has been begun: isend or irecv returned it, and wait or test say when it is through.
struct Pending {
    bool is_done = false;
    Arrival arrival;    // of a receive that is done
    std::string error;  // why it failed; empty: it did not
};
using Request = std::shared_ptr<Pending>;

/// Carries messages between `size()` processes, numbered from 0. A message belongs to a group, any number that sender and
/// receiver agree on, and has a tag; a receive takes the first message of its sender with its group and its tag.
/// So messages of one sender, group and tag are received in the order in which they were sent.
///
/// Several threads may call at the same time.
class Transport {
  public:
    Transport() = default;
    Transport(const Transport&) = delete;
    Transport& operator=(const Transport&) = delete;
    virtual ~Transport() = default;

    [[nodiscard]] virtual int rank() const = 0;
    [[nodiscard]] virtual int size() const = 0;

    /// Begins to send. `data` stays as it is, and where it is, until the request is done.
    ///
    /// Errors  std::invalid_argument if there is no rank `dst`. What fails later comes out of wait() and test().
    virtual Request isend(
        std::span<const std::byte> data, int dst, std::uint32_t group, int tag
    ) = 0;

    /// Begins to receive. Nobody else touches `data` until the request is done. A message may be shorter.
    ///
    /// Errors  std::invalid_argument if there is no rank `src`.
    virtual Request irecv(std::span<std::byte> data, int src, std::uint32_t group, int tag) = 0;

    /// Waits until it is done. Of a receive, says what came.
    ///
    /// Errors  Error, which names the other rank, if it has died or left, or if a message is longer than its place.
    virtual Arrival wait(const Request& request) = 0;

    /// Whether it is done, now. Messages move while it looks.
    ///
    /// Errors  as wait's.
    virtual bool test(const Request& request) = 0;

    /// Waits until a message is there that a receive would take, and leaves it there. Says how long it is.
    ///
    /// Errors  as irecv's and wait's.
    virtual Arrival probe(int src, std::uint32_t group, int tag) = 0;

    /// As isend and wait.
    void send(std::span<const std::byte> data, int dst, std::uint32_t group, int tag) {
        wait(isend(data, dst, group, tag));
    }

    /// As irecv and wait.
    Arrival recv(std::span<std::byte> data, int src, std::uint32_t group, int tag) {
        return wait(irecv(data, src, group, tag));
    }
};

}  // namespace dist
