// Exercise 06: messages travel while backward goes on computing.
#pragma once

#include <functional>
#include <future>
#include <memory>

#include "course/runtime/error.hpp"
#include "exercises/06_ddp/autograd_hooks.hpp"

namespace dist {

/// A thread of its own for messages: it does what it is given, one after the other, in the order in
/// which it was given. Calls of one CommThread come from one thread.
class CommThread {
  public:
    /// Starts the thread, which waits for work without using the processor.
    CommThread();

    /// Returns when all the work that was submitted is done, and the thread has ended.
    ~CommThread();
    CommThread(const CommThread&) = delete;
    CommThread& operator=(const CommThread&) = delete;
    CommThread(CommThread&&) = delete;
    CommThread& operator=(CommThread&&) = delete;

    /// Gives the thread work, and returns at once.
    ///
    /// Returns  what waits for this work's end, and throws what it has thrown. A future that is
    ///          destroyed unasked does not wait.
    std::future<void> submit(std::function<void()> work);

  private:
    struct State;  // yours: in your .cpp
    std::unique_ptr<State> state_;
};

/// A hook whose work is done by a thread of its own: what it is called for travels while the caller
/// computes on.
///
/// thread  outlives the hook, and is used by nobody else meanwhile.
/// hook    is called on the thread, and what it returns is waited for there. Its messages need a
///         communicator that nobody else uses at the same time, Communicator::dup(): the ranks may then
///         use the first one while buckets are under way.
///
/// Cost    a call returns before `hook` sends anything; the future is there when hook's is.
/// Errors  of a call: none; what `hook` and its future throw comes out of the future.
/// Source  Li et al. (2020), "PyTorch Distributed", section 3.2.3, "Overlap Computation with
///         Communication"; MPI 3.1 standard, section 12.4, MPI_THREAD_MULTIPLE.
CommHook overlapped_hook(CommThread& thread, CommHook hook);

}  // namespace dist
