#include "course/runtime/communicator.hpp"

#include <utility>

#include "course/runtime/error.hpp"

namespace dist {

Communicator::Communicator(MPI_Comm handle, bool owned) : handle_(handle), owned_(owned) {
    if (handle_ != MPI_COMM_NULL) {
        MPI_CHECK(MPI_Comm_set_errhandler(handle_, MPI_ERRORS_RETURN));
        MPI_CHECK(MPI_Comm_rank(handle_, &rank_));
        MPI_CHECK(MPI_Comm_size(handle_, &size_));
    }
}

Communicator Communicator::world() {
    return {MPI_COMM_WORLD, false};
}

Communicator Communicator::borrow(MPI_Comm handle) {
    return {handle, false};
}

Communicator::Communicator(Communicator&& other) noexcept
    : handle_(std::exchange(other.handle_, MPI_COMM_NULL)),
      rank_(std::exchange(other.rank_, -1)),
      size_(std::exchange(other.size_, 0)),
      owned_(std::exchange(other.owned_, false)) {}

Communicator& Communicator::operator=(Communicator&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(rank_, other.rank_);
    std::swap(size_, other.size_);
    std::swap(owned_, other.owned_);
    return *this;
}

Communicator::~Communicator() {
    if (owned_ && handle_ != MPI_COMM_NULL) {
        MPI_Comm_free(&handle_);
    }
}

Communicator Communicator::split(int color, int key) const {
    MPI_Comm group = MPI_COMM_NULL;
    MPI_CHECK(MPI_Comm_split(handle_, color, key, &group));
    return {group, true};
}

Communicator Communicator::dup() const {
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_CHECK(MPI_Comm_dup(handle_, &copy));
    return {copy, true};
}

}  // namespace dist
