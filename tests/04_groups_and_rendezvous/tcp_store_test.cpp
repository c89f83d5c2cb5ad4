// What tcp_store must do: a Store like all others, in the bytes of PyTorch's own client, whatever the network does to them.
#include "exercises/04_groups_and_rendezvous/tcp_store.hpp"

#include <chrono>
#include <csignal>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <netinet/in.h>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <utility>
#include <vector>

#include "course/net/socket.hpp"
#include "tests/04_groups_and_rendezvous/store_wire.hpp"
#include "tests/04_groups_and_rendezvous/stores.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/network/faulty_network.hpp"
#include "tests/harness/processes/processes.hpp"
#include "tests/harness/words/errors.hpp"
#include "tests/harness/words/this_process.hpp"
#include "tests/harness/world/world.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

constexpr const char* kHost = "127.0.0.1";
constexpr auto kPatience = Wire::kPatience;

/// A store that waits for longer than a right answer takes, however busy the machine is.
TcpStore patient(int port) {
    return {kHost, port, kPatience};
}

/// Serves one client by heart, beside the test: holds each request against what has to come, behind the greeting, and
/// replies what it is told to. Once the client has gone, says what was not as it has to be.
std::future<Comparison> serves(const net::Socket& listener, std::vector<Recorded> script) {
    return std::async(std::launch::async, [&listener, script = std::move(script)]() -> Comparison {
        if (!net::ready_before(listener, POLLIN, std::chrono::steady_clock::now() + kPatience)) {
            return {false, "no client connects"};
        }
        const RawClient client(net::accept_from(listener));
        const std::string greeting = client.hears(10);
        if (!greeting.starts_with(bytes("00 ce f7 85 3c 0d"))) {
            return {false, "validate, ping and a number: got " + in_hex(greeting)};
        }
        client.says(greeting.substr(6));  // the number of the ping
        for (const Recorded& one : script) {
            const std::string request = bytes(one.request);
            if (const auto same = same_on_wire(client.hears(request.size()), request); !same) {
                return {false, one.call + ": " + same.text};
            }
            client.says(bytes(one.reply));
        }
        const std::string more = client.hears(1);
        return {more.empty(), "after the last call: " + same_on_wire(more, "").text};
    });
}

