// The board of a run, for whoever takes part in it: a rank, its watcher, its proxy.
#pragma once

#include <fcntl.h>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

#include "course/protocol/protocol.hpp"

namespace dist::harness {

/// Maps the file "board" of the run folder; the launcher made it.
/// Errors  std::runtime_error
inline Board& map_board(const std::string& folder) {
    const std::string file = folder + "/board";
    const int descriptor = open(file.c_str(), O_RDWR | O_CLOEXEC);
    void* memory =
        descriptor < 0
            ? MAP_FAILED
            : mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (memory == MAP_FAILED) {
        throw std::runtime_error("cannot map " + file);
    }
    close(descriptor);
    return *static_cast<Board*>(memory);
}

}  // namespace dist::harness
