// wait_all by MPI_Waitall; the lengths are looked at afterwards.
#include <string>
#include <utility>
#include <vector>

#include "exercises/01_point_to_point/isend_irecv.hpp"

namespace dist {

namespace {

void check_length(const MPI_Status& status, int expected) {
    int received = 0;
    MPI_CHECK(MPI_Get_count(&status, MPI_FLOAT, &received));
    if (received != expected) {
        throw Error(
            "irecv: expected " + std::to_string(expected) + " elements, got " +
            std::to_string(received)
        );
    }
}

}  // namespace

Request isend(std::span<const float> data, int dst, const Communicator& comm, int tag) {
    expects(std::in_range<int>(data.size()), "isend: a message holds at most 2^31 - 1 elements");
    Request request;
    const int n = static_cast<int>(data.size());
    MPI_CHECK(MPI_Isend(data.data(), n, MPI_FLOAT, dst, tag, comm.handle(), &request.handle_));
    return request;
}

Request irecv(std::span<float> data, int src, const Communicator& comm, int tag) {
    expects(std::in_range<int>(data.size()), "irecv: a message holds at most 2^31 - 1 elements");
    Request request;
    request.expected_ = static_cast<int>(data.size());
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
    check_length(status, expected_);
}

void wait_all(std::span<Request> requests) {
    std::vector<MPI_Request> handles;
    for (Request& request : requests) {
        handles.push_back(std::exchange(request.handle_, MPI_REQUEST_NULL));
    }
    std::vector<MPI_Status> statuses(handles.size());
    const int n = static_cast<int>(handles.size());
    const int code = MPI_Waitall(n, handles.data(), statuses.data());
    for (std::size_t i = 0; i < handles.size(); ++i) {
        if (requests[i].expected_ >= 0) {
            check_length(statuses[i], std::exchange(requests[i].expected_, -1));
        }
    }
    MPI_CHECK(code);
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
