// The ring of chapter 03 on the transport of chapter 04, for the bench's process: a library whose MPI calls stay inside it,
// beside Open MPI's.
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include <mpi.h>

#include "course/runtime/communicator.hpp"
#include "course/runtime/error.hpp"
#include "exercises/03_ring_and_tree/ring_all_reduce.hpp"
#include "exercises/04_groups_and_rendezvous/tcp_store_server.hpp"

namespace {

std::unique_ptr<dist::TcpStoreServer> server;
bool has_begun = false;
std::string error;

void say(const char* name, int value) {
    setenv(name, std::to_string(value).c_str(), 1);
}

template <class Call>
const char* error_of(const Call& call) {
    try {
        call();
        return nullptr;
    } catch (const std::exception& thrown) {
        error = thrown.what();
        return error.c_str();
    }
}

}  // namespace

/// Serves the store that the ranks meet at, until the next one, and says at which port. Returns why not, nullptr if it does.
extern "C" const char* over_tcp_serve(int* port) {
    return error_of([&] {
        server = std::make_unique<dist::TcpStoreServer>();
        *port = server->port();
    });
}

/// Becomes rank `rank` of `size`, who meet at that port of this machine. Returns why not, nullptr if it is.
extern "C" const char* over_tcp_meet(int port, int rank, int size) {
    return error_of([&] {
        if (std::exchange(has_begun, false)) {
            MPI_CHECK(MPI_Finalize());
        }
        say("RANK", rank);
        say("WORLD_SIZE", size);
        say("MASTER_PORT", port);
        setenv("MASTER_ADDR", "127.0.0.1", 1);
        int provided = 0;
        MPI_CHECK(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided));
        has_begun = true;
    });
}

/// ring_all_reduce of all of them. Returns why it failed, nullptr if it did not.
extern "C" const char* over_tcp_all_reduce(float* data, std::size_t n, int op) {
    return error_of([&] {
        dist::ring_all_reduce(
            {data, n}, static_cast<dist::ReduceOp>(op), dist::Communicator::world()
        );
    });
}
