// What a process takes of the machine, as the kernel tells it.
#pragma once

#include <sys/types.h>

namespace dist::harness {

struct Use {
    double cpu_s = 0;
    bool asleep = false;  // its main thread waits, or is stopped, but not for a core or a debugger
};
Use use_of(pid_t pid);

/// What all threads of a process do: it has done nothing between two looks if both are equal, and it is asleep.
struct Rest {
    bool asleep = false;  // each thread waits, or is stopped, but not for a core or a debugger
    long naps = 0;        // how often they have fallen asleep
    bool operator==(const Rest&) const = default;
};
Rest rest_of(pid_t pid);

/// The number in this variable of the environment.
double number_from(const char* variable, double otherwise);

/// The seconds that a rank may compute without progress; it may sleep for twice as long.
double most_computing_s();

}  // namespace dist::harness
