// An Rpc that counts the calls of its rank: those that it begins, and those that it runs.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "course/runtime/rpc.hpp"
#include "tests/09_rpc/rpc_place.hpp"

namespace dist::harness {

/// Calls of one function, and the bytes of their arguments and answers.
struct Tally {
    long calls = 0;
    long bytes_in = 0;
    long bytes_out = 0;

    friend bool operator==(const Tally&, const Tally&) = default;
    friend std::ostream& operator<<(std::ostream& out, const Tally& one) {
        return out << one.calls << " calls, " << one.bytes_in << " bytes there, " << one.bytes_out
                   << " bytes back";
    }
};
using Tallies = std::map<std::string, Tally>;  // by function

class Counted : public Rpc {
  public:
    explicit Counted(Rpc& rpc) : rpc_(rpc) {}

    [[nodiscard]] int rank() const override { return rpc_.rank(); }
    [[nodiscard]] int size() const override { return rpc_.size(); }

    void define_async(const std::string& name, AsyncFunction function) override {
        rpc_.define_async(
            name,
            [this, name, function = std::move(function)](
                int caller, std::span<const std::byte> arguments, const Reply& reply
            ) {
                Tally& tally = ran[name];
                ++tally.calls;
                tally.bytes_in += std::ssize(arguments);
                function(caller, arguments, [&tally, reply](RpcResult result) {
                    tally.bytes_out += std::ssize(result.answer);
                    reply(std::move(result));
                });
            }
        );
    }

    RpcFuture rpc_async(
        int to,
        const std::string& function,
        std::span<const std::byte> arguments,
        std::optional<Duration> timeout = {}
    ) override {
        begins(to, function);
        RpcFuture call = rpc_.rpc_async(to, function, arguments, timeout);
        Tally& tally = begun[function];
        ++tally.calls;
        tally.bytes_in += std::ssize(arguments);
        std::erase_if(open_, [](const Open& one) { return one.call->is_done; });
        open_.push_back({call, text("rank ", to, " has not answered ", function)});
        most_open = std::max(most_open, std::ssize(open_));
        return call;
    }

    Bytes wait(const RpcFuture& call) override { return rpc_.wait(call); }
    bool test(const RpcFuture& call) override { return rpc_.test(call); }
    void serve() override { rpc_.serve(); }

    /// Calls of this rank that are under way: "rank 2 has not answered echo".
    [[nodiscard]] std::vector<std::string> open() const {
        std::vector<std::string> all;
        for (const Open& one : open_) {
            if (!one.call->is_done) {
                all.push_back(one.what);
            }
        }
        return all;
    }

    Tallies begun;       // here, on other ranks and on this one: no bytes back
    Tallies ran;         // here
    long most_open = 0;  // calls of this rank under way at the same time
    std::function<void(int to, const std::string& function)> begins = [](int, const std::string&) {
    };  // called before each call

  private:
    struct Open {
        RpcFuture call;
        std::string what;
    };

    Rpc& rpc_;
    std::vector<Open> open_;
};

struct CountedPlace : RpcPlace {
    using RpcPlace::RpcPlace;

    Counted rpc{*agent};
};

}  // namespace dist::harness
