// What tcp_store must do: a Store like all others, in the bytes of PyTorch's own client, whatever the network does to them.
#include "exercises/04_groups_and_rendezvous/tcp_store.hpp"

#include <algorithm>
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
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "course/net/socket.hpp"
#include "course/runtime/clock.hpp"
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

/// A server that plays its part by heart: holds each request against what has to come, and replies what it was told to.
class ScriptedServer {
  public:
    /// Serves one client, whose greeting is not in the script.
    explicit ScriptedServer(
        std::vector<Recorded> script,
        net::Socket listener = net::listen_on(0, net::From::this_machine)
    )
        : listener_(std::move(listener)), script_(std::move(script)), thread_([this] { run(); }) {}
    ~ScriptedServer() {
        end_.second.close();
        if (thread_.joinable()) {
            thread_.join();
        }
    }
    ScriptedServer(const ScriptedServer&) = delete;
    ScriptedServer& operator=(const ScriptedServer&) = delete;

    [[nodiscard]] int port() const { return port_; }

    /// Once the client has done its part: what was not as it has to be.
    Comparison result() {
        thread_.join();
        return {wrong_.empty(), wrong_};
    }

  private:
    void run() {
        pollfd events[2] = {
            {listener_.descriptor(), POLLIN, 0}, {end_.first.descriptor(), POLLIN, 0}};
        poll(events, 2, static_cast<int>(Wire::kPatience.count()));
        RawClient client(net::accept_from(listener_));
        if (!client) {
            wrong_ = "no client connects";
            return;
        }
        const std::string begin = bytes("00 ce f7 85 3c 0d");
        constexpr std::size_t kPing = 4;
        const std::string greeting = client.hears(begin.size() + kPing);
        if (!greeting.starts_with(begin)) {
            wrong_ = "the greeting: " + same_on_wire(greeting, begin).text + " and a number";
            return;
        }
        client.says(greeting.substr(begin.size()));
        for (const Recorded& one : script_) {
            const std::string request = bytes(one.request);
            const Comparison same = same_on_wire(client.hears(request.size()), request);
            if (!same) {
                wrong_ = one.call + ": " + same.text;
                return;
            }
            client.says(bytes(one.reply));
        }
        if (const std::string more = client.hears(1); !more.empty()) {
            wrong_ = "after the last call: " + same_on_wire(more, "").text;
        }
    }

    net::Socket listener_;
    int port_ = net::local_port(listener_);
    std::pair<net::Socket, net::Socket> end_ = net::connected_pair();
    std::vector<Recorded> script_;
    std::string wrong_;
    std::thread thread_;  // last: it uses all others
};

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
        is("compare_set m, which is missing, from old", store.compare_set("m", "old", "new"),
           "old");
        is("compare_set m, which is missing, from nothing", store.compare_set("m", "", "new"),
           "new");
        is("compare_set m from a wrong value", store.compare_set("m", "zzz", "q"), "new");
        is("compare_set m from its value", store.compare_set("m", "new", "q"), "q");
        is("check a, nokey", store.check({"a", "nokey"}), false);
        is("check a", store.check({"a"}), true);
        store.wait({"a", "n"}, kPatience);
        const Comparison named =
            throws_error<Timeout>([&] { store.wait({"nokey"}, 100ms); }, {"nokey"});
        is("wait nokey, which is missing: whether its Timeout names the key", named.equal, true);
        is("get a", store.get("a"), "xyz");
        is("num_keys", store.num_keys(), 3);
        is("erase m", store.erase("m"), true);
        is("erase m again", store.erase("m"), false);
    });
    return wrong + error;
}

/// What `call` returns, which uses a store of little patience. On a busy machine the store of a right answer may lose
/// it: a call that fails, and took that long, is made again, four times at most.
template <class Call>
auto unless_busy(std::chrono::milliseconds patience, const Call& call) {
    for (int tries = 1;; ++tries) {
        const auto begin = std::chrono::steady_clock::now();
        try {
            return call();
        } catch (const Error&) {
            if (tries == 5 || std::chrono::steady_clock::now() - begin < patience) {
                throw;
            }
        }
    }
}

std::unique_ptr<TcpStore> hasty(int port, std::chrono::milliseconds timeout) {
    return unless_busy(timeout, [&] { return std::make_unique<TcpStore>(kHost, port, timeout); });
}

