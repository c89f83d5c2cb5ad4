// The network of a quorum: a replica dies at any of its messages, also in the middle of one, and
// long messages take their time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/10_elastic/barrier_network.hpp"

namespace dist::harness {

/// What a replica's messages come to.
struct Fate {
    long dies_after = -1;  // so many messages, sent or received; -1: it does not
    bool tears = false;    // it dies in the middle of the next one that it sends
    long messages = 0;     // all that it has sent and received
    long sent = 0;
    long sent_bytes = 0;
    bool is_dead = false;
    std::function<void()> die = {};  // does not return
};

class QuorumNetwork : public BarrierNetwork {
  public:
    /// A message that is on its way.
    struct Slow {
        Clock::Duration ready;
        int src;
        int dst;
        Edge::Mail mail;
        Request request;
    };

    QuorumNetwork(VirtualTime& virtual_time, std::vector<std::string> its_members)
        : BarrierNetwork(virtual_time, static_cast<int>(its_members.size())),
          members(std::move(its_members)) {}

    /// Delivers what has been on its way for long enough.
    void arrive() {
        std::erase_if(wire, [&](const Slow& slow) {
            const bool is_there = slow.ready <= time.now();
            if (is_there) {
                edge(slow.src, slow.dst).mail.push_back(slow.mail);
                slow.request->is_done = true;
            }
            return is_there;
        });
    }

    std::vector<std::string> members;  // by rank
    std::size_t bytes_per_ms = 0;      // of long messages; 0: they are there at once
    std::vector<Slow> wire;
};

class QuorumTransport : public BarrierTransport {
  public:
    QuorumTransport(QuorumNetwork& network, int rank, Fate& fate)
        : BarrierTransport(network, rank), network_(network), fate_(fate), me_(rank) {}

    /// It has left: nobody waits for it any more.
    ~QuorumTransport() override { network_.kill(me_); }
    QuorumTransport(const QuorumTransport&) = delete;
    QuorumTransport& operator=(const QuorumTransport&) = delete;

    Request isend(std::span<const std::byte> data, int dst, std::uint32_t group, int tag) override {
        constexpr std::size_t kSlowFrom = 1000;
        network_.live(me_);
        if (fate_.messages == fate_.dies_after) {
            tear(data, dst, group, tag);
            fate_.die();
        }
        Request request;
        if (network_.bytes_per_ms > 0 && data.size() > kSlowFrom) {
            const auto ms = static_cast<std::int64_t>(data.size() / network_.bytes_per_ms);
            request = std::make_shared<dist::Pending>();
            network_.wire.push_back(
                {network_.time.now() + Clock::Duration(ms),
                 me_,
                 dst,
                 {{data.begin(), data.end()}, group, tag},
                 request}
            );
        } else {
            request = BarrierTransport::isend(data, dst, group, tag);
        }
        ++fate_.sent;
        fate_.sent_bytes += static_cast<long>(data.size());
        pass_message();
        return request;
    }

    bool test(const Request& request) override {
        if (fate_.dies_after == 0 && !fate_.tears) {
            fate_.die();
        }
        network_.arrive();
        const bool is_done = BarrierTransport::test(request);
        if (is_done && request->arrival.src >= 0) {
            pass_message();
        }
        return is_done;
    }

    Arrival wait(const Request& request) override {
        constexpr int kMost = 2000;
        for (int ms = 0; !test(request); ++ms) {
            if (ms == kMost) {
                throw VirtualTime::Endless("it still waits for a message after 2 s");
            }
            network_.time.sleep(std::chrono::milliseconds(1));
        }
        return request->arrival;
    }

  private:
    void pass_message() {
        if (++fate_.messages == fate_.dies_after && !fate_.tears) {
            fate_.die();
        }
    }

    // Half of the message is in its place already.
    void tear(std::span<const std::byte> data, int dst, std::uint32_t group, int tag) {
        for (const auto& receive : network_.edge(me_, dst).posted) {
            if (fate_.tears && receive.group == group && receive.tag == tag) {
                const auto half = data.first(std::min(data.size(), receive.place.size()) / 2);
                std::ranges::copy(half, receive.place.begin());
            }
        }
    }

    QuorumNetwork& network_;
    Fate& fate_;
    int me_;
};

}  // namespace dist::harness
