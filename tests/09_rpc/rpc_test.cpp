// What an agent must do: calls there and back, in any order, nested, and what becomes of them when something goes wrong.
// Ranks are threads of a virtual time, then ranks of MPI, then processes of which one is killed.
#include "exercises/09_rpc/rpc.hpp"

#include <algorithm>
#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include "course/runtime/mpi_transport.hpp"
#include "course/runtime/seeded.hpp"
#include "tests/09_rpc/rpc_place.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/processes/on_transport.hpp"
#include "tests/harness/words/throws.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

constexpr Ms kSoon = 20ms;  // a few sleeps, and the way

void must_begin(const std::string& got, const std::string& expected, const std::string& what) {
    must(
        got.starts_with(expected), what, " has to end by ", expected, ". It ends by ",
        got.substr(0, 200)
    );
}

/// The call ends so that soon, and not before that time.
void ends_at(RpcPlace& me, const RpcFuture& call, Ms when, const std::string& how) {
    must_begin(end_of(*me.agent, call), how, "a call");
    must(
        when <= me.now() && me.now() <= when + kSoon, "a call has to end at ", when, ", by ", how,
        ". It ends at ", me.now()
    );
}

/// Each rank of worlds of these sizes does this.
void play(
    const std::vector<int>& sizes,
    Ms slowest,
    const std::function<void(RpcPlace& me)>& body,
    const std::map<int, Ms>& dies = {},
    TestLine at = TestLine::here()
) {
    worlds(sizes, [&](World& world) {
        world.slowest = slowest;
        world.dies = dies;
        world.play<RpcPlace>(body, at);
    });
}

/// What a call that is begun now throws.
std::string refusal(RpcPlace& me, int to) {
    return thrown_as([&] { me.begin(to, "echo"); });
}

/// The calls that ranks have made.
struct Log {
    struct Made {
        int caller;
        RpcFuture call;
    };

    RpcFuture call(RpcPlace& me, int to, const std::string& function, int left = 0) {
        made.push_back({me.rank, me.begin(to, function, text(left))});
        return made.back().call;
    }

    /// A rank returns from a graceful shutdown().
    void leaves(const RpcPlace& me) const {
        const auto open = std::ranges::count_if(made, [&](const Made& one) {
            return !one.call->is_done && !me.world.dead(one.caller);
        });
        must(
            open == 0, "it leaves shutdown() where callers still wait for ", open, " of ",
            made.size(), " answers"
        );
        const long to_run = std::ssize(made) - run;
        must(
            to_run == 0 || !me.world.dies.empty(), "it leaves shutdown() where ", to_run, " of ",
            made.size(), " calls are still to be run"
        );
    }

    std::vector<Made> made;
    long run = 0;  // to their ends
};

/// Functions call others, of which some call others, and nobody waits.
void call_and_leave(World& world, std::uint64_t chance) {
    Log log;
    std::uint64_t drawn = 0;
    const auto draw = [&](int end) {
        return static_cast<int>(seeded_bits(chance, ++drawn) % static_cast<unsigned>(end));
    };
    world.play<RpcPlace>([&](RpcPlace& me) {
        me.define("spread", [&](int, const std::string& left) {
            for (int i = draw(3); left != "0" && i > 0; --i) {
                log.call(me, draw(me.p), "spread", std::stoi(left) - 1);
            }
            ++log.run;
            return "";
        });
        for (int i = 0; i < 3; ++i) {
            me.serve_until(me.now() + Ms(draw(12)));
            log.call(me, draw(me.p), "spread", 3);
        }
        me.agent->shutdown();
        log.leaves(me);
    });
}

}  // namespace

TEST_CASE("rpc: sync and async calls bring what the function returns, from each rank to each") {
    play({1, 2, 3, 4}, 5ms, [](RpcPlace& me) {
        me.define("where", [&](int caller, const std::string& arguments) {
            return text(caller, " to ", me.rank, ": ", arguments);
        });
        must(
            me.agent->rank() == me.rank && me.agent->size() == me.p,
            "the agent has another rank or size than its transport"
        );
        for (int to = 0; to < me.p; ++to) {
            const std::string value = text(me.rank, " to ", to, ": ");
            const Bytes sync = me.agent->rpc_sync(to, "where", to_bytes("a"));
            must_be(to_text(sync), value + "a", "what rpc_sync brings back");
            must_be(me.call(to, "where", "b"), "answer: " + value + "b", "what rpc_async brings");
            const RpcFuture other = me.begin(to, "where", "c");
            const Ms begun = me.now();
            while (!me.agent->test(other)) {
                me.sleep(1ms);
                must(
                    me.now() < begun + 500ms, "nothing but test() is called, and it is never true"
                );
            }
            must_be(end_of(*me.agent, other), "answer: " + value + "c", "what test waits for");
        }
        me.agent->shutdown();
    });
}

