#include "course/cli/launch/run_folder.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fmt/format.h>
#include <system_error>
#include <unistd.h>

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

/// Those whose number is of no process any more.
void remove_orphans(const fs::path& all) {
    std::error_code ignored;
    for (const auto& folder : fs::directory_iterator(all, ignored)) {
        const int pid = std::atoi(folder.path().filename().c_str());
        if (pid > 0 && kill(pid, 0) != 0 && errno == ESRCH) {
            fs::remove_all(folder.path(), ignored);
        }
    }
}

}  // namespace

fs::path run_folders(const Context& context) {
    return context.build_folder() / "runs";
}

RunFolder::RunFolder(const Context& context, bool keep) : keep_(keep) {
    static std::atomic<int> number = 0;
    const fs::path all = run_folders(context);
    remove_orphans(all);
    path_ = all / fmt::format("{}{}-{}", keep ? "kept-" : "", getpid(), ++number);
    fs::remove_all(path_);
    fs::create_directories(path_);
}

RunFolder::~RunFolder() {
    std::error_code ignored;
    if (keep_) {
        fmt::print(stderr, "  kept: {}\n", path_.string());
    } else {
        fs::remove_all(path_, ignored);
    }
}

}  // namespace dist::cli
