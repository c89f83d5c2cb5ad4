// A network between threads of a virtual time: a message takes as long as a seed says, and its data is read when it has come.
// Nothing is kept in between: a send is done when its receive has it.
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

#include "course/runtime/seeded.hpp"
#include "course/runtime/transport.hpp"
#include "tests/04_groups_and_rendezvous/virtual_time.hpp"
#include "tests/harness/words/garbled.hpp"

namespace dist::harness {

/// Goes through the code under test, and ends the thread of a rank that has died.
struct Killed : std::runtime_error {
    Killed() : std::runtime_error("killed") {}
};

class RpcNetwork {
  public:
    using Duration = Clock::Duration;

    struct Mail {
        std::span<const std::byte> data;
        std::uint32_t group;
        int tag;
        Duration there;  // when it is
        Request request;
    };
    struct Receive {
        std::span<std::byte> place;
        std::uint32_t group;
        int tag;
        Request request;
    };
    struct Edge {
        std::deque<Mail> mail;
        std::deque<Receive> posted;
        long messages = 0;  // all that were sent
        long bytes = 0;
    };

    /// slowest  a message takes from 0 to so long.
    RpcNetwork(VirtualTime& virtual_time, int p, std::uint64_t seed, Duration slowest)
        : time(virtual_time),
          is_dead(static_cast<std::size_t>(p)),
          seed_(seed),
          slowest_(slowest),
          edges_(is_dead.size() * is_dead.size()) {}

    [[nodiscard]] int size() const { return static_cast<int>(is_dead.size()); }

    Edge& edge(int src, int dst) {
        return edges_.at(
            static_cast<std::size_t>(src) * is_dead.size() + static_cast<std::size_t>(dst)
        );
    }

    /// All that was sent until now.
    [[nodiscard]] long messages() const {
        long all = 0;
        for (const Edge& one : edges_) {
            all += one.messages;
        }
        return all;
    }

    [[nodiscard]] bool dead(int rank) const { return is_dead.at(static_cast<std::size_t>(rank)); }

    /// What it has sent and nobody has received is lost.
    void kill(int rank) {
        is_dead.at(static_cast<std::size_t>(rank)) = true;
        for (int dst = 0; dst < size(); ++dst) {
            edge(rank, dst).mail.clear();
        }
        ++moves;
    }

    /// Ends the thread of a rank that has died.
    void live(int rank) const {
        if (dead(rank)) {
            throw Killed();
        }
    }

    /// When a message comes that leaves now: not before those of its group and tag that left before it.
    Duration arrival(const Edge& on, std::uint32_t group, int tag) {
        const auto steps = static_cast<std::uint64_t>(slowest_.count()) + 1;
        const std::uint64_t drawn = seeded_bits(seed_, ++drawn_) % steps;
        Duration there = time.now() + Duration(static_cast<std::int64_t>(drawn));
        for (const Mail& before : on.mail) {
            const bool is_row = before.group == group && before.tag == tag;
            there = is_row ? std::max(there, before.there) : there;
        }
        return there;
    }

    /// Gives receives what has come for them; those from a rank that has died, and sends to it, an error.
    void move(int src, int dst) {
        Edge& on = edge(src, dst);
        std::erase_if(on.posted, [&](const Receive& receive) {
            const auto first = std::ranges::find_if(on.mail, [&](const Mail& one) {
                return one.group == receive.group && one.tag == receive.tag;
            });
            dist::Pending& request = *receive.request;
            if (first != on.mail.end() && first->there <= time.now() && !dead(dst)) {
                hand_over(*first, receive, src);
                on.mail.erase(first);
            } else if (dead(src)) {
                end(request, "rank " + std::to_string(src) + " does not answer");
            }
            return request.is_done;
        });
        while (dead(dst) && !on.mail.empty()) {
            end(*on.mail.front().request, "rank " + std::to_string(dst) + " does not answer");
            on.mail.pop_front();
        }
    }

    VirtualTime& time;
    std::vector<bool> is_dead;  // by rank
    long moves = 0;             // messages that left or came, deaths

  private:
    void end(dist::Pending& request, const std::string& error) {
        request.error = error;
        request.is_done = true;
        ++moves;
    }

    void hand_over(const Mail& mail, const Receive& receive, int src) {
        const bool fits = mail.data.size() <= receive.place.size();
        if (fits) {
            std::ranges::copy(mail.data, receive.place.begin());
            garble_if_asked(receive.place.first(mail.data.size()));
            receive.request->arrival = {src, mail.tag, mail.data.size()};
        }
        end(*mail.request, "");
        end(*receive.request, fits ? ""
                                   : "a message of " + std::to_string(mail.data.size()) +
                                         " bytes from rank " + std::to_string(src) +
                                         " does not fit into " +
                                         std::to_string(receive.place.size()));
    }

