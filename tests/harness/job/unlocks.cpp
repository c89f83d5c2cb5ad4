// Mutexes that the code under test unlocks: pthread_mutex_unlock is taken over, for Interleaved.

#include <atomic>
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include "tests/harness/words/interleaved.hpp"

namespace dist::harness {
namespace {

std::atomic<int> interleaved_tests = 0;

}  // namespace

Interleaved::Interleaved() {
    ++interleaved_tests;
}
Interleaved::~Interleaved() {
    --interleaved_tests;
}

}  // namespace dist::harness

extern "C" int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
    static const auto real =
        reinterpret_cast<decltype(&pthread_mutex_unlock)>(dlsym(RTLD_NEXT, "pthread_mutex_unlock"));
    const int code = real(mutex);
    if (dist::harness::interleaved_tests > 0) {
        usleep(100);
    }
    return code;
}
