// A file that somebody edits.
#pragma once

#include <filesystem>
#include <system_error>
#include <utility>

namespace dist::cli {

/// Notices that a file was saved. Editors replace files: one that is gone for a moment has not
/// changed.
class SavedFile {
  public:
    explicit SavedFile(std::filesystem::path file) : file_(std::move(file)) { saved(); }

    /// Whether it was saved since this was asked last.
    bool saved() {
        std::error_code gone;
        const std::filesystem::file_time_type time = std::filesystem::last_write_time(file_, gone);
        if (gone || time == time_) {
            return false;
        }
        time_ = time;
        return true;
    }

  private:
    std::filesystem::path file_;
    std::filesystem::file_time_type time_;
};

}  // namespace dist::cli
