// Exercise 06: messages travel while backward goes on computing.
#pragma once

#include <functional>
#include <future>
#include <memory>

#include "course/runtime/error.hpp"
#include "exercises/06_ddp/autograd_hooks.hpp"

namespace dist {

/// A thread that does the work it is given: one after the other, in the order in which it was given. All of its
/// work runs on that one thread.
class CommThread {
  public:
    /// Starts the thread. While it waits for work, it uses no processor.
    CommThread();

    /// Returns when all the work that was submitted is done, and the thread has ended.
    ~CommThread();
    CommThread(const CommThread&) = delete;
    CommThread& operator=(const CommThread&) = delete;
    CommThread(CommThread&&) = delete;
    CommThread& operator=(CommThread&&) = delete;

    /// Gives the thread work, and returns at once, however much is waiting. Work is destroyed, with what it holds,
    /// when it is done and its future has been asked, or a moment later.
    ///
    /// Returns  a future that waits for this work's end, and throws whatever it has thrown. A future that is
    ///          destroyed unasked does not wait.
    std::future<void> submit(std::function<void()> work);

  private:
    struct State;  // yours: in your .cpp
    std::unique_ptr<State> state_;
};

/// A hook that calls `hook` on a thread of its own: the bucket travels while the caller computes on.
///
/// thread  outlives the hook. Nobody else uses it meanwhile.
/// hook    is called on the thread, which also waits for the future that it returns. It needs a communicator that
///         nobody else uses at the same time, Communicator::dup(): so the ranks may use the first one while
///         buckets are under way.
///
/// Cost    a call returns before `hook` sends anything. Its future is ready when hook's is.
/// Errors  of a call: none. What `hook` and its future throw comes out of the future.
/// Source  Li et al. (2020), "PyTorch Distributed", section 3.2.3, "Overlap Computation with
///         Communication"; MPI 3.1 standard, section 12.4, MPI_THREAD_MULTIPLE.
CommHook overlapped_hook(CommThread& thread, CommHook hook);

}  // namespace dist
