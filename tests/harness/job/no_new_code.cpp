// No code is changed, and none made: not that of the checks, and none that calls the kernel. The kernel refuses memory that
// can be written and executed, and memory that becomes executable. Libraries may be loaded: Open MPI loads some late.
#include <sys/prctl.h>

#include "course/protocol/protocol.hpp"
#include "tests/harness/job/early.hpp"

namespace dist::harness {
namespace {

// from Linux 6.3; an older kernel knows no such call, and refuses nothing
constexpr int kSetMemoryDenyWriteExecute = 65;
constexpr unsigned long kRefuseExecGain = 1;

SHARDLINGS_BEFORE_EVERYTHING void refuse_new_code(
    int /*argc*/, char** /*argv*/, char** environment
) {
    const char* const asked = early_value(environment, kEnvNoNewCode);
    if (asked != nullptr && *asked == '1') {
        prctl(kSetMemoryDenyWriteExecute, kRefuseExecGain, 0UL, 0UL, 0UL);
    }
}

SHARDLINGS_EARLY const Early kRefuseNewCode = &refuse_new_code;

}  // namespace
}  // namespace dist::harness
