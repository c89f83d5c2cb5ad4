#include "exercises/09_rpc/rpc.hpp"

namespace dist {

struct RpcAgent::State {
    // TODO: what stands in a message before the arguments? What do you keep of a call until its answer is there, and what of
    // each other rank? All waiting is one loop: take what has come, run one call, sleep.
};

RpcAgent::RpcAgent(Transport& transport, std::uint32_t group, Clock& clock, Duration timeout) {
    throw NotImplemented("rpc");
}

void RpcAgent::set_timeout(Duration timeout) {
    throw NotImplemented("rpc");
}

void RpcAgent::shutdown(bool graceful) {
    throw NotImplemented("rpc");
}

int RpcAgent::rank() const {
    throw NotImplemented("rpc");
}

int RpcAgent::size() const {
    throw NotImplemented("rpc");
}

void RpcAgent::define_async(const std::string& name, AsyncFunction function) {
    throw NotImplemented("rpc");
}

RpcFuture RpcAgent::rpc_async(
    int to,
    const std::string& function,
    std::span<const std::byte> arguments,
    std::optional<Duration> timeout
) {
    throw NotImplemented("rpc");
}

Bytes RpcAgent::wait(const RpcFuture& call) {
    throw NotImplemented("rpc");
}

bool RpcAgent::test(const RpcFuture& call) {
    throw NotImplemented("rpc");
}

void RpcAgent::serve() {
    throw NotImplemented("rpc");
}

}  // namespace dist
