// std::jthread: its stop token ends the wait, its destructor asks for the end and joins. The futures are
// those of promises, and the hook's own future is waited for by a second piece of work.
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "exercises/06_ddp/overlap.hpp"

namespace dist {

namespace {

struct Work {
    std::function<void()> call;
    std::promise<void> done;

    void run() {
        try {
            call();
            done.set_value();
        } catch (...) {
            done.set_exception(std::current_exception());
        }
    }
};

}  // namespace

struct CommThread::State {
    std::mutex lock;
    std::condition_variable_any not_empty;
    std::deque<Work> queue;
    std::jthread thread{[this](const std::stop_token& stop) { run(stop); }};

    void run(const std::stop_token& stop) {
        std::unique_lock guard(lock);
        // false where it is the end, and nothing is left
        while (not_empty.wait(guard, stop, [this] { return !queue.empty(); })) {
            std::deque<Work> taken = std::exchange(queue, {});
            guard.unlock();
            for (Work& work : taken) {
                work.run();
            }
            guard.lock();
        }
    }
};

CommThread::CommThread() : state_(std::make_unique<State>()) {}

CommThread::~CommThread() = default;

std::future<void> CommThread::submit(std::function<void()> work) {
    const std::scoped_lock guard(state_->lock);
    Work& last = state_->queue.emplace_back(Work{std::move(work), {}});
    state_->not_empty.notify_all();
    return last.done.get_future();
}

CommHook overlapped_hook(CommThread& thread, CommHook hook) {
    auto shared = std::make_shared<CommHook>(std::move(hook));
    return [&thread, shared](const at::Tensor& flat) {
        auto under_way = std::make_shared<std::future<void>>();
        auto called =
            std::make_shared<std::future<void>>(thread.submit([=] { *under_way = (*shared)(flat); })
            );
        return thread.submit([=] {
            called->get();
            under_way->get();
        });
    };
}

}  // namespace dist
