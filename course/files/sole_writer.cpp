#include "course/files/sole_writer.hpp"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <stdexcept>
#include <string>
#include <system_error>
#include <unistd.h>
#include <vector>

#include "course/files/atomic_file.hpp"

namespace dist::files {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWriter = ".writer-";
constexpr const char* kGone = ".gone";

fs::path make_folder(const fs::path& path) {
    std::string name = path.string() + kWriter + "XXXXXX";
    if (mkdtemp(name.data()) == nullptr) {
        throw std::system_error(errno, std::generic_category(), "cannot write " + path.string());
    }
    return name;
}

/// The folders of all writers of the file but this one.
std::vector<fs::path> folders_of_others(const fs::path& path, const fs::path& mine) {
    std::vector<fs::path> others;
    const std::string begin = path.filename().string() + kWriter;
    for (const auto& entry : fs::directory_iterator(mine.parent_path())) {
        if (entry.path().filename().string().starts_with(begin) &&
            entry.path().filename() != mine.filename()) {
            others.push_back(entry.path());
        }
    }
    return others;
}

/// Its owner finds nothing any more where it was. What is in it, perhaps open still, does not matter.
void take_away(const fs::path& folder) {
    const fs::path gone = folder.string() + kGone;
    std::error_code why;
    if (folder.extension() != kGone) {
        fs::rename(folder, gone, why);
        if (why && why != std::errc::no_such_file_or_directory) {
            throw fs::filesystem_error("cannot take over", folder, why);
        }
    }
    fs::remove_all(folder.extension() == kGone ? folder : gone, why);
}

}  // namespace

SoleWriter::SoleWriter(const fs::path& path)
    : path_(fs::absolute(path)), folder_(make_folder(path_)) {
    // Its own folder is there before it looks for others: of two that do so, one at least sees the other.
    for (const fs::path& other : folders_of_others(path_, folder_)) {
        take_away(other);
    }
}

SoleWriter::~SoleWriter() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
}

void SoleWriter::write(std::string_view bytes) {
    const fs::path made = folder_ / path_.filename();
    try {
        write_atomically(made, bytes);
        fs::rename(made, path_);
    } catch (const std::system_error&) {
        if (std::error_code ignored; !fs::exists(folder_, ignored)) {
            throw std::runtime_error(
                path_.string() + ": another run has gone on from it, and writes it now"
            );
        }
        throw;
    }
    if (const int folder = open(path_.parent_path().c_str(), O_RDONLY | O_CLOEXEC); folder >= 0) {
        static_cast<void>(fsync(folder));  // the new name, too, is to survive a power cut
        close(folder);
    }
}

}  // namespace dist::files
