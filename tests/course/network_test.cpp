// Sockets, and the network that errs, which tests of stores and transports stand on.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <functional>
#include <iterator>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <vector>

#include "course/net/socket.hpp"
#include "tests/harness/catch2.hpp"
#include "tests/harness/network/faulty_network.hpp"

using namespace dist;
using namespace dist::harness;
using namespace std::chrono_literals;

namespace {

std::ptrdiff_t entries_of(const char* folder) {
    return std::distance(std::filesystem::directory_iterator(folder), {});
}

bool comes(const std::function<bool()>& holds) {
    for (int i = 0; i < 20'000 && !holds(); ++i) {
        std::this_thread::sleep_for(200us);
    }
    return holds();
}

void send_all(const net::Socket& socket, const std::string& bytes) {
    for (std::size_t at = 0; at < bytes.size();) {
        const ssize_t n =
            send(socket.descriptor(), bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
        if (n < 0) {
            return;
        }
        at += static_cast<std::size_t>(n);
    }
}

/// The next n bytes; fewer where the other end ends, or nothing comes for `patience`.
std::string receive(
    const net::Socket& socket, std::size_t n, std::chrono::milliseconds patience = 4s
) {
    std::string all;
    while (all.size() < n) {
        pollfd event = {socket.descriptor(), POLLIN, 0};
        char bytes[4096];
        if (poll(&event, 1, static_cast<int>(patience.count())) <= 0) {
            break;
        }
        const ssize_t got =
            recv(socket.descriptor(), bytes, std::min(n - all.size(), sizeof bytes), 0);
        if (got <= 0) {
            break;
        }
        all.append(bytes, static_cast<std::size_t>(got));
    }
    return all;
}

/// As accept_from(), and waits for a client.
net::Socket next_client(const net::Socket& listener) {
    pollfd event = {listener.descriptor(), POLLIN, 0};
    poll(&event, 1, 4000);
    return net::accept_from(listener);
}

std::string refusal(const std::function<void()>& call) {
    try {
        call();
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// A client and a server, with an edge between.
struct Pair {
    net::Socket listener = net::listen_on(0, net::From::this_machine);
    FaultyNetwork network;
    int edge;
    net::Socket client;
    net::Socket server;

    explicit Pair(Faults faults = {}, std::uint64_t seed = 1) : network(seed) {
        edge = network.edge_to(net::local_port(listener), faults);
        client = net::connect_to("127.0.0.1", edge, 4s);
        server = next_client(listener);
    }
};

std::string numbered(std::size_t n) {
    std::string bytes(n, '\0');
    for (std::size_t i = 0; i < n; ++i) {
        bytes[i] = static_cast<char>(i % 251);
    }
    return bytes;
}

}  // namespace

TEST_CASE(
    "a socket connects by name and by address, to who listens anywhere or on this machine alone"
) {
    for (const net::From from : {net::From::anywhere, net::From::this_machine}) {
        const net::Socket listener = net::listen_on(0, from);
        const int port = net::local_port(listener);
        CHECK(port > 0);
        CHECK_FALSE(net::accept_from(listener));
        for (const std::string host : {"127.0.0.1", "localhost"}) {
            net::Socket client = net::connect_to(host, port, 4s);
            const net::Socket server = next_client(listener);
            REQUIRE(server);
            send_all(client, "hello");
            CHECK(receive(server, 5) == "hello");
            client.close();
            CHECK(receive(server, 1).empty());
        }
    }
}

TEST_CASE("what fails names host, port and reason") {
    const net::Socket listener = net::listen_on(0);
    const int port = net::local_port(listener);
    const std::string taken = refusal([&] { net::listen_on(port); });
    CHECK(has(taken, std::to_string(port)));
    CHECK(has(taken, "in use"));
    CHECK(has(refusal([] { net::listen_on(65536); }), "65536"));
    const std::string refused = refusal([] { net::connect_to("127.0.0.1", 1, 4s); });
    CHECK(has(refused, "127.0.0.1:1"));
    CHECK(has(refused, "refused"));
    const std::string unknown = refusal([] { net::connect_to("no.such.host.invalid", 80, 4s); });
    CHECK(has(unknown, "no.such.host.invalid:80"));
}

TEST_CASE("a connection is refused while nobody listens, also when its own port is the one") {
    // of some 28,000 ports that a connection may get, one is its own
    int port = 0;
    {
        const net::Socket listener = net::listen_on(0, net::From::this_machine);
        port = net::local_port(listener);
    }
    for (int i = 0; i < 200; ++i) {
        REQUIRE_FALSE(refusal([&] { net::connect_to("127.0.0.1", port, 4s); }).empty());
    }
}

TEST_CASE("a socket waits, or does not, and is closed at its end") {
    const auto before = entries_of("/proc/self/fd");
    {
        auto [one, other] = net::connected_pair();
        CHECK(entries_of("/proc/self/fd") == before + 2);
        one.set_waiting(false);
        char byte = 0;
        CHECK(recv(one.descriptor(), &byte, 1, 0) == -1);
        CHECK(errno == EAGAIN);
        send_all(other, "x");
        one.set_waiting(true);
        CHECK(recv(one.descriptor(), &byte, 1, 0) == 1);
        net::Socket moved = std::move(one);
        CHECK_FALSE(one);  // NOLINT(bugprone-use-after-move): that is what is asked
        CHECK(moved);
        moved = net::Socket();
        CHECK(receive(other, 1).empty());
    }
    CHECK(entries_of("/proc/self/fd") == before);
}

TEST_CASE("a network without faults passes everything on, and counts it") {
    Pair pair;
    const std::string bytes = numbered(1'000'000);
    std::thread sender([&] { send_all(pair.client, bytes); });
    CHECK((receive(pair.server, bytes.size()) == bytes));
    sender.join();
    send_all(pair.server, "answer");
    CHECK(receive(pair.client, 6) == "answer");
    send_all(pair.client, "again");
    CHECK(receive(pair.server, 5) == "again");
    const Carried carried = pair.network.carried(pair.edge);
    CHECK(carried.connections == 1);
    CHECK(carried.bytes == std::array<long, 2>{1'000'005, 6});
    CHECK(carried.turns == std::array<long, 2>{2, 1});
    CHECK(pair.network.open_connections(pair.edge) == 1);
    pair.client.close();
    CHECK(receive(pair.server, 1) == "");
    pair.server.close();
    CHECK(comes([&] { return pair.network.open_connections(pair.edge) == 0; }));
}

TEST_CASE("an end that sends no more may still receive") {
    Pair pair;
    send_all(pair.client, "request");
    shutdown(pair.client.descriptor(), SHUT_WR);
    CHECK(receive(pair.server, 100) == "request");
    send_all(pair.server, "answer");
    CHECK(receive(pair.client, 6) == "answer");
}

TEST_CASE("pieces are as small as they were asked for, and nothing is lost between them") {
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
        Pair pair({.most_piece = 1, .most_delay_us = 300}, seed);
        const std::string bytes = numbered(300);
        send_all(pair.client, bytes);
        std::string all;
        std::size_t single = 0;
        while (all.size() < bytes.size()) {
            char some[300];
            const ssize_t n = recv(pair.server.descriptor(), some, sizeof some, 0);
            REQUIRE(n > 0);
            single += n == 1 ? 1 : 0;
            all.append(some, static_cast<std::size_t>(n));
        }
        CHECK(all == bytes);
        CHECK(single > 30);  // a busy machine may see a few of them together
    }
    Pair pair({.most_piece = 7});
    const std::string bytes = numbered(100'000);
    std::thread sender([&] { send_all(pair.server, bytes); });
    CHECK((receive(pair.client, bytes.size()) == bytes));
    sender.join();
}

TEST_CASE("a way that is cut carries nothing until it is mended; the other way goes on") {
    Pair pair;
    pair.network.cut(pair.edge, Way::there);
    send_all(pair.client, "late");
    send_all(pair.server, "answer");
    CHECK(receive(pair.client, 6) == "answer");
    CHECK(receive(pair.server, 1, 50ms) == "");
    CHECK(comes([&] { return pair.network.carried(pair.edge).bytes[Way::there] == 4; }));
    pair.network.mend(pair.edge, Way::there);
    CHECK(receive(pair.server, 4) == "late");
}

TEST_CASE("a sender that nobody listens to has to wait, and all arrives in the end") {
    Pair pair;
    pair.network.cut(pair.edge, Way::there);
    const std::string bytes = numbered(32'000'000);
    std::atomic<bool> is_sent = false;
    std::thread sender([&] {
        send_all(pair.client, bytes);
        is_sent = true;
    });
    std::this_thread::sleep_for(100ms);
    CHECK_FALSE(is_sent);
    pair.network.mend(pair.edge, Way::there);
    CHECK((receive(pair.server, bytes.size()) == bytes));
    sender.join();
}

TEST_CASE("what is dropped does not arrive, and what follows does") {
    Pair pair;
    pair.network.drop(pair.edge, Way::back, 6);
    send_all(pair.server, "answer");
    CHECK(comes([&] { return pair.network.carried(pair.edge).bytes[Way::back] == 6; }));
    send_all(pair.server, "next");
    CHECK(receive(pair.client, 4) == "next");
}

TEST_CASE("a reset is an error at both ends, at once or behind so many bytes") {
    const auto is_reset = [](const net::Socket& socket) {
        char byte = 0;
        return recv(socket.descriptor(), &byte, 1, 0) == -1 && errno == ECONNRESET;
    };
    Pair pair;
    pair.network.reset(pair.edge);
    CHECK(is_reset(pair.client));
    CHECK(is_reset(pair.server));
    Pair other;
    other.network.reset_after(other.edge, Way::there, 3);
    send_all(other.client, "request");
    CHECK(receive(other.server, 7) == "req");
    CHECK(is_reset(other.client));
    CHECK(other.network.open_connections(other.edge) == 0);
    other.client = net::connect_to("127.0.0.1", other.edge, 4s);
    other.server = next_client(other.listener);
    send_all(other.client, "request");
    CHECK(receive(other.server, 7) == "request");
}

TEST_CASE("an end that is reset resets the other") {
    Pair pair;
    const linger at_once = {.l_onoff = 1, .l_linger = 0};
    setsockopt(pair.server.descriptor(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    pair.server.close();
    char byte = 0;
    CHECK(recv(pair.client.descriptor(), &byte, 1, 0) == -1);
}

TEST_CASE("each edge has a port, faults and counts of its own, and a server may come late") {
    const net::Socket listener = net::listen_on(0, net::From::this_machine);
    FaultyNetwork network(1);
    std::vector<int> edges;
    for (int i = 0; i < 5; ++i) {
        edges.push_back(network.edge_to(net::local_port(listener)));
    }
    network.cut(edges[2], Way::there);
    for (int i = 0; i < 5; ++i) {
        const net::Socket client =
            net::connect_to("127.0.0.1", edges[static_cast<std::size_t>(i)], 4s);
        const net::Socket server = next_client(listener);
        send_all(client, std::string(static_cast<std::size_t>(i) + 1, 'x'));
        CHECK(
            receive(server, 9, i == 2 ? 20ms : 50ms).size() ==
            (i == 2 ? 0U : static_cast<std::size_t>(i) + 1)
        );
    }
    for (int i = 0; i < 5; ++i) {
        CHECK(network.carried(edges[static_cast<std::size_t>(i)]).bytes[Way::there] == i + 1);
    }
    const int nobody = network.edge_to(1);
    try {
        const net::Socket client = net::connect_to("127.0.0.1", nobody, 4s);
        CHECK(receive(client, 1) == "");
    } catch (const Error& error) {  // the reset came before connect_to had looked
        CHECK(std::string(error.what()).find("Connection reset by peer") != std::string::npos);
    }
    CHECK(network.carried(nobody).connections == 1);
}

TEST_CASE("a network that ends leaves no thread, no descriptor and no connection") {
    const auto descriptors = entries_of("/proc/self/fd");
    const auto threads = entries_of("/proc/self/task");
    {
        Pair pair({.most_piece = 3, .most_delay_us = 1000});
        send_all(pair.client, numbered(1000));
        CHECK(receive(pair.server, 10).size() == 10);
    }
    net::Socket client;
    {
        Pair pair;
        client = std::move(pair.client);
    }
    CHECK(receive(client, 1) == "");
    client.close();
    CHECK(entries_of("/proc/self/fd") == descriptors);
    CHECK(comes([&] { return entries_of("/proc/self/task") == threads; }));
}
