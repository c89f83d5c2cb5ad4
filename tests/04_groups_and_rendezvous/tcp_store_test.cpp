// What tcp_store must do: a Store like all others, in the bytes of PyTorch's own client, whatever the network does to them.
#include "exercises/04_groups_and_rendezvous/tcp_store.hpp"

#include <csignal>
#include <future>
#include <memory>
#include <set>

#include "tests/04_groups_and_rendezvous/client_faults.hpp"
#include "tests/04_groups_and_rendezvous/open_things.hpp"
#include "tests/04_groups_and_rendezvous/recorded_traffic.hpp"
#include "tests/04_groups_and_rendezvous/scripted_server.hpp"
#include "tests/04_groups_and_rendezvous/tcp_store_calls.hpp"
#include "tests/harness/network/faulty_network.hpp"
#include "tests/harness/processes/processes.hpp"

using namespace dist;
using namespace dist::harness;
using namespace std::chrono_literals;

TEST_CASE("the client sends the bytes of PyTorch's own client, and reads replies also byte by byte"
) {
    on_ranks({1}, [](const Communicator&) {
        for (const bool single : {false, true}) {
            ScriptedServer server(recorded_calls(), single);
            INFO(
                (single ? "replies come byte by byte" : "replies come in one piece")
                << "; what the server got that it should not, or what the client made of a reply:"
            );
            const std::string wrong = makes_recorded_calls(server.port());
            const Comparison sent = server.result();
            CHECK(sent);
            CHECK(wrong == "");
        }
    });
}

TEST_CASE("calls are right when the network cuts all into single bytes, both ways") {
    on_ranks({1}, [](const Communicator&) {
        const TcpStoreServer server;
        FaultyNetwork network(seed());
        const int edge = network.edge_to(server.port(), {.most_piece = 1, .most_delay_us = 100});
        CHECK(makes_recorded_calls(edge) == "");
    });
}

