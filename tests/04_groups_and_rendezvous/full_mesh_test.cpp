// What full_mesh must do: one connection for each pair of ranks, whoever else connects, and the name of each rank that does not
// come. Ranks are threads, or sockets of the test.
#include "exercises/04_groups_and_rendezvous/full_mesh.hpp"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <deque>
#include <fcntl.h>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <poll.h>
#include <string>
#include <utility>
#include <vector>

#include "course/runtime/clock.hpp"
#include "exercises/04_groups_and_rendezvous/hash_store.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/network/faulty_network.hpp"
#include "tests/harness/words/errors.hpp"
#include "tests/harness/words/this_process.hpp"
#include "tests/harness/words/wire.hpp"
#include "tests/harness/world/world.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

constexpr auto kLongest = 9s;
constexpr auto kShort = 300ms;

/// A rank, in a thread of its own.
class Rank {
  public:
    Rank(
        Store& store,
        int rank,
        int size,
        Store::Duration timeout = kLongest,
        const std::string& address = "127.0.0.1"
    )
        : store_(store),
          key_(text("mesh/", rank)),
          sockets_(std::async(std::launch::async, [=, this, &store] {
              thread_ = pthread_self();
              return full_mesh(store, rank, size, address, timeout);
          })) {}

    [[nodiscard]] bool is_over() const {
        return sockets_.wait_for(0s) == std::future_status::ready;
    }

    /// What full_mesh returns, or throws.
    std::vector<Wire> end() {
        std::vector<Wire> wires;
        for (net::Socket& socket : sockets_.get()) {
            wires.emplace_back(std::move(socket));
        }
        return wires;
    }

    /// Where this rank says that it listens.
    std::string address() {
        while (!store_.check({key_}) && !is_over()) {
            nap(1);
        }
        if (!store_.check({key_})) {
            end();
            throw Error("a rank does not say where it listens, as ADDRESS:PORT under mesh/RANK");
        }
        return store_.get(key_);
    }

    int port() {
        const std::string at = address();
        const std::size_t colon = at.rfind(':');
        INFO("a rank says where it listens, as ADDRESS:PORT. It says: " << at);
        REQUIRE(colon != std::string::npos);
        return std::stoi(at.substr(colon + 1));
    }

    /// As if the signal had come to the process, and to this thread of it.
    void interrupt(int signal) { pthread_kill(thread_, signal); }

  private:
    Store& store_;
    std::string key_;
    std::atomic<pthread_t> thread_ = {};
    std::future<std::vector<net::Socket>> sockets_;
};

void say(const Wire& wire, std::uint32_t number) {
    wire.says(in_memory(number));
}

bool hears(const Wire& wire, std::uint32_t number) {
    return wire.hears(sizeof number) == in_memory(number);
}

Wire connect(int port, std::uint32_t rank) {
    Wire wire(port);
    say(wire, rank);
    return wire;
}

/// Connects as this rank does, unless nobody listens there any more.
void connect_if_it_listens(int port, std::uint32_t rank, std::deque<Wire>& open) {
    error_of([&] { open.push_back(connect(port, rank)); });
}

Comparison without_error(Rank& rank) {
    const std::string error = error_of([&] { rank.end(); });
    return {error.empty(), "full_mesh threw: " + error};
}

Comparison names(Rank& rank, int missing) {
    return throws_error([&] { rank.end(); }, {text("rank ", missing)});
}

/// Whether others can connect to this machine by that address.
bool is_of_this_machine(const std::string& address) {
    const net::Socket listener = net::listen_on(0);
    return error_of([&] { net::connect_to(address, net::local_port(listener), kLongest); }).empty();
}

/// A store that sends each rank through a network: where another one listens, it finds an edge that leads there.
class Detour : public HashStore {
  public:
    Detour(FaultyNetwork& network, Faults faults)
        : HashStore(kLongest), network_(network), faults_(faults) {}

    std::string get(const std::string& key) override {
        const std::string at = HashStore::get(key);
        const std::scoped_lock guard(lock_);
        ++calls["get"];
        if (!edges.contains(key)) {
            edges[key] = network_.edge_to(std::stoi(at.substr(at.rfind(':') + 1)), faults_);
            prepare(edges[key]);
        }
        return text("127.0.0.1:", edges[key]);
    }
    void set(const std::string& key, const std::string& value) override {
        count("set");
        HashStore::set(key, value);
    }
    bool check(const std::vector<std::string>& keys) override {
        count("check");
        return HashStore::check(keys);
    }
    void wait(const std::vector<std::string>& keys, Duration timeout) override {
        count("wait");
        HashStore::wait(keys, timeout);
    }

    std::function<void(int edge)> prepare = [](int) {};  // before anybody connects to it
    std::map<std::string, int> edges = {};               // by key
    std::map<std::string, int> calls = {};               // how often each was made

