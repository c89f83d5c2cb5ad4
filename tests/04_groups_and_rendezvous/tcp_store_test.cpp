// What tcp_store must do: a Store like all others, in the bytes of PyTorch's own client, whatever the network does to them.
#include "exercises/04_groups_and_rendezvous/tcp_store.hpp"

#include <future>

#include "tests/04_groups_and_rendezvous/client_crowds.hpp"
#include "tests/04_groups_and_rendezvous/client_faults.hpp"
#include "tests/04_groups_and_rendezvous/open_things.hpp"
#include "tests/04_groups_and_rendezvous/raw_client.hpp"
#include "tests/04_groups_and_rendezvous/recorded_traffic.hpp"
#include "tests/04_groups_and_rendezvous/scripted_server.hpp"
#include "tests/04_groups_and_rendezvous/store_cases.hpp"
#include "tests/04_groups_and_rendezvous/store_lives.hpp"
#include "tests/04_groups_and_rendezvous/store_races.hpp"
#include "tests/04_groups_and_rendezvous/store_waits.hpp"
#include "tests/04_groups_and_rendezvous/tcp_store_calls.hpp"
#include "tests/04_groups_and_rendezvous/tcp_store_kinds.hpp"
#include "tests/harness/network/faulty_network.hpp"

using namespace dist;
using namespace dist::harness;
using namespace std::chrono_literals;

TEST_CASE("the client sends the bytes of PyTorch's own client, and reads replies also byte by byte"
) {
    on_ranks({1}, [](const Communicator&) {
        for (const bool single : {false, true}) {
            ScriptedServer server(recorded_calls(), single);
            INFO((single ? "replies come byte by byte" : "replies come in one piece"));
            const std::string wrong = makes_recorded_calls(server.port());
            const Comparison sent = server.result();
            INFO(
                "what calls returned otherwise than PyTorch's: "
                << (wrong.empty() ? "nothing" : wrong)
            );
            CHECK(sent);
            CHECK(wrong.empty());
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
        is_refused("compare_set from a long value", [&] { store.compare_set("k", value, "v"); });
        is_refused("check of a long key", [&] { store.check({"k", key}); });
        is_refused("wait for a long key", [&] { store.wait({"k", key}, 10ms); });
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
        CHECK(names(text, {"absent", "missing"}));
        const bool names_others = text.find("there") != std::string::npos;
        CHECK_FALSE(names_others);
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

TEST_CASE(
    "a client may start before its server, and the connection may break before the first answer"
) {
    starts_before_its_server();
}

TEST_CASE("it waits 10 ms before the second try, then twice as long each time, and gives up in time"
) {
    pauses_between_tries();
}

TEST_CASE("one hundred clients at once get the right values, and none waits for another one") {
    many_clients_at_once();
}

TEST_CASE("threads may share a store: their calls come one after the other") {
    threads_share_a_store();
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

TEST_CASE("an answer may take a second, however short the store's timeout is") {
    answers_come_late();
}

TEST_CASE("a call after one that failed tries once to connect") {
    tries_once_to_connect_anew();
}

TEST_CASE("a server that speaks another language is an Error, whatever it says") {
    server_speaks_another_language();
}

TEST_CASE("processes meet at a store, and one that dies takes nothing with it") {
    processes_meet();
}

TEST_CASE("a store connects to a name, and to addresses of IPv4 and IPv6") {
    on_ranks({1}, [](const Communicator&) {
        const TcpStoreServer server;
        std::vector<std::string> hosts = other_addresses();
        hosts.emplace_back("localhost");
        for (const std::string& host : hosts) {
            const std::string refused = text_of<Error>([&] {
                TcpStore store(host, server.port(), kPatience);
                store.add("came", 1);
            });
            INFO(host << ": " << (refused.empty() ? "well" : refused));
            CHECK(refused == "");
        }
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

TEST_CASE("a store returns what was set last, for keys and values of any bytes") {
    holds_what_is_set({kConnectionEach, kSharedConnection});
}

TEST_CASE("add counts in decimal text, up to the limits of 64 bits") {
    adds({kConnectionEach});
}

TEST_CASE("add refuses what is no number and what does not fit, and changes nothing then") {
    adds_to_numbers_only({kConnectionEach});
}

TEST_CASE("compare_set stores only where it finds what it expects, and returns what stands there") {
    compares_and_sets({kConnectionEach});
}

TEST_CASE("check asks for all keys, and makes none") {
    checks_all_keys({kConnectionEach});
}

TEST_CASE("an erased key is gone, and may begin anew") {
    erases({kConnectionEach});
}

TEST_CASE("two stores know nothing of each other") {
    knows_no_other_store({kConnectionEach});
}

TEST_CASE("random calls do what they do to a map") {
    lives_like_a_map({kConnectionEach, kSharedConnection});
}

TEST_CASE("a call that waits in vain ends after its timeout, not before, and soon after") {
    times_out_in_time({kConnectionEach, kSharedConnection});
}

TEST_CASE("a timeout ends a wait also while other keys come, and not before its time is over") {
    times_out_amid_others({kConnectionEach});
}

TEST_CASE("a value wakes all that wait for it, whichever call brings it") {
    wakes_all({kConnectionEach});
}

TEST_CASE("wait returns with the last of its keys, in whatever order they come") {
    waits_for_the_last_key({kConnectionEach});
}

TEST_CASE("wait returns when all keys are there at the same time") {
    waits_for_all_at_once({kConnectionEach});
}

TEST_CASE("a call that waits keeps no other one waiting") {
    keeps_nobody_waiting({kConnectionEach});
}

TEST_CASE("threads that add at the same time get sums of their own") {
    adds_at_once({kConnectionEach, kSharedConnection}, 300);
}

TEST_CASE("of threads that compare and set at the same time, one wins") {
    compares_and_sets_at_once({kConnectionEach});
}

TEST_CASE("no call sees half of a value") {
    sees_whole_values({kConnectionEach});
}
