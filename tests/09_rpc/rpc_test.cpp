// What an agent must do: calls there and back, in any order, nested, and what becomes of them when something goes wrong.
// Ranks are threads of a virtual time, then processes of which one is killed.
#include "exercises/09_rpc/rpc.hpp"

#include <algorithm>
#include <csignal>
#include <string>
#include <utility>
#include <vector>

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

/// Each rank of worlds of these sizes does this, and shuts its agent down.
void play(
    const std::vector<int>& sizes,
    Ms slowest,
    const std::function<void(RpcPlace& me)>& body,
    TestLine at = TestLine::here()
) {
    worlds(sizes, [&](World& world) {
        world.slowest = slowest;
        const auto all = [&](RpcPlace& me) {
            body(me);
            me.agent->shutdown();
        };
        world.play<RpcPlace>(all, at);
    });
}

/// What a call that is begun now throws.
std::string refusal(RpcPlace& me, int to) {
    return thrown_as([&] { me.begin(to, "echo"); });
}

/// Functions call others, of which some call others, and nobody waits; some callers give up. Ranks come to shutdown() meanwhile: when
/// one leaves, no call may be under way.
void call_and_leave(World& world, std::uint64_t chance) {
    std::vector<std::pair<int, RpcFuture>> made;  // by whom
    std::int64_t run = 0;                         // to their ends
    std::uint64_t drawn = 0;
    const auto draw = [&](int end) {
        return static_cast<int>(seeded_bits(chance, ++drawn) % static_cast<unsigned>(end));
    };
    world.slowest = 6ms;
    world.play<RpcPlace>([&](RpcPlace& me) {
        const auto call = [&](int left) {
            const auto timeout = draw(4) == 0 ? std::optional(3ms) : std::nullopt;
            const int drawn_rank = draw(me.p);
            const bool is_spared = world.buffered && world.dies.contains(drawn_rank);
            const int to = is_spared ? (drawn_rank + 1) % me.p : drawn_rank;
            made.emplace_back(me.rank, me.begin(to, "spread", text(left), timeout));
        };
        me.define("spread", [&](int, const std::string& rest) {
            const int left = std::stoi(rest);
            for (int i = left == 0 ? 0 : left > 3 ? 1 : draw(3); i > 0; --i) {
                call(left - 1);
            }
            ++run;
            return std::string(draw(4) == 0 ? 10'000 : 0, 'x');
        });
        for (int i = 0; i < 3; ++i) {
            me.serve_until(me.now() + Ms(draw(12)));
            call(i == 0 && !world.buffered ? 30 : 3);
        }
        me.agent->shutdown();
        for (const auto& [caller, one] : made) {
            const bool is_over = one->is_done || world.dead(caller);
            must(is_over, "it leaves shutdown() where rank ", caller, " waits for an answer");
        }
        const bool are_run = run >= std::ssize(made) || (!world.dies.empty() && !world.buffered);
        must(are_run, "it leaves shutdown() where ", run, " of ", made.size(), " calls are run");
    });
}

}  // namespace

TEST_CASE("rpc: sync and async calls bring what the function returns, from each rank to each") {
    play({1, 2, 3, 4}, 5ms, [](RpcPlace& me) {
        me.define("where", [&](int caller, const std::string& arguments) {
            return text(caller, " to ", me.rank, ": ", arguments);
        });
        const bool is_its_own = me.agent->rank() == me.rank && me.agent->size() == me.p;
        must(is_its_own, "the agent has another rank or size than its transport");
        for (int to = 0; to < me.p; ++to) {
            const std::string value = text(me.rank, " to ", to, ": ");
            const Bytes sync = me.agent->rpc_sync(to, "where", to_bytes("a"));
            must_be(to_text(sync), value + "a", "what rpc_sync brings back");
            const RpcFuture other = me.begin(to, "where", "b");
            const Ms begun = me.now();
            while (!me.agent->test(other)) {
                me.sleep(1ms);
                must(me.now() < begun + 500ms, "only test() is called, and it is never true");
            }
            must_be(end_of(*me.agent, other), "answer: " + value + "b", "what test waits for");
        }
    });
}

