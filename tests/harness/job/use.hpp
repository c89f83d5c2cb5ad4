// What a process takes of the machine, as the kernel tells it.
#pragma once

#include <sys/types.h>

namespace dist::harness {

struct Use {
    double cpu_s = 0;
    bool asleep = false;  // its main thread waits, or is stopped, but not for a core or a debugger
};
Use use_of(pid_t pid);

/// The number in this variable of the environment.
double number_from(const char* variable, double otherwise);

/// The seconds that a rank may compute without progress; it may sleep for twice as long.
double most_computing_s();

}  // namespace dist::harness
