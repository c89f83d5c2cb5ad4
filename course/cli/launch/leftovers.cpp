#include "course/cli/launch/leftovers.hpp"

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sys/wait.h>
#include <system_error>

#include "course/protocol/protocol.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kMostScans = 100;  // each ends what was started during the one before

}  // namespace

Leftovers::Leftovers(const fs::path& folder)
    : mark_(std::string(harness::kEnvFolder) + "=" + folder.string() + '\0') {}

Leftovers::~Leftovers() {
    for (int i = 0; i < kMostScans && end_all(); ++i) {
    }
}

bool Leftovers::belongs(const fs::path& process) const {
    std::ifstream file(process / "environ");
    const std::string environment{std::istreambuf_iterator<char>(file), {}};
    return environment.find(mark_) != std::string::npos;
}

// Whether there was any.
bool Leftovers::end_all() const {
    bool any = false;
    std::error_code gone;
    for (const auto& process : fs::directory_iterator("/proc", gone)) {
        const int pid = std::atoi(process.path().filename().c_str());
        if (pid > 0 && belongs(process.path())) {
            any = true;
            kill(pid, SIGKILL);
            waitpid(pid, nullptr, 0);  // an orphan is our child
        }
    }
    return any;
}

}  // namespace dist::cli
