#include "course/runtime/rpc.hpp"

namespace dist {

Bytes to_bytes(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

std::string to_text(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

RemoteError remote_error(const std::exception_ptr& error, int rank, const std::string& function) {
    try {
        std::rethrow_exception(error);
    } catch (const RemoteError& there) {
        return there;
    } catch (const std::exception& here) {
        return {rank, function, here.what()};
    } catch (...) {
        return {rank, function, "unknown exception"};
    }
}

void Rpc::define(const std::string& name, Function function) {
    define_async(
        name,
        [function = std::move(function
         )](int caller, std::span<const std::byte> arguments, const Reply& reply) {
            RpcResult result;
            try {
                result.answer = function(caller, arguments);
            } catch (...) {
                result.error = std::current_exception();
            }
            reply(std::move(result));
        }
    );
}

}  // namespace dist
