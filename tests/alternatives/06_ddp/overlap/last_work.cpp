// A semaphore counts what is in the queue, and the last work of all is none: it ends the thread.
#include <list>
#include <mutex>
#include <semaphore>
#include <thread>
#include <utility>

#include "exercises/06_ddp/overlap.hpp"

namespace dist {

using Task = std::packaged_task<void()>;

struct CommThread::State {
    std::mutex lock;
    std::counting_semaphore<> there{0};
    std::list<Task> tasks;
    std::thread thread;

    void add(Task task) {
        {
            const std::scoped_lock guard(lock);
            tasks.push_back(std::move(task));
        }
        there.release();
    }

    Task next() {
        there.acquire();
        const std::scoped_lock guard(lock);
        Task task = std::move(tasks.front());
        tasks.pop_front();
        return task;
    }
};

CommThread::CommThread() : state_(std::make_unique<State>()) {
    state_->thread = std::thread([&state = *state_] {
        for (Task task = state.next(); task.valid(); task = state.next()) {
            task();
            task = {};  // what it holds is gone before the next one comes
        }
    });
}

CommThread::~CommThread() {
    state_->add({});
    state_->thread.join();
}

std::future<void> CommThread::submit(std::function<void()> work) {
    Task task(std::move(work));
    std::future<void> done = task.get_future();
    state_->add(std::move(task));
    return done;
}

CommHook overlapped_hook(CommThread& thread, CommHook hook) {
    return [&thread, hook = std::move(hook)](at::Tensor flat) {
        return thread.submit([hook, flat = std::move(flat)] {
            std::future<void> done = hook(flat);
            if (done.valid()) {
                done.get();
            }
        });
    };
}

}  // namespace dist
