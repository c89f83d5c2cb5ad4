#include "tests/harness/job/shared_folder.hpp"

#include <fcntl.h>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <utility>

namespace dist::harness {
namespace {

namespace fs = std::filesystem;

class File {
  public:
    File(const fs::path& path, int flags) : descriptor_(open(path.c_str(), flags | O_CLOEXEC)) {
        if (descriptor_ < 0) {
            throw std::runtime_error("cannot open " + path.string());
        }
    }
    ~File() { close(descriptor_); }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    [[nodiscard]] int descriptor() const { return descriptor_; }

  private:
    int descriptor_;
};

}  // namespace

SharedFolder::SharedFolder(fs::path folder) : folder_(std::move(folder)) {
    for (const auto& entry : fs::directory_iterator(folder_)) {
        const File file(entry.path(), O_RDONLY);
        std::vector<Piece>& pieces = files_[entry.path()];
        off_t end = 0;
        for (off_t begin = lseek(file.descriptor(), 0, SEEK_DATA); begin >= 0;
             begin = lseek(file.descriptor(), end, SEEK_DATA)) {
            end = lseek(file.descriptor(), begin, SEEK_HOLE);
            Piece& piece = pieces.emplace_back(Piece{
                begin, std::vector<char>(static_cast<std::size_t>(end - begin))});
            if (pread(file.descriptor(), piece.bytes.data(), piece.bytes.size(), begin) !=
                end - begin) {
                throw std::runtime_error("cannot read " + entry.path().string());
            }
        }
    }
}

void SharedFolder::put_back() const {
    for (const auto& entry : fs::directory_iterator(folder_)) {
        if (!files_.contains(entry.path())) {
            fs::remove_all(entry.path());
        }
    }
    for (const auto& [path, pieces] : files_) {
        const File file(path, O_RDWR);
        const auto size = static_cast<off_t>(fs::file_size(path));
        bool done =
            fallocate(file.descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, size) == 0;
        for (const Piece& piece : pieces) {
            const auto length = static_cast<ssize_t>(piece.bytes.size());
            done = done &&
                   pwrite(file.descriptor(), piece.bytes.data(), piece.bytes.size(), piece.begin) ==
                       length;
        }
        if (!done) {
            throw std::runtime_error("cannot put back " + path.string());
        }
    }
}

}  // namespace dist::harness