TEST_CASE("values of 8 MiB pass, also through a network that stands still for a while") {
    on_ranks({1}, [](const Communicator&) {
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

TEST_CASE(
    "keys and values are bytes of any kind, and what is too long is refused before anything is sent"
) {
    on_ranks({1}, [](const Communicator&) {
        const TcpStoreServer server;
        TcpStore store = patient(server.port());
        std::string all;
        for (int byte = 0; byte < 256; ++byte) {
            all += static_cast<char>(byte);
        }
        const std::string longest(TcpStoreServer::kMaxKey - 1, 'k');
        for (const std::string& key :
             {std::string(), std::string("\0", 1), std::string("/"), all, longest}) {
            for (const std::string& value : {std::string(), std::string("\0", 1), all}) {
                store.set(key, value);
                REQUIRE(same_on_wire(store.get(key), value));
            }
        }
        CHECK(store.num_keys() == 5);
        const std::string value(TcpStoreServer::kMaxValue + 1, 'v');
        const std::vector<std::string> keys(TcpStoreServer::kMaxKeys + 1);
        const std::string key = longest + "k";
        const auto is_refused = [&](const std::string& what, const std::function<void()>& call) {
            INFO(what);
            CHECK_THROWS_AS(call(), std::invalid_argument);
            CHECK(store.num_keys() == 5);
        };
        is_refused("set of a long key", [&] { store.set(key, "v"); });
        is_refused("set of a long value", [&] { store.set("k", value); });
        is_refused("get of a long key", [&] { store.get(key); });
        is_refused("add to a long key", [&] { store.add(key, 1); });
        is_refused("compare_set of a long key", [&] { store.compare_set(key, "", "v"); });
        is_refused("compare_set to a long value", [&] { store.compare_set("k", "", value); });
        is_refused("check of a long key", [&] { store.check({"k", key}); });
        is_refused("wait for many keys", [&] { store.wait(keys, 10ms); });
        is_refused("erase of a long key", [&] { store.erase(key); });
    });
}

TEST_CASE(
    "a wait that times out names the keys that have no value, not before its time, and leaves "
    "nothing behind"
) {
    on_ranks({1}, [](const Communicator&) {
        const TcpStoreServer server;
        TcpStore store = patient(server.port());
        TcpStore other = patient(server.port());
        REQUIRE(other.add("there", 1) == 1);
        const auto begin = std::chrono::steady_clock::now();
        const std::string text = text_of<Timeout>([&] {
            store.wait({"absent", "there", "missing"}, 150ms);
        });
        const auto waited = std::chrono::steady_clock::now() - begin;
        INFO(text);
        CHECK((waited >= 150ms));
        CHECK((waited < 150ms + kPatience / 2));
        CHECK(text.find("absent") != std::string::npos);
        CHECK(text.find("missing") != std::string::npos);
        CHECK(text.find("there") == std::string::npos);
        CHECK(other.add("absent", 1) == 1);
        CHECK(other.add("missing", 1) == 1);
        INFO("after a wait that timed out its keys came: is the next reply its own?");
        CHECK(store.get("there") == "1");
        CHECK(store.add("there", 1) == 2);
        store.wait({"absent", "missing"}, kPatience);
    });
}

TEST_CASE(
    "keys that come while their wait is being cancelled came in time, and no reply is left over"
) {
    on_ranks({1}, [](const Communicator&) {
        ScriptedServer server({
            {"wait k", "06 <1> <2>'/k'", ""},
            {"cancel_wait: the wait was answered just before", "0c", "00 01"},
            {"num_keys", "07", "<1>"},
        });
        TcpStore store = patient(server.port());
        INFO("the server has answered the wait before it read cancel_wait, which it answers as well"
        );
        CHECK(text_of<Timeout>([&] { store.wait({"k"}, 100ms); }) == "");
        CHECK(store.num_keys() == 1);
    });
}

TEST_CASE("get waits as long as the store was told to, and names the key") {
    on_ranks({1}, [](const Communicator&) {
        const TcpStoreServer server;
        TcpStore store(kHost, server.port(), 300ms);
        const auto begin = std::chrono::steady_clock::now();
        const std::string text = text_of<Timeout>([&] { store.get("absent"); });
        INFO(text);
        CHECK((std::chrono::steady_clock::now() - begin >= 300ms));
        CHECK(text.find("absent") != std::string::npos);
        TcpStore other = patient(server.port());
        auto value = std::async(std::launch::async, [&] { return other.get("late"); });
        store.set("late", "v");
        CHECK(value.get() == "v");
    });
}

TEST_CASE("add to what is no number names the key, and the store goes on") {
    on_ranks({1}, [](const Communicator&) {
        const TcpStoreServer server;
        TcpStore store = patient(server.port());
        for (const std::string value : {"seven", "9223372036854775807"}) {
            store.set("a-key", value);
            const std::string text = text_of<Error>([&] { store.add("a-key", 1); });
            INFO("1 was added to '" << value << "'. The text: " << text);
            CHECK(text.find("a-key") != std::string::npos);
            CHECK(store.get("a-key") == value);
        }
    });
}

TEST_CASE(
    "a client may start before its server, and the connection may break before the first answer"
) {
    starts_before_its_server();
}

TEST_CASE("it waits 10 ms before the second try, then twice as long each time, and gives up in time"
) {
    pauses_between_tries();
}

TEST_CASE("64 and 100 clients at once: all get in, all add, all wait, all wake up") {
    on_ranks({1}, [](const Communicator&) {
        for (const int clients : {64, 100}) {
            const TcpStoreServer server;
            std::vector<std::future<std::int64_t>> sums;
            for (int i = 0; i < clients; ++i) {
                sums.push_back(std::async(std::launch::async, [port = server.port(), clients] {
                    TcpStore store("localhost", port, kPatience);
                    const std::int64_t sum = store.add("here", 1);
                    if (sum == clients) {
                        store.set("all are here", "");
                    }
                    store.wait({"all are here"}, kPatience);
                    return sum;
                }));
            }
            std::set<std::int64_t> all;
            for (auto& sum : sums) {
                all.insert(sum.get());
            }
            INFO("each of " << clients << " clients added 1: the sums that they got");
            CHECK(std::ssize(all) == clients);
            CHECK(*all.begin() == 1);
            CHECK(*all.rbegin() == clients);
        }
    });
}

TEST_CASE("threads may share a store: their calls come one after the other") {
    on_ranks({1}, [](const Communicator&) {
        const TcpStoreServer server;
        TcpStore store = patient(server.port());
        constexpr int kThreads = 8;
        constexpr int kCalls = 50;
        std::vector<std::future<int>> all;
        for (int i = 0; i < kThreads; ++i) {
            all.push_back(std::async(std::launch::async, [&store, key = std::to_string(i)] {
                int right = 0;
                for (int call = 1; call <= kCalls; ++call) {
                    store.set("set by " + key, key);
                    right += store.add("added by " + key, 1) == call ? 1 : 0;
                    right += store.get("set by " + key) == key ? 1 : 0;
                    store.add("all", 1);
                }
                return right;
            }));
        }
        for (auto& one : all) {
            INFO("replies that were this thread's own, of " << 2 * kCalls);
            CHECK(one.get() == 2 * kCalls);
        }
        CHECK(store.add("all", 0) == kThreads * kCalls);
        auto waits = std::async(std::launch::async, [&] {
            return text_of<Timeout>([&] { store.wait({"absent"}, 150ms); });
        });
        for (int call = 0; call < 100; ++call) {
            REQUIRE(store.add("beside a wait", 1) == call + 1);
        }
        CHECK(waits.get().find("absent") != std::string::npos);
    });
}

TEST_CASE("when the server ends, each call is an Error that names host and port") {
    server_ends();
}

TEST_CASE(
    "a call whose answer is lost is an Error in time, is not made again, and the next call "
    "connects anew"
) {
    answers_are_lost();
}

TEST_CASE("a server that speaks another language is an Error, whatever it says") {
    server_speaks_another_language();
}

TEST_CASE("processes meet at a store, and one that dies takes nothing with it") {
    on_ranks({1}, [](const Communicator&) {
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

TEST_CASE("a store that ends closes its connection, and leaves no thread and no descriptor") {
    on_ranks({1}, [](const Communicator&) {
        const TcpStoreServer server;
        FaultyNetwork network(seed());
        const int edge = network.edge_to(server.port());
        const auto descriptors = open_descriptors();
        const auto all_threads = threads();
        {
            TcpStore store = patient(edge);
            CHECK(store.add("k", 1) == 1);
            CHECK(network.open_connections(edge) == 1);
        }
        INFO("connections that are still open, descriptors and threads that are left");
        CHECK(becomes_true([&] { return network.open_connections(edge) == 0; }));
        text_of<Timeout>([&] { const TcpStore nobody(kHost, 1, 50ms); });
        CHECK(becomes_true([&] { return open_descriptors() == descriptors; }));
        CHECK(threads() == all_threads);
    });
}
