#include "course/lab/over_tcp.hpp"

#include <algorithm>
#include <dlfcn.h>

#include <mpi.h>

#include "course/runtime/error.hpp"

namespace dist::lab {
namespace {

using Serve = const char* (*)(int* port);
using Meet = const char* (*)(int port, int rank, int size);
using AllReduce = const char* (*)(float* data, std::size_t n, int op);

AllReduce all_reduce_over_tcp = nullptr;

void run_over_tcp(const Call& call) {
    const char* const error =
        all_reduce_over_tcp(call.data.data(), call.data.size(), static_cast<int>(call.op));
    if (error != nullptr) {
        throw Error(error);
    }
}

std::string text(const char* error) {
    return error == nullptr ? "" : error;
}

/// Why some rank could not; each says its own reason. Empty if all could.
std::string agreed(const std::string& reason, const Communicator& comm) {
    int fails = reason.empty() ? 0 : 1;
    MPI_CHECK(MPI_Allreduce(MPI_IN_PLACE, &fails, 1, MPI_INT, MPI_MAX, comm.handle()));
    return fails == 1 && reason.empty() ? "another rank could not connect" : reason;
}

/// Connects all ranks. Returns why it cannot.
std::string connect(const std::string& library, const Communicator& comm) {
    // RTLD_DEEPBIND: its MPI_Send is its own. It stays loaded to the end.
    void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    std::string reason = handle == nullptr ? dlerror() : "";
    int port = 0;
    if (handle != nullptr && comm.rank() == 0) {
        const auto serve = reinterpret_cast<Serve>(dlsym(handle, "over_tcp_serve"));
        reason = text(serve(&port));
    }
    reason = agreed(reason, comm);
    if (!reason.empty()) {
        return reason;
    }
    MPI_CHECK(MPI_Bcast(&port, 1, MPI_INT, 0, comm.handle()));
    const auto meet = reinterpret_cast<Meet>(dlsym(handle, "over_tcp_meet"));
    all_reduce_over_tcp = reinterpret_cast<AllReduce>(dlsym(handle, "over_tcp_all_reduce"));
    return agreed(text(meet(port, comm.rank(), comm.size())), comm);
}

}  // namespace

std::string load_over_tcp(
    std::vector<Algorithm>& algorithms,
    const std::string& library,
    int nodes,
    const Communicator& comm
) {
    const auto row = std::ranges::find(algorithms, "tcp", &Algorithm::name);
    if (row == algorithms.end()) {
        return "";
    }
    std::string reason;
    if (library.empty()) {
        reason = "--transport tcp has it built";
    } else if (nodes > 1) {
        reason = "the ranks are on several machines";
    } else {
        reason = connect(library, comm);
    }
    if (reason.empty()) {
        row->run = run_over_tcp;
        return "";
    }
    algorithms.erase(row);
    return "tcp is left out: " + reason;
}

}  // namespace dist::lab
