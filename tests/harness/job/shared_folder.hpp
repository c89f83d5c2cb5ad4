// The files through which Open MPI's processes pass messages: as they were at some moment, to be put back later.
#pragma once

#include <filesystem>
#include <map>
#include <vector>

namespace dist::harness {

/// What is in a folder of files that processes map. Holes in them stay holes: most of a segment is never touched.
class SharedFolder {
  public:
    /// Reads all of it, while nobody writes.
    /// Errors  std::runtime_error
    explicit SharedFolder(std::filesystem::path folder);
    /// The folder holds again what it held then, and nothing else. Who maps a file sees that.
    /// Errors  std::runtime_error
    void put_back() const;

  private:
    struct Piece {
        long begin;
        std::vector<char> bytes;
    };
    std::filesystem::path folder_;
    std::map<std::filesystem::path, std::vector<Piece>> files_;
};

}  // namespace dist::harness
