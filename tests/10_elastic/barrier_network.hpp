// A network between threads of a virtual time: what is sent is there at once, and a rank dies when the test says so.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "course/runtime/transport.hpp"
#include "tests/harness/world/virtual_time.hpp"

namespace dist::harness {

/// Goes through the code under test, and ends the thread of a rank that has died.
struct Killed : std::runtime_error {
    Killed() : std::runtime_error("killed") {}
};

class BarrierNetwork {
  public:
    static constexpr int kLooks = 2000;  // of one rank, while no time passes

    struct Edge {
        struct Mail {
            std::vector<std::byte> data;
            std::uint32_t group;
            int tag;
        };
        struct Receive {
            std::span<std::byte> place;
            std::uint32_t group;
            int tag;
            Request request;
        };
        std::deque<Mail> mail;
        std::deque<Receive> posted;
        bool is_full = false;  // takes nothing more
        long messages = 0;     // all that were sent
    };

    BarrierNetwork(VirtualTime& virtual_time, int p)
        : time(virtual_time),
          is_dead(static_cast<std::size_t>(p)),
          edges_(is_dead.size() * is_dead.size()) {}

    [[nodiscard]] int size() const { return static_cast<int>(is_dead.size()); }

    Edge& edge(int src, int dst) {
        return edges_.at(
            static_cast<std::size_t>(src) * is_dead.size() + static_cast<std::size_t>(dst)
        );
    }

    void kill(int rank) { is_dead.at(static_cast<std::size_t>(rank)) = true; }

    /// Ends the thread of a rank that has died.
    void live(int rank) const {
        if (is_dead.at(static_cast<std::size_t>(rank))) {
            throw Killed();
        }
    }

    VirtualTime& time;
    std::vector<bool> is_dead;        // by rank
    int dies_when_rank_0_sends = -1;  // this rank does, just before that message

  private:
    std::vector<Edge> edges_;
};

class BarrierTransport : public Transport {
  public:
    BarrierTransport(BarrierNetwork& network, int rank) : network_(network), rank_(rank) {}

    [[nodiscard]] int rank() const override { return rank_; }
    [[nodiscard]] int size() const override { return network_.size(); }

    Request isend(std::span<const std::byte> data, int dst, std::uint32_t group, int tag) override {
        begin(dst);
        if (rank_ == 0 && network_.dies_when_rank_0_sends > 0) {
            network_.kill(network_.dies_when_rank_0_sends);
        }
        auto request = std::make_shared<dist::Pending>();
        auto& edge = network_.edge(rank_, dst);
        request->is_done = is_dead(dst) || !edge.is_full;
        if (is_dead(dst)) {
            request->error = died(dst);
        }
        if (is_dead(dst) || edge.is_full) {
            return request;
        }
        edge.mail.push_back({{data.begin(), data.end()}, group, tag});
        ++edge.messages;
        return request;
    }

    Request irecv(std::span<std::byte> data, int src, std::uint32_t group, int tag) override {
        begin(src);
        auto request = std::make_shared<dist::Pending>();
        network_.edge(src, rank_).posted.push_back({data, group, tag, request});
        return request;
    }

    Arrival wait(const Request& request) override {
        for (int ms = 0; !test(request); ++ms) {
            if (ms == 5000) {
                throw VirtualTime::Endless("it still waits for a message after 5 s in wait()");
            }
            network_.time.sleep(std::chrono::milliseconds(1));
        }
        return request->arrival;
    }

    bool test(const Request& request) override {
        network_.live(rank_);
        for (int src = 0; src < size(); ++src) {
            move_from(src);
        }
        if (!request->error.empty()) {
            throw Error(request->error);
        }
        looks_ = network_.time.now() == looked_ ? looks_ + 1 : 0;
        looked_ = network_.time.now();
        if (looks_ > BarrierNetwork::kLooks) {
            throw VirtualTime::Endless("it looks again and again, and does not sleep by its clock");
        }
        return request->is_done;
    }

    Arrival probe(int src, std::uint32_t group, int tag) override {
        for (int ms = 0;; ++ms) {
            begin(src);
            auto& edge = network_.edge(src, rank_);
            const auto mail = first(edge, group, tag);
            if (mail != edge.mail.end()) {
                return {src, tag, mail->data.size()};
            }
            if (is_dead(src)) {
                throw Error(died(src));
            }
            if (ms == 5000) {
                throw VirtualTime::Endless("it still waits for a message after 5 s in probe()");
            }
            network_.time.sleep(std::chrono::milliseconds(1));
        }
    }

  private:
    using Edge = BarrierNetwork::Edge;

    static std::string died(int rank) { return "rank " + std::to_string(rank) + " has died"; }

    [[nodiscard]] bool is_dead(int rank) const {
        return network_.is_dead[static_cast<std::size_t>(rank)];
    }

    void begin(int other) const {
        network_.live(rank_);
        expects(0 <= other && other < size(), "BarrierTransport: there is no such rank");
    }

    static std::deque<Edge::Mail>::iterator first(Edge& edge, std::uint32_t group, int tag) {
        return std::ranges::find_if(edge.mail, [&](const Edge::Mail& one) {
            return one.group == group && one.tag == tag;
        });
    }

    // Gives receives what has come for them; where nothing will come, an error.
    void move_from(int src) {
        Edge& edge = network_.edge(src, rank_);
        std::erase_if(edge.posted, [&](const Edge::Receive& receive) {
            const auto mail = first(edge, receive.group, receive.tag);
            dist::Pending& request = *receive.request;
            if (mail == edge.mail.end()) {
                request.error = is_dead(src) ? died(src) : "";
            } else if (mail->data.size() > receive.place.size()) {
                request.error = "a message of rank " + std::to_string(src) + " is too long";
            } else {
                std::ranges::copy(mail->data, receive.place.begin());
                request.arrival = {src, receive.tag, mail->data.size()};
            }
            request.is_done = mail != edge.mail.end() || is_dead(src);
            if (mail != edge.mail.end()) {
                edge.mail.erase(mail);
            }
            return request.is_done;
        });
    }

    BarrierNetwork& network_;
    int rank_;
    int looks_ = 0;
    Clock::Duration looked_{-1};
};

/// The clock of a rank that may die.
class BarrierClock : public VirtualClock {
  public:
    BarrierClock(BarrierNetwork& network, int rank)
        : VirtualClock(network.time, std::chrono::hours(rank)), network_(network), rank_(rank) {}

    void sleep(Duration duration) override {
        VirtualClock::sleep(duration);
        network_.live(rank_);
    }

  private:
    BarrierNetwork& network_;
    int rank_;
};

}  // namespace dist::harness
