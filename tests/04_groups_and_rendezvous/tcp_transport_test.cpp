// What tcp_transport must do: carry messages between processes, whole and in order, whoever waits for what, and name the ranks
// that have died.
#include "exercises/04_groups_and_rendezvous/tcp_transport.hpp"

#include <array>
#include <csignal>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/04_groups_and_rendezvous/transport_deaths.hpp"
#include "tests/04_groups_and_rendezvous/transport_network.hpp"
#include "tests/04_groups_and_rendezvous/transport_ranks.hpp"
#include "tests/04_groups_and_rendezvous/transport_threads.hpp"

using namespace dist;
using namespace dist::harness;

TEST_CASE("tcp_transport carries messages of every length between all pairs of ranks") {
    on_transports({1, 2, 3, 5}, [](Transport& transport, int rank, int p) {
        CHECK(transport.rank() == rank);
        CHECK(transport.size() == p);
        for (const std::size_t n : {0, 1, 7, 16, 1000, 70'000, 1'000'003}) {
            std::vector<Bytes> data;
            std::vector<Request> sends;
            for (int r = 0; r < p; ++r) {
                data.push_back(message(n, rank, r));
                sends.push_back(transport.isend(data.back(), r, 3, 5));
            }
            for (int r = 0; r < p; ++r) {
                CHECK(is_message(received(transport, n, r, 3, 5), n, r, rank));
            }
            for (const Request& send : sends) {
                transport.wait(send);
            }
        }
    });
}

TEST_CASE("tcp_transport gives a receive the first message of its sender, group and tag") {
    on_transports({3}, [](Transport& transport, int rank, int p) {
        struct Sent {
            std::uint32_t group;
            int tag;
        };
        // as they are sent; each number tells which one came
        const std::vector<Sent> sent = {
            {0, 0}, {1, 0},      {0, 1},      {0, 0}, {1, 0}, {4'000'000'000U, -2'000'000'000},
            {0, 0}, {65'536, 0}, {0, 65'536}, {0, -1}};
        const std::vector<int> order = {
            9, 8, 7, 5, 2, 1, 0, 4, 3, 6};  // as they are received: 0, 3, 6 in turn, and 1, 4
        for (int r = 0; r < p; ++r) {
            for (std::size_t i = 0; i < sent.size(); ++i) {
                const Bytes data = message(40 + i, rank, r, static_cast<int>(i));
                transport.send(data, r, sent[i].group, sent[i].tag);
            }
        }
        for (int r = p - 1; r >= 0; --r) {
            for (const int i : order) {
                const auto& which = sent[static_cast<std::size_t>(i)];
                INFO("message " << i << " of rank " << r);
                REQUIRE(is_message(
                    received(transport, 100, r, which.group, which.tag),
                    40 + static_cast<std::size_t>(i), r, rank, i
                ));
            }
        }
    });
}

TEST_CASE("tcp_transport fills receives in the order in which they were begun") {
    on_transports({1, 2}, [](Transport& transport, int rank, int p) {
        const int other = p - 1 - rank;
        std::array<Bytes, 4> places;
        std::array<Request, 4> receives;
        for (std::size_t i = 0; i < places.size(); ++i) {
            places[i].resize(5000);
            receives[i] = transport.irecv(places[i], other, 0, static_cast<int>(i) % 2);
        }
        for (int i = 0; i < 4; ++i) {
            transport.send(message(5000, rank, other, i), other, 0, i % 2);
        }
        for (const int i : {3, 0, 2, 1}) {  // in whatever order they are waited for
            const auto at = static_cast<std::size_t>(i);
            const Arrival arrival = transport.wait(receives[at]);
            CHECK(arrival.bytes == 5000);
            CHECK(arrival.tag == i % 2);
            CHECK(is_message(places[at], 5000, other, rank, i));
        }
    });
}

TEST_CASE("tcp_transport receives a shorter message, and refuses a longer one alone") {
    on_transports({1, 2}, [](Transport& transport, int rank, int p) {
        const int other = p - 1 - rank;
        for (const bool first :
             {true, false}) {  // the receive is begun before the message is sent, or after
            Bytes place(1000, std::byte{0xEE});
            Request receive;
            if (first) {
                receive = transport.irecv(place, other, 0, 1);
            }
            transport.send(message(1001, rank, other), other, 0, 1);
            transport.send(message(900, rank, other, 2), other, 0, 1);
            if (!first) {
                transport.probe(other, 0, 1);
                receive = transport.irecv(place, other, 0, 1);
            }
            const std::string name = "rank " + std::to_string(other);
            CHECK(error_has({name, "1001"}, [&] { transport.wait(receive); }));
            CHECK(is_message(received(transport, 1000, other, 0, 1), 900, other, rank, 2));
        }
    });
}

TEST_CASE("tcp_transport lets all ranks send much at the same time, and then receive") {
    on_transports({2, 3}, [](Transport& transport, int rank, int p) {
        const int next = (rank + 1) % p;
        const int prev = (rank + p - 1) % p;
        const Bytes data = message(kLong, rank, next);
        transport.send(data, next, 0, 0);
        CHECK(is_message(received(transport, kLong, prev), kLong, prev, rank));
    });
}

TEST_CASE("tcp_transport moves a message from the sender to its receive without another copy") {
    on_transports({2}, [](Transport& transport, int rank, int) {
        const auto takes_no_more = [](const std::function<void()>& call) {
            const double before_mb = most_memory_mb();
            call();
            const double more_mb = most_memory_mb() - before_mb;
            INFO("a message of 20 MB: the process had " << more_mb << " MB more at its most");
            CHECK(more_mb < 10);
        };
        if (rank == 0) {
            const Bytes data = message(kLong, 0, 1);
            CHECK(received(transport, 0, 1).empty());  // the receive has begun
            takes_no_more([&] { transport.send(data, 1, 0, 0); });
        } else {
            Bytes place(kLong, std::byte{0xEE});
            const Request receive = transport.irecv(place, 0, 0, 0);
            transport.send({}, 0, 0, 0);
            takes_no_more([&] { transport.wait(receive); });
            CHECK(is_message(place, kLong, 0, 1));
        }
    });
}

TEST_CASE("tcp_transport moves all that was begun, whatever is waited for") {
    on_transports({3}, [](Transport& transport, int rank, int) {
        // rank 0 begins to send much to 1, and waits for 2, who first waits for 1, who waits for rank 0's message
        if (rank == 0) {
            const Bytes data = message(kLong, 0, 1);
            const Request send = transport.isend(data, 1, 0, 0);
            CHECK(is_message(received(transport, 3, 2), 3, 2, 0));
            transport.wait(send);
        } else if (rank == 1) {
            CHECK(is_message(received(transport, kLong, 0), kLong, 0, 1));
            transport.send(message(2, 1, 2), 2, 0, 0);
        } else {
            CHECK(is_message(received(transport, 2, 1), 2, 1, 2));
            transport.send(message(3, 2, 0), 0, 0, 0);
        }
    });
}

TEST_CASE("tcp_transport probes: it says what comes, waits for it, and leaves it there") {
    on_transports({1, 2}, [](Transport& transport, int rank, int p) {
        const int other = p - 1 - rank;
        if (p > 1 && rank == 1) {
            nap(50);
        }
        transport.send(message(10, rank, other, 1), other, 0, 7);
        transport.send(message(0, rank, other, 2), other, 0, 8);
        transport.send(message(30, rank, other, 3), other, 1, 7);
        transport.send(message(40, rank, other, 4), other, 0, 7);
        const Arrival last = transport.probe(other, 1, 7);
        CHECK(last.bytes == 30);
        CHECK(last.src == other);
        CHECK(last.tag == 7);
        for (int twice = 0; twice < 2; ++twice) {
            CHECK(transport.probe(other, 0, 7).bytes == 10);
            CHECK(transport.probe(other, 0, 8).bytes == 0);
        }
        CHECK(is_message(received(transport, 10, other, 0, 7), 10, other, rank, 1));
        CHECK(transport.probe(other, 0, 7).bytes == 40);
        CHECK(is_message(received(transport, 40, other, 0, 7), 40, other, rank, 4));
        CHECK(is_message(received(transport, 30, other, 1, 7), 30, other, rank, 3));
        CHECK(received(transport, 0, other, 0, 8).empty());
    });
}

TEST_CASE("tcp_transport tests without waiting, and moves messages meanwhile") {
    on_transports({2}, [](Transport& transport, int rank, int) {
        const int other = 1 - rank;
        Bytes nothing;
        const Request first = transport.irecv(nothing, other, 2, 0);
        const Request reply = transport.isend({}, other, 2, 0);
        REQUIRE(is_done(transport, first));
        transport.wait(reply);
        Bytes place(kLong);
        const Request receive = transport.irecv(place, other, 0, 0);
        CHECK_FALSE(transport.test(receive));
        transport.send({}, other, 1, 0);
        CHECK(received(transport, 0, other, 1).empty());  // nobody sends before both have looked
        const Bytes data = message(kLong, rank, other);
        const Request send = transport.isend(data, other, 0, 0);
        while (!transport.test(send) || !transport.test(receive)) {
        }
        CHECK(transport.test(receive));
        CHECK(transport.wait(receive).bytes == kLong);
        CHECK(is_message(place, kLong, other, rank));
    });
}

TEST_CASE("tcp_transport serves threads: none keeps another one waiting") {
    serves_threads();
}

TEST_CASE("tcp_transport wakes a thread that sleeps for what another one has begun") {
    wakes_a_sleeper();
}

TEST_CASE("tcp_transport tells a thread that waits what came while another one looked") {
    tells_who_waits();
}

TEST_CASE("tcp_transport brings what a rank sends to itself to the thread that waits for it") {
    brings_to_itself();
}

TEST_CASE("tcp_transport sleeps while nothing moves, also when a signal has woken it up") {
    on_transports({2}, [](Transport& transport, int rank, int) {
        if (rank == 1) {
            nap(600);
            transport.send({}, 0, 0, 0);
        } else {
            const double before_s = used_cpu_s();
            std::signal(SIGALRM, [](int) {});
            ualarm(200'000, 0);  // a call of poll() is interrupted
            CHECK(received(transport, 0, 1).empty());
            CHECK(used_cpu_s() - before_s < 0.03);
        }
    });
}

TEST_CASE("tcp_transport names a rank that has died, and goes on with the others") {
    dies_at(moments_of_a_message());
}

TEST_CASE("tcp_transport ends a send to a rank that dies before it has read it") {
    dies_at(moments_of_100_mb());
}

TEST_CASE(
    "tcp_transport brings what was sent before a rank left, whatever that rank has not received"
) {
    what_was_sent_arrives();
}

TEST_CASE("tcp_transport receives what has come from a rank to which sends fail") {
    what_has_come_stays();
}

TEST_CASE(
    "tcp_transport brings all messages whole and in order through a network that cuts and delays"
) {
    passes_in_pieces();
}

TEST_CASE("tcp_transport receives while nothing of what it sends arrives, and loses nothing") {
    passes_when_mended();
}

TEST_CASE("tcp_transport names a rank whose connection was reset, on both sides, and goes on") {
    names_who_was_reset();
}

TEST_CASE("tcp_transport writes a frame and the data, and reads what comes byte by byte") {
    on_ranks({1}, [](const Communicator&) {
        on_mesh(2, [](std::vector<net::Socket> sockets, int rank, int) {
            const Bytes first = framed({7, -3, 5}, message(5, 0, 1));
            const Bytes second = framed({8, 0, 0}, {});
            if (rank == 0) {
                TcpTransport transport(std::move(sockets), 0);
                transport.send(message(5, 0, 1), 1, 7, -3);
                transport.send({}, 1, 8, 0);
                CHECK(is_message(received(transport, 5, 1, 7, -3), 5, 0, 1));
                CHECK(received(transport, 0, 1, 8).empty());
                return;
            }
            const int wire = sockets[0].descriptor();
            Bytes come(first.size() + second.size());
            read_all(wire, come);
            Bytes expected = first;
            expected.insert(expected.end(), second.begin(), second.end());
            CHECK(come == expected);
            for (const std::byte one : expected) {
                ::send(wire, &one, 1, 0);
                std::this_thread::sleep_for(std::chrono::microseconds(500));
            }
            std::byte end{};
            CHECK(
                ::recv(wire, &end, 1, 0) == 0
            );  // it sends nothing else, and closes the connection
        });
    });
}

TEST_CASE("tcp_transport refuses ranks that do not exist, and rows of sockets with a gap") {
    on_ranks({1}, [](const Communicator&) {
        on_mesh(3, [](std::vector<net::Socket> sockets, int rank, int p) {
            std::vector<net::Socket> gap(3);
            CHECK_THROWS_AS(TcpTransport(std::move(gap), 1), std::invalid_argument);
            CHECK_THROWS_AS(TcpTransport({}, 0), std::invalid_argument);
            CHECK_THROWS_AS(TcpTransport(std::vector<net::Socket>(1), 1), std::invalid_argument);
            CHECK_THROWS_AS(TcpTransport(std::vector<net::Socket>(1), -1), std::invalid_argument);
            TcpTransport transport(std::move(sockets), rank);
            Bytes place(1);
            for (const int wrong : {-1, p, 1'000'000}) {
                CHECK_THROWS_AS(transport.isend(place, wrong, 0, 0), std::invalid_argument);
                CHECK_THROWS_AS(transport.irecv(place, wrong, 0, 0), std::invalid_argument);
                CHECK_THROWS_AS(transport.probe(wrong, 0, 0), std::invalid_argument);
            }
            transport.send(message(3, rank, (rank + 1) % p), (rank + 1) % p, 0, 0);
            CHECK(is_message(received(transport, 3, (rank + 2) % p), 3, (rank + 2) % p, rank));
        });
    });
}

TEST_CASE("tcp_transport writes nothing into the places of receives when it is destroyed") {
    leaves_places_alone();
}

TEST_CASE("tcp_transport leaves no descriptor and no thread behind") {
    on_ranks({1}, [](const Communicator&) {
        on_mesh(2, [](std::vector<net::Socket> sockets, int rank, int) {
            const long descriptors = entries("fd");
            const long threads = entries("task");
            {
                TcpTransport transport(std::move(sockets), rank);
                transport.send(message(3, rank, 1 - rank), 1 - rank, 0, 0);
                CHECK(is_message(received(transport, 3, 1 - rank), 3, 1 - rank, rank));
            }
            CHECK(entries("fd") == descriptors - 1);
            CHECK(entries("task") == threads);
        });
    });
}
