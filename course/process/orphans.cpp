#include "course/process/orphans.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <system_error>

namespace dist::cli {

namespace fs = std::filesystem;

void remove_orphans(const fs::path& all, const std::string& prefix) {
    std::error_code ignored;
    for (const auto& folder : fs::directory_iterator(all, ignored)) {
        const std::string name = folder.path().filename().string();
        const int pid = name.starts_with(prefix) ? std::atoi(name.c_str() + prefix.size()) : 0;
        if (pid > 0 && kill(pid, 0) != 0 && errno == ESRCH) {
            fs::remove_all(folder.path(), ignored);
        }
    }
}

}  // namespace dist::cli
