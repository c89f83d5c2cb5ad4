// Groups of the ranks, numbered anew, for tests that have no attempt to give to on_other_communicators.
#pragma once

#include <functional>

#include "tests/harness/harness.hpp"

namespace dist::harness {

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

}  // namespace dist::harness
