// Where an exception comes from: its stack is gone when it is caught. Every throw of the test's program
// passes here on its way to the C++ runtime.

#include <cstdlib>
#include <cxxabi.h>
#include <dlfcn.h>
#include <typeinfo>

#include "tests/harness/job/crash.hpp"
#include "tests/harness/roll_call/roll_call.hpp"

namespace dist::harness {
namespace {

Frames& frames_of_throw() {
    thread_local Frames frames{};
    return frames;
}

}  // namespace

const Frames& last_throw() {
    return frames_of_throw();
}

}  // namespace dist::harness

// The runtime's own function, found behind this one.
extern "C" void __cxxabiv1::__cxa_throw(
    void* object, std::type_info* type, void (*destroy)(void*)
) {
    using namespace dist::harness;
    using Throw = void (*)(void*, std::type_info*, void (*)(void*));
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): what dlsym gives
    static const auto runtimes_own = reinterpret_cast<Throw>(dlsym(RTLD_NEXT, "__cxa_throw"));
    if (guarded() && *type != typeid(Stopped)) {  // where that leaves from is on the board
        capture_frames(frames_of_throw());
    }
    runtimes_own(object, type, destroy);
    std::abort();  // it does not return
}
