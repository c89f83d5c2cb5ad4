// Calls that compute a few numbers, however large their arguments are.
#pragma once

#include <ctime>
#include <functional>
#include <string>

#include "tests/harness/words/compare.hpp"

namespace dist::harness {

/// Whether `wanted` calls take less than a quarter of a second of the processor's time. A call that goes through all
/// of what `argument` names, which has to be 10^9 or more, takes longer alone.
inline Comparison takes_a_few_operations(
    const std::string& argument, const std::function<void()>& call, int wanted = 1000
) {
    const std::clock_t begin = std::clock();
    double cpu_s = 0;
    int calls = 0;
    while (calls < wanted && cpu_s < 0.25) {
        call();
        ++calls;
        cpu_s = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    }
    return {
        calls == wanted, std::to_string(calls) + " calls took " + std::to_string(cpu_s) +
                             " s of the processor's time: as if each went through all of " +
                             argument};
}

}  // namespace dist::harness
