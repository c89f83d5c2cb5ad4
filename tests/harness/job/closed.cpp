#include "tests/harness/job/closed.hpp"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "course/protocol/protocol.hpp"
#include "tests/harness/job/early.hpp"

#if __has_include(<linux/landlock.h>)
#include <linux/landlock.h>

namespace dist::harness {
namespace {

// All that changes a file system; the last two only newer kernels know.
constexpr std::uint64_t kWrites = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                                  LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                                  LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                                  LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
                                  LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM;
constexpr std::uint64_t kRefer = 1U << 13U;     // to another folder; from version 2
constexpr std::uint64_t kTruncate = 1U << 14U;  // from version 3

void allow_below(int rules, std::uint64_t writes, const char* folder) {
    landlock_path_beneath_attr beneath{};
    beneath.allowed_access = writes;
    beneath.parent_fd = open(folder, O_PATH | O_CLOEXEC);
    if (beneath.parent_fd >= 0) {
        syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0);
        close(beneath.parent_fd);
    }
}

void refuse_writes() {
    const long version =
        syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version < 1) {
        return;
    }
    const std::uint64_t writes =
        kWrites | (version >= 2 ? kRefer : 0) | (version >= 3 ? kTruncate : 0);
    landlock_ruleset_attr ruleset{};
    ruleset.handled_access_fs = writes;
    const int rules = static_cast<int>(
        syscall(SYS_landlock_create_ruleset, &ruleset, sizeof ruleset.handled_access_fs, 0)
    );
    if (rules < 0) {
        return;
    }
    for (const char* const folder : {".", "/tmp", "/dev"}) {
        allow_below(rules, writes, folder);
    }
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    syscall(SYS_landlock_restrict_self, rules, 0);
    close(rules);
}

}  // namespace
}  // namespace dist::harness

#else

namespace dist::harness {
namespace {
void refuse_writes() {}
}  // namespace
}  // namespace dist::harness

#endif

namespace dist::harness {
namespace {

bool is_set(const char* value) {
    return value != nullptr && std::strcmp(value, "1") == 0;
}

// What watches over a rank, and what all ranks were forked from, hold the secret: no rank may look at their memory.
SHARDLINGS_BEFORE_EVERYTHING void hide_memory(int /*argc*/, char** /*argv*/, char** environment) {
    if (is_set(early_value(environment, kEnvClosed))) {
        prctl(PR_SET_DUMPABLE, 0);
    }
}

SHARDLINGS_EARLY const Early kHideMemory = &hide_memory;

}  // namespace

void close_files_if_asked() {
    if (is_set(std::getenv(kEnvClosed))) {
        refuse_writes();
    }
}

}  // namespace dist::harness
