// What full_mesh must do: one connection for each pair of ranks, whoever else connects, and the name of each rank that does not
// come.
#include "exercises/04_groups_and_rendezvous/full_mesh.hpp"

#include <chrono>
#include <csignal>
#include <map>
#include <memory>

#include "course/runtime/clock.hpp"
#include "tests/04_groups_and_rendezvous/mesh_deaths.hpp"
#include "tests/04_groups_and_rendezvous/mesh_network.hpp"
#include "tests/04_groups_and_rendezvous/mesh_ranks.hpp"

using namespace dist;
using namespace dist::harness;

TEST_CASE("full_mesh connects every rank with every other one, each pair by one connection") {
    alone([] {
        for (const int p : {1, 2, 3, 5, 11}) {
            INFO("ranks: " << p);
            HashStore store;
            const long before = entries("fd");
            std::vector<std::unique_ptr<Rank>> ranks;
            for (int r = p - 1; r >= 0; --r) {
                ranks.insert(ranks.begin(), std::make_unique<Rank>(store, r, p));
            }
            std::vector<Sockets> mesh;
            for (const auto& rank : ranks) {
                const auto came = std::make_shared<Came>(rank->end());
                CHECK(without_error(*came));
                REQUIRE(came->sockets.size() == static_cast<std::size_t>(p));
                mesh.push_back(std::move(came->sockets));
            }
            {
                INFO("sockets of all ranks together: two for each pair");
                CHECK(entries("fd") - before == p * (p - 1));
            }
            for (std::uint32_t a = 0; a < mesh.size(); ++a) {
                INFO("the sockets of rank " << a << " of " << p);
                {
                    INFO("none at its own place");
                    CHECK_FALSE(mesh[a][a]);
                }
                for (std::uint32_t b = 0; b < mesh.size(); ++b) {
                    if (a != b) {
                        INFO("the one of rank " << b << ": it is there, and its calls wait");
                        REQUIRE(mesh[a][b]);
                        CHECK(waits(mesh[a][b]));
                        say(mesh[a][b], 1000 * a + b);
                    }
                }
            }
            for (std::uint32_t a = 0; a < mesh.size(); ++a) {
                for (std::uint32_t b = 0; b < mesh.size(); ++b) {
                    if (a != b) {
                        INFO("the first number that comes from rank " << b << " to rank " << a);
                        CHECK(heard(mesh[a][b]) == std::to_string(1000 * b + a));
                    }
                }
            }
        }
    });
}

TEST_CASE("full_mesh says in the store where a rank listens") {
    alone([] {
        for (const std::string address : {"localhost", "::1"}) {
            if (!is_of_this_machine(address)) {
                continue;  // it has no IPv6
            }
            INFO("the address of rank 0 is " << address);
            HashStore store(kPatience);
            Rank lower(store, 0, 2, kPatience, address);
            const std::string said = lower.said();
            const int port = port_in(said);
            CHECK(said == address + ":" + std::to_string(port));
            Rank higher(store, 1, 2);
            CHECK(without_error(lower.end()));
            CHECK(without_error(higher.end()));
            CHECK(store.get("mesh/1").rfind("127.0.0.1:", 0) == 0);
            CHECK(store.num_keys() == 2);
        }
    });
}

TEST_CASE("full_mesh has the higher rank connect, and say its rank in four bytes") {
    alone([] {
        HashStore store(kPatience);
        const net::Socket listener = net::listen_on(0);
        store.set("mesh/0", "127.0.0.1:" + std::to_string(net::local_port(listener)));
        Rank rank(store, 1, 3);
        const int port = port_in(rank.said());
        pollfd one{listener.descriptor(), POLLIN, 0};
        CHECK(poll(&one, 1, 5000) == 1);
        const net::Socket from_1 = net::accept_from(listener);
        CHECK(heard(from_1) == "1");
        // rank 2 comes last: rank 1 waits for it, and calls nobody
        const net::Socket from_2 = net::connect_to("127.0.0.1", port, kPatience);
        say(from_2, 2);
        const Came came = rank.end();
        REQUIRE(came.sockets.size() == 3);
        say(came.sockets[0], 70);
        say(came.sockets[2], 72);
        CHECK(heard(from_1) == "70");
        CHECK(heard(from_2) == "72");
        CHECK(poll(&one, 1, 0) == 0);
    });
}

TEST_CASE("full_mesh hangs up on whoever is none of its ranks") {
    alone([] {
        HashStore store(kPatience);
        Rank rank(store, 1, 4);
        const net::Socket listener = net::listen_on(0);
        store.set("mesh/0", "127.0.0.1:" + std::to_string(net::local_port(listener)));
        const int port = port_in(rank.said());
        const auto call = [&] { return net::connect_to("127.0.0.1", port, kPatience); };
        call();  // leaves at once
        const auto comes = [&](std::uint32_t says) {
            net::Socket socket = call();
            say(socket, says);
            return socket;
        };
        std::map<std::string, net::Socket> strangers;
        for (const std::uint32_t said : {0U, 1U, 4U, 0x80000002U, 0xFFFFFFFFU}) {
            strangers["who says rank " + std::to_string(said)] = comes(said);
        }
        const net::Socket rank_3 = comes(3);
        strangers["who says rank 3 when that has come already"] = comes(3);
        const net::Socket rank_2 = comes(2);
        const Came came = rank.end();
        REQUIRE(came.sockets.size() == 4);
        say(came.sockets[2], 62);
        say(came.sockets[3], 63);
        CHECK(heard(rank_2) == "62");
        CHECK(heard(rank_3) == "63");
        for (const auto& [who, stranger] : strangers) {
            INFO("rank 1 of 4 closes the connection of one " << who);
            CHECK(has_ended(stranger));
        }
    });
}

