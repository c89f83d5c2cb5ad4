#include "exercises/01_point_to_point/isend_irecv.hpp"

#include <exception>
#include <string>
#include <utility>

namespace dist {

Request isend(std::span<const float> data, int dst, const Communicator& comm, int tag) {
    Request request;
    const int n = mpi_count(data.size());
    MPI_CHECK(MPI_Isend(data.data(), n, MPI_FLOAT, dst, tag, comm.handle(), &request.handle_));
    return request;
}

Request irecv(std::span<float> data, int src, const Communicator& comm, int tag) {
    Request request;
    request.expected_ = mpi_count(data.size());
    MPI_CHECK(MPI_Irecv(
        data.data(), request.expected_, MPI_FLOAT, src, tag, comm.handle(), &request.handle_
    ));
    return request;
}

void Request::wait() {
    // taken out first: a wait that fails is a wait as well, and there is no second one
    MPI_Request handle = std::exchange(handle_, MPI_REQUEST_NULL);
    if (handle == MPI_REQUEST_NULL) {
        return;
    }
    MPI_Status status;
    MPI_CHECK(MPI_Wait(&handle, &status));
    if (expected_ < 0) {
        return;
    }
    int received = 0;
    MPI_CHECK(MPI_Get_count(&status, MPI_FLOAT, &received));
    if (received != expected_) {
        throw Error(
            "irecv: expected " + std::to_string(expected_) + " elements from rank " +
            std::to_string(status.MPI_SOURCE) + ", got " + std::to_string(received)
        );
    }
}

void wait_all(std::span<Request> requests) {
    std::exception_ptr first;
    for (Request& request : requests) {
        try {
            request.wait();
        } catch (...) {
            if (!first) {
                first = std::current_exception();
            }
        }
    }
    if (first) {
        std::rethrow_exception(first);
    }
}

Request::Request(Request&& other) noexcept
    : handle_(std::exchange(other.handle_, MPI_REQUEST_NULL)), expected_(other.expected_) {}

Request& Request::operator=(Request&& other) noexcept {
    const Request replaced(std::move(*this));  // waits when it goes out of scope
    handle_ = std::exchange(other.handle_, MPI_REQUEST_NULL);
    expected_ = other.expected_;
    return *this;
}

Request::~Request() {
    try {
        wait();
    } catch (...) {
        // no destructor may throw; whoever wants to know calls wait()
    }
}

}  // namespace dist
