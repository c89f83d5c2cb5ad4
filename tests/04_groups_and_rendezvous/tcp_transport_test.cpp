// What tcp_transport must do: carry messages between processes, whole and in order, whoever waits for what, and name the ranks
// that have died.
#include "exercises/04_groups_and_rendezvous/tcp_transport.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <functional>
#include <future>
#include <map>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include "tests/harness/harness.hpp"
#include "tests/harness/processes/on_transport.hpp"
#include "tests/harness/words/wire.hpp"
#include "tests/harness/world/world.hpp"

using namespace dist;
using namespace dist::harness;
using std::async, std::launch;

namespace {

constexpr std::byte kUntouched{0xEE};

using Body = std::function<void(Transport& transport, int rank, int p)>;

/// Runs `body` in p processes for each p.
void play(const std::vector<int>& sizes, const Body& body) {
    on_one([&] {
        for (const int p : sizes) {
            INFO("ranks: " << p);
            if (!on_transport(p, body).passed) {
                return;
            }
        }
    });
}

/// Whether `got` is message(n, src, dst, number); if not, which one it may be.
Comparison is_message(const Bytes& got, std::size_t n, int src, int dst, int number = 0) {
    const Bytes expected = message(n, src, dst, number);
    std::string told =
        text("message ", number, " of rank ", src, " has ", n, " bytes, and ", got.size(), " came");
    for (int other = 0; got != expected && got.size() >= 4 && other < 20; ++other) {
        const Bytes begin = message(std::min<std::size_t>(got.size(), 16), src, dst, other);
        if (other != number && std::equal(begin.begin(), begin.end(), got.begin())) {
            told += text(": as if message ", other, " had come in its place");
        }
    }
    return {got == expected, told};
}

/// Receives message(n, src, this rank, number). There is no CHECK in it: threads call it as well.
Comparison arrives(
    Transport& transport,
    std::size_t n,
    int src,
    std::uint32_t group = 0,
    int tag = 0,
    int number = 0
) {
    Bytes place(n + 60, kUntouched);
    const Arrival arrival = transport.recv(place, src, group, tag);
    if (arrival.src != src || arrival.tag != tag || arrival.bytes > place.size()) {
        const auto [from, its_tag, count] = arrival;
        return {false, text("recv() says: ", count, " bytes of rank ", from, ", tag ", its_tag)};
    }
    place.resize(arrival.bytes);
    return is_message(place, n, src, transport.rank(), number);
}

/// Looks with test() until it is done, but not for ever.
Comparison is_done(Transport& transport, const Request& request) {
    for (int look = 0; look < 1000; ++look) {
        if (transport.test(request)) {
            return {};
        }
        nap(1);
    }
    return {false, "1000 looks with test(), a millisecond apart, moved nothing"};
}

/// A message as it stands on the wire.
std::string framed(const Frame& frame, const Bytes& data) {
    return in_memory(frame) + std::string(reinterpret_cast<const char*>(data.data()), data.size());
}

// Of three ranks, 1 is killed: rank 0 has accepted its connection, and rank 2 has connected to it.
constexpr int kDead = 1;
/// More than the kernel keeps between two ranks. A page of it is there once it has been written.
std::array<std::byte, 100'000'000> huge_data;

/// A moment at which a rank is killed.
struct Moment {
    std::string when;
    std::function<void(const Wire& wire, int other)> last;  // what it does, with each of the others
    std::function<void(Transport& transport)> call;         // what they are in meanwhile
};

/// Rank 1: leaves a message, and is killed when the others have come to their call.
void dies(std::vector<net::Socket> sockets, const Moment& moment) {
    std::map<int, Wire> wires;
    for (const int other : {0, 2}) {
        const Wire& wire = wires.emplace(other, std::move(sockets[other])).first->second;
        wire.says(framed({0, 1, 9}, message(9, kDead, other)));
        CHECK(wire.hears(sizeof(Frame)).size() == sizeof(Frame));
    }
    nap(10);
    for (const auto& [other, wire] : wires) {
        moment.last(wire, other);
    }
    raise(SIGKILL);
}

/// Another rank: is told, by this call and by each later one; then receives what was left, and goes on with the third.
void lives_on(Transport& transport, const Moment& moment) {
    transport.send({}, kDead, 0, 5);  // it is ready
    moment.call(transport);
    Bytes place(1000);
    CHECK(names_rank(kDead, [&] { transport.recv(place, kDead, 0, 0); }));
    CHECK(names_rank(kDead, [&] { transport.send(place, kDead, 0, 0); }));
    CHECK(names_rank(kDead, [&] { transport.probe(kDead, 0, 0); }));
    std::array<Request, 2> late;
    const std::string error = error_of([&] {
        late = {transport.isend(place, kDead, 0, 0), transport.irecv(place, kDead, 0, 0)};
    });
    INFO("isend and irecv: each begins as ever, and wait and test tell, each time");
    REQUIRE(error == "");
    for (const int which : {0, 1, 0, 1}) {
        CHECK(names_rank(kDead, [&] { transport.test(late[which]); }));
        CHECK(names_rank(kDead, [&] { transport.wait(late[which]); }));
    }
    CHECK(transport.probe(kDead, 0, 1).bytes == 9);
    CHECK(arrives(transport, 9, kDead, 0, 1));
    const int third = 2 - transport.rank();
    transport.send(message(50, transport.rank(), third), third, 0, 0);
    CHECK(arrives(transport, 50, third));
}

void dies_at(const std::vector<Moment>& moments) {
    on_one([&] {
        for (const Moment& moment : moments) {
            INFO("rank 1 is killed " << moment.when);
            const auto body = [&](std::vector<net::Socket> sockets, int rank, int) {
                if (rank == kDead) {
                    dies(std::move(sockets), moment);
                }
                const long descriptors = entries("fd");
                const long threads = entries("task");
                {
                    TcpTransport transport(std::move(sockets), rank);
                    lives_on(transport, moment);
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

}  // namespace

TEST_CASE("tcp_transport carries messages of every length between all pairs of ranks") {
    play({1, 2, 3, 5}, [](Transport& transport, int rank, int p) {
        CHECK((transport.rank() == rank && transport.size() == p));
        for (const std::size_t n : {0, 1, 7, 16, 1000, 70'000, 1'000'003}) {
            std::vector<Bytes> data;
            std::vector<Request> sends;
            for (int r = 0; r < p; ++r) {
                data.push_back(message(n, rank, r));
                sends.push_back(transport.isend(data.back(), r, 3, 5));
            }
            for (int r = 0; r < p; ++r) {
                CHECK(arrives(transport, n, r, 3, 5));
            }
            for (const Request& send : sends) {
                transport.wait(send);
            }
        }
    });
}

TEST_CASE("tcp_transport gives a receive the first message of its sender, group and tag") {
    play({1, 3}, [](Transport& transport, int rank, int p) {
        // as they are sent; each number tells which one came
        const std::vector<std::pair<std::uint32_t, int>> sent = {
            {0, 0}, {1, 0},      {0, 1},      {0, 0}, {1, 0}, {4'000'000'000U, -2'000'000'000},
            {0, 0}, {65'536, 0}, {0, 65'536}, {0, -1}};
        const int next = (rank + 1) % p;
        const int prev = (rank + p - 1) % p;
        for (const bool first : {true, false}) {
            std::vector<Bytes> places(sent.size(), Bytes(50));
            std::vector<Request> receives(sent.size());
            const auto begin = [&](std::size_t i) {
                receives[i] = transport.irecv(places[i], prev, sent[i].first, sent[i].second);
            };
            for (std::size_t i = 0; first && i < sent.size(); ++i) {
                begin(i);
            }
            for (int i = 0; i < std::ssize(sent); ++i) {
                transport.send(message(50, rank, next, i), next, sent[i].first, sent[i].second);
            }
            for (const int i : {9, 8, 7, 5, 2, 1, 0, 4, 3, 6}) {  // 0, 3, 6 in turn, and 1, 4
                if (!first) {
                    begin(i);
                }
                INFO("receives begin " << (first ? "before" : "after") << " sends; message " << i);
                const Arrival got = transport.wait(receives[i]);
                CHECK((got.src == prev && got.tag == sent[i].second && got.bytes == 50));
                CHECK(is_message(places[i], 50, prev, rank, i));
            }
        }
    });
}

TEST_CASE("tcp_transport receives a shorter message, and refuses a longer one alone") {
    play({1, 2}, [](Transport& transport, int rank, int p) {
        const int other = p - 1 - rank;
        for (const bool first : {true, false}) {  // the receive is begun before the send, or after
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
            CHECK(throws_error([&] { transport.wait(receive); }, {text("rank ", other), "1001"}));
            CHECK(arrives(transport, 900, other, 0, 1, 2));
        }
    });
}

TEST_CASE("tcp_transport lets all ranks send much at the same time, and then receive") {
    play({2, 3}, [](Transport& transport, int rank, int p) {
        const int next = (rank + 1) % p;
        const int prev = (rank + p - 1) % p;
        const Bytes data = message(kLong, rank, next);
        transport.send(data, next, 0, 0);
        CHECK(arrives(transport, kLong, prev));
    });
}

TEST_CASE("tcp_transport moves a message from the sender to its receive without another copy") {
    play({2}, [](Transport& transport, int rank, int) {
        const auto takes_no_more = [](const std::function<void()>& call) {
            const double before_mb = most_memory_mb();
            call();
            const double more_mb = most_memory_mb() - before_mb;
            INFO("a message of 20 MB: the process had " << more_mb << " MB more at its most");
            CHECK(more_mb < 10);
        };
        if (rank == 0) {
            const Bytes data = message(kLong, 0, 1);
            CHECK(arrives(transport, 0, 1));  // the receive has begun
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

TEST_CASE("tcp_transport probes: it says what comes, waits for it, and leaves it there") {
    play({1, 2}, [](Transport& transport, int rank, int p) {
        const int other = p - 1 - rank;
        nap(p > 1 && rank == 1 ? 50 : 0);
        transport.send(message(10, rank, other, 1), other, 0, 7);
        transport.send(message(0, rank, other, 2), other, 0, 8);
        transport.send(message(30, rank, other, 3), other, 1, 7);
        transport.send(message(40, rank, other, 4), other, 0, 7);
        const Arrival last = transport.probe(other, 1, 7);
        CHECK(last.bytes == 30);
        CHECK((last.src == other && last.tag == 7));
        for (int twice = 0; twice < 2; ++twice) {
            CHECK(transport.probe(other, 0, 7).bytes == 10);
            CHECK(transport.probe(other, 0, 8).bytes == 0);
        }
        CHECK(arrives(transport, 10, other, 0, 7, 1));
        CHECK(transport.probe(other, 0, 7).bytes == 40);
        CHECK(arrives(transport, 40, other, 0, 7, 4));
        CHECK(arrives(transport, 30, other, 1, 7, 3));
        CHECK(arrives(transport, 0, other, 0, 8));
    });
}

TEST_CASE("tcp_transport tests without waiting, and moves messages meanwhile") {
    play({2}, [](Transport& transport, int rank, int) {
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
        CHECK(arrives(transport, 0, other, 1));  // nobody sends before both have looked
        const Bytes data = message(kLong, rank, other);
        const Request send = transport.isend(data, other, 0, 0);
        while (!transport.test(send) || !transport.test(receive)) {
        }
        CHECK(transport.wait(receive).bytes == kLong);
        CHECK(is_message(place, kLong, other, rank));
    });
}

TEST_CASE("tcp_transport serves threads: none keeps another one waiting") {
    play({2}, [](Transport& transport, int rank, int) {
        const int other = 1 - rank;
        // one thread waits for what comes last, while others send and receive much
        auto last = async(launch::async, [&] { return arrives(transport, 4, other, 9, 0, 9); });
        nap(30);
        std::vector<std::future<Comparison>> threads;
        for (int group = 0; group < 3; ++group) {
            threads.push_back(async(launch::async, [&, group] {
                Comparison first_wrong;
                for (int i = 0; i < 20; ++i) {
                    const std::size_t n = i == 0 ? kLong / 4 : 1000;
                    const Bytes data = message(n, rank, other, group);
                    const Request send = transport.isend(data, other, group, i);
                    const Comparison came = arrives(transport, n, other, group, i, group);
                    first_wrong = first_wrong ? came : first_wrong;
                    transport.wait(send);
                }
                return first_wrong;
            }));
        }
        for (std::future<Comparison>& thread : threads) {
            CHECK(thread.get());
        }
        transport.send(message(4, rank, other, 9), other, 9, 0);
        CHECK(last.get());
    });
}

TEST_CASE("tcp_transport wakes a thread that sleeps for what another one has begun") {
    play({2}, [](Transport& transport, int rank, int) {
        if (rank == 0) {
            auto sleeper = async(launch::async, [&] { return arrives(transport, 1, 1, 1); });
            nap(50);
            const Bytes data = message(kLong, 0, 1);
            const Request send = transport.isend(data, 1, 0, 0);
            CHECK(sleeper.get());  // rank 1 answers once it has all of it
            CHECK(transport.test(send));
        } else {
            CHECK(arrives(transport, kLong, 0));
            transport.send(message(1, 1, 0), 0, 1, 0);
        }
    });
}

TEST_CASE("tcp_transport brings what a rank sends to itself to the thread that waits for it") {
    play({1, 2}, [](Transport& transport, int rank, int) {
        auto sleeper = async(launch::async, [&] { return arrives(transport, 5000, rank); });
        nap(50);
        transport.send(message(5000, rank, rank), rank, 0, 0);
        CHECK(sleeper.get());
    });
}

TEST_CASE("tcp_transport sleeps while nothing moves, also when a signal has woken it up") {
    play({2}, [](Transport& transport, int rank, int) {
        if (rank == 1) {
            nap(600);
            transport.send({}, 0, 0, 0);
        } else {
            const double before_s = used_cpu_s();
            std::signal(SIGALRM, [](int) {});
            ualarm(200'000, 0);  // a call of poll() is interrupted
            CHECK(arrives(transport, 0, 1));
            CHECK(used_cpu_s() - before_s < 0.03);
        }
    });
}

TEST_CASE("tcp_transport names a rank that has died, and goes on with the others") {
    const auto nothing = [](const Wire&, int) {};
    const auto part = [](std::size_t n) {
        return [n](const Wire& wire, int other) {
            wire.says(framed({0, 0, 1000}, message(1000, kDead, other)).substr(0, n));
        };
    };
    const auto receives = [](Transport& transport) {
        Bytes place(1000);
        const Request receive = transport.irecv(place, kDead, 0, 0);
        CHECK(names_rank(kDead, [&] { transport.wait(receive); }));
    };
    const auto probes = [](Transport& transport) {
        CHECK(names_rank(kDead, [&] { transport.probe(kDead, 0, 0); }));
    };
    const auto looks = [](Transport& transport) {
        Bytes place(1000);
        const Request receive = transport.irecv(place, kDead, 0, 0);
        Comparison looked;
        const Comparison named = names_rank(kDead, [&] { looked = is_done(transport, receive); });
        REQUIRE(looked);
        CHECK(named);
    };
    const auto reads_some = [](const Wire& wire, int) {
        CHECK(wire.hears(1'000'000).size() == 1'000'000);
    };
    const auto sends = [](Transport& transport) {
        const Request send = transport.isend(huge_data, kDead, 0, 0);
        CHECK(names_rank(kDead, [&] { transport.wait(send); }));
    };
    dies_at({
        {"while the others look with test()", nothing, looks},
        {"while the others are in wait()", nothing, receives},
        {"while the others are in probe()", nothing, probes},
        {"within a frame", part(sizeof(Frame) / 2), receives},
        {"in the middle of the data", part(sizeof(Frame) + 600), receives},
        {"in the middle of data that nobody has asked for", part(sizeof(Frame) + 600), probes},
        {"while the others send 100 MB", reads_some, sends},
    });
}

TEST_CASE("tcp_transport brings what was sent before a rank left, whatever it has not received") {
    // rank 1 leaves once a message has come that it does not receive, and no other is on its way there
    on_one([] {
        const Processes run = on_mesh(2, [](std::vector<net::Socket> sockets, int rank, int) {
            const int wire = dup(sockets[1 - rank].descriptor());
            TcpTransport transport(std::move(sockets), rank);
            const Wire other{net::Socket(wire)};
            if (rank == 0) {
                transport.send(message(100, 0, 1), 1, 0, 0);
                nap(100);  // meanwhile rank 1 leaves
                CHECK(arrives(transport, 400'000, 1));
            } else {
                other.await(sizeof(Frame) + 100);
                transport.send(message(400'000, 1, 0), 0, 0, 0);
            }
        });
        CHECK(run.passed);
    });
}

TEST_CASE("tcp_transport receives what has come from a rank to which sends fail") {
    play({2}, [](Transport& transport, int rank, int) {
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
        CHECK(arrives(transport, 100, 1));
    });
}

TEST_CASE("tcp_transport writes a frame and the data, and reads what comes byte by byte") {
    on_one([] {
        on_mesh(2, [](std::vector<net::Socket> sockets, int rank, int) {
            if (rank == 0) {
                TcpTransport transport(std::move(sockets), 0);
                transport.send(message(5, 0, 1), 1, 7, -3);
                transport.send({}, 1, 8, 0);
                Bytes echo(5);
                CHECK(transport.recv(echo, 1, 7, -3).bytes == 5);
                CHECK((echo == message(5, 0, 1)));
                CHECK(transport.recv(echo, 1, 8, 0).bytes == 0);
                return;
            }
            const Wire wire(std::move(sockets[0]));
            const std::string sent = framed({7, -3, 5}, message(5, 0, 1)) + framed({8, 0, 0}, {});
            CHECK(same_on_wire(wire.hears(sent.size()), sent));
            wire.says_single(sent, std::chrono::microseconds(500));
            CHECK(wire.hears(1) == "");  // it sends nothing else, and closes the connection
        });
    });
}

TEST_CASE("tcp_transport refuses ranks that do not exist, and rows of sockets with a gap") {
    on_one([] {
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
            CHECK(arrives(transport, 3, (rank + 2) % p));
        });
    });
}

TEST_CASE("tcp_transport writes nothing into the places of receives when it is destroyed") {
    // rank 1 writes by hand the message that rank 0 has asked for: the rest of it when rank 0 makes no more calls
    on_one([] {
        on_mesh(2, [&](std::vector<net::Socket> sockets, int rank, int) {
            const std::string all = framed({0, 0, 1000}, message(1000, 1, 0));
            constexpr std::size_t kBefore = sizeof(Frame) + 400;
            if (rank == 1) {
                const Wire wire(std::move(sockets[0]));
                wire.says(all.substr(0, kBefore));
                CHECK(wire.hears(sizeof(Frame)).size() == sizeof(Frame));
                wire.says(all.substr(kBefore));
                wire.comes();  // until rank 0 has gone
                return;
            }
            const Wire wire(net::Socket(dup(sockets[1].descriptor())));
            Bytes place(1000, kUntouched);
            Bytes place_before;
            {
                TcpTransport transport(std::move(sockets), 0);
                wire.await(kBefore);
                const Request receive = transport.irecv(place, 1, 0, 0);
                CHECK_FALSE(transport.test(receive));
                transport.send({}, 1, 0, 0);
                wire.await(all.size() - kBefore);
                place_before = place;
            }
            INFO("the destructor has written into the place of a receive");
            CHECK((place == place_before));
        });
    });
}
