// An Rpc between threads of a virtual time: a message takes as long as the test says, those from
// one rank to another stay in order, and a rank dies when the test says so. What was on its way
// from a rank that dies is lost. Calls are counted.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <list>
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

using namespace std::chrono_literals;
using Ms = Clock::Duration;

/// Ends the thread of a rank that has died.
struct Killed : std::runtime_error {
    Killed() : std::runtime_error("killed") {}
};

/// A call as the network knows it.
struct OpenCall : PendingCall {
    int from = 0;
    int to = 0;
    std::string function = {};
    std::optional<Ms> deadline = {};
    bool is_answered = false;
};

class ActorNetwork {
  public:
    static constexpr Ms kTimeout = 1s;  // where a call says none
    static constexpr Ms kEndless = 4s;

    struct Mail {
        Ms due{0};
        int from = 0;
        std::shared_ptr<OpenCall> call = {};
        bool is_answer = false;
        Bytes arguments = {};
        RpcResult result = {};
    };

    ActorNetwork(VirtualTime& virtual_time, int p, std::uint64_t seed)
        : time(virtual_time),
          is_dead(static_cast<std::size_t>(p)),
          mail_(is_dead.size()),
          seed_(seed) {}

    [[nodiscard]] int size() const { return static_cast<int>(is_dead.size()); }

    std::shared_ptr<OpenCall> begin(
        int from, int to, const std::string& function, Bytes arguments, std::optional<Ms> timeout
    ) {
        const Ms limit = timeout.value_or(kTimeout);
        auto call = std::make_shared<OpenCall>();
        call->from = from;
        call->to = to;
        call->function = function;
        if (limit > 0ms) {
            call->deadline = time.now() + limit;
        }
        ++calls[function];
        calls_.push_back(call);
        if (is_dead.at(static_cast<std::size_t>(to))) {
            tell_of_death(call);
        } else {
            post(to, {.from = from, .call = call, .arguments = std::move(arguments)});
        }
        return call;
    }

    void answer(const std::shared_ptr<OpenCall>& call, RpcResult result) {
        live(call->to);
        if (call->is_answered) {
            note(call->function + " is answered twice");
        }
        call->is_answered = true;
        ++answers;
        post(
            call->from, {.from = call->to,
                         .call = call,
                         .is_answer = true,
                         .result = named(*call, std::move(result))}
        );
    }

    /// The first message for a rank that has come.
    std::optional<Mail> take(int rank) {
        std::list<Mail>& all = mail_.at(static_cast<std::size_t>(rank));
        const auto first = std::ranges::min_element(all, {}, &Mail::due);
        if (first == all.end() || first->due > time.now()) {
            return std::nullopt;
        }
        Mail mail = std::move(*first);
        all.erase(first);
        garble_if_asked(mail.arguments);
        garble_if_asked(mail.result.answer);
        return mail;
    }

    void kill(int rank) {
        is_dead.at(static_cast<std::size_t>(rank)) = true;
        for (std::list<Mail>& all : mail_) {
            all.remove_if([&](const Mail& mail) { return mail.from == rank; });
        }
        for (const auto& call : calls_) {
            if (call->to == rank && !call->is_done) {
                tell_of_death(call);
            }
        }
    }

    /// Ends the thread of a rank that has died.
    void live(int rank) const {
        if (is_dead.at(static_cast<std::size_t>(rank))) {
            throw Killed();
        }
    }

    void note(const std::string& what) { wrong = wrong.empty() ? what : wrong; }

    VirtualTime& time;
    std::vector<bool> is_dead;                 // by rank
    Ms delay = 1ms;                            // of each message,
    Ms jitter{0};                              // and up to so much more, by the seed;
    std::map<std::pair<int, int>, Ms> delays;  // but from this rank to that one, so much
    std::map<std::string, int> calls;          // that were begun, by function
    int answers = 0;
    std::string wrong;

