// Ranks in one process that call each other in a virtual time: each is a thread, one goes on at a
// time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "course/runtime/rpc.hpp"
#include "course/runtime/seeded.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/words/compare.hpp"
#include "tests/harness/words/garbled.hpp"
#include "tests/harness/world/virtual_time.hpp"

namespace dist::harness {

/// Goes through the code under test, and ends the thread of a rank that has died.
struct Killed : std::runtime_error {
    Killed() : std::runtime_error("killed") {}
};

/// A call that was begun.
struct BegunCall {
    int from;
    int to;
    std::string function;
    std::size_t bytes;
    bool is_through = false;  // its answer has come
};

class CallNetwork {
  public:
    using Ms = Clock::Duration;
    static constexpr int kPatience = 500;  // ms in which nothing comes: then nothing will

    CallNetwork(int p, std::uint64_t seed)
        : time(seed), mail_(static_cast<std::size_t>(p)), is_dead_(mail_.size()), seed_(seed) {}

    [[nodiscard]] int size() const { return static_cast<int>(mail_.size()); }

    /// `open` is called on this rank in 0 to 3 ms, when it waits or serves.
    Ms post(int rank, std::function<void()> open, Ms not_before = Ms(0)) {
        const Ms delay(static_cast<int>(seeded_bits(seed_, ++posted_) % 4));
        const Ms at = std::max(time.now() + delay, not_before);
        mail_.at(static_cast<std::size_t>(rank)).push_back({at, std::move(open)});
        return at;
    }

    /// Opens what came first of what is there. Whether there was something.
    bool open_next(int rank) {
        auto& mail = mail_.at(static_cast<std::size_t>(rank));
        const auto first = std::ranges::min_element(mail, {}, &Mail::at);
        if (first == mail.end() || first->at > time.now()) {
            return false;
        }
        const std::function<void()> open = std::move(first->open);
        mail.erase(first);
        open();
        return true;
    }

    void kill(int rank) { is_dead_.at(static_cast<std::size_t>(rank)) = true; }
    [[nodiscard]] bool is_dead(int rank) const {
        return is_dead_.at(static_cast<std::size_t>(rank));
    }

    /// A rank takes up a call, or begins one.
    void note(const BegunCall& call) {
        calls.push_back(call);
        if (at_call) {
            at_call(calls.size());
        }
    }

    /// Whether all answers have come.
    [[nodiscard]] Comparison all_through() const {
        for (const BegunCall& call : calls) {
            if (!call.is_through) {
                return {
                    false, "rank " + std::to_string(call.to) + " has not answered " +
                               call.function + " yet, which rank " + std::to_string(call.from) +
                               " called"};
            }
        }
        return {};
    }

    VirtualTime time;
    std::deque<BegunCall> calls;                      // all, in the order in which they began
    std::function<void(std::size_t number)> at_call;  // 1, 2, ...: before that call is sent
    std::string stuck;                                // who waited in vain first, and for what

  private:
    struct Mail {
        Ms at;
        std::function<void()> open;
    };

    std::vector<std::deque<Mail>> mail_;  // by rank
    std::vector<bool> is_dead_;
    std::uint64_t seed_;
    std::uint64_t posted_ = 0;
};

class NetworkRpc : public Rpc {
  public:
    /// all  the ranks of the network, by rank.
    NetworkRpc(CallNetwork& network, int rank, const std::vector<std::unique_ptr<NetworkRpc>>& all)
        : network_(network), rank_(rank), all_(all) {}

    [[nodiscard]] int rank() const override { return rank_; }
    [[nodiscard]] int size() const override { return network_.size(); }

    void define_async(const std::string& name, AsyncFunction function) override {
        const bool is_new = functions_.emplace(name, std::move(function)).second;
        expects(is_new, "define_async: there is a function of this name");
    }

    RpcFuture rpc_async(
        int to,
        const std::string& function,
        std::span<const std::byte> arguments,
        std::optional<Duration> /*timeout*/ = {}
    ) override {
        live();
        expects(0 <= to && to < size(), "rpc_async: there is no such rank");
        network_.note({rank_, to, function, arguments.size()});
        BegunCall& noted = network_.calls.back();
        const auto call = std::make_shared<Call>();
        call->to = to;
        call->function = function;
        const Reply reply = [this, call, to, &noted](RpcResult result) {
            if (result.error) {
                result.error =
                    std::make_exception_ptr(remote_error(result.error, to, call->function));
            }
            garble_if_asked(result.answer);
            network_.post(rank_, [=, &noted] {
                noted.is_through = true;
                call->result = result;
                call->is_done = true;
            });
        };
        NetworkRpc& other = *all_.at(static_cast<std::size_t>(to));
        Bytes bytes(arguments.begin(), arguments.end());
        garble_if_asked(bytes);
        const auto run = [&other, from = rank_, function, reply, bytes] {
            other.run(from, function, bytes, reply);
        };
        Ms& last = last_[to];  // calls begin there in their order
        last = network_.post(to, run, last);
        return call;
    }

