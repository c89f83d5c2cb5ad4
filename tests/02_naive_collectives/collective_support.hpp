// What the tests of this chapter's collectives share.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>

#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"
#include "tests/harness/harness.hpp"

namespace dist::harness {

constexpr const char* kReturned = "it returned as if all were well";

/// How `call` answers to an argument that is wrong: the exception, or what it did in its place.
inline std::string answer(const std::function<void()>& call) {
    try {
        call();
    } catch (const std::invalid_argument&) {
        return "std::invalid_argument";
    } catch (const Error&) {
        return "dist::Error";
    }
    return kReturned;
}

/// Calls `body` on communicators that number the ranks anew: all of them in reverse, and a half.
inline void on_groups(
    const Communicator& comm, const std::function<void(const Communicator&)>& body
) {
    const Communicator reversed = comm.split(0, -comm.rank());
    const Communicator half = comm.split(comm.rank() % 2);
    for (const Communicator* group : {&reversed, &half}) {
        INFO("a communicator of " << group->size() << " of the ranks, numbered anew");
        body(*group);
    }
}

/// 0, 1, 7, the lengths around p, and 1000; a length that says more than 0 comes first.
inline std::vector<std::size_t> lengths(const Communicator& comm) {
    const auto p = static_cast<std::size_t>(comm.size());
    return {7, 0, 1, p - 1, p, p + 1, 1000};
}

}  // namespace dist::harness
