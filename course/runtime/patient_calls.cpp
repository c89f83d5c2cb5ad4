// MPI calls that wait, for the trainer's exchanges: who waits sleeps after a moment, and leaves the processor
// to whoever computes. Open MPI's own calls ask again and again, and on a machine with other work a rank
// that does so has used up its time slice when the message comes.
//
// They stand before MPI's by name, as the MPI standard (3.1, section 14.2) lets every program have them.
#include "course/runtime/patient_calls.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include <mpi.h>

#include "course/runtime/clock.hpp"

namespace {

std::function<void(double)>& long_wait() {
    static std::function<void(double)> told = [](double) {};
    return told;
}

/// As MPI_Wait.
int wait_patiently(MPI_Request* request, MPI_Status* status) {
    constexpr double kAwakeS = 100e-6;  // most messages of a step are through by then
    constexpr double kLongS = 0.5;
    constexpr std::chrono::microseconds kNap(50);
    constexpr std::chrono::milliseconds kLongNap(5);
    const double begin_s = dist::now_s();
    for (;;) {
        int done = 0;
        const int code = PMPI_Test(request, &done, status);
        if (code != MPI_SUCCESS || done != 0) {
            return code;
        }
        const double waited_s = dist::now_s() - begin_s;
        if (waited_s > kLongS) {
            long_wait()(waited_s);
            std::this_thread::sleep_for(kLongNap);
        } else if (waited_s > kAwakeS) {
            std::this_thread::sleep_for(kNap);
        }
    }
}

thread_local double here_s = 0;
std::atomic<double> all_s = 0;

/// Counts the seconds of a call, once where one call stands on another.
class Timed {
  public:
    Timed() { ++depth; }
    ~Timed() {
        if (--depth == 0) {
            const double seconds = watch_.elapsed_s();
            here_s += seconds;
            all_s += seconds;
        }
    }
    Timed(const Timed&) = delete;
    Timed& operator=(const Timed&) = delete;
    Timed(Timed&&) = delete;
    Timed& operator=(Timed&&) = delete;

  private:
    static thread_local int depth;
    dist::Stopwatch watch_;
};

thread_local int Timed::depth = 0;

std::atomic<std::size_t> sent = 0;

/// By communicator.
struct Sent {
    std::mutex guard;
    std::map<MPI_Comm, std::size_t> bytes;
};

Sent& sent_on() {
    static Sent all;
    return all;
}

void count_sent(int n, MPI_Datatype type, MPI_Comm comm) {
    int size = 0;
    PMPI_Type_size(type, &size);
    const std::size_t bytes = static_cast<std::size_t>(n) * static_cast<std::size_t>(size);
    sent += bytes;
    const std::scoped_lock guard(sent_on().guard);
    sent_on().bytes[comm] += bytes;
}

/// Waits for a request, unless the call that should have made it returned an error.
int wait_for_started(int code, MPI_Request request) {
    return code != MPI_SUCCESS ? code : wait_patiently(&request, MPI_STATUS_IGNORE);
}

}  // namespace

namespace dist {

void on_long_wait(std::function<void(double waited_s)> told) {
    long_wait() = std::move(told);
}

std::size_t bytes_sent() {
    return sent;
}

std::size_t bytes_sent(MPI_Comm comm) {
    const std::scoped_lock guard(sent_on().guard);
    return sent_on().bytes[comm];
}

MessageSeconds message_seconds() {
    return {.here = here_s, .elsewhere = all_s - here_s};
}

}  // namespace dist

extern "C" {

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
    const Timed timed;
    return wait_patiently(request, status);
}

int MPI_Send(const void* data, int n, MPI_Datatype type, int dst, int tag, MPI_Comm comm) {
    const Timed timed;
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = MPI_Isend(data, n, type, dst, tag, comm, &request);
    return wait_for_started(code, request);
}

int MPI_Isend(
    const void* data,
    int n,
    MPI_Datatype type,
    int dst,
    int tag,
    MPI_Comm comm,
    MPI_Request* request
) {
    const Timed timed;
    count_sent(n, type, comm);
    return PMPI_Isend(data, n, type, dst, tag, comm, request);
}

int MPI_Recv(
    void* data, int n, MPI_Datatype type, int src, int tag, MPI_Comm comm, MPI_Status* status
) {
    const Timed timed;
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = PMPI_Irecv(data, n, type, src, tag, comm, &request);
    return code != MPI_SUCCESS ? code : wait_patiently(&request, status);
}

int MPI_Sendrecv(
    const void* out,
    int n_out,
    MPI_Datatype type_out,
    int dst,
    int tag_out,
    void* in,
    int n_in,
    MPI_Datatype type_in,
    int src,
    int tag_in,
    MPI_Comm comm,
    MPI_Status* status
) {
    const Timed timed;
    MPI_Request receive = MPI_REQUEST_NULL;
    const int received = PMPI_Irecv(in, n_in, type_in, src, tag_in, comm, &receive);
    if (received != MPI_SUCCESS) {
        return received;
    }
    const int sent = MPI_Send(out, n_out, type_out, dst, tag_out, comm);
    const int code = wait_patiently(&receive, status);
    return sent != MPI_SUCCESS ? sent : code;
}

int MPI_Allreduce(const void* in, void* out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    const Timed timed;
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = PMPI_Iallreduce(in, out, n, type, op, comm, &request);
    return wait_for_started(code, request);
}

int MPI_Allgather(
    const void* in,
    int n_in,
    MPI_Datatype type_in,
    void* out,
    int n_out,
    MPI_Datatype type_out,
    MPI_Comm comm
) {
    const Timed timed;
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = PMPI_Iallgather(in, n_in, type_in, out, n_out, type_out, comm, &request);
    return wait_for_started(code, request);
}

int MPI_Bcast(void* data, int n, MPI_Datatype type, int root, MPI_Comm comm) {
    const Timed timed;
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = PMPI_Ibcast(data, n, type, root, comm, &request);
    return wait_for_started(code, request);
}

}  // extern "C"
