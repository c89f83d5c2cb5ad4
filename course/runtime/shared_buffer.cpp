#include "course/runtime/shared_buffer.hpp"

#include "course/runtime/error.hpp"

namespace dist {
namespace {

bool on_one_machine(const Communicator& comm) {
    MPI_Comm machine = MPI_COMM_NULL;
    MPI_CHECK(MPI_Comm_split_type(
        comm.handle(), MPI_COMM_TYPE_SHARED, comm.rank(), MPI_INFO_NULL, &machine
    ));
    int ranks = 0;
    MPI_CHECK(MPI_Comm_size(machine, &ranks));
    MPI_Comm_free(&machine);
    return ranks == comm.size();
}

}  // namespace

SharedBuffer::SharedBuffer(std::size_t n, const Communicator& comm) : size_(n), comm_(comm) {
    if (!on_one_machine(comm)) {
        throw Error("a SharedBuffer needs ranks on one machine: they share no memory");
    }
    constexpr std::size_t kPageBytes = 4096;  // parts of different ranks share no page
    const std::size_t bytes = (n * sizeof(float) + kPageBytes - 1) / kPageBytes * kPageBytes;
    float* mine = nullptr;
    MPI_CHECK(MPI_Win_allocate_shared(
        static_cast<MPI_Aint>(bytes), sizeof(float), MPI_INFO_NULL, comm.handle(), &mine, &window_
    ));
    for (int rank = 0; rank < comm.size(); ++rank) {
        MPI_Aint part_bytes = 0;
        int unit = 0;
        float* part = nullptr;
        MPI_CHECK(MPI_Win_shared_query(window_, rank, &part_bytes, &unit, &part));
        parts_.push_back(part);
    }
    MPI_CHECK(MPI_Win_lock_all(MPI_MODE_NOCHECK, window_));  // for MPI_Win_sync, all its life
}

SharedBuffer::~SharedBuffer() {
    if (window_ != MPI_WIN_NULL) {
        MPI_Win_unlock_all(window_);
        MPI_Win_free(&window_);
    }
}

void SharedBuffer::synchronize() const {
    MPI_CHECK(MPI_Win_sync(window_));
    MPI_CHECK(MPI_Barrier(comm_.handle()));
    MPI_CHECK(MPI_Win_sync(window_));
}

}  // namespace dist
