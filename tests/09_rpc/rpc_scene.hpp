// Ranks that call each other in a virtual time: what each of them does, and what came of it.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "exercises/09_rpc/rpc.hpp"
#include "tests/09_rpc/rpc_network.hpp"
#include "tests/harness/harness.hpp"

namespace dist::harness {

using namespace std::chrono_literals;
using Ms = Clock::Duration;

inline std::string text_of(Ms time) {
    return std::to_string(time.count()) + " ms";
}

/// Ends the rank, and so the scene, unless it holds.
inline void must(bool holds, const std::string& sentence) {
    if (!holds) {
        throw std::runtime_error(sentence);
    }
}

inline void must_be(const std::string& got, const std::string& expected, const std::string& what) {
    must(got == expected, what + " has to be \"" + expected + "\", and is \"" + got + "\"");
}

/// How the call ends: "answer", "RemoteError", "RpcTimeout" or "Error", and what it says.
inline std::string end_of(Rpc& agent, const RpcFuture& call) {
    try {
        return "answer: " + to_text(agent.wait(call));
    } catch (const RemoteError& error) {
        return "RemoteError of rank " + std::to_string(error.rank()) + ", " + error.function() +
               ": " + error.reason();
    } catch (const RpcTimeout& error) {
        return "RpcTimeout: " + std::string(error.what());
    } catch (const Error& error) {
        return "Error: " + std::string(error.what());
    }
}

inline bool begins(const std::string& text, const std::string& with) {
    return text.rfind(with, 0) == 0;
}

inline bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// A rank.
struct RpcPlace {
    RpcPlace(RpcNetwork& the_network, int the_rank)
        : network(the_network),
          rank(the_rank),
          p(network.size()),
          transport(network, rank),
          clock(network, rank),
          agent(std::make_unique<RpcAgent>(transport, 5, clock)) {}

    [[nodiscard]] Ms now() const { return network.time.now(); }

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

    /// Serves until that time, and looks each millisecond.
    void serve_until(Ms time) {
        serve_until([&] { return now() >= time; });
    }

    void serve_until(const std::function<bool()>& holds) {
        while (!holds()) {
            agent->serve();
            clock.sleep(1ms);
        }
    }

    RpcNetwork& network;
    int rank;
    int p;
    RpcTransport transport;
    RpcClock clock;
    std::unique_ptr<RpcAgent> agent;
};

class RpcScene {
  public:
    explicit RpcScene(int p, std::uint64_t seed = 1, Ms slowest = 0ms)
        : time(seed), network(time, p, seed, slowest), places_(network.is_dead.size()) {}

    /// What each rank does. False, with what is wrong, if one of them ended by an exception, unless it died.
    Comparison play(const std::function<void(RpcPlace& me)>& body) {
        std::vector<std::function<void()>> plots;
        plots.reserve(network.is_dead.size() + dies.size());
        for (int rank = 0; rank < network.size(); ++rank) {
            plots.emplace_back([this, rank, &body] { live(rank, body); });
        }
        for (const auto& [rank, when] : dies) {
            plots.emplace_back([this, rank = rank, when = when] {
                time.sleep(when);
                network.kill(rank);
            });
        }
        time.run(plots);
        return {wrong_.empty(), wrong_};
    }

    std::map<int, Ms> dies;  // ranks, and when
    VirtualTime time;
    RpcNetwork network;

  private:
    void live(int rank, const std::function<void(RpcPlace& me)>& body) {
        auto& place = places_.at(static_cast<std::size_t>(rank));
        try {
            place = std::make_unique<RpcPlace>(network, rank);
            body(*place);
        } catch (const Killed&) {  // as the scene wants it
        } catch (const NotImplemented&) {
            throw;
        } catch (const std::exception& error) {
            fail(rank, error.what());
        } catch (...) {
            fail(rank, "what comes out of a call is no std::exception");
        }
    }

    // The first that goes wrong is told. The others need not wait for it.
    void fail(int rank, const std::string& what) {
        if (wrong_.empty()) {
            wrong_ = "at " + text_of(time.now()) + ", rank " + std::to_string(rank) + ": " + what;
        }
        network.kill(rank);
    }

    std::vector<std::unique_ptr<RpcPlace>> places_;  // by rank, until nothing moves any more
    std::string wrong_;
};

/// Runs `body` with several seeds: how long messages take, and who goes on first where several could.
inline void with_seeds(const std::function<void(std::uint64_t seed)>& body) {
    on_ranks_each(
        {1}, [](int) { return 3; },
        [&](const Communicator&, std::size_t seed) {
            INFO("seed " << seed);
            body(seed);
        }
    );
}

}  // namespace dist::harness