    Bytes wait(const RpcFuture& future) override {
        const Call& call = static_cast<const Call&>(*future);
        for (int idle = 0; !call.is_done;) {
            live();
            if (network_.open_next(rank_)) {
                idle = 0;
                continue;
            }
            if (network_.is_dead(call.to)) {
                throw Error("rank " + std::to_string(call.to) + " has died");
            }
            if (++idle > CallNetwork::kPatience) {
                const std::string what = "rank " + std::to_string(rank_) +
                                         " waits for the answer of rank " +
                                         std::to_string(call.to) + " to " + call.function +
                                         ", and nothing comes any more";
                network_.stuck = network_.stuck.empty() ? what : network_.stuck;
                throw VirtualTime::Endless(what);
            }
            network_.time.sleep(std::chrono::milliseconds(1));
        }
        if (call.result.error) {
            std::rethrow_exception(call.result.error);
        }
        return call.result.answer;
    }

    bool test(const RpcFuture& call) override {
        serve();
        return call->is_done;
    }

    void serve() override {
        live();
        network_.time.look();
        while (network_.open_next(rank_)) {
            live();
        }
    }

  private:
    using Ms = CallNetwork::Ms;

    struct Call : PendingCall {
        int to = 0;
        std::string function;
    };

    void live() const {
        if (network_.is_dead(rank_)) {
            throw Killed();
        }
    }

    void run(int from, const std::string& name, const Bytes& bytes, const Reply& reply) {
        live();
        const auto function = functions_.find(name);
        if (function == functions_.end()) {
            const RemoteError error(rank_, name, "there is no function of this name");
            reply({{}, std::make_exception_ptr(error)});
            return;
        }
        function->second(from, bytes, reply);
        live();
    }

    CallNetwork& network_;
    int rank_;
    const std::vector<std::unique_ptr<NetworkRpc>>& all_;
    std::map<std::string, AsyncFunction> functions_;
    std::map<int, Ms> last_;  // when the last call arrives there, by rank
};

/// All ranks, and what they do.
class CallWorld {
  public:
    explicit CallWorld(int p, std::uint64_t seed = 1) : network(p, seed) {
        for (int rank = 0; rank < p; ++rank) {
            ranks_.push_back(std::make_unique<NetworkRpc>(network, rank, ranks_));
        }
    }

    [[nodiscard]] int size() const { return network.size(); }
    [[nodiscard]] Rpc& rpc(int rank) { return *ranks_.at(static_cast<std::size_t>(rank)); }

    /// Does this on these ranks, all at a time. The others serve, as do these when they are
    /// through, until all are. Whether none of them threw or waits for ever.
    Comparison run(const std::map<int, std::function<void()>>& bodies) {
        std::size_t at_work = bodies.size();
        std::vector<std::function<void()>> plots;
        for (int rank = 0; rank < size(); ++rank) {
            plots.emplace_back([&, rank] {
                if (const auto body = bodies.find(rank); body != bodies.end()) {
                    const std::shared_ptr<void> through(nullptr, [&](void*) { --at_work; });
                    body->second();
                }
                while (at_work > 0) {
                    rpc(rank).serve();
                    network.time.sleep(std::chrono::milliseconds(1));
                }
            });
        }
        network.stuck.clear();
        const std::vector<std::string> ends = network.time.run(plots);
        if (!network.stuck.empty()) {
            return {false, network.stuck};
        }
        for (int rank = 0; rank < size(); ++rank) {
            const std::string& end = ends[static_cast<std::size_t>(rank)];
            if (!end.empty() && end != Killed().what()) {
                return {false, "rank " + std::to_string(rank) + ": " + end};
            }
        }
        return {};
    }

    CallNetwork network;

  private:
    std::vector<std::unique_ptr<NetworkRpc>> ranks_;
};

}  // namespace dist::harness