  private:
    void post(int to, Mail mail) {
        const auto edge = std::pair(mail.from, to);
        const auto found = delays.find(edge);
        const Ms more(static_cast<std::int64_t>(
            seeded_bits(seed_, ++posted_) % (static_cast<std::uint64_t>(jitter.count()) + 1)
        ));
        Ms& last = last_[edge];
        last = std::max(last, time.now() + (found != delays.end() ? found->second : delay + more));
        mail.due = last;
        mail_.at(static_cast<std::size_t>(to)).push_back(std::move(mail));
    }

    void tell_of_death(const std::shared_ptr<OpenCall>& call) {
        const std::string text = "rank " + std::to_string(call->to) + " has died";
        post(
            call->from, {.from = -1,
                         .call = call,
                         .is_answer = true,
                         .result = {.error = std::make_exception_ptr(Error(text))}}
        );
    }

    // An error there is a RemoteError here.
    static RpcResult named(const OpenCall& call, RpcResult result) {
        if (result.error) {
            const RemoteError error = remote_error(result.error, call.to, call.function);
            result.error = std::make_exception_ptr(error);
        }
        return result;
    }

    std::vector<std::list<Mail>> mail_;  // by rank
    std::vector<std::shared_ptr<OpenCall>> calls_;
    std::map<std::pair<int, int>, Ms> last_;
    std::uint64_t seed_;
    std::uint64_t posted_ = 0;
};

class ActorRpc : public Rpc {
  public:
    ActorRpc(ActorNetwork& network, int rank) : network_(network), rank_(rank) {}

    [[nodiscard]] int rank() const override { return rank_; }
    [[nodiscard]] int size() const override { return network_.size(); }

    void define_async(const std::string& name, AsyncFunction function) override {
        expects(functions_.emplace(name, std::move(function)).second, "Rpc: there is one already");
    }

    RpcFuture rpc_async(
        int to,
        const std::string& function,
        std::span<const std::byte> arguments,
        std::optional<Duration> timeout = {}
    ) override {
        network_.live(rank_);
        return network_.begin(rank_, to, function, {arguments.begin(), arguments.end()}, timeout);
    }

    Bytes wait(const RpcFuture& call) override {
        const Ms began = network_.time.now();
        while (!test(call)) {
            if (network_.time.now() - began > ActorNetwork::kEndless) {
                throw VirtualTime::Endless("it waits for an answer that does not come");
            }
            sleep(1ms);
        }
        if (call->result.error) {
            std::rethrow_exception(call->result.error);
        }
        return std::move(call->result.answer);
    }

    bool test(const RpcFuture& call) override {
        while (!call->is_done && serve_one()) {
        }
        const auto& open = static_cast<const OpenCall&>(*call);
        if (!call->is_done && open.deadline && network_.time.now() >= *open.deadline) {
            call->is_done = true;
            call->result.error = std::make_exception_ptr(RpcTimeout("no answer in time"));
        }
        return call->is_done;
    }

    void serve() override {
        while (serve_one()) {
        }
    }

    void sleep(Ms duration) {
        network_.time.sleep(duration);
        network_.live(rank_);
    }

  private:
    bool serve_one() {
        network_.live(rank_);
        network_.time.look();
        auto mail = network_.take(rank_);
        if (!mail) {
            return false;
        }
        if (mail->is_answer) {
            if (!mail->call->is_done) {
                mail->call->result = std::move(mail->result);
                mail->call->is_done = true;
            }
            return true;
        }
        const auto reply = [this, call = mail->call](RpcResult result) {
            network_.answer(call, std::move(result));
        };
        const auto function = functions_.find(mail->call->function);
        if (function == functions_.end()) {
            reply({.error = std::make_exception_ptr(Error("there is no such function"))});
            return true;
        }
        try {
            function->second(mail->from, mail->arguments, reply);
        } catch (const Killed&) {
            throw;
        } catch (...) {
            const RemoteError error = remote_error(std::current_exception(), rank_, "");
            network_.note(mail->call->function + " throws into the Rpc: " + error.reason());
        }
        return true;
    }

    ActorNetwork& network_;
    int rank_;
    std::map<std::string, AsyncFunction> functions_;
};

}  // namespace dist::harness