TEST_CASE("rpc: a call to oneself takes no message, and runs while the rank waits") {
    play({1}, 0ms, [](RpcPlace& me) {
        int turns = 0;
        me.define("again", [&](int caller, const std::string&) {
            must(caller == 0, "the caller of a call to oneself is another rank");
            if (++turns < 5) {
                me.begin(0, "again");
            }
            return text(turns);
        });
        me.define("fail", [](int, const std::string&) -> std::string {
            throw std::runtime_error("no");
        });
        const RpcFuture call = me.begin(0, "again");
        must(turns == 0, "the function runs before rank 0 waits, tests or serves");
        me.agent->serve();
        must(turns == 1, "serve() runs what was called after it had begun: it may never end");
        must_be(end_of(*me.agent, call), "answer: 1", "a call to oneself");
        const RpcFuture failed = me.begin(0, "fail");
        me.serve_until(me.now() + 5ms);
        must(me.agent->test(failed), "test() of a call that has failed has to be true");
        must_be(end_of(*me.agent, failed), "RemoteError of rank 0, fail: no", "a call to oneself");
        must(me.world.messages() == 0, "a call to oneself sends a message");
    });
}

TEST_CASE("rpc: functions call their callers back, and all ranks each other at the same time") {
    play({2, 3}, 3ms, [&](RpcPlace& me) {
        const int next = (me.rank + 1) % me.p;
        me.define("down", [&](int, const std::string& left) {  // round and round
            const int rest = std::stoi(left) - 1;
            return text(me.rank, rest < 0 ? "" : me.call(next, "down", text(rest)).substr(8));
        });
        std::string expected = "answer: ";
        for (int hop = 1; hop <= 5; ++hop) {
            expected += text((me.rank + hop) % me.p);
        }
        must_be(me.call(next, "down", "4"), expected, "all ranks call the next one, and so on:");
        const std::string much(200'000, 'x');
        const bool comes_back = me.call(next, "echo", much) == "answer: " + much;
        must(
            comes_back, "all ranks call the next one with 200,000 bytes: something else comes back"
        );
    });
}

TEST_CASE("rpc: answers come in any order, and reach their own callers") {
    constexpr int kCalls = 20;  // of two callees
    play({3}, 5ms, [](RpcPlace& me) {
        me.hold();
        if (me.rank == 0) {
            std::vector<RpcFuture> calls;
            for (int i = 0; i < kCalls; ++i) {
                calls.push_back(me.begin(1 + i % 2, "hold", text(i)));
            }
            for (int i = 0; i < kCalls; ++i) {
                const std::string what = text("call ", i, " of 20 in flight");
                must_be(end_of(*me.agent, calls[i]), text("answer: ", i), what);
            }
        } else {
            me.serve_until([&] { return me.held.size() == kCalls / 2; });
            for (std::uint64_t i = 0; !me.held.empty(); ++i) {
                const auto drawn = seeded_bits(me.world.seed, i) % me.held.size();
                const auto next = me.held.begin() + static_cast<long>(drawn);
                next->reply({.answer = to_bytes(next->arguments)});
                me.held.erase(next);
            }
        }
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
            for (const char one : std::string(me.rank == 0 ? "abcdefgh" : "")) {
                me.begin(1, "note", std::string(one % 2 == 0 ? 10 : 100'000, one));
            }
            me.sleep(me.rank == 1 ? busy : 0ms);
            me.serve_until([&] { return me.rank == 0 || order.size() == 8; });
            must_be(order, me.rank == 1 ? "abcdefgh" : "", "the order in which calls begin");
        });
    }
}

TEST_CASE("rpc: two agents on one transport have groups of their own, and do not mix") {
    play({2}, 3ms, [](RpcPlace& me) {
        RpcAgent other(me.transport, 6, me.clock);
        other.define("echo", [](int, std::span<const std::byte> arguments) {
            return to_bytes("second " + to_text(arguments));
        });
        me.begin(1 - me.rank, "echo", "a");
        const RpcFuture first = me.begin(1 - me.rank, "echo", "b");
        const RpcFuture second = other.rpc_async(1 - me.rank, "echo", to_bytes("c"));
        other.shutdown();
        must_be(end_of(other, second), "answer: second c", "a call of the second agent");
        must_be(end_of(*me.agent, first), "answer: b", "a call of the first agent");
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
        me.serve_until(me.rank == 0 ? 20ms : 0ms);  // until all others are in shutdown()
        for (const std::size_t n :
             {std::size_t{0}, kMost - kName, kMost - kName + 1, kMost, kMost + 1,
              std::size_t{1'000'000}}) {
            if (me.rank == 0) {
                const std::string data(n, 'x');
                const long there = me.world.edge(0, 1).messages;
                const long back = me.world.edge(1, 0).messages;
                const bool is_same = me.call(1, "echo", data) == "answer: " + data;
                must(is_same, "what comes back of ", n, " bytes is something else");
                me.serve_until(me.now() + 10ms);  // until what may follow has been sent
                costs(0, there, n + kName);
                costs(1, back, n);
            }
        }
    });
}

TEST_CASE("rpc: arguments are copied when the call begins") {
    play({2}, 5ms, [](RpcPlace& me) {
        for (const std::size_t n : {std::size_t{100}, std::size_t{10'000}}) {
            Bytes arguments(n, std::byte{1});
            const RpcFuture call = me.agent->rpc_async(1 - me.rank, "echo", arguments);
            arguments.assign(n, std::byte{2});
            const bool is_kept = me.agent->wait(call) == Bytes(n, std::byte{1});
            must(is_kept, "arguments that are changed after rpc_async arrive as they are now");
        }
    });
}

TEST_CASE("rpc: an answer that comes at once is not slept away") {
    play({2}, 0ms, [](RpcPlace& me) {
        for (int i = 0; me.rank == 0 && i < 200; ++i) {
            must_be(me.call(1, "echo", "a"), "answer: a", "a call");
        }
        const bool is_quick = me.rank != 0 || me.now() <= 50ms;
        must(is_quick, "200 calls without delay take ", me.now(), ": they are slept away");
    });
}

TEST_CASE("rpc: a rank that waits for long sleeps; without a word on it the deadline is 60 s") {
    play({2}, 0ms, [](RpcPlace& me) {
        me.hold();
        me.clock.is_alone = true;
        if (me.rank == 0) {
            me.begin(1, "hold", "", 3000ms);
            ends_at(me, me.begin(1, "hold", "", 2000ms), 2000ms, "RpcTimeout");
            const auto again = std::ranges::search(me.clock.sleeps, std::vector{1ms, 0ms});
            must(!again.empty(), "after another call's answer rank 0 has to sleep for 0 ms again");
        } else {
            me.serve_until(1000ms);
            me.held.at(0).reply({});
        }
        me.clock.late = 14ms;
        if (me.rank == 0) {
            ends_at(me, me.begin(1, "hold"), me.now() + 60'000ms, "RpcTimeout");
        }
    });
}

TEST_CASE("rpc: what a function throws is thrown here, with where it was thrown first") {
    play({3}, 3ms, [](RpcPlace& me) {
        me.define("divide", [](int, const std::string& arguments) -> std::string {
            throw std::runtime_error("by zero" + arguments);
        });
        me.define("ask", [&me](int, const std::string&) {
            return to_text(me.agent->rpc_sync(me.rank + 1, "divide", {}));
        });
        me.agent->define_async(
            "later",
            [](int, std::span<const std::byte> arguments, const Rpc::Reply& reply) {
                if (arguments.empty()) {
                    throw std::out_of_range("before it answers");
                } else if (arguments.size() > 1) {
                    throw 7;
                }
                reply({.error = std::make_exception_ptr(std::runtime_error("in its answer"))});
            }
        );
        if (me.rank == 0) {
            const std::string wide(10'000, '!');
            const std::string expected[][3] = {{"divide", "", "1, divide: by zero"},
                                               {"divide", wide, "1, divide: by zero" + wide},
                                               {"later", "int", "1, later: "},
                                               {"hm", "", "1, hm: "},
                                               {"ask", "", "2, divide: by zero"},
                                               {"later", "", "1, later: before it answers"},
                                               {"later", "a", "1, later: in its answer"}};
            for (const auto& [function, arguments, error] : expected) {
                const std::string end = me.call(1, function, arguments);
                must_begin(end, "RemoteError of rank " + error, "a call of " + function);
            }
            must_be(me.call(1, "echo", "a"), "answer: a", "a call after all these errors");
        }
    });
}

TEST_CASE(
    "rpc: a call ends at its own deadline; an answer that is there then counts, and no later one"
) {
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
            const std::string how = "RpcTimeout: rank 1, hold: no answer within 50 ms";
            ends_at(me, me.begin(1, "hold", "", 50ms), 50ms, how);
            const RpcFuture over = me.begin(1, "hold", "", 30ms);
            const RpcFuture due = me.begin(1, "hold", "", 50ms);
            const RpcFuture there = me.begin(1, "echo", "a", 30ms);
            me.sleep(50ms);
            must_be(end_of(*me.agent, there), "answer: a", "a call whose answer was there in time");
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
            const std::string release = me.call(1, "release");  // answers those that are over first
            must_be(release, "answer: ", "the call after some whose answers come too late");
            for (const auto& [which, call] : endless) {
                must_be(end_of(*me.agent, call), "answer: now", "a call with " + which);
            }
        }
    });
}

// Rank 2 dies at 100 ms, while it waits for rank 1, and others for it. Rank 1 answers all at 300 ms.
TEST_CASE("rpc: a rank that has died fails all calls to it at once, and disturbs no others") {
    worlds({4}, [](World& world) {
        world.slowest = 3ms;
        world.dies[2] = 100ms;
        world.play<RpcPlace>([](RpcPlace& me) {
            me.hold();
            if (me.rank == 2) {
                me.call(1, "hold", "a", 10'000ms);
            } else if (me.rank == 1) {
                me.serve_until(300ms);
                for (const Held& one : me.held) {
                    one.reply({.answer = to_bytes(one.arguments)});
                }
            } else {
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
            }
            me.agent->shutdown();
        });
    });
}

TEST_CASE("rpc: a function of a name that is taken, and a rank that is not there, are refused") {
    play({2}, 0ms, [](RpcPlace& me) {
        const std::string second = thrown_as([&] { define_echo(*me.agent); });
        must_be(second, "std::invalid_argument", "what a second function of a name throws");
        must_be(me.call(1 - me.rank, "echo", "a"), "answer: a", "a call of the first function");
        must_be(refusal(me, -1), "std::invalid_argument", "what a call to rank -1 throws");
        must_be(refusal(me, 2), "std::invalid_argument", "what a call to rank 2 of 2 throws");
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
                throw std::runtime_error("after it has answered");
            }
        );
        if (me.rank == 0) {
            must_be(me.call(1, "twice"), "answer: first", "a call that is answered twice");
            must_be(me.call(1, "twice"), "answer: first", "the call after it");
        } else {
            me.serve_until(50ms);
            must_be(second, "std::logic_error", "what a second reply throws");
            must(me.world.edge(1, 0).messages == 2, "two calls were answered by more messages");
        }
    });
}

TEST_CASE("rpc: shutdown() serves until the last rank has come and no call is under way") {
    std::uint64_t chance = 0;
    worlds({3, 4, 3, 4, 3, 4}, [&](World& world) {
        call_and_leave(world, ++chance);
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
    std::uint64_t chance = 0;
    worlds({3, 4, 3, 4, 3, 4}, [&](World& world) {
        const int dead = static_cast<int>(++chance % 3);
        world.dies[dead] = Ms(3 * chance);
        world.buffered = chance % 2 == 0;  // then its calls come later, and nobody calls it
        world.edge(dead, (dead + 1) % 3).delay = 200ms;
        call_and_leave(world, chance);
    });
}

TEST_CASE("rpc: shutdown(false) ends at once, and serves nobody") {
    worlds({2}, [](World& world) {
        world.slowest = 3ms;
        world.play<RpcPlace>([](RpcPlace& me) {
            bool has_run = false;
            me.define("run", [&](int, const std::string&) {
                has_run = true;
                return "";
            });
            if (me.rank == 0) {
                const RpcFuture open = me.begin(1, "run");
                me.agent->shutdown(false);
                must(me.now() == 0ms, "shutdown(false) waits");
                must(open->is_done, "a call is still open after shutdown(false)");
                must_begin(end_of(*me.agent, open), "Error: ", "a call that was open then");
                must_be(refusal(me, 1), "dist::Error", "what rpc_async throws then");
                me.serve_until(200ms);
                must(!has_run, "a function runs after shutdown(false)");
            } else {
                me.serve_until(20ms);
                const std::string end = me.call(0, "run", "", 50ms);
                must_begin(end, "RpcTimeout", "a call to a rank that is gone");
                me.agent->shutdown(false);
            }
        });
    });
}

TEST_CASE("rpc: after shutdown() calls are refused, and a late reply does nothing") {
    worlds({2}, [](World& world) {
        world.slowest = 3ms;
        world.play<RpcPlace>([&](RpcPlace& me) {
            me.hold();
            if (me.rank == 0) {
                me.begin(1, "hold", "", 20ms);
                me.begin(1, "hold", "", 20ms);
            } else {
                me.serve_until([&] { return me.held.size() == 2; });
            }
            me.agent->shutdown();
            for (const int to : {0, 1}) {
                must_be(refusal(me, to), "dist::Error", "what rpc_async throws after shutdown()");
            }
            me.sleep(50ms);
            if (me.rank == 1) {
                const long before = world.messages();
                me.held[0].reply({});
                me.agent.reset();
                me.held[1].reply({});
                must(world.messages() == before, "a reply after the end sends a message");
            }
        });
    });
}

TEST_CASE("rpc on processes: long calls, nested; then one is killed, and the others go on") {
    on_one([] {
        const auto body = [](Transport& transport, int rank, int) {
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
                CHECK(agent.rpc_sync(2, "via", much) == much);
                CHECK(names_rank(2, [&] { agent.rpc_sync(2, "die", {}, Ms(0)); }));
                CHECK(names_rank(2, [&] { agent.rpc_sync(2, "echo", much); }));
                CHECK(agent.rpc_sync(1, "via", much) == much);
            }
            agent.shutdown();
        };
        const Processes run = on_transport(3, body, {2});
        CHECK(run.died[2] == "killed by SIGKILL");
        CHECK(run.passed);
    });
}