  private:
    void count(const std::string& call) {
        const std::scoped_lock guard(lock_);
        ++calls[call];
    }

    FaultyNetwork& network_;
    Faults faults_;
    std::mutex lock_;
};

}  // namespace

TEST_CASE("full_mesh connects every rank with every other one, each pair by one connection") {
    on_one([] {
        for (const int p : {1, 2, 3, 5, 11}) {
            INFO("ranks: " << p);
            HashStore store;
            const long before = entries("fd");
            std::deque<Rank> ranks;
            for (int r = p - 1; r >= 0; --r) {
                ranks.emplace_front(store, r, p);
            }
            std::vector<std::vector<Wire>> mesh;
            for (Rank& rank : ranks) {
                mesh.push_back(rank.end());
                REQUIRE(std::ssize(mesh.back()) == p);
            }
            {
                INFO("sockets of all ranks together: two for each pair");
                CHECK(entries("fd") - before == p * (p - 1));
            }
            for (int a = 0; a < p; ++a) {
                INFO("the sockets of rank " << a << " of " << p);
                CHECK_FALSE(mesh[a][a]);
                for (int b = 0; b < p; ++b) {
                    if (a != b) {
                        INFO("the one of rank " << b << ": it is there, and its calls wait");
                        REQUIRE(mesh[a][b]);
                        CHECK((fcntl(mesh[a][b].descriptor(), F_GETFL) & O_NONBLOCK) == 0);
                        say(mesh[a][b], 1000 * a + b);
                    }
                }
            }
            for (int a = 0; a < p; ++a) {
                for (int b = 0; b < p; ++b) {
                    if (a != b) {
                        INFO("the first number that comes from rank " << b << " to rank " << a);
                        CHECK(hears(mesh[a][b], 1000 * b + a));
                    }
                }
            }
        }
    });
}

TEST_CASE("full_mesh says in the store where a rank listens") {
    on_one([] {
        for (const std::string address : {"localhost", "::1"}) {
            if (!is_of_this_machine(address)) {
                continue;  // it has no IPv6
            }
            INFO("the address of rank 0 is " << address);
            HashStore store(kLongest);
            Rank lower(store, 0, 2, kLongest, address);
            CHECK(lower.address() == text(address, ":", lower.port()));
            Rank higher(store, 1, 2);
            CHECK(without_error(lower));
            CHECK(without_error(higher));
            CHECK(store.get("mesh/1").rfind("127.0.0.1:", 0) == 0);
            CHECK(store.num_keys() == 2);
        }
    });
}

TEST_CASE("full_mesh has the higher rank connect, and say its rank in four bytes") {
    on_one([] {
        HashStore store(kLongest);
        const Wire listener(net::listen_on(0));
        const net::Socket at(dup(listener.descriptor()));
        store.set("mesh/0", text("127.0.0.1:", net::local_port(at)));
        Rank rank(store, 1, 3);
        const int port = rank.port();
        CHECK(listener.comes());
        const Wire from_1(net::accept_from(at));
        CHECK(hears(from_1, 1));
        const Wire from_2 = connect(port, 2);  // rank 1 waits for it, and calls nobody
        const std::vector<Wire> wires = rank.end();
        REQUIRE(wires.size() == 3);
        say(wires[0], 70);
        say(wires[2], 72);
        CHECK(hears(from_1, 70));
        CHECK(hears(from_2, 72));
        CHECK_FALSE(listener.comes(0ms));
    });
}

TEST_CASE("full_mesh hangs up on whoever is none of its ranks") {
    on_one([] {
        HashStore store(kLongest);
        Rank rank(store, 1, 4);
        const net::Socket listener = net::listen_on(0);
        store.set("mesh/0", text("127.0.0.1:", net::local_port(listener)));
        const int port = rank.port();
        Wire(port).closes();
        std::map<std::string, Wire> strangers;
        for (const std::uint32_t said : {0U, 1U, 4U, 0x80000002U, 0xFFFFFFFFU}) {
            strangers.emplace(text("rank ", said), connect(port, said));
        }
        const Wire rank_3 = connect(port, 3);
        strangers.emplace("rank 3 when that has come already", connect(port, 3));
        const Wire rank_2 = connect(port, 2);
        const std::vector<Wire> wires = rank.end();
        REQUIRE(wires.size() == 4);
        say(wires[2], 62);
        say(wires[3], 63);
        CHECK(hears(rank_2, 62));
        CHECK(hears(rank_3, 63));
        for (const auto& [said, stranger] : strangers) {
            INFO("rank 1 of 4 closes the connection of one that says " << said);
            CHECK(stranger.has_ended());
        }
    });
}

