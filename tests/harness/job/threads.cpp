// The threads that the code under test starts: pthread_create and pthread_join are taken over, so that
// Note [Rounds] knows what came before what, and memory_of() whose allocations count.

#include <algorithm>
#include <cstdint>
#include <dlfcn.h>
#include <list>
#include <map>
#include <mutex>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

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

/// The stack of a thread that runs code under test: from its end to where that code begins.
struct Stack {
    char* end;
    std::size_t bytes;
};

std::list<Stack>& stacks() {
    static std::list<Stack> all;
    return all;
}

/// While it lives, what the calling thread touches of its stack counts.
class CountedStack {
  public:
    CountedStack() {
        const Uncounted harness;
        pthread_attr_t attributes;
        void* end = nullptr;
        std::size_t size = 0;
        pthread_getattr_np(pthread_self(), &attributes);
        pthread_attr_getstack(&attributes, &end, &size);
        pthread_attr_destroy(&attributes);
        constexpr std::size_t kSmall = 64 << 10;  // every call needs some
        const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
        const auto here = reinterpret_cast<std::uintptr_t>(&attributes) & ~(page - 1);
        const auto bytes = static_cast<std::size_t>(here - reinterpret_cast<std::uintptr_t>(end));
        const Stack stack = {static_cast<char*>(end), bytes > kSmall ? bytes - kSmall : 0};
        madvise(stack.end, stack.bytes, MADV_DONTNEED);  // another thread had it before
        const std::scoped_lock guard(lock);
        place_ = stacks().insert(stacks().end(), stack);
    }
    ~CountedStack() {
        count_stacks();
        const Uncounted harness;
        const std::scoped_lock guard(lock);
        stacks().erase(place_);
    }
    CountedStack(const CountedStack&) = delete;
    CountedStack& operator=(const CountedStack&) = delete;

  private:
    std::list<Stack>::iterator place_;
};

void* run_thread(void* argument) {
    Start start{};
    {
        const Uncounted harness;
        auto* given = static_cast<Start*>(argument);
        start = *given;
        delete given;
        begin_thread(start.number);
    }
    const CountedStack stack;
    count_this_thread();
    return start.function(start.argument);
}

std::mutex& lock_of_threads() {
    return lock;
}

}  // namespace

long stack_bytes() {
    const Uncounted harness;
    const std::scoped_lock guard(lock);
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    long touched = 0;
    for (const Stack& stack : stacks()) {
        std::vector<unsigned char> pages(stack.bytes / page);
        if (mincore(stack.end, pages.size() * page, pages.data()) == 0) {
            touched += std::ranges::count_if(pages, [](unsigned char state) { return state & 1; });
        }
    }
    return touched * static_cast<long>(page);
}

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
