// Calls between threads of a virtual time: counted, late by a seed, and a rank dies when the test
// says so.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "course/runtime/rpc.hpp"
#include "course/runtime/seeded.hpp"
#include "tests/harness/words/garbled.hpp"
#include "tests/harness/world/virtual_time.hpp"

namespace dist::harness {

/// What a rank was called, and what went in and out of it by that.
struct Served {
    std::map<std::string, long> calls = {};  // by function
    long bytes_in = 0;                       // arguments of these calls
    long bytes_out = 0;                      // answers to them
};

class ParameterNetwork {
  public:
    using Duration = Clock::Duration;
    static constexpr Duration kDeadline = std::chrono::milliseconds(400);
    static constexpr Duration kNever = Duration::max();

    /// Goes through the code under test, and ends the thread of a rank that has died.
    struct Killed : std::runtime_error {
        Killed() : std::runtime_error("killed") {}
    };

    struct Message {
        Duration ready;
        int src;
        int dst;
        std::string function;  // a request's; empty: an answer
        RpcResult content;
        RpcFuture call;
    };

    ParameterNetwork(VirtualTime& virtual_time, int p, std::uint64_t seed)
        : time(virtual_time),
          is_dead(static_cast<std::size_t>(p)),
          served(static_cast<std::size_t>(p)),
          seed_(seed) {}

    [[nodiscard]] int size() const { return static_cast<int>(is_dead.size()); }

    void kill(int rank) { is_dead.at(static_cast<std::size_t>(rank)) = true; }

    void live(int rank) const {
        if (is_dead.at(static_cast<std::size_t>(rank))) {
            throw Killed();
        }
    }

    /// It is there 0 to 3 ms later. Calls of one rank on another stay in their order; answers may
    /// overtake each other.
    void send(Message message) {
        message.ready = time.now() + Duration(seeded_bits(seed_, ++sent_) % 4);
        for (const Message& before : on_their_way) {
            const bool is_row = before.src == message.src && before.dst == message.dst &&
                                !before.function.empty() && !message.function.empty();
            message.ready = is_row ? std::max(message.ready, before.ready) : message.ready;
        }
        on_their_way.push_back(std::move(message));
    }

    std::optional<Message> receive(int rank) {
        const auto found = std::ranges::find_if(on_their_way, [&](const Message& message) {
            return message.dst == rank && message.ready <= time.now();
        });
        if (found == on_their_way.end()) {
            return std::nullopt;
        }
        Message message = std::move(*found);
        on_their_way.erase(found);
        garble_if_asked(message.content.answer);
        return message;
    }

    VirtualTime& time;
    std::vector<bool> is_dead;   // by rank
    std::vector<Served> served;  // by rank
    std::deque<Message> on_their_way;

  private:
    std::uint64_t seed_;
    std::uint64_t sent_ = 0;
};

class ParameterRpc : public Rpc {
  public:
    ParameterRpc(ParameterNetwork& network, int rank) : network_(network), rank_(rank) {}

    [[nodiscard]] int rank() const override { return rank_; }
    [[nodiscard]] int size() const override { return network_.size(); }

    void define_async(const std::string& name, AsyncFunction function) override {
        expects(functions_.emplace(name, std::move(function)).second, "rpc: defined already");
    }

    RpcFuture rpc_async(
        int to,
        const std::string& function,
        std::span<const std::byte> arguments,
        std::optional<Duration> timeout
    ) override {
        network_.live(rank_);
        expects(0 <= to && to < size(), "rpc_async: there is no such rank");
        const Duration limit = timeout.value_or(ParameterNetwork::kDeadline);
        auto call = std::make_shared<PendingCall>();
        const bool has_limit = limit > Duration(0);
        open_.push_back(
            {call, to, function, has_limit ? network_.time.now() + limit : ParameterNetwork::kNever}
        );
        Served& there = network_.served.at(static_cast<std::size_t>(to));
        ++there.calls[function];
        there.bytes_in += static_cast<long>(arguments.size());
        most_open = std::max(most_open, open_.size());
        network_.send({{}, rank_, to, function, {{arguments.begin(), arguments.end()}}, call});
        return call;
    }

    Bytes wait(const RpcFuture& call) override {
        while (!test(call)) {
            network_.time.sleep(std::chrono::milliseconds(1));
        }
        if (call->result.error) {
            std::rethrow_exception(call->result.error);
        }
        return std::exchange(call->result.answer, {});
    }

    bool test(const RpcFuture& call) override {
        serve();
        return call->is_done;
    }

    void serve() override {
        network_.live(rank_);
        network_.time.look();
        while (auto message = network_.receive(rank_)) {
            if (message->function.empty()) {
                message->call->result = std::move(message->content);
                message->call->is_done = true;
            } else {
                run(*message);
            }
        }
        for (const Open& one : open_) {
            give_up(one);
        }
        std::erase_if(open_, [](const Open& one) { return one.call->is_done; });
    }

    std::size_t most_open = 0;  // calls of this rank under way at the same time

  private:
    struct Open {
        RpcFuture call;
        int to;
        std::string function;
        Duration deadline;
    };

    void run(const ParameterNetwork::Message& request) {
        const auto reply = [this, caller = request.src, function = request.function,
                            call = request.call](RpcResult result) {
            network_.live(rank_);
            network_.served[static_cast<std::size_t>(rank_)].bytes_out +=
                static_cast<long>(result.answer.size());
            result.error = as_remote(result.error, function);
            network_.send({{}, rank_, caller, "", std::move(result), call});
        };
        const auto function = functions_.find(request.function);
        try {
            if (function == functions_.end()) {
                throw Error("there is no such function");
            }
            function->second(request.src, request.content.answer, reply);
        } catch (const ParameterNetwork::Killed&) {
            throw;
        } catch (const NotImplemented&) {
            throw;
        } catch (const std::exception&) {
            reply({.error = std::current_exception()});
        }
    }

    [[nodiscard]] std::exception_ptr as_remote(
        const std::exception_ptr& error, const std::string& function
    ) const {
        if (!error) {
            return nullptr;
        }
        try {
            std::rethrow_exception(error);
        } catch (const NotImplemented&) {
            throw;
        } catch (const std::exception& thrown) {
            return std::make_exception_ptr(RemoteError(rank_, function, thrown.what()));
        }
    }

    void give_up(const Open& one) const {
        const bool answered = std::ranges::any_of(network_.on_their_way, [&](const auto& message) {
            return message.call == one.call && message.function.empty();
        });
        const std::string to = "rank " + std::to_string(one.to);
        if (one.call->is_done || answered) {
            return;
        }
        if (network_.is_dead[static_cast<std::size_t>(one.to)]) {
            one.call->result.error = std::make_exception_ptr(Error(to + " has died"));
        } else if (network_.time.now() >= one.deadline) {
            one.call->result.error = std::make_exception_ptr(
                RpcTimeout(to + ", " + one.function + ": no answer before the deadline")
            );
        }
        one.call->is_done = one.call->result.error != nullptr;
    }

    ParameterNetwork& network_;
    int rank_;
    std::map<std::string, AsyncFunction> functions_;
    std::vector<Open> open_;
};

}  // namespace dist::harness
