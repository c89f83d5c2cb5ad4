// What calls cost: messages, time, and the same on ranks of MPI and on processes. Each function is the body of a TEST_CASE.
#pragma once

#include <csignal>
#include <string>
#include <vector>

#include "course/runtime/mpi_transport.hpp"
#include "tests/04_groups_and_rendezvous/transport_ranks.hpp"
#include "tests/09_rpc/rpc_errors.hpp"

namespace dist::harness {

/// Serves until rank 0 calls "stop".
inline void serve_others(RpcPlace& me) {
    bool is_over = false;
    me.agent->define("stop", [&](int, std::span<const std::byte>) {
        is_over = true;
        return Bytes();
    });
    me.serve_until([&] { return is_over; });
}

inline void one_message_each(std::uint64_t seed) {
    constexpr std::size_t kName = 4;
    RpcScene scene(2, seed, 2ms);
    REQUIRE(scene.play([](RpcPlace& me) {
        define_echo(*me.agent);
        const auto costs = [&](int src, int dst, long before, bool is_short) {
            const long spent = me.network.edge(src, dst).messages - before;
            must(
                spent == 1 || (spent == 2 && !is_short),
                "rank " + std::to_string(src) + " sends " + std::to_string(spent) +
                    " messages for a call. They have " + (is_short ? "at most" : "more than") +
                    " kShort bytes"
            );
        };
        if (me.rank == 0) {
            const std::size_t most = RpcAgent::kShort;
            for (const std::size_t n :
                 {std::size_t{0}, std::size_t{1}, most - kName, most - kName + 1, most, most + 1,
                  std::size_t{1'000'000}}) {
                const std::string text(n, 'x');
                const long there = me.network.edge(0, 1).messages;
                const long back = me.network.edge(1, 0).messages;
                must(
                    me.call(1, "echo", text) == "answer: " + text,
                    "what comes back of " + std::to_string(n) + " bytes is something else"
                );
                costs(0, 1, there, n + kName <= most);
                costs(1, 0, back, n <= most);
            }
            me.call(1, "stop");
        } else {
            serve_others(me);
        }
        me.agent->shutdown();
    }));
}

inline void hundred_megabytes() {
    constexpr std::size_t kMuch = 100'000'000;
    RpcScene scene(2);
    REQUIRE(scene.play([](RpcPlace& me) {
        me.agent->define("much", [](int, std::span<const std::byte> arguments) {
            return Bytes(arguments.size() == kMuch ? kMuch - 1 : 0);
        });
        if (me.rank == 0) {
            const Bytes answer = me.agent->rpc_sync(1, "much", Bytes(kMuch));
            must(answer.size() == kMuch - 1, "of 100 MB something else arrives");
        }
        me.agent->shutdown();
    }));
}

inline void arguments_are_copied(std::uint64_t seed) {
    RpcScene scene(2, seed, 5ms);
    REQUIRE(scene.play([](RpcPlace& me) {
        define_echo(*me.agent);
        for (const std::size_t n : {std::size_t{100}, std::size_t{10'000}}) {
            Bytes arguments(n, std::byte{1});
            const RpcFuture call = me.agent->rpc_async(1 - me.rank, "echo", arguments);
            arguments.assign(n, std::byte{2});
            must(
                me.agent->wait(call) == Bytes(n, std::byte{1}),
                "arguments that are changed after rpc_async arrive as they are now"
            );
        }
        me.agent->shutdown();
    }));
}

inline void no_more_in_shutdown(std::uint64_t seed) {
    constexpr long kCalls = 50;
    RpcScene scene(3, seed, 1ms);
    REQUIRE(scene.play([](RpcPlace& me) {
        define_echo(*me.agent);
        if (me.rank == 0) {
            me.serve_until(50ms);  // until they are in shutdown()
            const long before = me.network.messages();
            for (long i = 0; i < kCalls; ++i) {
                must_be(me.call(1, "echo", "a"), "answer: a", "a call");
            }
            const long spent = me.network.messages() - before;
            must(
                spent == 2 * kCalls, std::to_string(kCalls) +
                                         " calls to a rank that is in shutdown() take " +
                                         std::to_string(spent) + " messages"
            );
        }
        me.agent->shutdown();
    }));
}

inline void takes_no_time(std::uint64_t seed) {
    constexpr int kCalls = 200;
    RpcScene scene(2, seed);
    REQUIRE(scene.play([](RpcPlace& me) {
        define_echo(*me.agent);
        if (me.rank == 0) {
            for (int i = 0; i < kCalls; ++i) {
                must_be(me.call(1, "echo", "a"), "answer: a", "a call");
            }
            must(
                me.now() <= Ms(kCalls / 4), std::to_string(kCalls) +
                                                " calls whose messages take no time take " +
                                                text_of(me.now()) + ": they are slept away"
            );
        }
        me.agent->shutdown();
    }));
}

/// Each rank calls the next, which calls it back.
inline void counts_on_mpi(const Communicator& comm) {
    constexpr int kCalls = 5;
    const int p = comm.size();
    const int next = (comm.rank() + 1) % p;
    for (const std::size_t n : {std::size_t{10}, std::size_t{200'000}}) {
        MpiTransport transport(comm);
        SteadyClock clock;
        RpcAgent agent(transport, 1, clock);
        int served = 0;
        agent.define("back", [&](int, std::span<const std::byte> arguments) {
            ++served;
            return Bytes(arguments.begin(), arguments.end());
        });
        agent.define("there", [&](int caller, std::span<const std::byte> arguments) {
            ++served;
            return agent.rpc_sync(caller, "back", arguments);
        });
        int right = 0;
        const Bytes data = message(n, comm.rank(), next);
        const auto call_and_serve = [&] {
            for (int i = 0; i < kCalls; ++i) {
                right += agent.rpc_sync(next, "there", data) == data ? 1 : 0;
            }
            while (served < 2 * kCalls) {
                agent.serve();
                clock.sleep(Ms(0));
            }
        };
        if (n < RpcAgent::kShort) {
            const Traffic traffic = record(comm, call_and_serve);
            const long calls =
                p == 1 ? 0 : 2 * kCalls;  // by this rank, and as many that it answers
            CHECK(within(traffic, {.messages_sent = exactly(2 * calls)}));
        } else {
            call_and_serve();
        }
        agent.shutdown();
        INFO("bytes: " << n);
        CHECK(right == kCalls);
    }
}

/// Three processes. The last is killed while the others have called it.
inline void survives_a_kill(Transport& transport, int rank) {
    SteadyClock clock;
    RpcAgent agent(transport, 1, clock);
    define_echo(agent);
    agent.define("via", [&](int caller, std::span<const std::byte> arguments) {
        return agent.rpc_sync(caller, "echo", arguments);
    });
    agent.define("die", [](int, std::span<const std::byte>) -> Bytes {
        raise(SIGKILL);
        return {};
    });
    if (rank == 0) {
        const Bytes much = message(kLong / 4, 0, 1);
        CHECK(agent.rpc_sync(1, "via", much) == much);
        CHECK(agent.rpc_sync(2, "via", much) == much);
        const RpcFuture call = agent.rpc_async(2, "die", {}, Ms(0));
        CHECK(names_rank(2, [&] { agent.wait(call); }));
        CHECK(names_rank(2, [&] { agent.rpc_sync(2, "echo", much); }));
        CHECK(agent.rpc_sync(1, "via", much) == much);
    }
    agent.shutdown();
}

}  // namespace dist::harness
