// What full_mesh must do: one connection for each pair of ranks, whoever else connects, and the name of each rank that does not
// come. Ranks are threads, or sockets of the test.
#include "exercises/04_groups_and_rendezvous/full_mesh.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <fcntl.h>
#include <functional>
#include <future>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "course/runtime/clock.hpp"
#include "exercises/04_groups_and_rendezvous/hash_store.hpp"
#include "tests/04_groups_and_rendezvous/store_wire.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/words/errors.hpp"
#include "tests/harness/words/this_process.hpp"
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
          sockets_(std::async(std::launch::async, [=, &store] {
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

    /// Where this rank says that it listens: ADDRESS:PORT.
    std::string address() {
        while (!store_.check({key_})) {
            if (is_over()) {
                end();
                throw Error("a rank does not say where it listens, under mesh/RANK");
            }
            nap(1);
        }
        return store_.get(key_);
    }

    int port() {
        const std::string at = address();
        INFO("a rank says where it listens, as ADDRESS:PORT. It says: " << at);
        REQUIRE(at.find(':') != std::string::npos);
        return std::stoi(at.substr(at.rfind(':') + 1));
    }

  private:
    Store& store_;
    std::string key_;
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

/// Counts how often it is asked for a key.
struct CountingStore : HashStore {
    using HashStore::HashStore;
    std::string get(const std::string& key) override { return ++asked, HashStore::get(key); }
    bool check(const std::vector<std::string>& keys) override {
        return ++asked, HashStore::check(keys);
    }
    void wait(const std::vector<std::string>& keys, Duration timeout) override {
        ++asked;
        HashStore::wait(keys, timeout);
    }
    std::atomic<int> asked = 0;
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
            CHECK(entries("fd") - before == p * (p - 1));  // two for each pair
            for (int a = 0; a < p; ++a) {
                CHECK_FALSE(mesh[a][a]);
                for (int b = 0; b < a; ++b) {
                    INFO("a socket of ranks " << a << " and " << b << ": its calls wait");
                    for (const auto& [one, other] : {std::pair{a, b}, {b, a}}) {
                        REQUIRE(mesh[one][other]);
                        CHECK((fcntl(mesh[one][other].descriptor(), F_GETFL) & O_NONBLOCK) == 0);
                        say(mesh[one][other], 100 * one + other);
                    }
                    REQUIRE(hears(mesh[a][b], 100 * b + a));
                    REQUIRE(hears(mesh[b][a], 100 * a + b));
                }
            }
        }
    });
}

TEST_CASE("full_mesh says in the store where a rank listens") {
    on_one([] {
        for (const std::string& address : other_addresses()) {
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

TEST_CASE("full_mesh names a rank that dies while the others connect") {
    on_one([] {
        // of ranks 0, 1, 2 it is 1
        const std::map<std::string, std::function<void(Store & store, int port_of_0)>> moments = {
            {"before rank 2 connects to it",
             [](Store& store, int) {
                 const int port = net::local_port(net::listen_on(0));  // nobody listens any more
                 store.set("mesh/1", text("127.0.0.1:", port));
             }},
            {"before it says its rank", [](Store&, int port) { Wire(port).closes(); }},
            {"within the four bytes of its rank",
             [](Store&, int port) { Wire(port).says(in_memory(1).substr(0, 2)); }}};
        for (const auto& [when, does] : moments) {
            INFO("rank 1 of three dies " << when);
            const long descriptors = entries("fd");
            const long threads = entries("task");
            {
                HashStore store(kLongest);
                Rank lower(store, 0, 3, kShort);
                Rank higher(store, 2, 3, kShort);
                does(store, lower.port());
                CHECK(throws_error([&] { lower.end(); }, {"rank "}));  // or 2, which has given up
                CHECK(names(higher, 1));
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

TEST_CASE("full_mesh asks the store for each lower rank once, and reads four bytes one by one") {
    on_one([] {
        CountingStore store(kLongest);
        const net::Socket listener = net::listen_on(0);
        Rank rank(store, 1, 3);
        const int port = rank.port();
        store.asked = 0;
        nap(100);
        store.set("mesh/0", text("127.0.0.1:", net::local_port(listener)));
        const Wire rank_2(port);
        rank_2.says_single(in_memory(std::uint32_t{2}), 10ms);
        INFO("the four bytes of rank 2 come one by one, with 10 ms in between");
        CHECK(without_error(rank));
        INFO("calls of wait, get and check by rank 1, while rank 0 was late to listen");
        CHECK(store.asked <= 2);
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
            CHECK_THROWS_AS(full_mesh(store, rank, size, "here", kShort), std::invalid_argument);
            CHECK(store.num_keys() == 0);
        }
    });
}
