#include "exercises/04_groups_and_rendezvous/tcp_transport.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <sys/socket.h>

#include "tests/04_groups_and_rendezvous/tcp_mesh.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/processes/watched_transport.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

using Bytes = std::vector<std::byte>;

constexpr std::size_t kLong = 20'000'000;  // more than the kernel keeps between two processes

// Runs `body` in p processes that have a transport each.
Processes on_transport(
    int p,
    const std::function<void(Transport& transport, int rank, int p)>& body,
    const std::set<int>& may_die = {}
) {
    return on_mesh(
        p,
        [&](std::vector<net::Socket> sockets, int rank, int) {
            TcpTransport transport(std::move(sockets), rank);
            WatchedTransport watched(transport);
            body(watched, rank, p);
        },
        may_die
    );
}

void on_transports(
    const std::vector<int>& sizes, const std::function<void(Transport&, int, int)>& body
) {
    on_ranks({1}, [&](const Communicator&) {
        for (const int p : sizes) {
            INFO("ranks: " << p);
            const Processes run = on_transport(p, body);
            CHECK(static_cast<int>(run.died.size()) == p);
        }
    });
}

// What comes from `src`, received into a place of `n` bytes.
Bytes received(Transport& transport, std::size_t n, int src, std::uint32_t group = 0, int tag = 0) {
    Bytes place(n, std::byte{0xEE});
    const Arrival arrival = transport.recv(place, src, group, tag);
    CHECK(arrival.src == src);
    CHECK(arrival.tag == tag);
    CHECK(arrival.bytes <= n);
    place.resize(std::min(arrival.bytes, n));
    return place;
}

// The text of the Error that `call` throws; empty if it throws none.
std::string error_of(const std::function<void()>& call) {
    try {
        call();
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

void read_all(int descriptor, std::span<std::byte> place) {
    while (!place.empty()) {
        const ssize_t n = ::recv(descriptor, place.data(), place.size(), 0);
        REQUIRE(n > 0);
        place = place.subspan(static_cast<std::size_t>(n));
    }
}

Bytes framed(const Frame& frame, const Bytes& data) {
    Bytes all(sizeof frame);
    std::memcpy(all.data(), &frame, sizeof frame);
    all.insert(all.end(), data.begin(), data.end());
    return all;
}

}  // namespace

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
                CHECK(received(transport, n, r, 3, 5) == message(n, r, rank));
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
            {0, 0}, {1, 0}, {0, 1}, {0, 0}, {1, 0}, {4'000'000'000U, -2'000'000'000}, {0, 0}};
        const std::vector<int> order = {
            5, 2, 1, 0, 4, 3, 6};  // as they are received: 0, 3, 6 in turn, and 1, 4
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
                CHECK(
                    received(transport, 100, r, which.group, which.tag) ==
                    message(40 + static_cast<std::size_t>(i), r, rank, i)
                );
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
            CHECK(places[at] == message(5000, other, rank, i));
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
            const std::string text = error_of([&] { transport.wait(receive); });
            CHECK(text.find("rank " + std::to_string(other)) != std::string::npos);
            CHECK(text.find("1001") != std::string::npos);
            CHECK(received(transport, 1000, other, 0, 1) == message(900, other, rank, 2));
        }
    });
}

TEST_CASE("tcp_transport lets all ranks send much at the same time, and then receive") {
    on_transports({2, 3}, [](Transport& transport, int rank, int p) {
        const int next = (rank + 1) % p;
        const int prev = (rank + p - 1) % p;
        const Bytes data = message(kLong, rank, next);
        transport.send(data, next, 0, 0);
        CHECK(received(transport, kLong, prev) == message(kLong, prev, rank));
    });
}

