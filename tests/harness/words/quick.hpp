// Calls that compute a few numbers, however large their arguments are.
#pragma once

#include <ctime>
#include <functional>
#include <string>

#include "tests/harness/words/compare.hpp"

namespace dist::harness {

/// Whether `call` takes a few operations: a loop over what `argument` names, 10^8 or more, takes at least a quarter
/// of a second of the processor's time. Where it does not, a thousand calls take less.
inline Comparison takes_a_few_operations(
    const std::string& argument, const std::function<void()>& call
) {
    const std::clock_t begin = std::clock();
    double cpu_s = 0;
    int calls = 0;
    while (calls < 1000 && cpu_s < 0.25) {
        call();
        ++calls;
        cpu_s = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    }
    return {
        calls == 1000, std::to_string(calls) + " calls took " + std::to_string(cpu_s) +
                           " s of the processor's time: as if each went through all of " +
                           argument};
}

}  // namespace dist::harness