/// What add returned whose reply was held back for 450 ms.
std::int64_t late_reply() {
    const TcpStoreServer server;
    FaultyNetwork network(seed());
    const int edge = network.edge_to(server.port());
    const std::unique_ptr<TcpStore> store = hasty(edge, 200ms);
    network.cut(edge, Way::back);
    auto sum = std::async(std::launch::async, [&] { return store->add("k", 1); });
    const bool early = sum.wait_for(450ms) == std::future_status::ready;
    network.mend(edge, Way::back);
    const std::int64_t got = sum.get();  // it may have given up by then, where the machine was busy
    CHECK_FALSE(early);
    return got;
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
                 std::shared_ptr<Store> store;
                 for (int tries = 0; store == nullptr; ++tries) {
                     try {
                         store = std::make_shared<Confirmed>(server, timeout);
                     } catch (const Timeout&) {  // a busy machine took longer to connect
                         if (tries == 100) {
                             throw;
                         }
                     }
                 }
                 return store;
             };
         },
         true}};  // it gets in two steps
    return kinds;
}

TEST_CASE("the client sends the bytes of PyTorch's own client") {
    on_one([] {
        ScriptedServer server({kPyTorch2.begin() + 1, kPyTorch2.end()});
        const std::string wrong = makes_recorded_calls(server.port());
        const Comparison sent = server.result();
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
        const std::vector<std::pair<std::string, std::function<void()>>> calls = {
            {"set of a long key", [&] { store.set(key, "v"); }},
            {"set of a long value", [&] { store.set("k", value); }},
            {"get of a long key", [&] { store.get(key); }},
            {"add to a long key", [&] { store.add(key, 1); }},
            {"compare_set of a long key", [&] { store.compare_set(key, "", "v"); }},
            {"compare_set to a long value", [&] { store.compare_set("k", "", value); }},
            {"compare_set from a long value", [&] { store.compare_set("k", value, "v"); }},
            {"check of a long key",
             [&] {
                 store.check({"k", key});
             }},
            {"wait for a long key",
             [&] {
                 store.wait({"k", key}, 10ms);
             }},
            {"wait for many keys", [&] { store.wait(keys, 10ms); }},
            {"erase of a long key", [&] { store.erase(key); }}};
        for (const auto& [name, call] : calls) {
            INFO(name);
            CHECK(throws_error<std::invalid_argument>(call));
            CHECK(store.num_keys() == 2);
        }
    });
}

TEST_CASE(
    "keys that come while their wait is being cancelled came in time, and no reply is left over"
) {
    on_one([] {
        ScriptedServer server({
            {"wait k", "06 <1> <2>'/k'", ""},
            {"cancel_wait: the wait was answered just before", "0c", "00 01"},
            {"num_keys", "07", "<1>"},
        });
        TcpStore store = patient(server.port());
        INFO("the server has answered the wait before it read cancel_wait, which it answers as well"
        );
        CHECK(error_of([&] { store.wait({"k"}, 100ms); }) == "");
        CHECK(store.num_keys() == 1);
    });
}