TEST_CASE("rpc: a call to oneself takes no message, and runs while the rank waits") {
    play({2}, 0ms, [](RpcPlace& me) {
        int runs = 0;
        int turns = 0;
        me.define("count", [&](int caller, const std::string&) {
            must(caller == 0, "the caller of a call to oneself is another rank");
            return text(++runs);
        });
        me.define("fail", [](int, const std::string&) -> std::string {
            throw std::runtime_error("no");
        });
        me.define("again", [&](int, const std::string&) {
            if (++turns < 5) {
                me.begin(0, "again");
            }
            return "";
        });
        if (me.rank == 0) {
            const RpcFuture call = me.begin(0, "count");
            must(runs == 0, "the function runs before rank 0 waits, tests or serves");
            must_be(end_of(*me.agent, call), "answer: 1", "a call to oneself");
            me.begin(0, "again");
            me.agent->serve();
            must(turns == 1, "serve() runs what was called after it had begun: it may never end");
            must_be(me.call(0, "fail"), "RemoteError of rank 0, fail: no", "a call to oneself");
            must_begin(me.call(0, "hm"), "RemoteError of rank 0, hm: ", "a call of no function");
            const RpcFuture failed = me.begin(0, "fail");
            me.serve_until(me.now() + 5ms);
            must(me.agent->test(failed), "test() of a call that has failed has to be true");
            must(me.world.messages() == 0, "a call to oneself sends a message");
        } else {
            me.sleep(50ms);
        }
        me.agent->shutdown();
    });
}

TEST_CASE("rpc: functions call their callers back, and all ranks each other at the same time") {
    /// "down" calls back with one less, until nothing is left.
    const auto down = [](RpcPlace& me, int (*next)(const RpcPlace& me, int caller)) {
        me.define("down", [&me, next](int caller, const std::string& left) {
            const auto less = [&] { return to_bytes(text(std::stoi(left) - 1)); };
            const auto rest = [&] {
                return me.agent->rpc_sync(next(me, caller), "down", less(), 1000ms);
            };
            return text(me.rank, left == "0" ? "" : to_text(rest()));
        });
    };
    play({2}, 3ms, [&](RpcPlace& me) {
        down(me, [](const RpcPlace&, int caller) { return caller; });
        if (me.rank == 0) {
            must_be(me.call(1, "down", "5"), "answer: 101010", "0 calls 1, which calls 0, ...");
        }
        me.agent->shutdown();
    });
    play({3}, 3ms, [&](RpcPlace& me) {
        down(me, [](const RpcPlace& here, int) { return (here.rank + 1) % here.p; });
        const std::string expected[] = {"12012", "20120", "01201"};
        must_be(
            me.call((me.rank + 1) % 3, "down", "4"), "answer: " + expected[me.rank],
            "all ranks call the next one at the same time, and so on"
        );
        me.agent->shutdown();
    });
}

TEST_CASE("rpc: answers come in any order, and reach their own callers") {
    constexpr int kCalls = 20;  // of two callees
    worlds({3}, [](World& world) {
        world.slowest = 5ms;
        world.play<RpcPlace>([&](RpcPlace& me) {
            me.hold();
            if (me.rank == 0) {
                std::vector<RpcFuture> calls;
                for (int i = 0; i < kCalls; ++i) {
                    calls.push_back(me.begin(1 + i % 2, "hold", text(i)));
                }
                for (int i = 0; i < kCalls; ++i) {
                    must_be(
                        end_of(*me.agent, calls[i]), text("answer: ", i),
                        text("call ", i, " of 20 in flight")
                    );
                }
            } else {
                me.serve_until([&] { return me.held.size() == kCalls / 2; });
                for (std::uint64_t i = 0; !me.held.empty(); ++i) {
                    const auto next =
                        me.held.begin() +
                        static_cast<long>(seeded_bits(world.seed, i) % me.held.size());
                    next->reply({.answer = to_bytes(next->arguments)});
                    me.held.erase(next);
                }
            }
            me.agent->shutdown();
        });
    });
}