    std::uint64_t seed_;
    Duration slowest_;
    std::uint64_t drawn_ = 0;
    std::vector<Edge> edges_;
};

class RpcTransport : public Transport {
  public:
    RpcTransport(RpcNetwork& network, int rank) : network_(network), rank_(rank) {}

    [[nodiscard]] int rank() const override { return rank_; }
    [[nodiscard]] int size() const override { return network_.size(); }

    Request isend(std::span<const std::byte> data, int dst, std::uint32_t group, int tag) override {
        begin(dst);
        auto request = std::make_shared<dist::Pending>();
        RpcNetwork::Edge& edge = network_.edge(rank_, dst);
        edge.mail.push_back({data, group, tag, network_.arrival(edge, group, tag), request});
        ++edge.messages;
        edge.bytes += static_cast<long>(data.size());
        ++network_.moves;
        return request;
    }

    Request irecv(std::span<std::byte> data, int src, std::uint32_t group, int tag) override {
        begin(src);
        auto request = std::make_shared<dist::Pending>();
        network_.edge(src, rank_).posted.push_back({data, group, tag, request});
        return request;
    }

    Arrival wait(const Request& request) override {
        until([&] { return test(request); });
        return request->arrival;
    }

    bool test(const Request& request) override {
        look();
        if (!request->error.empty()) {
            throw Error(request->error);
        }
        return request->is_done;
    }

    Arrival probe(int src, std::uint32_t group, int tag) override {
        Arrival found;
        until([&] {
            begin(src);
            look();
            for (const auto& mail : network_.edge(src, rank_).mail) {
                const bool is_it = mail.group == group && mail.tag == tag && found.src < 0;
                if (is_it && mail.there <= network_.time.now()) {
                    found = {src, tag, mail.data.size()};
                }
            }
            if (found.src < 0 && network_.dead(src)) {
                throw Error("rank " + std::to_string(src) + " does not answer");
            }
            return found.src == src;
        });
        return found;
    }

  private:
    void begin(int other) const {
        network_.live(rank_);
        expects(0 <= other && other < size(), "RpcTransport: there is no such rank");
    }

    void look() {
        constexpr int kLooks = 20'000;
        network_.live(rank_);
        for (int other = 0; other < size(); ++other) {
            network_.move(other, rank_);
            network_.move(rank_, other);
        }
        const bool is_new = network_.moves != moves_ || network_.time.now() != looked_;
        looks_ = is_new ? 0 : looks_ + 1;
        moves_ = network_.moves;
        looked_ = network_.time.now();
        if (looks_ > kLooks) {
            throw VirtualTime::Endless("it looks again and again, and no time passes");
        }
    }

    template <class Condition>
    void until(const Condition& holds) {
        for (int ms = 0; !holds(); ++ms) {
            if (ms == 5000) {
                throw VirtualTime::Endless("it still waits for a message after 5 s");
            }
            network_.time.sleep(std::chrono::milliseconds(1));
        }
    }

    RpcNetwork& network_;
    int rank_;
    int looks_ = 0;  // since anything has moved
    long moves_ = -1;
    Clock::Duration looked_{-1};
};

/// The clock of a rank that may die. A sleep of 0 ms lets others go on; when nothing has moved since all of them could, it
/// takes as long as one of 1 ms, as where others have the processor.
class RpcClock : public Clock {
  public:
    RpcClock(RpcNetwork& network, int rank) : network_(network), rank_(rank) {}

    Duration now() override { return network_.time.look() + std::chrono::hours(rank_); }

    void sleep(Duration duration) override {
        passes_ = network_.moves == moves_ && duration == Duration(0) ? passes_ + 1 : 0;
        moves_ = network_.moves;
        if (duration > Duration(0)) {
            network_.time.sleep(duration + late);
        } else if (passes_ < 4 * network_.size()) {
            network_.time.pass();
        } else if (!is_alone) {
            network_.time.sleep(Duration(1) + late);
        }
        network_.live(rank_);
        if (late == Duration(0) && network_.time.now() > Duration(16'000 / network_.size())) {
            throw VirtualTime::Endless("it still waits, long after it should have gone on");
        }
    }

    Duration late{0};       // so much longer than it should each sleep takes
    bool is_alone = false;  // nobody else needs the processor: a sleep of 0 ms takes no time

  private:
    RpcNetwork& network_;
    int rank_;
    int passes_ = 0;  // sleeps of 0 ms since anything has moved
    long moves_ = -1;
};

}  // namespace dist::harness
