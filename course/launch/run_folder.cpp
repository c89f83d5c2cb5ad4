#include "course/launch/run_folder.hpp"

#include <atomic>
#include <fmt/format.h>
#include <system_error>
#include <unistd.h>

#include "course/process/orphans.hpp"
#include "course/process/room.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "shardlings-";

}  // namespace

fs::path run_folders(const Context& context) {
    return context.build_folder() / "runs";
}

RunFolder::RunFolder(const Context& context, bool keep) : keep_(keep) {
    static std::atomic<int> number = 0;
    const fs::path all = run_folders(context);
    remove_orphans(all, "");
    remove_orphans(kSharedMemory, kPrefix);
    const std::string name = fmt::format("{}-{}", getpid(), ++number);
    path_ = all / ((keep ? "kept-" : "") + name);
    fs::remove_all(path_);
    fs::create_directories(path_);
    std::error_code refused;
    const fs::path shared = fs::path(kSharedMemory) / (kPrefix + name);
    if (fs::create_directory(shared, refused)) {
        shared_ = shared;
    }
}

RunFolder::~RunFolder() {
    std::error_code ignored;
    if (!shared_.empty()) {
        fs::remove_all(shared_, ignored);
    }
    if (keep_) {
        fmt::print(stderr, "  kept: {}\n", path_.string());
    } else {
        fs::remove_all(path_, ignored);
    }
}

}  // namespace dist::cli
