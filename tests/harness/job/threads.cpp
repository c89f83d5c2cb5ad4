// The threads that the code under test starts: pthread_create and pthread_join are taken over, so that
// Note [Rounds] knows what came before what, and memory_of() whose allocations count.

#include <dlfcn.h>
#include <map>
#include <mutex>
#include <pthread.h>

#include "tests/harness/job/memory.hpp"
#include "tests/harness/job/over_fork.hpp"
#include "tests/harness/mpi/traffic.hpp"
#include "tests/harness/roll_call/roll_call.hpp"

namespace dist::harness {
namespace {

struct Start {
    void* (*function)(void*);
    void* argument;
    int number;
};

std::mutex lock;
std::map<pthread_t, int>& numbers() {
    static std::map<pthread_t, int> all;  // threads may be started before main()
    return all;
}

void* run_thread(void* argument) {
    Start start{};
    {
        const Uncounted harness;
        auto* given = static_cast<Start*>(argument);
        start = *given;
        delete given;
        begin_thread(start.number);
    }
    count_this_thread();
    return start.function(start.argument);
}

std::mutex& lock_of_threads() {
    return lock;
}

}  // namespace

void keep_threads_over_fork() {
    keep_over_fork<lock_of_threads>();
}
}  // namespace dist::harness

extern "C" int pthread_create(
    pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*), void* argument
) noexcept {
    using namespace dist::harness;
    static const auto real =
        reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
    if (!guarded()) {
        return real(thread, attributes, function, argument);
    }
    const Uncounted harness;
    // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): without memory for it the test is over anyway
    auto* start = new Start{function, argument, start_thread()};
    const int number = start->number;
    const int code = real(thread, attributes, run_thread, start);
    if (code != 0) {
        delete start;
        return code;
    }
    const std::scoped_lock guard(lock);
    numbers()[*thread] = number;
    return code;
}

extern "C" int pthread_join(pthread_t thread, void** result) {
    using namespace dist::harness;
    static const auto real =
        reinterpret_cast<decltype(&pthread_join)>(dlsym(RTLD_NEXT, "pthread_join"));
    const int code = real(thread, result);
    if (code == 0 && guarded()) {
        const Uncounted harness;
        const std::scoped_lock guard(lock);
        if (const auto found = numbers().find(thread); found != numbers().end()) {
            join_thread(found->second);
            numbers().erase(found);
        }
    }
    return code;
}