TEST_CASE("full_mesh waits for ranks that come late") {
    alone([] {
        for (const int late : {0, 1, 2}) {
            INFO("rank " << late << " comes last");
            HashStore store(kPatience);
            Rank first(store, (late + 1) % 3, 3);
            Rank second(store, (late + 2) % 3, 3);
            nap(100);
            Rank last(store, late, 3);
            CHECK(without_error(first.end()));
            CHECK(without_error(second.end()));
            CHECK(without_error(last.end()));
        }
        using namespace std::chrono_literals;
        const std::map<std::string, Store::Duration> longest = {
            {"a month", 30 * 24h}, {"2^32 ms", 0x100000000ms}, {"ever", Store::Duration::max()}};
        for (const auto& [time, timeout] : longest) {
            INFO("rank 0 waits for rank 1, for " << time << " if need be");
            HashStore store(kPatience);
            Rank rank(store, 0, 2, timeout);
            const int port = port_in(rank.said());
            nap(50);
            const net::Socket rank_1 = comes_as(1, port);
            CHECK(without_error(rank.end()));
        }
    });
}

TEST_CASE("full_mesh goes on waiting when a signal was handled") {
    alone([] {
        struct sigaction handled = {};
        struct sigaction before = {};
        handled.sa_handler = [](int) {};
        sigaction(SIGWINCH, &handled, &before);
        HashStore store(kPatience);
        Rank rank(store, 0, 2);
        const int port = port_in(rank.said());
        for (int i = 0; i < 20 && !rank.is_over(); ++i) {
            nap(10);
            rank.interrupt(SIGWINCH);
        }
        INFO("rank 0 waits for rank 1, and handles a signal meanwhile");
        const net::Socket rank_1 = comes_as(1, port);
        CHECK(without_error(rank.end()));
        sigaction(SIGWINCH, &before, nullptr);
    });
}

TEST_CASE("full_mesh names a rank that does not come, on both sides, and leaves nothing open") {
    alone([] {
        for (const int missing : {0, 1, 2}) {
            INFO("rank " << missing << " does not come");
            const long before = entries("fd");
            HashStore store(std::chrono::seconds(4));
            const Stopwatch watch;
            Rank first(store, (missing + 1) % 3, 3, kShort);
            Rank second(store, (missing + 2) % 3, 3, kShort);
            CHECK(names(first.end().error, missing));
            CHECK(names(second.end().error, missing));
            REQUIRE(
                watch.elapsed_s() < 3
            );  // less than the store waits, and far more than the timeout
            CHECK(entries("fd") == before);
        }
    });
}

TEST_CASE("full_mesh names a rank that dies at any moment while the others connect") {
    dies_while_they_connect();
}

TEST_CASE("full_mesh waits for all together as long as the timeout, whoever else connects") {
    waits_for_all_together();
}

TEST_CASE("full_mesh connects through a network that passes on single bytes, and delays them") {
    connects_byte_by_byte();
}

TEST_CASE("full_mesh names a rank that connects, and of whose four bytes not all arrive") {
    names_who_is_cut_off();
}

TEST_CASE("full_mesh is not kept waiting by a stranger who says nothing") {
    alone([] {
        HashStore store(kPatience);
        const Stopwatch watch;
        Rank rank(store, 0, 3, std::chrono::seconds(4));
        const int port = port_in(rank.said());
        const net::Socket silent = net::connect_to("127.0.0.1", port, kPatience);
        const net::Socket rank_1 = net::connect_to("127.0.0.1", port, kPatience);
        say(rank_1, 1);
        nap(1200);
        const net::Socket rank_2 = comes_as(2, port);
        INFO("rank 1 comes at once, and rank 2 after 1.2 s, within the timeout of 4 s");
        const Came came = rank.end();
        CHECK(without_error(came));
        CHECK(watch.elapsed_s() < 3);  // less than the timeout
        {
            INFO("it closes the connection of who says nothing");
            CHECK(has_ended(silent));
        }
    });
}

TEST_CASE("full_mesh refuses a rank that does not exist before it does anything") {
    alone([] {
        for (const auto& [rank, size] : {std::pair{-1, 3}, {3, 3}, {0, 0}, {0, -1}}) {
            HashStore store(kShort);
            CHECK_THROWS_AS(
                full_mesh(store, rank, size, "127.0.0.1", kShort), std::invalid_argument
            );
            CHECK(store.num_keys() == 0);
        }
    });
}
