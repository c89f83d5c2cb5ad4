// Servers and networks that fail while a client uses them. Each function is the body of a TEST_CASE.
#pragma once

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "exercises/04_groups_and_rendezvous/tcp_store.hpp"
#include "tests/04_groups_and_rendezvous/late_servers.hpp"
#include "tests/04_groups_and_rendezvous/open_things.hpp"
#include "tests/04_groups_and_rendezvous/scripted_server.hpp"
#include "tests/04_groups_and_rendezvous/tcp_store_calls.hpp"
#include "tests/harness/network/faulty_network.hpp"

namespace dist::harness {

using namespace std::chrono_literals;

inline void starts_before_its_server() {
    on_ranks({1}, [](const Communicator&) {
        const ReservedPort reserved;  // nobody listens there yet, and nobody else can
        auto value = std::async(std::launch::async, [&] {
            TcpStore store = patient(reserved.port());
            return store.check({});
        });
        value.wait_for(50ms);
        ScriptedServer late({{"check of nothing", "05 <0>", "00"}}, false, reserved.listens());
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

inline void pauses_between_tries() {
    on_ranks({1}, [](const Communicator&) {
        const TriesSeen tries;  // accepts, and ends each connection at once
        const auto begin = std::chrono::steady_clock::now();
        const std::string text =
            text_of<Timeout>([&] { const TcpStore store(kHost, tries.port(), 800ms); });
        const auto waited = std::chrono::steady_clock::now() - begin;
        CHECK((waited >= 800ms));
        CHECK((waited < 800ms + kPatience / 2));
        CHECK(names(text, {kHost, std::to_string(tries.port())}));
        const std::vector<double> gaps = tries.gaps_s();
        INFO("the tries: " << tries.told());
        REQUIRE(gaps.size() >= 3);
        CHECK(gaps.size() <= 7);
        const double early = std::min(gaps[0], gaps[1]);  // a busy machine makes one of them long
        const double late = *std::ranges::max_element(gaps.begin() + 2, gaps.end());
        CHECK(early < late / 2);
    });
}

inline void server_ends() {
    on_ranks({1}, [](const Communicator&) {
        auto server = std::make_unique<TcpStoreServer>();
        const int port = server->port();
        std::vector<std::future<std::string>> waiting;
        for (int i = 0; i < 3; ++i) {
            waiting.push_back(std::async(std::launch::async, [&, i] {
                TcpStore store = patient(port);
                store.add("here", 1);
                return text_of<Error>([&] {
                    i == 0 ? store.get("k"), 0 : (store.wait({"k"}, kPatience), 0);
                });
            }));
        }
        TcpStore store = patient(port);
        REQUIRE(becomes_true([&] { return store.add("here", 0) == 3; }));
        server.reset();
        const auto names_it = [&](const std::string& call, const std::string& text) {
            INFO(call << " of a store whose server has ended");
            CHECK(names(text, {kHost, std::to_string(port)}));
        };
        for (auto& one : waiting) {
            names_it("a client waits, and its server ends", one.get());
        }
        std::string of_set;  // the first may leave before it is known that nobody reads it
        for (int i = 0; i < 3 && of_set.empty(); ++i) {
            of_set = text_of<Error>([&] { store.set("k", "v"); });
        }
        names_it("set", of_set);
        names_it("get", text_of<Error>([&] { store.get("k"); }));
        names_it("add", text_of<Error>([&] { store.add("k", 1); }));
        names_it("compare_set", text_of<Error>([&] { store.compare_set("k", "", "v"); }));
        names_it("check", text_of<Error>([&] { store.check({"k"}); }));
        names_it("wait", text_of<Error>([&] { store.wait({"k"}, kPatience); }));
        names_it("erase", text_of<Error>([&] { store.erase("k"); }));
        names_it("num_keys", text_of<Error>([&] { store.num_keys(); }));
    });
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

inline std::unique_ptr<TcpStore> hasty(int port, std::chrono::milliseconds timeout) {
    return unless_busy(timeout, [&] { return std::make_unique<TcpStore>(kHost, port, timeout); });
}

inline void answers_are_lost() {
    on_ranks({1}, [](const Communicator&) {
        const TcpStoreServer server;
        FaultyNetwork network(seed());
        const int edge = network.edge_to(server.port());
        const std::unique_ptr<TcpStore> store = hasty(edge, 1000ms);
        const auto sum = [&] { return unless_busy(1000ms, [&] { return store->add("k", 0); }); };
        const auto fails = [&](const std::string& how) {
            auto call = std::async(std::launch::async, [&] {
                return text_of<Error>([&] { store->add("k", 1); });
            });
            INFO(how);
            const bool in_time = call.wait_for(kPatience) == std::future_status::ready;
            if (!in_time) {
                network.reset(edge);
            }
            CHECK(names(call.get(), {kHost, std::to_string(edge)}));
            CHECK(in_time);
        };
        REQUIRE(sum() == 0);
        network.drop(edge, Way::back, 8);
        fails("the reply to add was dropped");
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

/// What add returned whose reply was held back for 450 ms.
inline std::int64_t late_reply() {
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

/// The answer takes longer than the store's timeout, and less than a second.
inline void answers_come_late() {
    on_ranks({1}, [](const Communicator&) {
        INFO("the timeout of the store is 200 ms, and the reply to add came after 450 ms");
        std::int64_t sum = 0;
        const auto call = [&] { sum = unless_busy(1000ms, late_reply); };
        CHECK(text_of<Error>(call) == "");
        CHECK(sum == 1);
    });
}

inline void tries_once_to_connect_anew() {
    on_ranks({1}, [](const Communicator&) {
        auto server = std::make_unique<TcpStoreServer>();
        FaultyNetwork network(seed());
        const int edge = network.edge_to(server->port());
        TcpStore store = patient(edge);
        REQUIRE(store.add("k", 1) == 1);
        server.reset();
        for (int tries = 1; tries <= 3; ++tries) {
            const int before = network.carried(edge).connections;
            text_of<Error>([&] { store.add("k", 1); });
            INFO("connections that call " << tries << " made after its server had ended");
            REQUIRE(network.carried(edge).connections - before == (tries == 1 ? 0 : 1));
        }
    });
}

inline void server_speaks_another_language() {
    on_ranks({1}, [](const Communicator&) {
        for (const std::string reply : {"<9223372036854775807> 41", "<-1> 41"}) {
            INFO("a value of that length was announced, and one byte came: " << reply);
            const auto is_named = [&] {
                ScriptedServer server({{"compare_set", "02 <2>'/k' <0> <1>'v'", reply}});
                TcpStore store(kHost, server.port(), 1000ms);
                const auto text = text_of<Error>([&] { store.compare_set("k", "", "v"); });
                return names(text, {std::to_string(server.port())});
            };
            CHECK(unless_busy(1000ms, is_named));
        }
    });
}

}  // namespace dist::harness
