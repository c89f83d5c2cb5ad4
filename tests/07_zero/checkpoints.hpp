// Checkpoints in tests: their folders, disks that are full, and errors that all ranks throw.
#pragma once

#include <ATen/ops/arange.h>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <sys/resource.h>
#include <vector>

#include "course/protocol/protocol.hpp"
#include "exercises/02_naive_collectives/barrier.hpp"
#include "exercises/07_zero/sharded_checkpoint.hpp"
#include "tests/07_zero/models.hpp"
#include "tests/harness/harness.hpp"

namespace dist::harness {

namespace fs = std::filesystem;

using Parts = std::vector<nn::TensorPart>;

/// A whole tensor of 10 floats, `first` and those that follow.
inline Parts ten(float first) {
    return {{"w", 10, 0, at::arange(first, first + 10, at::kFloat)}};
}

/// What rank 0 does while the others wait.
inline void on_rank_0(const Communicator& comm, const std::function<void()>& work) {
    barrier(comm);
    if (comm.rank() == 0) {
        work();
    }
    barrier(comm);
}

/// A folder without files for all ranks, which is removed with that of the run. In shared memory, if it can be:
/// a disk that others write to may take a second to bring a small file down.
inline fs::path empty_folder(const Communicator& comm, const std::string& name = "checkpoint") {
    const char* shared = std::getenv(kEnvShared);
    const fs::path folder = fs::path(shared != nullptr ? shared : "") / name;
    on_rank_0(comm, [&] { fs::remove_all(folder); });
    return folder;
}

inline void set_content(const fs::path& file, const std::string& bytes) {
    std::ofstream(file, std::ios::binary) << bytes;
}

/// Runs `body` on the first p ranks; then all meet.
inline void on_first(
    int p, const Communicator& comm, const std::function<void(const Communicator&)>& body
) {
    {
        const Communicator some = comm.split(comm.rank() < p ? 0 : MPI_UNDEFINED);
        if (comm.rank() < p) {
            body(some);
        }
    }
    barrier(comm);
}

/// While it lives, this process can write no more bytes to a file, as if the disk were full then.
class FullDisk {
  public:
    explicit FullDisk(std::size_t room) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
        getrlimit(RLIMIT_FSIZE, &limit_);
        const rlimit little{.rlim_cur = room, .rlim_max = limit_.rlim_max};
        setrlimit(RLIMIT_FSIZE, &little);
    }
    ~FullDisk() {
        setrlimit(RLIMIT_FSIZE, &limit_);
        std::signal(SIGXFSZ, handler_);
    }
    FullDisk(const FullDisk&) = delete;
    FullDisk& operator=(const FullDisk&) = delete;
    FullDisk(FullDisk&&) = delete;
    FullDisk& operator=(FullDisk&&) = delete;

  private:
    rlimit limit_{};
    void (*handler_)(int);
};

/// All ranks have thrown it, with the same text, and this is in the text.
inline void check_thrown(const Answer& got, const std::string& says, const Communicator& comm) {
    INFO("it says: " << (got.text.empty() ? "nothing" : got.text));
    const Comparison alike =
        same_on_all_ranks(std::vector<float>(got.text.begin(), got.text.end()), comm);
    CHECK(got.what == "std::runtime_error");
    {
        INFO("all ranks must throw, and say the same");
        CHECK(alike);
    }
    INFO("it must name: " << says);
    const bool named = got.text.find(says) != std::string::npos;
    CHECK(named);
}

}  // namespace dist::harness
