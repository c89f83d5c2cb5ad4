// Between the command and every program that it starts stands a keeper: a process whose only work is
// that nothing outlives the program. What a process leaves behind falls to the next keeper above it,
// whatever environment, session or group it gave itself; so it is found by descent, and by nothing that
// it could change.
//
// What this cannot hold off, since it all belongs to one user: kill(-1, SIGKILL), and a loop that ends
// its parent until it has climbed to the command itself. Code that is hostile needs a user, or a
// container, of its own.
#pragma once

#include <functional>
#include <sys/types.h>

namespace dist::cli {

/// What a keeper says when all has ended.
struct Kept {
    int status = 0;  // as waitpid gives it; negative: there was no fork
    int left = 0;    // processes that outlived the program, were not known, and were ended
};

/// Whether a process is one of the caller's own, which may outlive the program.
using IsKnown = std::function<bool(pid_t)>;

/// Forks a keeper. It turns a process of its own group into the program by `become`, waits until that
/// has ended, gives what is left four seconds to end by itself, ends it, writes a Kept to `report`, and exits. SIGTERM to the keeper, or the
/// end of this process, ends the program: kindly, then not. SIGUSR1 ends it at once. Returns -1 where there is no fork.
/// Known processes, and their parents, are ended as others are, and not counted.
pid_t fork_keeper(
    const std::function<void()>& become, int report, const IsKnown& is_known = nullptr
);

/// To be called when a keeper has ended. Where somebody killed it, what it kept has fallen to this
/// process, and is ended.
void keeper_ended(pid_t keeper, bool was_killed);

}  // namespace dist::cli
