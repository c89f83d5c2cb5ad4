// What commands that were killed have left.
#pragma once

#include <filesystem>
#include <string>

namespace dist::cli {

/// Removes from `all` the folders whose names are `prefix`, a number and perhaps more, where no process has that
/// number any more.
void remove_orphans(const std::filesystem::path& all, const std::string& prefix = "");

}  // namespace dist::cli
