// What agents send each other for a call, as bytes. An agent may have a format of its own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "course/runtime/rpc.hpp"

namespace dist {

/// report, farewell: for what agents tell each other at the end.
enum class RpcKind : std::int32_t { call, answer, error, report, farewell };

struct RpcHead {
    RpcKind kind = RpcKind::call;
    std::int32_t rank = 0;         // of an error: where it was thrown first
    std::uint64_t id = 0;          // the caller's number of the call
    std::uint64_t name_bytes = 0;  // of the body, which begins with a function's name
    std::uint64_t bytes = 0;       // of the body
};

/// A call has name and arguments, an answer no name, an error the function's name and the reason.
struct RpcMessage {
    RpcHead head = {};
    Bytes body = {};

    RpcMessage() = default;
    explicit RpcMessage(RpcHead its_head, Bytes its_body = {})
        : head(its_head), body(std::move(its_body)) {
        head.bytes = body.size();
    }
    RpcMessage(RpcHead its_head, const std::string& name, std::span<const std::byte> rest)
        : head(its_head) {
        head.name_bytes = name.size();
        head.bytes = name.size() + rest.size();
        body.reserve(head.bytes);
        const auto first = std::as_bytes(std::span(name));
        body.insert(body.end(), first.begin(), first.end());
        body.insert(body.end(), rest.begin(), rest.end());
    }

    [[nodiscard]] std::string name() const {
        return to_text(std::span(body).first(head.name_bytes));
    }

    [[nodiscard]] std::span<const std::byte> rest() const {
        return std::span(body).subspan(head.name_bytes);
    }

    /// The head, and the body too if it has at most `most` bytes.
    [[nodiscard]] Bytes packed(std::size_t most) const {
        Bytes all(sizeof head + (body.size() <= most ? body.size() : 0));
        std::memcpy(all.data(), &head, sizeof head);
        std::copy_n(body.begin(), all.size() - sizeof head, all.begin() + sizeof head);
        return all;
    }
};

}  // namespace dist
