// wait_all by MPI_Waitsome, in the order in which messages come; its errors have words of their own.
#include <string>
#include <utility>
#include <vector>

#include "exercises/01_point_to_point/isend_irecv.hpp"

namespace dist {

Request isend(std::span<const float> data, int dst, const Communicator& comm, int tag) {
    Request request;
    const int n = static_cast<int>(data.size());
    MPI_CHECK(MPI_Isend(data.data(), n, MPI_FLOAT, dst, tag, comm.handle(), &request.handle_));
    return request;
}

Request irecv(std::span<float> data, int src, const Communicator& comm, int tag) {
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
    std::vector<MPI_Request> handles;
    for (Request& request : requests) {
        handles.push_back(std::exchange(request.handle_, MPI_REQUEST_NULL));
    }
    const int n = static_cast<int>(handles.size());
    std::vector<int> done(handles.size());
    std::vector<MPI_Status> statuses(handles.size());
    std::vector<std::string> errors(handles.size());
    for (int count = 0; count != MPI_UNDEFINED;) {
        const int code = MPI_Waitsome(n, handles.data(), &count, done.data(), statuses.data());
        for (int k = 0; k < count; ++k) {
            const auto i = static_cast<std::size_t>(done[static_cast<std::size_t>(k)]);
            const MPI_Status& status = statuses[static_cast<std::size_t>(k)];
            int received = 0;
            MPI_CHECK(MPI_Get_count(&status, MPI_FLOAT, &received));
            const bool failed = code == MPI_ERR_IN_STATUS && status.MPI_ERROR != MPI_SUCCESS;
            if (failed || (requests[i].expected_ >= 0 && received != requests[i].expected_)) {
                errors[i] = "wait_all: request " + std::to_string(i) + " failed";
            }
        }
    }
    for (const std::string& error : errors) {
        if (!error.empty()) {
            throw Error(error);
        }
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
