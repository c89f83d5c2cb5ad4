// Exercise 09: calls of functions on other ranks, over any transport.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "course/runtime/clock.hpp"
#include "course/runtime/rpc.hpp"
#include "course/runtime/transport.hpp"

namespace dist {

/// Calls between the ranks of a transport: one agent a rank. course/runtime/rpc.hpp says what a call is; here stands what
/// becomes of it on the way.
///
/// A call is sent once, never again. Its error is a RemoteError that names rank, function and reason of where it was thrown
/// first: also where functions have called each other from rank to rank, also of what is no std::exception, also of a
/// function that nobody has defined. An answer that comes after the deadline is dropped; one that is there at the deadline
/// counts.
///
/// When a rank has died, all calls to it fail at once, those under way and later ones, and no others.
///
/// While it waits it looks for messages, and sleeps by the clock between two looks in vain: some hundred times in a row for
/// 0 ms, which lets others go on, then for 1 ms each. So an answer that comes soon is not slept away.
///
/// After a graceful shutdown(), from which all ranks have returned, the agent may go. Otherwise receives are posted, and it
/// stays where it is until nobody uses the transport any more. A Reply may be there longer: then it does nothing.
///
/// Cost    of a call one message there, and one back; one more for each of the two that has more than kShort bytes, where
///         the function's name counts as well. None for a call to oneself.
/// Source  PyTorch, torch/csrc/distributed/rpc (tensorpipe_agent.cpp), which has threads for it.
class RpcAgent : public Rpc {
  public:
    static constexpr std::size_t kShort = 4096;  // bytes

    /// transport  outlives the agent.
    /// group      of the agents' messages; nobody else uses it.
    /// timeout    of calls that state none; 0: they have no deadline.
    RpcAgent(
        Transport& transport,
        std::uint32_t group,
        Clock& clock,
        Duration timeout = std::chrono::seconds(60)
    );

    /// Of calls that begin from now on.
    void set_timeout(Duration timeout);

    /// Ends: no call is served or begun here any more, and those that are under way here fail with an Error.
    ///
    /// graceful  Every rank makes this call, but those that have died. Serves until all of them are here and no call is under
    ///           way on any rank; those count too that functions begin meanwhile. false: at once.
    void shutdown(bool graceful = true);

    [[nodiscard]] int rank() const override;
    [[nodiscard]] int size() const override;
    void define_async(const std::string& name, AsyncFunction function) override;

    /// Errors  as Rpc's; Error after shutdown().
    RpcFuture rpc_async(
        int to,
        const std::string& function,
        std::span<const std::byte> arguments,
        std::optional<Duration> timeout = {}
    ) override;
    Bytes wait(const RpcFuture& call) override;
    bool test(const RpcFuture& call) override;
    void serve() override;

  private:
    struct State;  // yours: in your .cpp
    std::shared_ptr<State> state_;
};

}  // namespace dist
