#include "exercises/06_ddp/overlap.hpp"

#include <condition_variable>
#include <mutex>
#include <queue>
#include <thread>
#include <utility>

namespace dist {

struct CommThread::State {
    std::mutex lock;
    std::condition_variable there_is_news;
    std::queue<std::packaged_task<void()>> work;
    bool is_over = false;
    std::thread thread;

    void run();
};

void CommThread::State::run() {
    for (;;) {
        std::unique_lock guard(lock);
        there_is_news.wait(guard, [this] { return is_over || !work.empty(); });
        if (work.empty()) {
            return;
        }
        auto task = std::move(work.front());
        work.pop();
        guard.unlock();  // while it runs, more can be submitted
        task();          // what it throws goes into its future
    }
}

CommThread::CommThread() : state_(new State) {
    state_->thread = std::thread([state = state_.get()] { state->run(); });
}

CommThread::~CommThread() {
    {
        const std::scoped_lock guard(state_->lock);
        state_->is_over = true;
    }
    state_->there_is_news.notify_one();
    state_->thread.join();
}

std::future<void> CommThread::submit(std::function<void()> work) {
    std::packaged_task<void()> task(std::move(work));
    std::future<void> done = task.get_future();
    {
        const std::scoped_lock guard(state_->lock);
        state_->work.push(std::move(task));
    }
    state_->there_is_news.notify_one();
    return done;
}

CommHook overlapped_hook(CommThread& thread, CommHook hook) {
    return [&thread, hook = std::move(hook)](const at::Tensor& flat) {
        return thread.submit([hook, flat] { hook(flat).get(); });
    };
}

}  // namespace dist
