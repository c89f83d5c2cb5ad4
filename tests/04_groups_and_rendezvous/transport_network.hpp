// Ranks between which a network stands that errs. Each function is the body of a TEST_CASE.
#pragma once

#include <deque>
#include <filesystem>
#include <map>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "course/runtime/seeded.hpp"
#include "tests/04_groups_and_rendezvous/open_things.hpp"
#include "tests/04_groups_and_rendezvous/transport_ranks.hpp"
#include "tests/harness/network/faulty_network.hpp"

namespace dist::harness {

/// Closes what a process has of sockets beside its own: while it had the network's, nobody would read the end of a connection.
inline void keep_only(const std::vector<net::Socket>& own) {
    std::vector<int> all;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        all.push_back(std::stoi(entry.path().filename()));
    }
    for (const int descriptor : all) {
        struct stat what {};
        const bool is_own = std::ranges::any_of(own, [&](const net::Socket& one) {
            return one.descriptor() == descriptor;
        });
        if (!is_own && fstat(descriptor, &what) == 0 && S_ISSOCK(what.st_mode)) {
            ::close(descriptor);
        }
    }
}

/// A network between p ranks: an edge for each pair, whose client is the higher rank.
class Wires {
  public:
    Wires(int p, Faults faults)
        : network_(seed()), mesh_(p, [&](int port, int high, int low) {
              return edges_[{high, low}] = network_.edge_to(port, faults);
          }) {}

    [[nodiscard]] FaultyNetwork& network() { return network_; }
    [[nodiscard]] int edge(int high, int low) const { return edges_.at({high, low}); }

    /// Runs `body` in p processes that have a transport each, and `meanwhile` beside them.
    void run(
        int p,
        const std::function<void(Transport& transport, int rank, int p)>& body,
        const std::function<void()>& meanwhile = [] {}
    ) {
        const auto rank_body = [&](int rank, int) {
            std::vector<net::Socket> sockets = mesh_.take(rank);
            keep_only(sockets);
            TcpTransport transport(std::move(sockets), rank);
            body(transport, rank, p);
        };
        const auto go_on = [&] {
            mesh_.close();
            meanwhile();
        };
        CHECK(on_processes(p, rank_body, {.go_on_alone = go_on}).died.size() == std::size_t(p));
    }

  private:
    FaultyNetwork network_;
    std::map<std::pair<int, int>, int> edges_;
    Mesh mesh_;
};

/// What a rank sends to another one: lengths, groups and tags by the seed.
struct Planned {
    std::size_t n;
    std::uint32_t group;
    int tag;
};

inline std::vector<Planned> plan(int count, std::size_t most, int src, int dst) {
    std::vector<Planned> all;
    auto draws = std::uint64_t(1000 * src + 100 * dst);
    const auto draw = [&](std::uint64_t last) { return seeded_bits(seed(), draws++) % (last + 1); };
    for (int i = 0; i < count; ++i) {
        all.push_back({draw(most), static_cast<std::uint32_t>(draw(1)), static_cast<int>(draw(1))});
    }
    return all;
}

/// Each rank sends to each what was planned, and receives it: first all of one group and tag, then all of the next.
inline void exchange(Transport& transport, int rank, int p, int count, std::size_t most) {
    std::deque<Bytes> data;
    std::vector<Request> sends;
    for (int dst = 0; dst < p; ++dst) {
        int number = 0;
        for (const Planned& one : plan(count, most, rank, dst)) {
            data.push_back(message(one.n, rank, dst, number++));
            sends.push_back(transport.isend(data.back(), dst, one.group, one.tag));
        }
    }
    for (int src = p - 1; src >= 0; --src) {
        for (const auto& [group, tag] : {std::pair(1U, 1), {0U, 1}, {1U, 0}, {0U, 0}}) {
            int number = 0;
            for (const Planned& one : plan(count, most, src, rank)) {
                if (one.group == group && one.tag == tag) {
                    INFO("message " << number << " of rank " << src);
                    CHECK(is_message(
                        received(transport, one.n, src, group, tag), one.n, src, rank, number
                    ));
                }
                ++number;
            }
        }
    }
    for (const Request& send : sends) {
        transport.wait(send);
    }
}

inline void passes_in_pieces() {
    on_ranks({1}, [](const Communicator&) {
        INFO("the network cuts all into pieces of 1 to 3 bytes, and delays each");
        Wires slow(3, {.most_piece = 3, .most_delay_us = 100});
        slow.run(3, [](Transport& transport, int rank, int p) {
            exchange(transport, rank, p, 12, 40);
        });
        INFO("pieces of up to 30'000 bytes");
        Wires fast(2, {.most_piece = 30'000, .most_delay_us = 300});
        fast.run(2, [](Transport& transport, int rank, int p) {
            exchange(transport, rank, p, 8, 400'000);
        });
    });
}

inline void passes_when_mended() {
    on_ranks({1}, [](const Communicator&) {
        Wires wires(2, {});
        FaultyNetwork& network = wires.network();
        const int edge = wires.edge(1, 0);
        network.cut(edge, Way::there);
        const auto body = [](Transport& transport, int rank, int) {
            const int other = 1 - rank;
            const Bytes data = message(kLong, rank, other);
            const Request send = transport.isend(data, other, 0, 0);
            if (rank == 1) {
                CHECK(is_message(received(transport, kLong, other), kLong, other, rank));
                transport.send(message(3, rank, other), other, 1, 0);
                transport.wait(send);
            } else {
                CHECK(is_message(received(transport, 3, other, 1), 3, other, rank));
                CHECK(is_message(received(transport, kLong, other), kLong, other, rank));
                transport.wait(send);
            }
        };
        const auto mend_when_all_has_come = [&] {
            becomes_true([&] {
                return network.carried(edge).bytes[Way::back] >= static_cast<long>(kLong);
            });
            network.mend(edge, Way::there);
        };
        wires.run(2, body, mend_when_all_has_come);
        INFO("bytes that rank 0 has sent to rank 1, with their frame");
        CHECK(network.carried(edge).bytes[Way::back] == long(kLong + sizeof(Frame)));
    });
}

inline void names_who_was_reset() {
    on_ranks({1}, [](const Communicator&) {
        for (const long n : {0L, 7L, 16L, 616L}) {
            INFO("the connection of ranks 1 and 0 was reset after " << n << " bytes of 1016");
            Wires wires(3, {});
            wires.network().reset_after(wires.edge(1, 0), Way::there, n);
            wires.run(3, [](Transport& transport, int rank, int) {
                if (rank < 2) {
                    const int other = 1 - rank;
                    Bytes place(1000);
                    const Request receive = transport.irecv(place, other, 0, 0);
                    if (rank == 1) {
                        error_of([&] { transport.send(place, other, 0, 0); });  // it may have left
                    }
                    CHECK(names_rank(other, [&] { transport.wait(receive); }));
                    CHECK(names_rank(other, [&] { transport.probe(other, 0, 0); }));
                }
                for (int other = 0; other < 3; ++other) {
                    if (other != rank && other + rank != 1) {
                        transport.send(message(50, rank, other), other, 0, 0);
                        CHECK(is_message(received(transport, 50, other), 50, other, rank));
                    }
                }
            });
        }
    });
}

}  // namespace dist::harness
