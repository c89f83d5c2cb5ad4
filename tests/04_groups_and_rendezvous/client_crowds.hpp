// Many clients, threads and processes at one store. Each function is the body of a TEST_CASE.
#pragma once

#include <csignal>
#include <future>
#include <set>
#include <string>
#include <vector>

#include "exercises/04_groups_and_rendezvous/tcp_store.hpp"
#include "tests/04_groups_and_rendezvous/open_things.hpp"
#include "tests/04_groups_and_rendezvous/tcp_store_calls.hpp"
#include "tests/harness/processes/processes.hpp"

namespace dist::harness {

using namespace std::chrono_literals;

/// Each reads what the next one has set. All but the last wait while that one makes its call: nobody would wake up if it
/// had to wait as well.
inline void many_clients_at_once() {
    on_ranks({1}, [](const Communicator&) {
        constexpr int kClients = 100;
        const TcpStoreServer server;
        std::vector<std::future<std::int64_t>> sums;
        std::vector<std::future<std::string>> values;
        for (int i = 0; i < kClients; ++i) {
            std::promise<std::string> value;
            values.push_back(value.get_future());
            const auto client = [port = server.port(), i](std::promise<std::string> read) {
                TcpStore store("localhost", port, kPatience);
                store.set("of " + std::to_string(i), std::string(1000, static_cast<char>(i)));
                const std::int64_t sum = store.add("here", 1);
                if (sum == kClients) {
                    store.set("all are here", "");
                }
                store.wait({"all are here"}, kPatience);
                read.set_value(store.get("of " + std::to_string((i + 1) % kClients)));
                return sum;
            };
            sums.push_back(std::async(std::launch::async, client, std::move(value)));
        }
        std::set<std::int64_t> all;
        for (auto& sum : sums) {
            all.insert(sum.get());
        }
        INFO("each of 100 clients added 1: the sums that they got");
        CHECK(std::ssize(all) == kClients);
        CHECK(*all.begin() == 1);
        CHECK(*all.rbegin() == kClients);
        for (int i = 0; i < kClients; ++i) {
            INFO("client " << i << " reads what the next one has set");
            const std::string expected(1000, static_cast<char>((i + 1) % kClients));
            CHECK(same_on_wire(values[static_cast<std::size_t>(i)].get(), expected));
        }
    });
}

inline void threads_share_a_store() {
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
        CHECK(names(waits.get(), {"absent"}));
    });
}

inline void processes_meet() {
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

}  // namespace dist::harness