TEST_CASE("rpc: what one rank calls on another begins there in the order of its calls") {
    for (const Ms busy : {0ms, 60ms}) {
        play({2}, 5ms, [&](RpcPlace& me) {
            std::string order;
            me.define("note", [&](int, const std::string& arguments) {
                order += arguments.front();
                return "";
            });
            if (me.rank == 0) {
                for (const char one : std::string("abcdefgh")) {
                    me.begin(1, "note", std::string(one % 2 == 0 ? 10 : 100'000, one));
                }
            } else {
                me.sleep(busy);
            }
            me.agent->shutdown();
            must_be(order, me.rank == 1 ? "abcdefgh" : "", "the order in which calls begin");
        });
    }
}

TEST_CASE("rpc: two agents on one transport have groups of their own, and do not mix") {
    play({2}, 3ms, [](RpcPlace& me) {
        RpcAgent other(me.transport, 6, me.clock);
        bool is_over = false;
        other.define("echo", [](int, std::span<const std::byte> arguments) {
            return to_bytes("second " + to_text(arguments));
        });
        other.define("stop", [&](int, std::span<const std::byte>) {
            is_over = true;
            return Bytes();
        });
        if (me.rank == 0) {
            std::vector<std::pair<RpcFuture, RpcFuture>> calls;
            for (int i = 0; i < 5; ++i) {
                calls.emplace_back(
                    me.begin(1, "echo", text(i)), other.rpc_async(1, "echo", to_bytes(text(i)))
                );
            }
            for (int i = 0; i < 5; ++i) {
                must_be(
                    end_of(other, calls[i].second), text("answer: second ", i), "the second agent's"
                );
                must_be(
                    end_of(*me.agent, calls[i].first), text("answer: ", i), "the first agent's"
                );
            }
            other.rpc_sync(1, "stop", {});
        }
        while (me.rank == 1 && !is_over) {
            me.agent->serve();
            other.serve();
            me.sleep(1ms);
        }
        me.agent->shutdown();
        other.shutdown();
    });
}

TEST_CASE("rpc: a call costs a message there and one back, and one more each if it is long") {
    constexpr std::size_t kName = 4;  // "echo"
    constexpr std::size_t kMost = RpcAgent::kShort;
    play({2, 3}, 2ms, [&](RpcPlace& me) {
        const auto costs = [&](int src, long before, std::size_t bytes) {
            const long spent = me.world.edge(src, 1 - src).messages - before;
            must(
                spent == 1 || (spent == 2 && bytes > kMost), "rank ", src, " sends ", spent,
                " messages for a call. They have ", bytes, " bytes, and kShort is ", kMost
            );
        };
        if (me.rank == 0) {
            me.serve_until(20ms);  // until all others are in shutdown()
            for (const std::size_t n :
                 {std::size_t{0}, std::size_t{1}, kMost - kName, kMost - kName + 1, kMost,
                  kMost + 1, std::size_t{1'000'000}}) {
                const std::string data(n, 'x');
                const long there = me.world.edge(0, 1).messages;
                const long back = me.world.edge(1, 0).messages;
                must(
                    me.call(1, "echo", data) == "answer: " + data, "what comes back of ", n,
                    " bytes is something else"
                );
                me.serve_until(me.now() + 10ms);  // until what may follow has been sent
                costs(0, there, n + kName);
                costs(1, back, n);
            }
        }
        me.agent->shutdown();
    });
}

TEST_CASE("rpc: arguments are copied when the call begins") {
    play({2}, 5ms, [](RpcPlace& me) {
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
    });
}

TEST_CASE("rpc: an answer that comes at once is not slept away") {
    constexpr int kCalls = 200;
    play({2}, 0ms, [&](RpcPlace& me) {
        for (int i = 0; me.rank == 0 && i < kCalls; ++i) {
            must_be(me.call(1, "echo", "a"), "answer: a", "a call");
        }
        must(
            me.rank != 0 || me.now() <= Ms(kCalls / 4), kCalls,
            " calls whose messages take no time take ", me.now(), ": they are slept away"
        );
        me.agent->shutdown();
    });
}

TEST_CASE("rpc: a rank that waits for long sleeps between two looks in vain") {
    play({2}, 0ms, [](RpcPlace& me) {
        me.hold();
        me.clock.is_alone = true;
        if (me.rank == 0) {
            me.begin(1, "hold", "", 3000ms);
            ends_at(me, me.begin(1, "hold", "", 2000ms), 2000ms, "RpcTimeout");
            const auto again = std::ranges::search(me.clock.sleeps, std::vector{1ms, 0ms});
            must(
                !again.empty(),
                "the answer of another call comes at 1000 ms, in no look in vain. "
                "From there on rank 0 has to sleep for 0 ms again, some thousand times"
            );
        } else {
            me.serve_until(1000ms);
            me.held.at(0).reply({});
        }
        me.agent->shutdown();
    });
}

TEST_CASE("rpc: what a function throws is thrown here, with where it was thrown first") {
    play({3}, 3ms, [](RpcPlace& me) {
        me.define("divide", [](int, const std::string& arguments) -> std::string {
            if (arguments == "int") {
                throw 7;
            }
            throw std::runtime_error("by zero" + arguments);
        });
        me.define("ask", [&me](int, const std::string&) {
            return to_text(me.agent->rpc_sync(me.rank + 1, "divide", {}));
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
        me.agent->define_async(
            "fails",
            [](int, std::span<const std::byte>, const Rpc::Reply& reply) {
                reply({.error = std::make_exception_ptr(std::runtime_error("in its answer"))});
            }
        );
        if (me.rank == 0) {
            const std::string there = "RemoteError of rank 1, ";
            const std::string wide(10'000, '!');
            must_be(me.call(1, "divide"), there + "divide: by zero", "a function that throws");
            must_be(me.call(1, "divide", wide), there + "divide: by zero" + wide, "a long reason");
            must_begin(
                me.call(1, "divide", "int"), there + "divide: ", "a function that throws an int"
            );
            must_begin(
                me.call(1, "throws", "int"), there + "throws: ", "a function that throws an int"
            );
            must_begin(me.call(1, "hm"), there + "hm: ", "a call of no function");
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
}

TEST_CASE("rpc: a call ends at its own deadline, or at the default of when it began") {
    play({2}, 1ms, [](RpcPlace& me) {
        me.hold();
        me.define("release", [&](int, const std::string&) {
            must(me.held.size() == 9, "9 calls began, and ", me.held.size(), " have come");
            for (const Held& one : me.held) {
                one.reply({.answer = to_bytes("now")});
            }
            return "";
        });
        if (me.rank == 0) {
            ends_at(
                me, me.begin(1, "hold", "", 50ms), 50ms,
                "RpcTimeout: rank 1, hold: no answer within 50 ms"
            );
            const RpcFuture over = me.begin(1, "hold", "", 30ms);
            const RpcFuture due = me.begin(1, "hold", "", 50ms);
            me.sleep(50ms);
            must(me.agent->test(over), "a call whose deadline was 20 ms ago has not ended");
            must(me.agent->test(due), "a call whose deadline is now has not ended");
            me.agent->set_timeout(100ms);
            const RpcFuture first = me.begin(1, "hold");
            const RpcFuture late = me.begin(1, "hold", "", 400ms);
            std::vector<std::pair<std::string, RpcFuture>> endless = {
                {"timeout 0", me.begin(1, "hold", "", 0ms)},
                {"timeout Duration::max()", me.begin(1, "hold", "", Rpc::Duration::max())}};
            const Ms begun = me.now();
            me.agent->set_timeout(200ms);
            const RpcFuture second = me.begin(1, "hold");
            ends_at(me, first, begun + 100ms, "RpcTimeout");
            ends_at(me, second, begun + 200ms, "RpcTimeout");
            ends_at(me, late, begun + 400ms, "RpcTimeout");
            me.agent->set_timeout(0ms);
            endless.emplace_back("the default timeout 0", me.begin(1, "hold"));
            me.serve_until(begun + 3000ms);
            for (const auto& [which, call] : endless) {
                must(!me.agent->test(call), "a call with ", which, " ends after 3 s");
            }
            must_be(me.call(1, "release"), "answer: ", "the call that answers the others");
            for (const auto& [which, call] : endless) {
                must_be(end_of(*me.agent, call), "answer: now", "a call with " + which);
            }
        }
        me.agent->shutdown();
    });
}

TEST_CASE("rpc: without a word on it the deadline is 60 s") {
    play({2}, 0ms, [](RpcPlace& me) {
        me.hold();
        me.clock.late = 14ms;
        if (me.rank == 0) {
            ends_at(me, me.begin(1, "hold"), 60'000ms, "RpcTimeout");
        }
        me.agent->shutdown();
    });
}

TEST_CASE("rpc: an answer that is there at the deadline counts") {
    play({2}, 0ms, [](RpcPlace& me) {
        if (me.rank == 0) {
            const RpcFuture call = me.begin(1, "echo", "a", 50ms);
            me.sleep(100ms);
            must_be(
                end_of(*me.agent, call), "answer: a",
                "a call whose answer came in time, while rank 0 did something else until later,"
            );
        }
        me.agent->shutdown();
    });
}

TEST_CASE("rpc: an answer that comes too late is dropped, and disturbs no other call") {
    play({2}, 3ms, [](RpcPlace& me) {
        me.hold();
        if (me.rank == 0) {
            for (int i = 0; i < 3; ++i) {
                must_begin(
                    me.call(1, "hold", "late", 30ms), "RpcTimeout", "a call that nobody answers"
                );
            }
            for (int i = 0; i < 3; ++i) {
                must_be(
                    me.call(1, "hold", "in time"), "answer: in time",
                    "the call after others whose answers come too late"
                );
            }
        } else {
            me.serve_until([&] { return me.held.size() == 4; });
            for (std::size_t i = 0; i < 6; ++i) {
                me.serve_until([&] { return me.held.size() > i; });
                me.serve_until(me.now() + (i < 3 ? 10ms : 0ms));
                me.held[i].reply({.answer = to_bytes(me.held[i].arguments)});
            }
        }
        me.agent->shutdown();
    });
}

TEST_CASE("rpc: a rank that has died fails all calls to it at once, and no others") {
    play(
        {4}, 3ms,
        [](RpcPlace& me) {
            me.hold();
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
                    later.starts_with("Error: ") && later.find("rank 2") != std::string::npos,
                    "a call to a rank that has died has to end by an Error that names rank 2. It "
                    "ends by ",
                    later
                );
                must(me.now() <= now + 2ms, "a call to a rank that has died does not end at once");
                must_be(end_of(*me.agent, slow), "answer: a", "a call to another rank");
            } else if (me.rank == 1) {
                me.serve_until(300ms);
                for (const Held& one : me.held) {
                    one.reply({.answer = to_bytes(one.arguments)});
                }
            }
            me.agent->shutdown();
        },
        {{2, 100ms}}
    );
}

TEST_CASE("rpc: a caller that has died disturbs nobody") {
    play(
        {3}, 3ms,
        [](RpcPlace& me) {
            me.hold();
            if (me.rank == 2) {
                me.call(0, "hold", "a", 10'000ms);
            } else if (me.rank == 1) {
                me.serve_until(200ms);
                must_be(
                    me.call(0, "echo", "a"), "answer: a", "a call after another caller has died"
                );
            } else {
                me.serve_until(150ms);
                me.held.at(0).reply({.answer = Bytes(10)});
                me.held.clear();
            }
            me.agent->shutdown();
        },
        {{2, 100ms}}
    );
}

TEST_CASE("rpc: a rank that dies while it answers leaves its answer or an Error") {
    for (const Ms when : {2ms, 4ms, 6ms, 8ms, 10ms, 12ms}) {
        worlds({3}, [&](World& world) {
            INFO("rank 1 dies at " << text(when));
            world.slowest = 5ms;
            world.dies[1] = when;
            world.play<RpcPlace>([](RpcPlace& me) {
                if (me.rank != 1) {
                    const std::string much(50'000, 'x');
                    const std::string end = me.call(1, "echo", much, 0ms);
                    must(
                        end == "answer: " + much || end.starts_with("Error: "),
                        "a call to a rank that dies has to bring its answer or an Error. It ends "
                        "by ",
                        end.substr(0, 100)
                    );
                }
                me.agent->shutdown();
            });
        });
    }
}

TEST_CASE("rpc: a function of a name that is taken, and a rank that is not there, are refused") {
    play({2}, 0ms, [](RpcPlace& me) {
        const auto second = [&] { me.define("echo", [](int, const std::string&) { return ""; }); };
        must_be(
            thrown_as(second), "std::invalid_argument", "what a second function of a name throws"
        );
        must_be(me.call(1 - me.rank, "echo", "a"), "answer: a", "a call of the first function");
        for (const int rank : {-1, 2}) {
            must_be(
                refusal(me, rank), "std::invalid_argument",
                text("what a call to rank ", rank, " of 2 throws")
            );
        }
        me.agent->shutdown();
    });
}

TEST_CASE("rpc: a call is answered once") {
    play({2}, 3ms, [](RpcPlace& me) {
        std::string second = "nothing";
        me.agent->define_async(
            "twice",
            [&](int, std::span<const std::byte>, const Rpc::Reply& reply) {
                reply({.answer = to_bytes("first")});
                second = thrown_as([&] { reply({.answer = to_bytes("second")}); });
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
            must(me.world.edge(1, 0).messages == 3, "three calls were answered by more messages");
        }
        me.agent->shutdown();
    });
}

TEST_CASE("rpc: shutdown() serves until the last rank has come") {
    for (int last = 0; last < 3; ++last) {
        play({3}, 3ms, [&](RpcPlace& me) {
            if (me.rank == last) {
                me.serve_until(100ms);
                must_be(
                    me.call((last + 1) % 3, "echo", "a"), "answer: a",
                    "a call to a rank that is in shutdown()"
                );
            }
            me.agent->shutdown();
            must(
                me.now() >= 100ms, "it leaves shutdown() at ", me.now(), ". Rank ", last,
                " comes at 100 ms, and calls it then"
            );
            must(me.now() <= 100ms + 2 * kSoon, "it leaves shutdown() too late");
        });
    }
}

// Rank 2 calls rank 1, which is in shutdown() already. Its function calls rank 2 and rank 3, and waits for neither. From
// then on ranks 1 and 3 call each other, a hundred times.
TEST_CASE("rpc: shutdown() waits for calls that functions begin and do not wait for") {
    worlds({4}, [](World& world) {
        Log log;
        world.play<RpcPlace>([&](RpcPlace& me) {
            me.define("note", [&](int, const std::string&) {
                ++log.run;
                return "";
            });
            me.define("relay", [&](int caller, const std::string& left) {
                if (left != "0") {
                    log.call(me, caller, "relay", std::stoi(left) - 1);
                }
                ++log.run;
                return "";
            });
            me.define("spread", [&](int caller, const std::string&) {
                log.call(me, 3, "relay", 100);
                log.call(me, caller, "note");
                ++log.run;
                return "";
            });
            if (me.rank == 2) {
                me.serve_until(50ms);
                end_of(*me.agent, log.call(me, 1, "spread"));
            }
            me.agent->shutdown();
            log.leaves(me);
        });
    });
    for (int caller = 0; caller < 3; ++caller) {  // it gives up before its call arrives
        worlds({3}, [&](World& world) {
            const int to = (caller + 1) % 3;
            bool has_run = false;
            world.edge(caller, to).delay = 30ms;
            world.play<RpcPlace>([&](RpcPlace& me) {
                me.define("note", [&](int, const std::string&) {
                    has_run = true;
                    return "";
                });
                if (me.rank == caller) {
                    must_begin(me.call(to, "note", "", 5ms), "RpcTimeout", "a call on its way");
                }
                me.agent->shutdown();
                must(has_run, "it leaves shutdown() where a call of rank ", caller, " is not run");
            });
        });
    }
    worlds({3, 4}, [](World& world) {
        world.slowest = 6ms;
        call_and_leave(world, 10 * world.seed + world.size());
        for (int src = 0; src < world.size(); ++src) {
            for (int dst = 0; dst < world.size(); ++dst) {
                INFO("from rank " << src << " to rank " << dst);
                CHECK(world.edge(src, dst).mail.empty());
                CHECK(world.edge(src, dst).posted.empty());
            }
        }
    });
}

TEST_CASE("rpc: shutdown() waits for no rank that has died") {
    for (int dead = 0; dead < 4; ++dead) {
        worlds({4}, [&](World& world) {
            INFO("rank " << dead << " dies");
            world.slowest = 3ms;
            world.dies[dead] = 50ms;
            world.play<RpcPlace>([&](RpcPlace& me) {
                const int next = (dead + 1) % 4;
                if (me.rank == dead && dead % 2 == 0) {
                    me.serve_until(500ms);  // it dies before it comes
                }
                if (me.rank == next) {
                    me.serve_until(100ms);
                    must_be(
                        me.call((next + 1) % 4, "echo", "a"), "answer: a",
                        "a call to one that lives"
                    );
                }
                me.agent->shutdown();
                must(
                    100ms <= me.now() && me.now() <= 100ms + 2 * kSoon, "it leaves shutdown() at ",
                    me.now(), ". The last that lives comes at 100 ms"
                );
            });
        });
    }
    worlds({3}, [](World& world) {  // what rank 2 has called before it dies arrives later
        world.buffered = true;
        world.dies[2] = 10ms;
        world.edge(2, 0).delay = 40ms;
        world.play<RpcPlace>([](RpcPlace& me) {
            RpcFuture begun;
            me.define("spread", [&](int, const std::string&) {
                begun = me.begin(1, "echo", "a");
                return "";
            });
            if (me.rank == 2) {
                me.begin(0, "spread");
                me.sleep(5ms);
                me.begin(0, "echo");
                me.sleep(50ms);
            }
            me.agent->shutdown();
            if (me.rank == 0) {
                must(begun != nullptr, "it leaves shutdown() before the first call of rank 2 came");
                must_be(end_of(*me.agent, begun), "answer: a", "what this call began");
            }
        });
    });
    worlds({3, 4}, [](World& world) {
        world.slowest = 6ms;
        world.dies[static_cast<int>(world.seed)] = 15ms + Ms(10 * world.seed);
        call_and_leave(world, 10 * world.seed + world.size());
    });
}

TEST_CASE("rpc: shutdown(false) ends at once, and serves nobody") {
    play({2}, 3ms, [](RpcPlace& me) {
        int runs = 0;
        me.define("count", [&](int, const std::string&) { return text(++runs); });
        if (me.rank == 0) {
            const RpcFuture open = me.begin(1, "count");
            me.agent->shutdown(false);
            must(me.now() == 0ms, "shutdown(false) waits");
            must(open->is_done, "a call is still open after shutdown(false)");
            must_begin(
                end_of(*me.agent, open), "Error: ", "a call that was open at shutdown(false)"
            );
            must_be(refusal(me, 1), "dist::Error", "what rpc_async throws after shutdown(false)");
            for (int i = 0; i < 40; ++i) {
                me.agent->serve();
                me.sleep(5ms);
            }
            must(runs == 0, "a function runs after shutdown(false)");
        } else {
            me.serve_until(20ms);
            must_begin(
                me.call(0, "count", "", 50ms), "RpcTimeout", "a call to a rank that is gone"
            );
            me.agent->shutdown(false);
        }
    });
}

TEST_CASE("rpc: after shutdown() calls are refused, and a late reply does nothing") {
    play({2}, 3ms, [](RpcPlace& me) {
        me.hold();
        if (me.rank == 0) {
            me.begin(1, "hold", "", 20ms);
            me.begin(1, "hold", "", 20ms);
        } else {
            me.serve_until([&] { return me.held.size() == 2; });
        }
        me.agent->shutdown();
        must_be(refusal(me, 1 - me.rank), "dist::Error", "what rpc_async throws after shutdown()");
        must_be(refusal(me, me.rank), "dist::Error", "what rpc_async throws after shutdown()");
        me.sleep(50ms);
        if (me.rank == 1) {
            const long before = me.world.messages();
            me.held[0].reply({});
            me.agent.reset();
            me.held[1].reply({});
            must(me.world.messages() == before, "a reply after the end sends a message");
        }
    });
}

TEST_CASE("rpc on ranks of MPI: calls there and back cost two messages each") {
    constexpr int kCalls = 5;
    on_ranks({2, 3, 1, 4}, [&](const Communicator& comm) {
        const int next = (comm.rank() + 1) % comm.size();
        for (const std::size_t n : {std::size_t{10}, std::size_t{200'000}}) {
            INFO("bytes: " << n);
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
                    comm.size() == 1 ? 0 : 2 * kCalls;  // by this rank, and as many that it answers
                CHECK(within(traffic, {.messages_sent = exactly(2 * calls)}));
            } else {
                call_and_serve();
            }
            agent.shutdown();
            CHECK(right == kCalls);
        }
    });
}

TEST_CASE("rpc on processes: long calls, nested; then one is killed, and the others go on") {
    on_one([] {
        const Processes run = on_transport(
            3,
            [](Transport& transport, int rank, int) {
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
            },
            {2}
        );
        CHECK(run.died[2] == "killed by SIGKILL");
        CHECK(run.passed);
    });
}
