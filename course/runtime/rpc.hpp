// Calls of functions on other ranks.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "course/runtime/clock.hpp"
#include "course/runtime/error.hpp"

namespace dist {

/// What a call takes there, and what its answer brings back. (Tensors: course/nn/tensor_bytes.hpp.)
using Bytes = std::vector<std::byte>;

Bytes to_bytes(std::string_view text);
std::string to_text(std::span<const std::byte> bytes);

/// No answer came in time. what(): rank 2, divide: no answer within 100 ms
class RpcTimeout : public Error {
  public:
    using Error::Error;
};

/// The function threw, there. what(): rank 2, divide: by zero
class RemoteError : public Error {
  public:
    /// reason  what() of what was thrown.
    RemoteError(int rank, std::string function, std::string reason)
        : Error("rank " + std::to_string(rank) + ", " + function + ": " + reason),
          rank_(rank),
          function_(std::move(function)),
          reason_(std::move(reason)) {}

    [[nodiscard]] int rank() const { return rank_; }  // where it was thrown first
    [[nodiscard]] const std::string& function() const { return function_; }
    [[nodiscard]] const std::string& reason() const { return reason_; }

  private:
    int rank_;
    std::string function_;
    std::string reason_;
};

/// What the caller gets for an `error` that came out of a function on that rank. A RemoteError stays what it is: so it
/// names where it was thrown first. Of what is no std::exception the reason is "unknown exception".
RemoteError remote_error(const std::exception_ptr& error, int rank, const std::string& function);

/// How a call ended: with an answer, or with an error.
struct RpcResult {
    Bytes answer = {};
    std::exception_ptr error = nullptr;  // none: it went well
};

/// A call that has been begun: rpc_async returned it, and wait or test say when it is through.
struct PendingCall {
    bool is_done = false;
    RpcResult result = {};
};
using RpcFuture = std::shared_ptr<PendingCall>;

/// Calls functions on other ranks, by name. A rank runs what is called on it, by itself as well, while it is in wait(),
/// test() or serve(), and at no other time: one thread does it all, and a function may itself call others and wait.
/// What one rank calls on another begins there in the order of the calls. Answers come in any order.
class Rpc {
  public:
    using Duration = Clock::Duration;
    /// Answers a call, now or later, once: std::logic_error if it has been answered. A call that nobody answers ends at its
    /// deadline.
    using Reply = std::function<void(RpcResult)>;
    /// What it throws before it has answered is the answer.
    ///
    /// arguments  are there until the function returns.
    using Function = std::function<Bytes(int caller, std::span<const std::byte> arguments)>;
    using AsyncFunction =
        std::function<void(int caller, std::span<const std::byte> arguments, Reply reply)>;

    Rpc() = default;
    Rpc(const Rpc&) = delete;
    Rpc& operator=(const Rpc&) = delete;
    virtual ~Rpc() = default;

    [[nodiscard]] virtual int rank() const = 0;
    [[nodiscard]] virtual int size() const = 0;

    /// From now on all ranks may call it here. It may answer later (PyTorch: async_execution).
    ///
    /// Errors  std::invalid_argument if there is one of that name.
    virtual void define_async(const std::string& name, AsyncFunction function) = 0;

    /// Begins a call. Does not wait, and runs nothing.
    ///
    /// arguments  are copied.
    /// timeout    from now on. None: the default; 0 or Duration::max(): it may take for ever.
    ///
    /// Errors     std::invalid_argument if there is no rank `to`. What fails later comes out of wait().
    virtual RpcFuture rpc_async(
        int to,
        const std::string& function,
        std::span<const std::byte> arguments,
        std::optional<Duration> timeout = {}
    ) = 0;

    /// Waits for the answer, runs meanwhile what is called here, and moves the answer out of the call.
    ///
    /// Errors  RemoteError if the function threw there; RpcTimeout; Error, which names the other rank, if it has died.
    virtual Bytes wait(const RpcFuture& call) = 0;

    /// Whether it is through, well or not, now. Runs what has been called here.
    virtual bool test(const RpcFuture& call) = 0;

    /// Runs what has been called here until now. Does not wait.
    virtual void serve() = 0;

    /// As define_async, for a function that answers when it returns, or throws.
    void define(const std::string& name, Function function);

    /// As rpc_async and wait.
    Bytes rpc_sync(
        int to,
        const std::string& function,
        std::span<const std::byte> arguments,
        std::optional<Duration> timeout = {}
    ) {
        return wait(rpc_async(to, function, arguments, timeout));
    }
};

}  // namespace dist
