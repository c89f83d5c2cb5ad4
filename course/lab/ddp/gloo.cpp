#include <array>
#include <cstdlib>
#include <filesystem>
#include <unistd.h>

#include <mpi.h>

#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "course/lab/ddp/backend.hpp"
#include "course/lab/gloo_thread.hpp"
#include "course/runtime/error.hpp"

namespace dist::lab {

namespace {

/// A new file by which all ranks find each other.
std::string meeting_place(const Communicator& comm) {
    std::array<char, 256> name{};
    if (comm.rank() == 0) {
        const auto file = std::filesystem::temp_directory_path() / "shardlings_gloo_XXXXXX";
        file.string().copy(name.data(), name.size() - 1);
        close(mkstemp(name.data()));
    }
    MPI_CHECK(MPI_Bcast(name.data(), name.size(), MPI_CHAR, 0, comm.handle()));
    return name.data();
}

}  // namespace

c10::intrusive_ptr<BackendBase> make_gloo(const Communicator& comm) {
    const GloosThreads where_they_run;
    const auto store = c10::make_intrusive<c10d::FileStore>(meeting_place(comm), comm.size());
    const auto options = c10d::ProcessGroupGloo::Options::create();
    options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
    return c10::make_intrusive<c10d::ProcessGroupGloo>(store, comm.rank(), comm.size(), options);
}

}  // namespace dist::lab
