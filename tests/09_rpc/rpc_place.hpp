// A rank of a world that has an agent, and calls that go over it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exercises/09_rpc/rpc.hpp"
#include "tests/harness/world/world.hpp"

namespace dist::harness {

/// A call that waits to be answered.
struct Held {
    std::string arguments;
    Rpc::Reply reply;
};

/// How the call ends: "answer", "RemoteError", "RpcTimeout" or "Error", and what it says.
inline std::string end_of(Rpc& agent, const RpcFuture& call) {
    try {
        return "answer: " + to_text(agent.wait(call));
    } catch (const RemoteError& error) {
        return text(
            "RemoteError of rank ", error.rank(), ", ", error.function(), ": ", error.reason()
        );
    } catch (const RpcTimeout& error) {
        return text("RpcTimeout: ", error.what());
    } catch (const Error& error) {
        return text("Error: ", error.what());
    }
}

inline void define_echo(Rpc& agent) {
    agent.define("echo", [](int, std::span<const std::byte> arguments) {
        return Bytes(arguments.begin(), arguments.end());
    });
}

struct RpcPlace : Place {
    RpcPlace(World& its_world, int its_rank)
        : Place(its_world, its_rank), agent(std::make_unique<RpcAgent>(transport, 5, clock)) {
        define_echo(*agent);
    }

    void define(
        const std::string& name, const std::function<std::string(int caller, std::string)>& f
    ) {
        agent->define(name, [f](int caller, std::span<const std::byte> arguments) {
            return to_bytes(f(caller, to_text(arguments)));
        });
    }

    /// "hold" keeps calls in `held`, and answers none.
    void hold() {
        agent->define_async(
            "hold",
            [this](int, std::span<const std::byte> arguments, const Rpc::Reply& reply) {
                held.push_back({to_text(arguments), reply});
            }
        );
    }

    RpcFuture begin(
        int to,
        const std::string& function,
        const std::string& arguments = "",
        std::optional<Ms> timeout = {}
    ) {
        return agent->rpc_async(to, function, to_bytes(arguments), timeout);
    }

    /// As end_of, of a new call.
    std::string call(
        int to,
        const std::string& function,
        const std::string& arguments = "",
        std::optional<Ms> timeout = 1000ms
    ) {
        return end_of(*agent, begin(to, function, arguments, timeout));
    }

    /// Serves until then, and looks each millisecond.
    void serve_until(Ms time) {
        serve_until([&] { return now() >= time; });
    }

    void serve_until(const std::function<bool()>& holds) {
        while (!holds()) {
            agent->serve();
            clock.sleep(1ms);
        }
    }

    std::vector<Held> held;
    std::unique_ptr<RpcAgent> agent;
};

}  // namespace dist::harness
