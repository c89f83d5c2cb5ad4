// How agents end: together, or at once. Each function is the body of a TEST_CASE.
#pragma once

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/09_rpc/rpc_errors.hpp"

namespace dist::harness {

/// The calls that ranks have made.
struct Log {
    struct Made {
        int caller;
        RpcFuture call;
    };

    RpcFuture call(RpcPlace& me, int to, const std::string& function, const std::string& text) {
        made.push_back({me.rank, me.begin(to, function, text)});
        return made.back().call;
    }

    /// A rank returns from a graceful shutdown().
    void leaves(const RpcPlace& me) const {
        const auto waits = [&](const Made& one) {
            return !one.call->is_done && !me.network.dead(one.caller);
        };
        const auto open = std::ranges::count_if(made, waits);
        must(
            open == 0, "it leaves shutdown() where callers still wait for " + std::to_string(open) +
                           " of " + std::to_string(made.size()) + " answers"
        );
        const long to_run = static_cast<long>(made.size()) - run;
        must(
            to_run == 0 || someone_died, "it leaves shutdown() where " + std::to_string(to_run) +
                                             " of " + std::to_string(made.size()) +
                                             " calls are still to be run"
        );
    }

    std::vector<Made> made;
    long run = 0;  // to their ends
    bool someone_died = false;
};

inline void waits_for_the_last(std::uint64_t seed) {
    for (int last = 0; last < 3; ++last) {
        INFO("rank " << last << " comes last");
        RpcScene scene(3, seed, 3ms);
        const Comparison played = scene.play([&](RpcPlace& me) {
            define_echo(*me.agent);
            if (me.rank == last) {
                me.serve_until(100ms);
                must_be(
                    me.call((last + 1) % 3, "echo", "a"), "answer: a",
                    "a call to a rank that is in shutdown()"
                );
            }
            me.agent->shutdown();
            must(
                me.now() >= 100ms, "it leaves shutdown() at " + text_of(me.now()) + ". Rank " +
                                       std::to_string(last) + " comes at 100 ms, and calls it then"
            );
            must(me.now() <= 100ms + 2 * kSoon, "it leaves shutdown() too late");
        });
        REQUIRE(played);
    }
}

/// Rank 2 calls rank 1, which is in shutdown() already. Its function calls rank 2 and rank 3, and waits for neither. From
/// then on ranks 1 and 3 call each other, a hundred times.
inline void waits_for_what_functions_call(std::uint64_t seed) {
    RpcScene scene(4, seed);
    Log log;
    const Comparison played = scene.play([&](RpcPlace& me) {
        me.agent->define("note", [&](int, std::span<const std::byte>) {
            ++log.run;
            return Bytes();
        });
        me.agent->define("relay", [&](int caller, std::span<const std::byte> arguments) {
            const int left = std::stoi(to_text(arguments));
            if (left > 0) {
                log.call(me, caller, "relay", std::to_string(left - 1));
            }
            ++log.run;
            return Bytes();
        });
        me.agent->define("spread", [&](int caller, std::span<const std::byte>) {
            log.call(me, 3, "relay", "100");
            log.call(me, caller, "note", "");
            ++log.run;
            return Bytes();
        });
        if (me.rank == 2) {
            me.serve_until(50ms);
            end_of(*me.agent, log.call(me, 1, "spread", ""));
        }
        me.agent->shutdown();
        log.leaves(me);
    });
    REQUIRE(played);
}

/// Functions call others, of which some call others, and nobody waits.
inline void waits_for_all(std::uint64_t seed, bool one_dies) {
    for (std::uint64_t number = 0; number < 3; ++number) {
        INFO("number " << number);
        const std::uint64_t chance = 10 * seed + number;
        const int p = 3 + static_cast<int>(number % 2);
        RpcScene scene(p, chance, 6ms);
        if (one_dies) {
            scene.dies[static_cast<int>(number) % p] = 15ms + Ms(10 * number);
        }
        Log log;
        log.someone_died = one_dies;
        std::uint64_t drawn = 0;
        const auto draw = [&](int end) {
            return static_cast<int>(seeded_bits(chance, ++drawn) % static_cast<unsigned>(end));
        };
        const Comparison played = scene.play([&](RpcPlace& me) {
            me.agent->define("spread", [&](int, std::span<const std::byte> arguments) {
                const int left = std::stoi(to_text(arguments));
                for (int i = draw(3); left > 0 && i > 0; --i) {
                    log.call(me, draw(p), "spread", std::to_string(left - 1));
                }
                ++log.run;
                return Bytes();
            });
            for (int i = 0; i < 3; ++i) {
                me.serve_until(me.now() + Ms(draw(12)));
                log.call(me, draw(p), "spread", "3");
            }
            me.agent->shutdown();
            log.leaves(me);
        });
        REQUIRE(played);
        for (int src = 0; src < p && !one_dies; ++src) {
            for (int dst = 0; dst < p; ++dst) {
                INFO("from rank " << src << " to rank " << dst);
                CHECK(scene.network.edge(src, dst).mail.empty());
                CHECK(scene.network.edge(src, dst).posted.empty());
            }
        }
    }
}

inline void waits_for_no_dead(std::uint64_t seed) {
    for (int dead = 0; dead < 4; ++dead) {
        INFO("rank " << dead << " dies");
        RpcScene scene(4, seed, 3ms);
        scene.dies[dead] = 50ms;
        const Comparison played = scene.play([&](RpcPlace& me) {
            define_echo(*me.agent);
            const int next = (dead + 1) % 4;
            if (me.rank == dead && dead % 2 == 0) {
                me.serve_until(500ms);  // it dies before it comes
            }
            if (me.rank == next) {
                me.serve_until(100ms);
                must_be(
                    me.call((next + 1) % 4, "echo", "a"), "answer: a", "a call to one that lives"
                );
            }
            me.agent->shutdown();
            must(
                100ms <= me.now() && me.now() <= 100ms + 2 * kSoon,
                "it leaves shutdown() at " + text_of(me.now()) +
                    ". The last that lives comes "
                    "at 100 ms"
            );
        });
        REQUIRE(played);
    }
}

/// What a call that is begun now throws.
inline std::string refusal(RpcPlace& me, int to = 0) {
    try {
        me.begin(to, "echo");
        return "nothing";
    } catch (const std::invalid_argument&) {
        return "std::invalid_argument";
    } catch (const Error&) {
        return "Error";
    } catch (const std::exception& error) {
        return std::string("something else: ") + error.what();
    }
}

inline void leaves_at_once(std::uint64_t seed) {
    RpcScene scene(2, seed, 3ms);
    const Comparison played = scene.play([](RpcPlace& me) {
        int runs = 0;
        me.agent->define("count", [&](int, std::span<const std::byte>) {
            ++runs;
            return Bytes();
        });
        if (me.rank == 0) {
            const RpcFuture open = me.begin(1, "count");
            me.agent->shutdown(false);
            must(me.now() == 0ms, "shutdown(false) waits");
            must(open->is_done, "a call is still open after shutdown(false)");
            must(begins(end_of(*me.agent, open), "Error: "), "a call was open at shutdown(false)");
            must_be(refusal(me, 1), "Error", "what rpc_async throws after shutdown(false)");
            for (int i = 0; i < 40; ++i) {
                me.agent->serve();
                me.clock.sleep(5ms);
            }
            must(runs == 0, "a function runs after shutdown(false)");
        } else {
            me.serve_until(20ms);
            const std::string end = me.call(0, "count", "", 50ms);
            must(begins(end, "RpcTimeout"), "a call to a rank that is gone ends by " + end);
            me.agent->shutdown(false);
        }
    });
    REQUIRE(played);
}

inline void refuses_after_the_end(std::uint64_t seed) {
    RpcScene scene(2, seed, 3ms);
    std::vector<Held> held;  // longer than the agents
    const Comparison played = scene.play([&](RpcPlace& me) {
        define_hold(*me.agent, held);
        if (me.rank == 0) {
            me.begin(1, "hold", "", 20ms);
            me.begin(1, "hold", "", 20ms);
        } else {
            me.serve_until([&] { return held.size() == 2; });
        }
        me.agent->shutdown();
        must_be(refusal(me, 1 - me.rank), "Error", "what rpc_async throws after shutdown()");
        must_be(refusal(me, me.rank), "Error", "what rpc_async throws after shutdown()");
        me.clock.sleep(50ms);
        if (me.rank == 1) {
            const long before = me.network.messages();
            held[0].reply({});
            me.agent.reset();
            held[1].reply({});
            must(me.network.messages() == before, "a reply after the end sends a message");
        }
    });
    REQUIRE(played);
}

inline void refuses(std::uint64_t seed) {
    RpcScene scene(2, seed);
    const Comparison played = scene.play([](RpcPlace& me) {
        define_echo(*me.agent);
        std::string what = "nothing";
        try {
            me.agent->define("echo", [](int, std::span<const std::byte>) { return Bytes(); });
        } catch (const std::invalid_argument&) {
            what = "std::invalid_argument";
        }
        must_be(what, "std::invalid_argument", "what a second function of a name throws");
        must_be(me.call(1 - me.rank, "echo", "a"), "answer: a", "a call of the first function");
        for (const int rank : {-1, 2}) {
            must_be(
                refusal(me, rank), "std::invalid_argument",
                "what a call to rank " + std::to_string(rank) + " of 2 throws"
            );
        }
        me.agent->shutdown();
    });
    REQUIRE(played);
}

inline void answers_once(std::uint64_t seed) {
    RpcScene scene(2, seed, 3ms);
    const Comparison played = scene.play([](RpcPlace& me) {
        std::string second = "nothing";
        me.agent->define_async(
            "twice",
            [&](int, std::span<const std::byte>, const Rpc::Reply& reply) {
                reply({.answer = to_bytes("first")});
                try {
                    reply({.answer = to_bytes("second")});
                } catch (const std::logic_error&) {
                    second = "std::logic_error";
                }
            }
        );
        me.agent->define_async(
            "throws",
            [](int, std::span<const std::byte>, const Rpc::Reply& reply) {
                reply({.answer = to_bytes("an answer")});
                throw std::runtime_error("after it");
            }
        );
        if (me.rank == 0) {
            must_be(me.call(1, "twice"), "answer: first", "a call that is answered twice");
            must_be(
                me.call(1, "throws"), "answer: an answer", "a function that answers, then throws"
            );
            must_be(me.call(1, "twice"), "answer: first", "the call after it");
        } else {
            me.serve_until(50ms);
            must_be(second, "std::logic_error", "what a second reply throws");
            must(me.network.edge(1, 0).messages == 3, "three calls were answered by more messages");
        }
        me.agent->shutdown();
    });
    REQUIRE(played);
}

}  // namespace dist::harness