/// Has a port at which nobody listens yet, and which nobody else can take.
net::Socket bound_socket() {
    net::Socket bound(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(bound.descriptor(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
        throw Error("the test cannot have a port");
    }
    return bound;
}

/// Makes the calls of kPyTorch2 at a new server. Returns what came out otherwise than at PyTorch's; "" if nothing did.
std::string makes_recorded_calls(int port) {
    std::string wrong;
    const auto is = [&](const char* call, const auto& got, const auto& expected) {
        if (got != expected) {
            wrong += text(call, " returned ", got, " in the place of ", expected, "; ");
        }
    };
    const std::string error = error_of([&] {
        TcpStore store(kHost, port, kPatience);
        store.set("a", "xyz");
        is("get a", store.get("a"), "xyz");
        is("add n 5", store.add("n", 5), 5);
        is("add n 2", store.add("n", 2), 7);
        is("get n", store.get("n"), "7");
        is("compare_set m from old", store.compare_set("m", "old", "new"), "old");
        is("compare_set m from nothing", store.compare_set("m", "", "new"), "new");
        is("compare_set m from zzz", store.compare_set("m", "zzz", "q"), "new");
        is("compare_set m from new", store.compare_set("m", "new", "q"), "q");
        is("check a, nokey", store.check({"a", "nokey"}), false);
        is("check a", store.check({"a"}), true);
        store.wait({"a", "n"}, kPatience);
        const auto in_vain = [&] { store.wait({"nokey"}, 100ms); };
        is("wait nokey: its Timeout names the key", throws_error<Timeout>(in_vain, {"nokey"}).equal,
           true);
        is("get a", store.get("a"), "xyz");
        is("num_keys", store.num_keys(), 3);
        is("erase m", store.erase("m"), true);
        is("erase m again", store.erase("m"), false);
    });
    return wrong + error;
}

/// What `call` returns, which uses a store of little patience. On a busy machine the store of a right answer may lose it: a
/// call that fails, and took that long, is made again.
template <class Call>
auto unless_busy(std::chrono::milliseconds patience, const Call& call, int most_tries = 5) {
    for (int tries = 1;; ++tries) {
        const auto begin = std::chrono::steady_clock::now();
        try {
            return call();
        } catch (const Error&) {
            if (tries == most_tries || std::chrono::steady_clock::now() - begin < patience) {
                throw;
            }
        }
    }
}

/// Its set() returns when the server has the value: the promises look at once, through another connection.
struct Confirmed : TcpStore {
    Confirmed(std::shared_ptr<TcpStoreServer> its_server, Duration timeout)
        : TcpStore(kHost, its_server->port(), timeout), server(std::move(its_server)) {}
    void set(const std::string& key, const std::string& value) override {
        TcpStore::set(key, value);
        check({});
    }
    std::shared_ptr<TcpStoreServer> server;  // lives as long as the last of its stores
};

}  // namespace

const std::vector<StoreKind>& dist::harness::stores_to_try() {
    static const std::vector<StoreKind> kinds = {
        {"a TcpStore for each, at one server",
         [](Store::Duration timeout) {
             return [timeout, server = std::make_shared<TcpStoreServer>()] {
                 const auto opens = [&] { return std::make_shared<Confirmed>(server, timeout); };
                 return unless_busy(timeout, opens, 100);
             };
         },
         true}};  // it gets in two steps
    return kinds;
}

TEST_CASE("the client sends the bytes of PyTorch's own client") {
    on_one([] {
        const net::Socket listener = net::listen_on(0);
        auto served = serves(listener, {kPyTorch2.begin() + 1, kPyTorch2.end()});
        const std::string wrong = makes_recorded_calls(net::local_port(listener));
        const Comparison sent = served.get();
        INFO("what calls returned otherwise than PyTorch's: " << wrong);
        CHECK(sent);
        CHECK(wrong.empty());
    });
}

TEST_CASE("calls are right when the network cuts all into single bytes, both ways") {
    on_one([] {
        const TcpStoreServer server;
        FaultyNetwork network(seed());
        const int edge = network.edge_to(server.port(), {.most_piece = 1, .most_delay_us = 100});
        CHECK(makes_recorded_calls(edge) == "");
    });
}

TEST_CASE("values of 8 MiB pass, also through a network that stands still for a while") {
    on_one([] {
        const TcpStoreServer server;
        FaultyNetwork network(seed());
        const int edge = network.edge_to(server.port(), {.most_piece = 100'000});
        TcpStore store(kHost, edge, kPatience);
        std::string value(TcpStoreServer::kMaxValue, 'v');
        for (std::size_t i = 0; i < value.size(); i += 1000) {
            value[i] = static_cast<char>(i / 1000);
        }
        network.cut(edge, Way::there);
        auto set = std::async(std::launch::async, [&] { store.set("k", value); });
        set.wait_for(100ms);  // what lies between takes less than 8 MiB
        network.mend(edge, Way::there);
        set.get();
        INFO("a value of 8 MiB that was set has another one when it is read");
        CHECK((store.get("k") == value));
        INFO("bytes that arrived at the server's side");
        CHECK(network.carried(edge).bytes[Way::there] >= static_cast<long>(value.size()));
    });
}

TEST_CASE("what is too long is refused before anything is sent") {
    on_one([] {
        const TcpStoreServer server;
        TcpStore store = patient(server.port());
        const std::string longest(TcpStoreServer::kMaxKey - 1, 'k');
        store.set(longest, "v");
        CHECK(store.get(longest) == "v");
        store.set("", "");
        CHECK(store.check(std::vector<std::string>(TcpStoreServer::kMaxKeys)));
        const std::string value(TcpStoreServer::kMaxValue + 1, 'v');
        const std::vector<std::string> keys(TcpStoreServer::kMaxKeys + 1);
        const std::string key = longest + "k";
        const std::vector<std::string> one_long = {"k", key};
        const std::vector<std::pair<std::string, std::function<void()>>> calls = {
            {"set of a long key", [&] { store.set(key, "v"); }},
            {"set of a long value", [&] { store.set("k", value); }},
            {"get of a long key", [&] { store.get(key); }},
            {"add to a long key", [&] { store.add(key, 1); }},
            {"compare_set of a long key", [&] { store.compare_set(key, "", "v"); }},
            {"compare_set to a long value", [&] { store.compare_set("k", "", value); }},
            {"compare_set from a long value", [&] { store.compare_set("k", value, "v"); }},
            {"check of a long key", [&] { store.check(one_long); }},
            {"wait for a long key", [&] { store.wait(one_long, 10ms); }},
            {"wait for many keys", [&] { store.wait(keys, 10ms); }},
            {"erase of a long key", [&] { store.erase(key); }}};
        for (const auto& [name, call] : calls) {
            INFO(name);
            CHECK(throws_error<std::invalid_argument>(call));
            CHECK(store.num_keys() == 2);
        }
    });
}

TEST_CASE("keys that come while their wait is being cancelled came in time; no reply is left") {
    on_one([] {
        const net::Socket listener = net::listen_on(0);
        const auto served = serves(
            listener,
            {
                {"wait k", "06 <1> <2>'/k'", ""},
                {"cancel_wait: the wait was answered just before", "0c", "00 01"},
                {"num_keys", "07", "<1>"},
            }
        );
        TcpStore store = patient(net::local_port(listener));
        INFO("the server has answered the wait before it read cancel_wait, which it answers too");
        CHECK(error_of([&] { store.wait({"k"}, 100ms); }) == "");
        CHECK(store.num_keys() == 1);
    });
}

TEST_CASE("a client may start before its server, and its connection may break before an answer") {
    on_one([] {
        net::Socket bound = bound_socket();
        auto value = std::async(std::launch::async, [port = net::local_port(bound)] {
            TcpStore store = patient(port);
            return store.check({});
        });
        value.wait_for(50ms);
        listen(bound.descriptor(), 8);
        bound.set_waiting(false);
        auto served = serves(bound, {{"check of nothing", "05 <0>", "00"}});
        INFO("the server began to listen 50 ms after the client began to try");
        CHECK(value.get());
        CHECK(served.get());

        const TcpStoreServer server;
        FaultyNetwork network(seed());
        const int edge = network.edge_to(server.port());
        network.reset_after(edge, Way::there, 3);
        TcpStore first = patient(edge);
        network.reset_after(edge, Way::back, 2);
        TcpStore second = patient(edge);
        INFO("two clients, whose first connections broke in the greeting, and in its answer");
        CHECK(second.add("k", 1) == 1);
        CHECK(network.carried(edge).connections == 4);
    });
}

TEST_CASE("it waits 10 ms before it tries again, twice as long each time, and gives up in time") {
    on_one([] {
        const net::Socket nobody = bound_socket();
        FaultyNetwork network(seed());  // accepts, and resets each connection at once
        const int edge = network.edge_to(net::local_port(nobody));
        const auto begin = std::chrono::steady_clock::now();
        const auto connects = [&] { const TcpStore store(kHost, edge, 1000ms); };
        CHECK(throws_error<Timeout>(connects, {kHost, text(edge)}));
        CHECK(std::chrono::steady_clock::now() - begin >= 1s);
        const int tries = network.carried(edge).connections;
        INFO("tries in a second: at 0, 10, 30, 70, 150, 310, 630 and 1000 ms, or fewer: " << tries);
        CHECK((3 <= tries && tries <= 8));
    });
}

TEST_CASE("threads may share a store: their calls come one after the other") {
    on_one([] {
        const TcpStoreServer server;
        TcpStore store = patient(server.port());
        constexpr int kCalls = 50;
        std::vector<std::future<int>> all;
        for (int i = 0; i < 8; ++i) {
            all.push_back(std::async(std::launch::async, [&store, i] {
                int right = 0;
                for (int call = 1; call <= kCalls; ++call) {
                    store.set(text("set by ", i), text(call));
                    right += store.add(text("added by ", i), 1) == call ? 1 : 0;
                    right += store.get(text("set by ", i)) == text(call) ? 1 : 0;
                }
                return right;
            }));
        }
        for (auto& one : all) {
            INFO("replies that were this thread's own, of " << 2 * kCalls);
            CHECK(one.get() == 2 * kCalls);
        }
    });
}

TEST_CASE("when the server ends, each call is an Error that names host and port") {
    on_one([] {
        auto server = std::make_unique<TcpStoreServer>();
        const int port = server->port();
        const auto fails = [&](const std::function<void()>& call) {
            return throws_error(call, {kHost, text(port)});
        };
        TcpStore store = patient(port);
        auto waiting = std::async(std::launch::async, [&] {
            TcpStore other = patient(port);
            other.add("here", 1);
            return fails([&] { other.wait({"k"}, kPatience); });
        });
        REQUIRE(becomes_true([&] { return store.add("here", 0) == 1; }));
        server.reset();
        INFO("a client waits, or calls, and its server ends");
        CHECK(waiting.get());
        Comparison set_fails;  // the first may leave before it is known that nothing reads it
        for (int i = 0; i < 3 && !(set_fails = fails([&] { store.set("k", "v"); })); ++i) {
        }
        CHECK(set_fails);
        for (const StoreCall& call : store_calls()) {
            INFO(call.name);
            CHECK((call.name == "set" || fails([&] { call.make(store); })));
        }
    });
}

TEST_CASE("a call whose answer is lost is an Error in time, not made again; the next connects") {
    on_one([] {
        const TcpStoreServer server;
        FaultyNetwork network(seed());
        const int edge = network.edge_to(server.port());
        TcpStore store(kHost, edge, 1000ms);
        const auto sum = [&] { return unless_busy(1000ms, [&] { return store.add("k", 0); }); };
        const auto fails = [&](const std::string& how) {
            auto call = std::async(std::launch::async, [&] {
                return throws_error([&] { store.add("k", 1); }, {kHost, text(edge)});
            });
            INFO(how);
            const bool in_time = call.wait_for(kPatience) == std::future_status::ready;
            if (!in_time) {
                network.reset(edge);
            }
            CHECK(call.get());
            CHECK(in_time);
        };
        REQUIRE(sum() == 0);
        network.drop(edge, Way::back, 8);
        fails("the reply to add was dropped");
        const auto set = [&] { unless_busy(1000ms, [&] { store.set("set", "anew"); }); };
        CHECK(error_of(set) == "");
        INFO("add(\"k\", 1) was called once, and its reply lost: what is the sum?");
        CHECK(sum() == 1);
        network.reset_after(edge, Way::back, 3);
        fails("the connection was reset within the reply to add");
        CHECK(sum() == 2);
        network.cut(edge, Way::there);
        fails("no request arrives any more");
    });
}

TEST_CASE("an answer may take a second, however short the store's timeout is") {
    on_one([] {
        const auto late_reply = [] {
            const TcpStoreServer server;
            FaultyNetwork network(seed());
            const int edge = network.edge_to(server.port());
            TcpStore store(kHost, edge, 200ms);
            network.cut(edge, Way::back);
            auto sum = std::async(std::launch::async, [&] { return store.add("k", 1); });
            CHECK(sum.wait_for(450ms) != std::future_status::ready);
            network.mend(edge, Way::back);
            return sum.get();  // it may have given up by then, where the machine was busy
        };
        INFO("the timeout of the store is 200 ms, and the reply to add came after 450 ms");
        std::int64_t sum = 0;
        const std::string error = error_of([&] { sum = unless_busy(200ms, late_reply); });
        CHECK(error == "");
        CHECK(sum == 1);
    });
}

TEST_CASE("a call after one that failed tries once to connect") {
    on_one([] {
        auto server = std::make_unique<TcpStoreServer>();
        FaultyNetwork network(seed());
        const int edge = network.edge_to(server->port());
        TcpStore store = patient(edge);
        REQUIRE(store.add("k", 1) == 1);
        server.reset();
        for (int tries = 1; tries <= 3; ++tries) {
            const int before = network.carried(edge).connections;
            error_of([&] { store.add("k", 1); });
            INFO("connections that call " << tries << " made after its server had ended");
            REQUIRE(network.carried(edge).connections - before == (tries == 1 ? 0 : 1));
        }
    });
}

TEST_CASE("a server that speaks another language is an Error, whatever it says") {
    on_one([] {
        for (const std::string reply : {"<9223372036854775807> 41", "<-1> 41"}) {
            INFO("a value of that length was announced, and one byte came: " << reply);
            const net::Socket listener = net::listen_on(0);
            const auto served = serves(listener, {{"compare_set", "02 <2>'/k' <0> <1>'v'", reply}});
            const int port = net::local_port(listener);
            const auto call = [&] { TcpStore(kHost, port, 1000ms).compare_set("k", "", "v"); };
            CHECK(throws_error(call, {text(port)}));
        }
    });
}

TEST_CASE("processes meet at a store, and one that dies takes nothing with it") {
    on_one([] {
        const TcpStoreServer server;
        const Processes run = on_processes(
            4,
            [&](int rank, int p) {
                TcpStore store = patient(server.port());
                store.set(text("rank", rank), "here");
                if (rank == 3) {
                    store.wait({"rank0"}, kPatience);
                    raise(SIGKILL);
                }
                for (int other = 0; other < p; ++other) {
                    CHECK(store.get(text("rank", other)) == "here");
                }
                CHECK(store.add("sum", rank) >= rank);
            },
            {.die = {3}}
        );
        CHECK(run.died[3] == "killed by SIGKILL");
        CHECK(patient(server.port()).add("sum", 0) == 3);
    });
}

TEST_CASE("a store that ends closes its connection, and leaves no thread and no descriptor") {
    on_one([] {
        const TcpStoreServer server;
        FaultyNetwork network(seed());
        const int edge = network.edge_to(server.port());
        const auto descriptors = entries("fd");
        const auto all_threads = entries("task");
        {
            TcpStore store = patient(edge);
            CHECK(store.add("k", 1) == 1);
            CHECK(network.open_connections(edge) == 1);
        }
        INFO("connections that are still open, descriptors and threads that are left");
        CHECK(becomes_true([&] { return network.open_connections(edge) == 0; }));
        error_of([&] { const TcpStore nobody(kHost, 1, 50ms); });
        CHECK(becomes_true([&] { return entries("fd") == descriptors; }));
        CHECK(entries("task") == all_threads);
    });
}

// Last: where the bytes are wrong, the tests above say which.
#include "tests/04_groups_and_rendezvous/store_promises.hpp"