TEST_CASE("full_mesh waits for ranks that come late") {
    on_one([] {
        for (const int late : {0, 1, 2}) {
            INFO("rank " << late << " comes last");
            HashStore store(kLongest);
            Rank first(store, (late + 1) % 3, 3);
            Rank second(store, (late + 2) % 3, 3);
            nap(100);
            Rank last(store, late, 3);
            CHECK(without_error(first));
            CHECK(without_error(second));
            CHECK(without_error(last));
        }
        const std::map<std::string, Store::Duration> longest = {
            {"a month", 30 * 24h}, {"2^32 ms", 0x100000000ms}, {"ever", Store::Duration::max()}};
        for (const auto& [time, timeout] : longest) {
            INFO("rank 0 waits for rank 1, for " << time << " if need be");
            HashStore store(kLongest);
            Rank rank(store, 0, 2, timeout);
            const int port = rank.port();
            nap(50);
            std::deque<Wire> open;
            connect_if_it_listens(port, 1, open);
            CHECK(without_error(rank));
        }
    });
}

TEST_CASE("full_mesh goes on waiting when a signal was handled") {
    on_one([] {
        struct sigaction handled = {};
        struct sigaction before = {};
        handled.sa_handler = [](int) {};
        sigaction(SIGWINCH, &handled, &before);
        HashStore store(kLongest);
        Rank rank(store, 0, 2);
        const int port = rank.port();
        for (int i = 0; i < 20 && !rank.is_over(); ++i) {
            nap(10);
            rank.interrupt(SIGWINCH);
        }
        INFO("rank 0 waits for rank 1, and handles a signal meanwhile");
        std::deque<Wire> open;
        connect_if_it_listens(port, 1, open);
        CHECK(without_error(rank));
        sigaction(SIGWINCH, &before, nullptr);
    });
}

TEST_CASE("full_mesh names a rank that does not come, on both sides, and leaves nothing open") {
    on_one([] {
        for (const int missing : {0, 1, 2}) {
            INFO("rank " << missing << " does not come");
            const long before = entries("fd");
            HashStore store(4s);
            const Stopwatch watch;
            Rank first(store, (missing + 1) % 3, 3, kShort);
            Rank second(store, (missing + 2) % 3, 3, kShort);
            CHECK(names(first, missing));
            CHECK(names(second, missing));
            REQUIRE(watch.elapsed_s() < 3);  // less than the store waits, and more than the timeout
            CHECK(entries("fd") == before);
        }
    });
}

TEST_CASE("full_mesh names a rank that dies at any moment while the others connect") {
    on_one([] {
        // of ranks 0, 1, 2 it is 1: a few sockets, which are closed
        const auto listen = [](Store& store) {
            net::Socket listener = net::listen_on(0);
            store.set("mesh/1", text("127.0.0.1:", net::local_port(listener)));
            return listener;
        };
        const std::map<std::string, std::function<void(Store & store, int port_of_0)>> moments = {
            {"before it says where it listens", [](Store&, int) {}},
            {"before rank 2 connects to it", [&](Store& store, int) { listen(store); }},
            {"before it accepts rank 2",
             [&](Store& store, int) { CHECK(Wire(listen(store)).comes()); }},
            {"before it says its rank", [](Store&, int port) { Wire(port).closes(); }},
            {"within the four bytes of its rank",
             [](Store&, int port) { Wire(port).says(in_memory(1).substr(0, 2)); }},
            {"after it has said its rank", [](Store&, int port) { connect(port, 1); }},
        };
        /// By an Error that names rank 1, or by the end of the connection with it. Rank 0 may name rank 2, which has given up.
        const auto learns = [](Rank& rank, const std::string& or_names) -> Comparison {
            bool has_ended = false;
            const std::string error = error_of([&] {
                const std::vector<Wire> wires = rank.end();
                has_ended = wires.size() == 3 && wires[1] && wires[1].has_ended();
            });
            const bool is_named = error.find("rank 1") != std::string::npos ||
                                  error.find(or_names) != std::string::npos;
            return {
                has_ended || is_named,
                error.empty() ? "it threw nothing, and has no socket of rank 1 that has ended"
                              : "the text has to name rank 1, and is: " + error};
        };
        for (const auto& [when, does] : moments) {
            INFO("rank 1 of three dies " << when);
            const long descriptors = entries("fd");
            const long threads = entries("task");
            {
                HashStore store(kLongest);
                Rank lower(store, 0, 3, kShort);
                Rank higher(store, 2, 3, kShort);
                does(store, lower.port());
                CHECK(learns(lower, "rank 2"));
                CHECK(learns(higher, "rank 1"));
            }
            CHECK(entries("fd") == descriptors);
            CHECK(becomes_true([&] { return entries("task") == threads; }));
        }
    });
}

