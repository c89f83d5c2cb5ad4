// A network between ranks that take turns in one thread: time is what the test says, and who waits
// for a message ends the test.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "course/runtime/clock.hpp"
#include "course/runtime/transport.hpp"

namespace dist::harness {

using namespace std::chrono_literals;
using Ms = Clock::Duration;

class HeartbeatNetwork {
  public:
    static constexpr std::uint32_t kGroup = 7;  // the only one that anybody may use
    static constexpr std::size_t kMost = 64;    // bytes of a heartbeat
    static constexpr int kLooks = 1000;         // calls of test() while one rank looks

    struct Mail {
        std::vector<std::byte> data;
        int tag;
        std::int64_t step;  // of its sender, when it was begun
        Ms comes;
    };
    /// Begun, and still in the memory of its sender.
    struct Held {
        std::span<const std::byte> data;
        Mail mail;
        Request request;
    };
    struct Receive {
        std::span<std::byte> place;
        int tag;
        Request request;
    };
    struct Edge {
        std::deque<Mail> mail;  // on its way, or there
        std::vector<Held> held;
        std::vector<Receive> posted;
        std::vector<Ms> begun = {};  // when each message was, of all that there were
        Ms delay{0};
        bool is_full = false;  // takes nothing
    };

    explicit HeartbeatNetwork(int p)
        : is_dead(static_cast<std::size_t>(p)),
          steps(is_dead.size()),
          edges_(is_dead.size() * is_dead.size()) {}

    [[nodiscard]] int size() const { return static_cast<int>(is_dead.size()); }

    Edge& edge(int src, int dst) {
        return edges_.at(
            static_cast<std::size_t>(src) * is_dead.size() + static_cast<std::size_t>(dst)
        );
    }

    /// Takes what its sender holds, and all that follows.
    void open(int src, int dst) {
        Edge& to = edge(src, dst);
        to.is_full = false;
        for (Held& one : std::exchange(to.held, {})) {
            if (!std::ranges::equal(one.data, one.mail.data)) {
                end("the bytes of a message have changed before it has left");
            }
            one.mail.comes = now + to.delay;
            to.mail.push_back(std::move(one.mail));
            one.request->is_done = true;
        }
    }

    /// Whether `rank` can know that `other` has died: all that came before has been received.
    [[nodiscard]] bool has_ended(int other, int rank) {
        return is_dead.at(static_cast<std::size_t>(other)) && edge(other, rank).mail.empty();
    }

    /// Ends the test, also where the code under test catches what it throws.
    [[noreturn]] void end(const std::string& why) {
        trouble = trouble.empty() ? why : trouble;
        throw std::runtime_error(why);
    }

    Ms now{0};
    std::vector<bool> is_dead;        // by rank
    std::vector<std::int64_t> steps;  // by rank: the step that it has reached
    std::string trouble;              // what nobody may do, and somebody did
    int looks = 0;                    // calls of test() since the rank that looks began to

  private:
    std::vector<Edge> edges_;
};

class HeartbeatTransport : public Transport {
  public:
    HeartbeatTransport(HeartbeatNetwork& network, int rank) : network_(network), rank_(rank) {}

    [[nodiscard]] int rank() const override { return rank_; }
    [[nodiscard]] int size() const override { return network_.size(); }

    Request isend(std::span<const std::byte> data, int dst, std::uint32_t group, int tag) override {
        begin(dst, group);
        if (data.size() > HeartbeatNetwork::kMost) {
            network_.end("a heartbeat has " + std::to_string(data.size()) + " bytes");
        }
        auto& edge = network_.edge(rank_, dst);
        auto request = std::make_shared<dist::Pending>();
        HeartbeatNetwork::Mail mail = {
            {data.begin(), data.end()},
            tag,
            network_.steps[static_cast<std::size_t>(rank_)],
            network_.now + edge.delay};
        edge.begun.push_back(network_.now);
        if (edge.is_full) {
            edge.held.push_back({data, std::move(mail), request});
            return request;
        }
        if (network_.has_ended(dst, rank_)) {
            request->error = died(dst);
        } else {
            edge.mail.push_back(std::move(mail));
        }
        request->is_done = true;
        return request;
    }

    Request irecv(std::span<std::byte> data, int src, std::uint32_t group, int tag) override {
        begin(src, group);
        auto request = std::make_shared<dist::Pending>();
        network_.edge(src, rank_).posted.push_back({data, tag, request});
        return request;
    }

    Arrival wait(const Request& request) override {
        if (!test(request)) {
            network_.end("it waits for a message in wait()");
        }
        return request->arrival;
    }

    bool test(const Request& request) override {
        if (++network_.looks > HeartbeatNetwork::kLooks) {
            network_.end("it calls test() again and again until a message comes");
        }
        for (int src = 0; src < size(); ++src) {
            move_from(src);
        }
        if (!request->error.empty()) {
            throw Error(request->error);
        }
        return request->is_done;
    }

    Arrival probe(int src, std::uint32_t group, int tag) override {
        begin(src, group);
        auto& edge = network_.edge(src, rank_);
        const auto mail = first(edge, tag);
        if (mail != edge.mail.end()) {
            return {src, tag, mail->data.size()};
        }
        if (network_.has_ended(src, rank_)) {
            throw Error(died(src));
        }
        network_.end("it waits for a message in probe()");
    }

  private:
    using Edge = HeartbeatNetwork::Edge;

    static std::string died(int rank) { return "rank " + std::to_string(rank) + " has died"; }

    void begin(int other, std::uint32_t group) const {
        expects(0 <= other && other < size(), "HeartbeatTransport: there is no such rank");
        if (group != HeartbeatNetwork::kGroup) {
            network_.end("it uses a group that is not its own");
        }
    }

    // The first message with this tag, if it has come.
    std::deque<HeartbeatNetwork::Mail>::iterator first(Edge& edge, int tag) const {
        const auto found = std::ranges::find(edge.mail, tag, &HeartbeatNetwork::Mail::tag);
        const bool has_come = found != edge.mail.end() && found->comes <= network_.now;
        return has_come ? found : edge.mail.end();
    }

    // Gives receives what has come for them; where nothing will come, an error.
    void move_from(int src) {
        Edge& edge = network_.edge(src, rank_);
        std::erase_if(edge.posted, [&](const HeartbeatNetwork::Receive& receive) {
            const auto mail = first(edge, receive.tag);
            dist::Pending& request = *receive.request;
            if (mail == edge.mail.end()) {
                request.is_done = network_.has_ended(src, rank_);
                request.error = request.is_done ? died(src) : "";
                return request.is_done;
            }
            request.is_done = true;
            if (mail->data.size() > receive.place.size()) {
                request.error = "a message of rank " + std::to_string(src) + " is too long";
            } else {
                std::ranges::copy(mail->data, receive.place.begin());
                request.arrival = {src, receive.tag, mail->data.size()};
            }
            edge.mail.erase(mail);
            return true;
        });
    }

    HeartbeatNetwork& network_;
    int rank_;
};

/// Says more than others do, or less, by `skew`.
class HeartbeatClock : public Clock {
  public:
    HeartbeatClock(HeartbeatNetwork& network, Ms the_skew) : skew(the_skew), network_(network) {}

    Duration now() override { return network_.now + skew; }
    void sleep(Duration /*duration*/) override { network_.end("it sleeps"); }

    Ms skew;

  private:
    HeartbeatNetwork& network_;
};

}  // namespace dist::harness