TEST_CASE("tcp_transport moves all that was begun, whatever is waited for") {
    on_transports({3}, [](Transport& transport, int rank, int) {
        // rank 0 begins to send much to 1, and waits for 2, who first waits for 1, who waits for rank 0's message
        if (rank == 0) {
            const Bytes data = message(kLong, 0, 1);
            const Request send = transport.isend(data, 1, 0, 0);
            CHECK(received(transport, 3, 2) == message(3, 2, 0));
            transport.wait(send);
        } else if (rank == 1) {
            CHECK(received(transport, kLong, 0) == message(kLong, 0, 1));
            transport.send(message(2, 1, 2), 2, 0, 0);
        } else {
            CHECK(received(transport, 2, 1) == message(2, 1, 2));
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
        CHECK(received(transport, 10, other, 0, 7) == message(10, other, rank, 1));
        CHECK(transport.probe(other, 0, 7).bytes == 40);
        CHECK(received(transport, 40, other, 0, 7) == message(40, other, rank, 4));
        CHECK(received(transport, 30, other, 1, 7) == message(30, other, rank, 3));
        CHECK(received(transport, 0, other, 0, 8).empty());
    });
}

TEST_CASE("tcp_transport tests without waiting, and moves messages meanwhile") {
    on_transports({2}, [](Transport& transport, int rank, int) {
        const int other = 1 - rank;
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
        CHECK(place == message(kLong, other, rank));
    });
}

TEST_CASE("tcp_transport serves threads: none keeps another one waiting") {
    on_transports({2}, [](Transport& transport, int rank, int) {
        const int other = 1 - rank;
        // one thread waits for what comes last, while others send and receive much
        std::thread sleeper([&] {
            CHECK(received(transport, 4, other, 9) == message(4, other, rank, 9));
        });
        nap(30);
        std::vector<std::thread> threads;
        for (std::uint32_t group = 0; group < 3; ++group) {
            threads.emplace_back([&, group] {
                const auto number = static_cast<int>(group);
                for (int i = 0; i < 20; ++i) {
                    const std::size_t n = i == 0 ? kLong / 4 : 1000;
                    const Bytes data = message(n, rank, other, number);
                    const Request send = transport.isend(data, other, group, i);
                    CHECK(
                        received(transport, n, other, group, i) == message(n, other, rank, number)
                    );
                    transport.wait(send);
                }
            });
        }
        for (std::thread& thread : threads) {
            thread.join();
        }
        transport.send(message(4, rank, other, 9), other, 9, 0);
        sleeper.join();
    });
}

TEST_CASE("tcp_transport wakes a thread that sleeps for what another one has begun") {
    on_transports({2}, [](Transport& transport, int rank, int) {
        if (rank == 0) {
            std::thread sleeper([&] { CHECK(received(transport, 1, 1, 1).size() == 1); });
            nap(50);
            const Bytes data = message(kLong, 0, 1);
            const Request send = transport.isend(data, 1, 0, 0);
            sleeper.join();  // rank 1 answers once it has all of it
            CHECK(transport.test(send));
        } else {
            CHECK(received(transport, kLong, 0) == message(kLong, 0, 1));
            transport.send(message(1, 1, 0), 0, 1, 0);
        }
    });
}

TEST_CASE("tcp_transport tells a thread that waits what came while another one looked") {
    on_transports({2}, [](Transport& transport, int rank, int) {
        for (int i = 0; i < 400; ++i) {
            if (rank == 1) {
                nap(1);  // rank 0's thread sleeps by now
                transport.send(message(4, 1, 0), 0, 1, 0);
                transport.send(message(1, 1, 0), 0, 2, 0);
                CHECK(received(transport, 0, 0).empty()
                );  // nothing more comes before rank 0's thread is through
                continue;
            }
            std::thread sleeper([&] { CHECK(received(transport, 4, 1, 1).size() == 4); });
            std::byte place{};
            const Request answer = transport.irecv({&place, 1}, 1, 2, 0);
            while (!transport.test(answer)) {
            }
            sleeper.join();
            transport.send({}, 1, 0, 0);
        }
    });
}

TEST_CASE("tcp_transport brings what a rank sends to itself to the thread that waits for it") {
    on_transports({1, 2}, [](Transport& transport, int rank, int) {
        std::thread sleeper([&] {
            CHECK(received(transport, 5000, rank) == message(5000, rank, rank));
        });
        nap(50);
        transport.send(message(5000, rank, rank), rank, 0, 0);
        sleeper.join();
    });
}

TEST_CASE("tcp_transport sleeps while nothing moves") {
    on_transports({2}, [](Transport& transport, int rank, int) {
        if (rank == 1) {
            nap(600);
            transport.send({}, 0, 0, 0);
        } else {
            const double before_s = used_cpu_s();
            CHECK(received(transport, 0, 1).empty());
            CHECK(used_cpu_s() - before_s < 0.03);
        }
    });
}

TEST_CASE("tcp_transport names a rank that has died, and goes on with the others") {
    on_ranks({1}, [](const Communicator&) {
        for (const bool in_the_middle : {false, true}) {
            INFO((in_the_middle ? "in the middle of a message" : "between two messages"));
            const auto body = [&](std::vector<net::Socket> sockets, int rank, int) {
                const int to_0 = sockets[0].descriptor();
                TcpTransport transport(std::move(sockets), rank);
                if (rank == 2) {
                    transport.send(message(9, 2, 0), 0, 0, 1);
                    transport.send(message(9, 2, 1), 1, 0, 1);
                    CHECK(received(transport, 0, 1, 0, 5).empty());
                    if (in_the_middle) {
                        const Bytes half = framed({0, 0, 1000}, message(600, 2, 0));
                        ::send(to_0, half.data(), half.size(), 0);
                    }
                    raise(SIGKILL);
                }
                if (rank == 1) {
                    transport.send({}, 2, 0, 5);
                }
                Bytes place(1000);
                const Request receive = transport.irecv(place, 2, 0, 0);
                CHECK(error_of([&] {
                          transport.wait(receive);
                      }).find("rank 2") != std::string::npos);
                CHECK(error_of([&] {
                          transport.probe(2, 0, 0);
                      }).find("rank 2") != std::string::npos);
                CHECK(error_of([&] {
                          transport.recv(place, 2, 0, 0);
                      }).find("rank 2") != std::string::npos);
                CHECK(error_of([&] {
                          transport.send(place, 2, 0, 0);
                      }).find("rank 2") != std::string::npos);
                // what had come before is there, and the others are
                CHECK(transport.probe(2, 0, 1).bytes == 9);
                CHECK(received(transport, 9, 2, 0, 1) == message(9, 2, rank));
                transport.send(message(50, rank, 1 - rank), 1 - rank, 0, 0);
                CHECK(received(transport, 50, 1 - rank) == message(50, 1 - rank, rank));
            };
            const Processes run = on_mesh(3, body, {2});
            CHECK(run.died[2] == "killed by SIGKILL");
        }
    });
}

TEST_CASE("tcp_transport ends a send to a rank that dies before it has read it") {
    on_ranks({1}, [](const Communicator&) {
        const Processes run = on_transport(
            2,
            [](Transport& transport, int rank, int) {
                if (rank == 1) {
                    nap(50);
                    raise(SIGKILL);
                }
                const Bytes data = message(kLong, 0, 1);
                const Request send = transport.isend(data, 1, 0, 0);
                CHECK(error_of([&] { transport.wait(send); }).find("rank 1") != std::string::npos);
            },
            {1}
        );
        CHECK(run.died[1] == "killed by SIGKILL");
    });
}

TEST_CASE(
    "tcp_transport brings what was sent before a rank left, whatever that rank has not received"
) {
    on_transports({2}, [](Transport& transport, int rank, int) {
        if (rank == 0) {
            transport.send(message(100, 0, 1), 1, 0, 0);  // is never received
            nap(100);                                     // meanwhile rank 1 leaves
            CHECK(received(transport, 400'000, 1) == message(400'000, 1, 0));
        } else {
            nap(30);
            transport.send(message(400'000, 1, 0), 0, 0, 0);
        }
    });
}

TEST_CASE("tcp_transport receives what has come from a rank to which sends fail") {
    on_transports({2}, [](Transport& transport, int rank, int) {
        if (rank == 1) {
            transport.send(message(100, 1, 0), 0, 0, 0);
            return;
        }
        nap(50);
        std::string failed;
        for (int i = 0; i < 5 && failed.empty(); ++i) {  // the kernel may take the first one
            failed = error_of([&] { transport.send(message(100, 0, 1), 1, 0, 0); });
            nap(20);
        }
        CHECK(failed.find("rank 1") != std::string::npos);
        CHECK(received(transport, 100, 1) == message(100, 1, 0));
    });
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
                CHECK(received(transport, 5, 1, 7, -3) == message(5, 0, 1));
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
            CHECK(received(transport, 3, (rank + 2) % p) == message(3, (rank + 2) % p, rank));
        });
    });
}

TEST_CASE("tcp_transport leaves no descriptor and no thread behind") {
    on_ranks({1}, [](const Communicator&) {
        on_mesh(2, [](std::vector<net::Socket> sockets, int rank, int) {
            const long descriptors = entries("fd");
            const long threads = entries("task");
            {
                TcpTransport transport(std::move(sockets), rank);
                transport.send(message(3, rank, 1 - rank), 1 - rank, 0, 0);
                CHECK(received(transport, 3, 1 - rank) == message(3, 1 - rank, rank));
            }
            CHECK(entries("fd") == descriptors - 1);
            CHECK(entries("task") == threads);
        });
    });
}
