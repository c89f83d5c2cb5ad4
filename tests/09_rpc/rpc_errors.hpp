// Calls that fail, there or on the way, and calls whose time is over. Each function is the body of a TEST_CASE.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/09_rpc/rpc_calls.hpp"

namespace dist::harness {

inline constexpr Ms kSoon = 20ms;  // a few sleeps, and the way

/// "divide" throws; "ask" has the next rank do so.
inline void define_failing(RpcPlace& me) {
    me.agent->define("divide", [](int, std::span<const std::byte> arguments) -> Bytes {
        if (to_text(arguments) == "int") {
            throw 7;
        }
        throw std::runtime_error("by zero" + std::string(arguments.size(), '!'));
    });
    me.agent->define("ask", [&me](int, std::span<const std::byte>) {
        return me.agent->rpc_sync(me.rank + 1, "divide", {});
    });
    me.agent->define_async(
        "throws",
        [](int, std::span<const std::byte> arguments, const Rpc::Reply&) -> void {
            if (!arguments.empty()) {
                throw 7;
            }
            throw std::out_of_range("before it answers");
        }
    );
    me.agent->define_async("fails", [](int, std::span<const std::byte>, const Rpc::Reply& reply) {
        reply({.error = std::make_exception_ptr(std::runtime_error("in its answer"))});
    });
}

inline void errors(std::uint64_t seed) {
    RpcScene scene(3, seed, 3ms);
    const Comparison played = scene.play([](RpcPlace& me) {
        define_failing(me);
        define_echo(*me.agent);
        if (me.rank == 0) {
            const std::string there = "RemoteError of rank 1, ";
            must_be(me.call(1, "divide"), there + "divide: by zero", "a function that throws");
            const std::string wide(10'000, '!');
            must_be(me.call(1, "divide", wide), there + "divide: by zero" + wide, "a long reason");
            const auto ends_as = [](const std::string& end, const std::string& expected) {
                must(
                    begins(end, expected),
                    "it has to end as a " + expected + "... It ends by " + end
                );
            };
            ends_as(me.call(1, "divide", "int"), there + "divide: ");
            ends_as(me.call(1, "throws", "int"), there + "throws: ");
            ends_as(me.call(1, "hm"), there + "hm: ");
            must_be(
                me.call(1, "ask"), "RemoteError of rank 2, divide: by zero",
                "an error from two hops away"
            );
            must_be(me.call(1, "throws"), there + "throws: before it answers", "an async function");
            must_be(me.call(1, "fails"), there + "fails: in its answer", "an async function");
            must_be(me.call(1, "echo", "a"), "answer: a", "a call after all these errors");
        }
        me.agent->shutdown();
    });
    REQUIRE(played);
}

/// The call ends so that soon, and not before that time.
inline void ends_at(RpcPlace& me, const RpcFuture& call, Ms when, const std::string& how) {
    const std::string end = end_of(*me.agent, call);
    must(begins(end, how), "a call has to end by " + how + ". It ends by " + end);
    must(
        when <= me.now() && me.now() <= when + kSoon, "a call has to end at " + text_of(when) +
                                                          ", by " + how + ". It ends at " +
                                                          text_of(me.now())
    );
}

inline void deadlines(std::uint64_t seed) {
    RpcScene scene(2, seed, 1ms);
    const Comparison played = scene.play([](RpcPlace& me) {
        std::vector<Held> held;
        define_hold(*me.agent, held);
        if (me.rank == 0) {
            ends_at(
                me, me.begin(1, "hold", "", 50ms), 50ms,
                "RpcTimeout: rank 1, hold: no answer within 50 ms"
            );
            me.agent->set_timeout(100ms);
            const RpcFuture first = me.begin(1, "hold");
            const RpcFuture never = me.begin(1, "hold", "", 0ms);
            const RpcFuture endless = me.begin(1, "hold", "", Rpc::Duration::max());
            const RpcFuture late = me.begin(1, "hold", "", 400ms);
            const Ms begun = me.now();
            me.agent->set_timeout(200ms);
            const RpcFuture second = me.begin(1, "hold");
            ends_at(me, first, begun + 100ms, "RpcTimeout");
            ends_at(me, second, begun + 200ms, "RpcTimeout");
            ends_at(me, late, begun + 400ms, "RpcTimeout");
            me.agent->set_timeout(0ms);
            const RpcFuture forever = me.begin(1, "hold");
            me.serve_until(begun + 3000ms);
            must(!me.agent->test(never), "a call with timeout 0 ends after 3 s");
            must(!me.agent->test(endless), "a call with timeout Duration::max() ends after 3 s");
            must(!me.agent->test(forever), "a call with the default timeout 0 ends after 3 s");
            must_be(me.call(1, "release"), "answer: ", "the call that answers the others");
            must_be(end_of(*me.agent, never), "answer: now", "a call with timeout 0");
            must_be(end_of(*me.agent, endless), "answer: now", "a call with Duration::max()");
            must_be(end_of(*me.agent, forever), "answer: now", "a call with timeout 0");
        } else {
            me.agent->define("release", [&](int, std::span<const std::byte>) {
                must(
                    held.size() == 7,
                    "7 calls began, and " + std::to_string(held.size()) + " have come"
                );
                for (const Held& one : held) {
                    one.reply({.answer = to_bytes("now")});
                }
                return Bytes();
            });
        }
        me.agent->shutdown();
    });
    REQUIRE(played);
}

inline void default_deadline(std::uint64_t seed) {
    RpcScene scene(2, seed);
    const Comparison played = scene.play([](RpcPlace& me) {
        std::vector<Held> held;
        define_hold(*me.agent, held);
        me.clock.late = 14ms;
        if (me.rank == 0) {
            ends_at(me, me.begin(1, "hold"), 60'000ms, "RpcTimeout");
        }
        me.agent->shutdown();
    });
    REQUIRE(played);
}

inline void looks_first(std::uint64_t seed) {
    RpcScene scene(2, seed);
    const Comparison played = scene.play([](RpcPlace& me) {
        define_echo(*me.agent);
        if (me.rank == 0) {
            const RpcFuture call = me.begin(1, "echo", "a", 50ms);
            me.clock.sleep(100ms);
            must_be(
                end_of(*me.agent, call), "answer: a",
                "a call whose answer came in time, while rank 0 did something else until later,"
            );
        }
        me.agent->shutdown();
    });
    REQUIRE(played);
}

inline void late_answers(std::uint64_t seed) {
    RpcScene scene(2, seed, 3ms);
    const Comparison played = scene.play([](RpcPlace& me) {
        std::vector<Held> held;
        define_hold(*me.agent, held);
        if (me.rank == 0) {
            for (int i = 0; i < 3; ++i) {
                must(
                    begins(me.call(1, "hold", "late", 30ms), "RpcTimeout"),
                    "a call that nobody answers has to end by RpcTimeout"
                );
            }
            for (int i = 0; i < 3; ++i) {
                must_be(
                    me.call(1, "hold", "in time"), "answer: in time",
                    "the call after others whose answers come too late"
                );
            }
        } else {
            me.serve_until([&] { return held.size() == 4; });
            for (std::size_t i = 0; i < 6; ++i) {
                me.serve_until([&] { return held.size() > i; });
                me.serve_until(me.now() + (i < 3 ? 10ms : 0ms));
                held[i].reply({.answer = to_bytes(held[i].arguments)});
            }
        }
        me.agent->shutdown();
    });
    REQUIRE(played);
}

inline void dead_callee(std::uint64_t seed) {
    RpcScene scene(4, seed, 3ms);
    scene.dies[2] = 100ms;
    const Comparison played = scene.play([](RpcPlace& me) {
        std::vector<Held> held;
        define_hold(*me.agent, held);
        if (me.rank == 0 || me.rank == 3) {
            const RpcFuture slow = me.begin(1, "hold", "a", 10'000ms);
            std::vector<RpcFuture> calls;
            for (const Ms timeout : {1000ms, 0ms}) {
                calls.push_back(me.begin(2, "hold", "b", timeout));
                calls.push_back(me.begin(2, "hold", std::string(100'000, 'c'), timeout));
            }
            for (const RpcFuture& call : calls) {
                ends_at(me, call, 100ms, "Error: ");
            }
            const Ms now = me.now();
            const std::string later = me.call(2, "hold");
            must(
                begins(later, "Error: ") && has(later, "rank 2"),
                "a call to a rank that has died has to end by an Error that names rank 2. It "
                "ends by " +
                    later
            );
            must(me.now() <= now + 2ms, "a call to a rank that has died does not end at once");
            must_be(end_of(*me.agent, slow), "answer: a", "a call to another rank");
        } else if (me.rank == 1) {
            me.serve_until(300ms);
            for (const Held& one : held) {
                one.reply({.answer = to_bytes(one.arguments)});
            }
        }
        me.agent->shutdown();
    });
    REQUIRE(played);
}

inline void dead_caller(std::uint64_t seed) {
    RpcScene scene(3, seed, 3ms);
    scene.dies[2] = 100ms;
    const Comparison played = scene.play([](RpcPlace& me) {
        std::vector<Held> held;
        define_hold(*me.agent, held);
        define_echo(*me.agent);
        if (me.rank == 2) {
            me.call(0, "hold", "a", 10'000ms);
        } else if (me.rank == 1) {
            me.serve_until(200ms);
            must_be(me.call(0, "echo", "a"), "answer: a", "a call after another caller has died");
        } else {
            me.serve_until(150ms);
            held.at(0).reply({.answer = Bytes(10)});
            held.clear();
        }
        me.agent->shutdown();
    });
    REQUIRE(played);
}

/// Its answer leaves, and then it dies: some of it may be lost on the way.
inline void dies_as_it_answers(std::uint64_t seed) {
    for (const Ms when : {2ms, 4ms, 6ms, 8ms, 10ms, 12ms}) {
        INFO("rank 1 dies at " << text_of(when));
        RpcScene scene(3, seed, 5ms);
        scene.dies[1] = when;
        const Comparison played = scene.play([](RpcPlace& me) {
            define_echo(*me.agent);
            if (me.rank != 1) {
                const std::string much(50'000, 'x');
                const std::string end = me.call(1, "echo", much, 0ms);
                must(
                    end == "answer: " + much || begins(end, "Error: "),
                    "a call to a rank that dies has to bring its answer or an Error. It ends by " +
                        end.substr(0, 100)
                );
            }
            me.agent->shutdown();
        });
        REQUIRE(played);
    }
}

}  // namespace dist::harness
