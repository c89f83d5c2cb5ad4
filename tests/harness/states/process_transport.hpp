// A transport of two ranks that are plain processes, over a pair of sockets: the least that tests of WatchedTransport need.
// Messages come in the order in which they were sent, whatever their tags.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "tests/harness/processes/processes.hpp"
#include "tests/harness/processes/watched_transport.hpp"

namespace dist {

class PairTransport : public Transport {
  public:
    PairTransport(int socket, int rank) : socket_(socket), rank_(rank) {}

    [[nodiscard]] int rank() const override { return rank_; }
    [[nodiscard]] int size() const override { return 2; }

    Request isend(std::span<const std::byte> data, int dst, std::uint32_t /*group*/, int tag)
        override {
        auto request = std::make_shared<Pending>(Pending{true, {dst, tag, data.size()}, ""});
        static_cast<void>(::send(socket_, data.data(), data.size(), 0));
        return request;
    }
    Request irecv(std::span<std::byte> data, int src, std::uint32_t /*group*/, int tag) override {
        place_ = data;
        return std::make_shared<Pending>(Pending{false, {src, tag, data.size()}, ""});
    }
    Arrival wait(const Request& request) override {
        if (!request->is_done) {
            request->is_done = ::recv(socket_, place_.data(), place_.size(), MSG_WAITALL) > 0;
        }
        return request->arrival;
    }
    bool test(const Request& request) override { return request->is_done; }
    Arrival probe(int src, std::uint32_t /*group*/, int tag) override {
        std::byte first{};
        static_cast<void>(::recv(socket_, &first, 1, MSG_PEEK));
        return {src, tag, 0};
    }

  private:
    int socket_;
    int rank_;
    std::span<std::byte> place_;
};

/// Runs `body` in two processes, watched.
inline harness::Processes on_pair(const std::function<void(Transport&, int rank)>& body) {
    std::array<int, 2> ends{};
    socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends.data());
    return harness::on_processes(
        2,
        [&](int rank, int /*p*/) {
            close(ends[static_cast<std::size_t>(1 - rank)]);
            PairTransport transport(ends[static_cast<std::size_t>(rank)], rank);
            harness::WatchedTransport watched(transport);
            body(watched, rank);
        },
        {.go_on_alone =
             [&] {
                 close(ends[0]);
                 close(ends[1]);
             }}
    );
}

}  // namespace dist