TEST_CASE("full_mesh waits for all together as long as the timeout, whoever else connects") {
    on_one([] {
        HashStore store(kLongest);
        Rank rank(store, 0, 2, kShort);
        const int port = rank.port();
        constexpr int kMost = 50;
        int strangers = 0;
        for (; strangers < kMost && !rank.is_over(); ++strangers) {
            error_of([&] { Wire(port).closes(); });
            nap(30);
        }
        INFO("strangers that connected, one every 30 ms, until a timeout of 300 ms was over");
        CHECK(strangers < kMost);
        std::deque<Wire> open;
        while (!rank.is_over()) {  // or it would wait for ever
            connect_if_it_listens(port, 1, open);
            nap(10);
        }
        CHECK(names(rank, 1));
    });
}

TEST_CASE("full_mesh connects through a network that passes on single bytes, and delays them") {
    on_one([] {
        constexpr int kRanks = 4;
        FaultyNetwork network(seed());
        Detour store(network, {.most_piece = 1, .most_delay_us = 5000});
        std::deque<Rank> ranks;
        for (int r = 0; r < kRanks; ++r) {
            ranks.emplace_back(store, r, kRanks);
        }
        std::vector<std::vector<Wire>> mesh;
        for (Rank& rank : ranks) {
            INFO("a rank whose four bytes come one by one, and those of all others");
            const std::string error = error_of([&] { mesh.push_back(rank.end()); });
            REQUIRE(error == "");
        }
        constexpr int kPairs = kRanks * (kRanks - 1) / 2;
        std::map<std::string, int> most = {{"set", kRanks}, {"wait", kPairs}, {"get", kPairs}};
        for (const auto& [call, times] : store.calls) {
            INFO("all ranks together called " << call << " of the store");
            CHECK(times <= most[call]);
        }
        for (int high = 0; high < kRanks; ++high) {
            for (int low = 0; low < high; ++low) {
                INFO("ranks " << high << " and " << low);
                say(mesh[high][low], 100 * high + low);
                say(mesh[low][high], 100 * low + high);
                CHECK(hears(mesh[low][high], 100 * high + low));
                CHECK(hears(mesh[high][low], 100 * low + high));
            }
        }
        for (int low = 0; low + 1 < kRanks; ++low) {
            INFO("the connections of all higher ranks to rank " << low);
            const int higher = kRanks - 1 - low;
            const Carried carried = network.carried(store.edges[text("mesh/", low)]);
            CHECK(carried.connections == higher);
            CHECK(carried.bytes[Way::there] == 8 * higher);
            CHECK(carried.bytes[Way::back] == 4 * higher);
        }
    });
}

TEST_CASE("full_mesh names a rank that connects, and of whose four bytes not all arrive") {
    on_one([] {
        const std::map<std::string, std::function<void(FaultyNetwork&, int edge)>> faults = {
            {"its way is cut", [](auto& network, int edge) { network.cut(edge, Way::there); }},
            {"its bytes are lost",
             [](auto& network, int edge) { network.drop(edge, Way::there, 4); }},
            {"three of its bytes are lost",
             [](auto& network, int edge) { network.drop(edge, Way::there, 3); }},
            {"its connection is reset after two bytes",
             [](auto& network, int edge) { network.reset_after(edge, Way::there, 2); }},
        };
        for (const auto& [what, fault] : faults) {
            INFO("rank 1 connects, and " << what);
            FaultyNetwork network(seed());
            Detour store(network, {});
            store.prepare = [&](int edge) { fault(network, edge); };
            Rank lower(store, 0, 2, kShort);
            Rank higher(store, 1, 2, kShort);
            CHECK(names(lower, 1));
            error_of([&] { higher.end(); });  // it may have left before
        }
    });
}

TEST_CASE("full_mesh is not kept waiting by a stranger who says nothing") {
    on_one([] {
        HashStore store(kLongest);
        const Stopwatch watch;
        Rank rank(store, 0, 3, 4s);
        const int port = rank.port();
        const Wire silent(port);
        const Wire rank_1 = connect(port, 1);
        nap(1200);
        std::deque<Wire> open;
        connect_if_it_listens(port, 2, open);
        INFO("rank 1 comes at once, and rank 2 after 1.2 s, within the timeout of 4 s");
        CHECK(without_error(rank));
        CHECK(watch.elapsed_s() < 3);  // less than the timeout
        INFO("it closes the connection of the one that says nothing");
        CHECK(silent.has_ended());
    });
}

TEST_CASE("full_mesh refuses a rank that does not exist before it does anything") {
    on_one([] {
        for (const auto& [rank, size] : {std::pair{-1, 3}, {3, 3}, {0, 0}, {0, -1}}) {
            HashStore store(kShort);
            CHECK_THROWS_AS(
                full_mesh(store, rank, size, "127.0.0.1", kShort), std::invalid_argument
            );
            CHECK(store.num_keys() == 0);
        }
    });
}
