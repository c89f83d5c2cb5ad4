#include "course/process/session_folder.hpp"

#include <cstdlib>
#include <fmt/format.h>
#include <string>
#include <system_error>
#include <unistd.h>

#include "course/process/orphans.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSessionPrefix = "shardlings-mpi-";

}  // namespace

fs::path session_base() {
    for (const char* variable : {"TMPDIR", "TEMP", "TMP"}) {
        if (const char* folder = std::getenv(variable); folder != nullptr && *folder != '\0') {
            return folder;
        }
    }
    return "/tmp";
}

SessionFolder::SessionFolder() {
    const fs::path base = session_base();
    remove_orphans(base, kSessionPrefix);
    std::string name = base / fmt::format("{}{}-XXXXXX", kSessionPrefix, getpid());
    if (mkdtemp(name.data()) != nullptr) {
        path_ = name;
    }
}

SessionFolder::~SessionFolder() {
    std::error_code ignored;
    if (!path_.empty()) {
        fs::remove_all(path_, ignored);
    }
}

void SessionFolder::add_to(Environment& environment) const {
    if (!path_.empty()) {
        environment.emplace_back("OMPI_MCA_orte_tmpdir_base", path_.string());  // Open MPI 4
        environment.emplace_back("PRTE_MCA_prte_tmpdir_base", path_.string());  // 5
    }
}

}  // namespace dist::cli
