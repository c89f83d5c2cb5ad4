// A rank dies while the others connect. What its death does to its connections is all that they see of it; so here it is a
// few sockets, which are closed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/04_groups_and_rendezvous/mesh_ranks.hpp"

namespace dist::harness {

/// Of three ranks, 1 dies: rank 0 waits for it, and rank 2 connects to it.
inline constexpr int kDead = 1;

struct MeshMoment {
    std::string when;
    std::function<void(Store& store, int port_of_0)> last;  // what it does
};

inline std::vector<MeshMoment> moments_of_a_mesh() {
    const auto connect = [](int port) { return net::connect_to("127.0.0.1", port, kPatience); };
    const auto listen_at = [](Store& store) {
        net::Socket listener = net::listen_on(0);
        store.set("mesh/1", "127.0.0.1:" + std::to_string(net::local_port(listener)));
        return listener;
    };
    return {
        {"before it says where it listens", [](Store&, int) {}},
        {"before anybody connects to it",
         [](Store& store, int) {
             const int port = net::local_port(net::listen_on(0));  // closed by now
             store.set("mesh/1", "127.0.0.1:" + std::to_string(port));
         }},
        {"before it accepts who has connected to it",
         [=](Store& store, int) {
             const net::Socket listener = listen_at(store);
             pollfd rank_2{listener.descriptor(), POLLIN, 0};
             poll(&rank_2, 1, 5000);
         }},
        {"after it has connected, before it says its rank",
         [=](Store&, int port) { connect(port); }},
        {"within the four bytes of its rank",
         [=](Store&, int port) { ::send(connect(port).descriptor(), "\1", 2, MSG_NOSIGNAL); }},
        {"after it has said its rank", [=](Store&, int port) { say(connect(port), kDead); }},
    };
}

/// By an Error that names it, or by the end of the connection with it. Rank 2 may have given up before it connected to
/// rank 0, which then may name that one.
inline Comparison knows_of_the_death(const Came& came, int rank) {
    if (!came.error.empty()) {
        const bool names_2 = rank == 0 && names(came.error, 2);
        return names_2 ? Comparison{} : names(came.error, kDead);
    }
    return {
        came.sockets.size() == 3 && came.sockets[kDead] && has_ended(came.sockets[kDead]),
        "it threw nothing, and has no socket of rank 1 that has ended"};
}

inline void dies_while_they_connect() {
    alone([] {
        for (const MeshMoment& moment : moments_of_a_mesh()) {
            INFO("rank 1 of three dies " << moment.when);
            const long descriptors = entries("fd");
            const long threads = entries("task");
            {
                HashStore store(kPatience);
                Rank lower(store, 0, 3, kShort);
                Rank higher(store, 2, 3, kShort);
                moment.last(store, port_in(lower.said()));
                const Came to_lower = lower.end();
                const Came to_higher = higher.end();
                INFO("rank 0 threw: " << to_lower.error);
                CHECK(knows_of_the_death(to_lower, 0));
                INFO("rank 2 threw: " << to_higher.error);
                CHECK(knows_of_the_death(to_higher, 2));
            }
            CHECK(entries("fd") == descriptors);
            CHECK(entries("task") == threads);
        }
    });
}

/// Somebody connects again and again, and leaves: rank 0 waits for rank 1 no longer than without that.
inline void waits_for_all_together() {
    alone([] {
        HashStore store(kPatience);
        Rank rank(store, 0, 2, kShort);
        const int port = port_in(rank.said());
        constexpr int kMost = 50;
        int strangers = 0;
        for (; strangers < kMost && !rank.is_over(); ++strangers) {
            try {
                net::connect_to("127.0.0.1", port, kPatience);
            } catch (const Error&) {  // it does not listen any more
            }
            nap(30);
        }
        INFO("strangers that connected, one every 30 ms, until a timeout of 300 ms was over");
        CHECK(strangers < kMost);
        while (!rank.is_over()) {  // or it would wait for ever
            try {
                say(net::connect_to("127.0.0.1", port, kPatience), 1);
            } catch (const Error&) {
            }
            nap(10);
        }
        CHECK(names(rank.end().error, 1));
    });
}

}  // namespace dist::harness
