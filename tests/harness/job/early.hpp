// What happens before the constructor of any object of the program, those of the code under test among them, has run.
// The sanitizers are not ready then.
#pragma once

#include <cstddef>
#include <cstring>

#if defined(__SANITIZE_ADDRESS__)
#define SHARDLINGS_BEFORE_EVERYTHING __attribute__((no_sanitize("address", "undefined")))
#else
#define SHARDLINGS_BEFORE_EVERYTHING
#endif

/// Before an Early: it is called then.
#define SHARDLINGS_EARLY __attribute__((section(".preinit_array"), used))

namespace dist::harness {

using Early = void (*)(int argc, char** argv, char** environment);

/// As getenv(), which is not ready either; nullptr if it is not set.
SHARDLINGS_BEFORE_EVERYTHING inline const char* early_value(char** environment, const char* name) {
    const std::size_t length = std::strlen(name);
    for (; *environment != nullptr; ++environment) {
        if (std::strncmp(*environment, name, length) == 0 && (*environment)[length] == '=') {
            return *environment + length + 1;
        }
    }
    return nullptr;
}

}  // namespace dist::harness
