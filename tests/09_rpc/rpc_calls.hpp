// Calls that go well: values, order, nesting, several agents. Each function is the body of a TEST_CASE.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/09_rpc/rpc_scene.hpp"

namespace dist::harness {

/// A call that waits to be answered.
struct Held {
    std::string arguments;
    Rpc::Reply reply;
};

/// "hold" keeps calls in `held`, and answers none.
inline void define_hold(Rpc& agent, std::vector<Held>& held) {
    agent.define_async(
        "hold",
        [&held](int, std::span<const std::byte> arguments, const Rpc::Reply& reply) {
            held.push_back({to_text(arguments), reply});
        }
    );
}

inline void define_echo(Rpc& agent) {
    agent.define("echo", [](int, std::span<const std::byte> arguments) {
        return Bytes(arguments.begin(), arguments.end());
    });
}

inline void values(std::uint64_t seed) {
    for (const int p : {1, 2, 3, 4}) {
        INFO("ranks: " << p);
        RpcScene scene(p, seed, 5ms);
        const Comparison played = scene.play([](RpcPlace& me) {
            me.agent->define("where", [&](int caller, std::span<const std::byte> arguments) {
                return to_bytes(
                    std::to_string(caller) + " to " + std::to_string(me.rank) + ": " +
                    to_text(arguments)
                );
            });
            must(
                me.agent->rank() == me.rank && me.agent->size() == me.p,
                "the agent has another rank or size than its transport"
            );
            for (int to = 0; to < me.p; ++to) {
                const std::string value =
                    std::to_string(me.rank) + " to " + std::to_string(to) + ": ";
                const Bytes sync = me.agent->rpc_sync(to, "where", to_bytes("a"));
                must_be(to_text(sync), value + "a", "what rpc_sync brings back");
                const RpcFuture call = me.begin(to, "where", "b");
                must_be(end_of(*me.agent, call), "answer: " + value + "b", "what rpc_async brings");
                const RpcFuture other = me.begin(to, "where", "c");
                const Ms begun = me.now();
                while (!me.agent->test(other)) {
                    me.clock.sleep(1ms);
                    must(
                        me.now() < begun + 500ms,
                        "nothing but test() is called, and it is never true"
                    );
                }
                must_be(end_of(*me.agent, other), "answer: " + value + "c", "what test waits for");
            }
            me.agent->shutdown();
        });
        REQUIRE(played);
    }
}

inline void calls_itself(std::uint64_t seed) {
    RpcScene scene(2, seed);
    const Comparison played = scene.play([](RpcPlace& me) {
        if (me.rank == 0) {
            int runs = 0;
            me.agent->define("count", [&](int caller, std::span<const std::byte>) {
                must(caller == 0, "the caller of a call to oneself is another rank");
                return to_bytes(std::to_string(++runs));
            });
            me.agent->define("fail", [](int, std::span<const std::byte>) -> Bytes {
                throw std::runtime_error("no");
            });
            int turns = 0;
            me.agent->define("again", [&](int, std::span<const std::byte>) {
                if (++turns < 5) {
                    me.begin(0, "again");
                }
                return Bytes();
            });
            const RpcFuture call = me.begin(0, "count");
            must(runs == 0, "the function runs before rank 0 waits, tests or serves");
            must_be(end_of(*me.agent, call), "answer: 1", "a call to oneself");
            me.begin(0, "again");
            me.agent->serve();
            must(turns == 1, "serve() runs what was called after it had begun: it may never end");
            must_be(me.call(0, "fail"), "RemoteError of rank 0, fail: no", "a call to oneself");
            must(begins(me.call(0, "hm"), "RemoteError of rank 0, hm: "), "there is no hm");
            const RpcFuture failed = me.begin(0, "fail");
            me.serve_until(me.now() + 5ms);
            must(me.agent->test(failed), "test() of a call that has failed has to be true");
            must(me.network.edge(0, 1).messages == 0, "a call to oneself sends a message");
            must(me.network.edge(0, 0).messages == 0, "a call to oneself sends a message");
        } else {
            me.clock.sleep(50ms);
        }
        me.agent->shutdown();
    });
    REQUIRE(played);
}

/// "down" calls its caller back with one less, until nothing is left.
inline void define_down(RpcPlace& me, int (*next)(const RpcPlace& me, int caller)) {
    me.agent->define("down", [&me, next](int caller, std::span<const std::byte> arguments) {
        const int left = std::stoi(to_text(arguments));
        const std::string here = std::to_string(me.rank);
        if (left == 0) {
            return to_bytes(here);
        }
        const int to = next(me, caller);
        const Bytes rest =
            me.agent->rpc_sync(to, "down", to_bytes(std::to_string(left - 1)), 1000ms);
        return to_bytes(here + to_text(rest));
    });
}

inline void nests(std::uint64_t seed) {
    {
        RpcScene scene(2, seed, 3ms);
        const Comparison played = scene.play([](RpcPlace& me) {
            define_down(me, [](const RpcPlace&, int caller) { return caller; });
            if (me.rank == 0) {
                must_be(me.call(1, "down", "5"), "answer: 101010", "0 calls 1, which calls 0, ...");
            }
            me.agent->shutdown();
        });
        REQUIRE(played);
    }
    RpcScene scene(3, seed, 3ms);
    const Comparison played = scene.play([](RpcPlace& me) {
        define_down(me, [](const RpcPlace& here, int) { return (here.rank + 1) % here.p; });
        const std::string expected = me.rank == 0 ? "12012" : me.rank == 1 ? "20120" : "01201";
        must_be(
            me.call((me.rank + 1) % 3, "down", "4"), "answer: " + expected,
            "all ranks call the next one at the same time, and so on"
        );
        me.agent->shutdown();
    });
    REQUIRE(played);
}

inline void any_order(std::uint64_t seed) {
    constexpr std::size_t kCalls = 10;  // of each callee
    RpcScene scene(3, seed, 5ms);
    const Comparison played = scene.play([&](RpcPlace& me) {
        std::vector<Held> held;
        define_hold(*me.agent, held);
        if (me.rank == 0) {
            std::vector<RpcFuture> calls;
            for (std::size_t i = 0; i < 2 * kCalls; ++i) {
                calls.push_back(me.begin(i % 2 == 0 ? 1 : 2, "hold", std::to_string(i)));
            }
            for (std::size_t i = 0; i < calls.size(); ++i) {
                must_be(
                    end_of(*me.agent, calls[i]), "answer: of " + std::to_string(i),
                    "call " + std::to_string(i) + " of 20 in flight"
                );
            }
        } else {
            me.serve_until([&] { return held.size() == kCalls; });
            for (std::uint64_t i = 0; !held.empty(); ++i) {
                const auto next =
                    held.begin() + static_cast<std::ptrdiff_t>(seeded_bits(seed, i) % held.size());
                next->reply({.answer = to_bytes("of " + next->arguments)});
                held.erase(next);
            }
        }
        me.agent->shutdown();
    });
    REQUIRE(played);
}

inline void in_order(std::uint64_t seed) {
    for (const Ms busy : {0ms, 60ms}) {
        INFO("rank 1 serves from " << text_of(busy) << " on");
        RpcScene scene(2, seed, 5ms);
        const Comparison played = scene.play([&](RpcPlace& me) {
            std::string order;
            me.agent->define("note", [&](int, std::span<const std::byte> arguments) {
                order += to_text(arguments.first(1));
                return Bytes();
            });
            if (me.rank == 0) {
                for (const char one : std::string("abcdefgh")) {
                    me.begin(1, "note", std::string(one % 2 == 0 ? 10 : 100'000, one));
                }
            } else {
                me.clock.sleep(busy);
            }
            me.agent->shutdown();
            must_be(order, me.rank == 1 ? "abcdefgh" : "", "the order in which calls begin");
        });
        REQUIRE(played);
    }
}

inline void two_agents(std::uint64_t seed) {
    RpcScene scene(2, seed, 3ms);
    const Comparison played = scene.play([](RpcPlace& me) {
        RpcAgent other(me.transport, 6, me.clock);
        bool is_over = false;
        for (RpcAgent* agent : {me.agent.get(), &other}) {
            const std::string name = agent == &other ? "second" : "first";
            agent->define("name", [name](int, std::span<const std::byte> arguments) {
                return to_bytes(name + " " + to_text(arguments));
            });
        }
        other.define("stop", [&](int, std::span<const std::byte>) {
            is_over = true;
            return Bytes();
        });
        if (me.rank == 0) {
            std::vector<std::pair<RpcFuture, RpcFuture>> calls;
            for (int i = 0; i < 5; ++i) {
                const Bytes number = to_bytes(std::to_string(i));
                calls.emplace_back(
                    me.agent->rpc_async(1, "name", number), other.rpc_async(1, "name", number)
                );
            }
            for (std::size_t i = 0; i < calls.size(); ++i) {
                const std::string number = std::to_string(i);
                const auto& [first, second] = calls[i];
                must_be(end_of(other, second), "answer: second " + number, "the second agent's");
                must_be(end_of(*me.agent, first), "answer: first " + number, "the first agent's");
            }
            other.rpc_sync(1, "stop", {});
        }
        while (me.rank == 1 && !is_over) {
            me.agent->serve();
            other.serve();
            me.clock.sleep(1ms);
        }
        me.agent->shutdown();
        other.shutdown();
    });
    REQUIRE(played);
}

}  // namespace dist::harness