TEST_CASE(
    "a client may start before its server, and the connection may break before the first answer"
) {
    on_one([] {
        net::Socket bound = bound_socket();
        auto value = std::async(std::launch::async, [port = net::local_port(bound)] {
            TcpStore store = patient(port);
            return store.check({});
        });
        value.wait_for(50ms);
        listen(bound.descriptor(), 8);
        bound.set_waiting(false);
        ScriptedServer late({{"check of nothing", "05 <0>", "00"}}, std::move(bound));
        INFO("the server began to listen 50 ms after the client began to try");
        CHECK(value.get());
        CHECK(late.result());

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

TEST_CASE("it waits 10 ms before the second try, then twice as long each time, and gives up in time"
) {
    on_one([] {
        const net::Socket nobody = bound_socket();
        FaultyNetwork network(seed());  // accepts, and resets each connection at once
        const int edge = network.edge_to(net::local_port(nobody));
        const double begin_s = now_s();
        auto given_up = std::async(std::launch::async, [&] {
            return throws_error<Timeout>(
                [&] { const TcpStore store(kHost, edge, 1000ms); }, {kHost, text(edge)}
            );
        });
        std::vector<double> gaps_s;
        std::string tries = "the first";
        int seen = 0;
        for (double last_s = begin_s; given_up.wait_for(1ms) != std::future_status::ready;) {
            for (; seen < network.carried(edge).connections; ++seen) {
                const double gap_s = now_s() - std::exchange(last_s, now_s());
                if (seen > 0) {
                    gaps_s.push_back(gap_s);
                    tries += seen < 10 ? text(", one ", int(1000 * gap_s), " ms later") : "";
                }
            }
        }
        const double waited_s = now_s() - begin_s;
        CHECK(given_up.get());
        CHECK(waited_s >= 1);
        CHECK(waited_s < 2.5);
        INFO(seen << " tries: " << tries);
        CHECK(gaps_s.size() <= 7);
        if (gaps_s.size() > 3) {  // a busy machine leaves time for fewer
            const auto [shortest, longest] = std::ranges::minmax(gaps_s);
            CHECK(shortest < longest / 2);
        }
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
        std::vector<std::future<Comparison>> waiting;
        for (int i = 0; i < 3; ++i) {
            waiting.push_back(std::async(std::launch::async, [&, i] {
                TcpStore store = patient(port);
                store.add("here", 1);
                return fails([&] { i == 0 ? store.get("k"), 0 : (store.wait({"k"}, kPatience), 0); }
                );
            }));
        }
        TcpStore store = patient(port);
        REQUIRE(becomes_true([&] { return store.add("here", 0) == 3; }));
        server.reset();
        for (auto& one : waiting) {
            INFO("a client waits, and its server ends");
            CHECK(one.get());
        }
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

TEST_CASE(
    "a call whose answer is lost is an Error in time, is not made again, and the next call "
    "connects anew"
) {
    on_one([] {
        const TcpStoreServer server;
        FaultyNetwork network(seed());
        const int edge = network.edge_to(server.port());
        const std::unique_ptr<TcpStore> store = hasty(edge, 1000ms);
        const auto sum = [&] { return unless_busy(1000ms, [&] { return store->add("k", 0); }); };
        const auto fails = [&](const std::string& how) {
            auto call = std::async(std::launch::async, [&] {
                return throws_error([&] { store->add("k", 1); }, {kHost, text(edge)});
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
        const auto set = [&] { unless_busy(1000ms, [&] { store->set("set", "anew"); }); };
        CHECK(error_of(set) == "");
        INFO("add(\"k\", 1) was called once, and its reply lost: what is the sum?");
        CHECK(sum() == 1);
        network.reset_after(edge, Way::back, 3);
        fails("the connection was reset within the reply to add");
        CHECK(sum() == 2);
        network.cut(edge, Way::there);
        fails("no request arrives any more");
        network.mend(edge, Way::there);
        REQUIRE(becomes_true([&] { return network.open_connections(edge) == 0; }));
        network.reset_after(edge, Way::there, 4 + 10);  // of the greeting and its first request
        fails("the connection was reset within a request");
        const std::int64_t last = sum();
        INFO("a request that was cut may or may not have come through");
        CHECK((last == 2 || last == 3));
    });
}

TEST_CASE("an answer may take a second, however short the store's timeout is") {
    // The answer takes longer than the store's timeout, and less than a second.
    on_one([] {
        INFO("the timeout of the store is 200 ms, and the reply to add came after 450 ms");
        std::int64_t sum = 0;
        const auto call = [&] { sum = unless_busy(1000ms, late_reply); };
        CHECK(error_of(call) == "");
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
            const auto is_named = [&] {
                ScriptedServer server({{"compare_set", "02 <2>'/k' <0> <1>'v'", reply}});
                TcpStore store(kHost, server.port(), 1000ms);
                return throws_error(
                    [&] { store.compare_set("k", "", "v"); }, {text(server.port())}
                );
            };
            CHECK(unless_busy(1000ms, is_named));
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
                const std::string name = "rank" + std::to_string(rank);
                store.set(name, name);
                if (rank == 3) {
                    store.wait({"rank0"}, kPatience);
                    raise(SIGKILL);
                }
                for (int other = 0; other < p; ++other) {
                    const std::string its = "rank" + std::to_string(other);
                    CHECK(store.get(its) == its);
                }
                CHECK(store.add("sum", rank) >= rank);
            },
            {.die = {3}}
        );
        CHECK(run.died[3] == "killed by SIGKILL");
        CHECK(patient(server.port()).add("sum", 0) == 3);
    });
}

TEST_CASE("a store connects to a name, and to addresses of IPv4 and IPv6") {
    on_one([] {
        const TcpStoreServer server;
        std::vector<std::string> hosts = other_addresses();
        hosts.emplace_back("localhost");
        for (const std::string& host : hosts) {
            const std::string refused = error_of([&] {
                TcpStore store(host, server.port(), kPatience);
                store.add("came", 1);
            });
            INFO(host);
            CHECK(refused == "");
        }
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
