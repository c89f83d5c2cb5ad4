// A rank is killed, at one moment after the other: each call of the others with it is an Error that names it, and they go on
// without it. Or it leaves. Each function without a parameter is the body of a TEST_CASE.
#pragma once

#include <array>
#include <csignal>
#include <functional>
#include <string>
#include <sys/ioctl.h>
#include <utility>
#include <vector>

#include "tests/04_groups_and_rendezvous/transport_ranks.hpp"

namespace dist::harness {

/// Of three ranks, 1 is killed: rank 0 has accepted its connection, and rank 2 has connected to it.
inline constexpr int kDead = 1;

/// Of which a page is there once it has been written.
inline constexpr std::size_t kHuge = 100'000'000;
inline std::array<std::byte, kHuge> huge_data;
inline std::array<std::byte, kHuge> huge_place;

struct Moment {
    std::string when;
    std::function<void(int wire, int other)> last;  // what it does, with each of the others
    std::function<void(Transport& transport, int rank)> call;  // what they are in meanwhile
};

inline void writes(int wire, const Bytes& bytes, std::size_t n) {
    ::send(wire, bytes.data(), n, MSG_NOSIGNAL);
}

/// As much as fits in between.
inline void writes_all_it_can(int wire, const Bytes& bytes) {
    std::size_t at = 0;
    for (ssize_t n = 0; n >= 0 && at < bytes.size(); at += static_cast<std::size_t>(n)) {
        n = ::send(wire, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
}

inline void reads_some(int wire) {
    Bytes begin(1'000'000);
    read_all(wire, begin);
}

inline void receives(Transport& transport, int /*rank*/) {
    Bytes place(1000);
    const Request receive = transport.irecv(place, kDead, 0, 0);
    CHECK(names_rank(kDead, [&] { transport.wait(receive); }));
}

inline void probes(Transport& transport, int /*rank*/) {
    CHECK(names_rank(kDead, [&] { transport.probe(kDead, 0, 0); }));
}

inline void looks(Transport& transport, int /*rank*/) {
    Bytes place(1000);
    const Request receive = transport.irecv(place, kDead, 0, 0);
    Comparison looked;
    const Comparison named = names_rank(kDead, [&] { looked = is_done(transport, receive); });
    REQUIRE(looked);
    CHECK(named);
}

inline void receives_whole(Transport& transport, int rank) {
    CHECK(is_message(received(transport, 1000, kDead), 1000, kDead, rank));
    receives(transport, rank);
}

inline void sends(Transport& transport, int /*rank*/) {
    const Request send = transport.isend(huge_data, kDead, 0, 0);
    CHECK(names_rank(kDead, [&] { transport.wait(send); }));
}

inline void sends_and_receives(Transport& transport, int /*rank*/) {
    const Request receive = transport.irecv(huge_place, kDead, 0, 0);
    const Request send = transport.isend(huge_data, kDead, 0, 0);
    CHECK(names_rank(kDead, [&] { transport.wait(send); }));
    CHECK(names_rank(kDead, [&] { transport.wait(receive); }));
}

/// Between two messages, within each part of one, and while the others are in each of the calls.
inline std::vector<Moment> moments_of_a_message() {
    const auto nothing = [](int, int) {};
    const auto part = [](std::size_t n) {
        return [n](int wire, int other) {
            writes(wire, framed({0, 0, 1000}, message(1000, kDead, other)), n);
        };
    };
    return {
        {"while the others look with test()", nothing, looks},
        {"while the others are in wait()", nothing, receives},
        {"while the others are in probe()", nothing, probes},
        {"within a frame", part(sizeof(Frame) / 2), receives},
        {"between a frame and its data", part(sizeof(Frame)), receives},
        {"in the middle of the data", part(sizeof(Frame) + 600), receives},
        {"in the middle of data that nobody has asked for", part(sizeof(Frame) + 600), probes},
        {"behind the data", part(sizeof(Frame) + 1000), receives_whole},
    };
}

/// Within more than the kernel keeps between two ranks.
inline std::vector<Moment> moments_of_100_mb() {
    const auto both = [](int wire, int) {
        writes_all_it_can(wire, framed({0, 0, kHuge}, Bytes(kLong)));
        reads_some(wire);
    };
    return {
        {"while the others send 100 MB", [](int wire, int) { reads_some(wire); }, sends},
        {"while both sides send 100 MB", both, sends_and_receives},
    };
}

/// Rank 1: leaves a message, and is killed when the others have come to their call.
inline void dies(const std::vector<net::Socket>& sockets, const Moment& moment) {
    Bytes ready(sizeof(Frame));
    for (const int other : {0, 2}) {
        const int wire = sockets[static_cast<std::size_t>(other)].descriptor();
        writes(wire, framed({0, 1, 9}, message(9, kDead, other)), sizeof(Frame) + 9);
        read_all(wire, ready);
    }
    nap(10);
    for (const int other : {0, 2}) {
        moment.last(sockets[static_cast<std::size_t>(other)].descriptor(), other);
    }
    raise(SIGKILL);
}

/// Another rank: is told, by this call and by each later one; then receives what was left, and goes on with the third.
inline void lives_on(Transport& transport, int rank, const Moment& moment) {
    transport.send({}, kDead, 0, 5);  // it is ready
    moment.call(transport, rank);
    Bytes place(1000);
    CHECK(names_rank(kDead, [&] { transport.recv(place, kDead, 0, 0); }));
    CHECK(names_rank(kDead, [&] { transport.send(place, kDead, 0, 0); }));
    CHECK(names_rank(kDead, [&] { transport.probe(kDead, 0, 0); }));
    Request late;
    for (const bool sends : {false, true}) {
        const std::string text = error_of([&] {
            late =
                sends ? transport.isend(place, kDead, 0, 0) : transport.irecv(place, kDead, 0, 0);
        });
        const std::string call = sends ? "isend" : "irecv";
        const Comparison begins = {
            text.empty(), call + " begins as ever, and wait and test tell; it threw: " + text};
        REQUIRE(begins);
        for (int twice = 0; twice < 2; ++twice) {
            CHECK(names_rank(kDead, [&] { transport.test(late); }));
            CHECK(names_rank(kDead, [&] { transport.wait(late); }));
        }
    }
    CHECK(transport.probe(kDead, 0, 1).bytes == 9);
    CHECK(is_message(received(transport, 9, kDead, 0, 1), 9, kDead, rank));
    const int third = 2 - rank;
    transport.send(message(50, rank, third), third, 0, 0);
    CHECK(is_message(received(transport, 50, third), 50, third, rank));
}

inline void dies_at(const std::vector<Moment>& moments) {
    on_ranks({1}, [&](const Communicator&) {
        for (const Moment& moment : moments) {
            INFO("rank 1 is killed " << moment.when);
            const auto body = [&](std::vector<net::Socket> sockets, int rank, int) {
                if (rank == kDead) {
                    dies(sockets, moment);
                }
                const long descriptors = entries("fd");
                const long threads = entries("task");
                {
                    TcpTransport transport(std::move(sockets), rank);
                    lives_on(transport, rank, moment);
                }
                CHECK(entries("fd") == descriptors - 2);  // those of its sockets
                CHECK(entries("task") == threads);
            };
            const Processes run = on_mesh(3, body, {kDead});
            CHECK(run.died[kDead] == "killed by SIGKILL");
            if (!run.passed) {
                return;
            }
        }
    });
}

/// Waits until so much can be read there, but not for ever.
inline void comes(int wire, std::size_t bytes) {
    constexpr int kMostLooks = 1000;
    int there = 0;
    for (int look = 0; look < kMostLooks && static_cast<std::size_t>(there) < bytes; ++look) {
        nap(1);
        ::ioctl(wire, FIONREAD, &there);
    }
}

/// Rank 1 leaves once a message has come that it does not receive, and no other is on its way there.
inline void what_was_sent_arrives() {
    on_ranks({1}, [](const Communicator&) {
        const Processes run = on_mesh(2, [](std::vector<net::Socket> sockets, int rank, int) {
            const int wire = sockets[static_cast<std::size_t>(1 - rank)].descriptor();
            TcpTransport transport(std::move(sockets), rank);
            if (rank == 0) {
                transport.send(message(100, 0, 1), 1, 0, 0);
                nap(100);  // meanwhile rank 1 leaves
                CHECK(is_message(received(transport, 400'000, 1), 400'000, 1, 0));
            } else {
                comes(wire, sizeof(Frame) + 100);
                transport.send(message(400'000, 1, 0), 0, 0, 0);
            }
        });
        CHECK(run.passed);
    });
}

inline void what_has_come_stays() {
    on_transports({2}, [](Transport& transport, int rank, int) {
        if (rank == 1) {
            transport.send(message(100, 1, 0), 0, 0, 0);
            return;
        }
        CHECK(names_rank(1, [&] {
            for (int i = 0; i < 1000; ++i) {  // until rank 1 has left, and the kernel knows
                transport.send(message(100, 0, 1), 1, 0, 0);
                nap(1);
            }
        }));
        CHECK(is_message(received(transport, 100, 1), 100, 1, 0));
    });
}

/// Rank 1 writes by hand the message that rank 0 has asked for: the rest of it when rank 0 makes no more calls.
inline void leaves_places_alone() {
    on_ranks({1}, [](const Communicator&) {
        for (const std::size_t before : {std::size_t{0}, sizeof(Frame) + 400}) {
            INFO("bytes of the message that came while the transport was used: " << before);
            on_mesh(2, [&](std::vector<net::Socket> sockets, int rank, int) {
                const int wire = sockets[static_cast<std::size_t>(1 - rank)].descriptor();
                const Bytes all = framed({0, 0, 1000}, message(1000, 1, 0));
                Bytes word(sizeof(Frame));
                if (rank == 1) {
                    writes(wire, all, before);
                    read_all(wire, word);
                    writes(
                        wire, Bytes(all.begin() + static_cast<std::ptrdiff_t>(before), all.end()),
                        all.size() - before
                    );
                    ::recv(wire, word.data(), 1, 0);  // until rank 0 has gone
                    return;
                }
                Bytes place(1000, kUntouched);
                Bytes place_before;
                {
                    TcpTransport transport(std::move(sockets), 0);
                    comes(wire, before);
                    const Request receive = transport.irecv(place, 1, 0, 0);
                    CHECK_FALSE(transport.test(receive));
                    transport.send({}, 1, 0, 0);
                    comes(wire, all.size() - before);
                    place_before = place;
                }
                const Comparison same = {
                    place == place_before,
                    "the destructor has written into the place of a receive"};
                CHECK(same);
            });
        }
    });
}

}  // namespace dist::harness
