// syscall() for code under test. The C++ library needs one of them by this function, futex, for std::atomic's wait;
// nobody needs another; Landlock's take rights away from their caller alone. Those of libraries go their way: they are told by where the call comes from.
#include <cerrno>
#include <cstdarg>
#include <dlfcn.h>
#include <string>
#include <sys/syscall.h>

#include "tests/harness/job/runs.hpp"

// The linker's: where the program's own code begins and ends.
extern "C" const char
    __executable_start;       // NOLINT(readability-identifier-naming,bugprone-reserved-identifier)
extern "C" const char etext;  // NOLINT(readability-identifier-naming)

extern "C" long syscall(long number, ...) noexcept {
    using System = long (*)(long, long, long, long, long, long, long);
    static const auto system = reinterpret_cast<System>(dlsym(RTLD_NEXT, "syscall"));
    const auto* const caller = static_cast<const char*>(__builtin_return_address(0));
    const bool own = caller >= &__executable_start && caller < &etext;
    const bool harmless =
        number == SYS_futex || number == SYS_gettid ||
        (number >= SYS_landlock_create_ruleset && number <= SYS_landlock_restrict_self);
    if (own && !harmless) {
        dist::harness::worsen(
            dist::harness::Outcome::forbidden,
            "system call " + std::to_string(number) +
                " by syscall(): no exercise needs the kernel itself"
        );
        errno = EPERM;
        return -1;
    }
    std::va_list rest;
    va_start(rest, number);
    long argument[6];
    for (long& one : argument) {
        one = va_arg(rest, long);
    }
    va_end(rest);
    return system(
        number, argument[0], argument[1], argument[2], argument[3], argument[4], argument[5]
    );
}
