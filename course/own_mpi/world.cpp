// The world: who this process is, and where the others are.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <unistd.h>

#include "course/own_mpi/own_mpi.hpp"
#include "exercises/04_groups_and_rendezvous/file_store.hpp"
#include "exercises/04_groups_and_rendezvous/full_mesh.hpp"
#include "exercises/04_groups_and_rendezvous/tcp_store.hpp"
#include "exercises/04_groups_and_rendezvous/tcp_transport.hpp"

namespace {

OwnComm world;
std::unique_ptr<dist::Transport> carrier;
thread_local std::string last_error;

// A call often fails because another rank has ended, which has said why. Then who started them all ends this rank
// meanwhile; and where all fail alike, the first speaks for all.
constexpr std::chrono::milliseconds kGrace{300};
constexpr std::chrono::milliseconds kTurn{50};

std::string environment(const char* name) {
    const char* const value = std::getenv(name);
    if (value == nullptr) {
        throw dist::Error(
            std::string(name) +
            " is not set: this program is started by a launcher, which says RANK, WORLD_SIZE, "
            "MASTER_ADDR and MASTER_PORT"
        );
    }
    return value;
}

// A launcher that brings ranks together several times keeps the keys of each time apart.
std::string environment_or(const char* name, const char* otherwise) {
    const char* const value = std::getenv(name);
    return value == nullptr ? otherwise : value;
}

}  // namespace

const MPI_Comm own_world = &world;
const char own_in_place = 0;

namespace dist::own_mpi {

Transport& transport() {
    if (!carrier) {
        throw Error("MPI has not begun, or has ended");
    }
    return *carrier;
}

int code_of(const std::function<void()>& call) {
    try {
        call();
        return MPI_SUCCESS;
    } catch (const std::exception& error) {
        last_error = error.what();
        std::this_thread::sleep_for(kGrace + world.rank * kTurn);
        return MPI_ERR_OTHER;
    }
}

std::size_t size_of(MPI_Datatype type) {
    switch (type) {
        case MPI_CHAR:
        case MPI_BYTE:
            return 1;
        case MPI_INT:
        case MPI_UINT32_T:
        case MPI_FLOAT:
            return 4;
        case MPI_LONG:
        case MPI_UINT64_T:
        case MPI_DOUBLE:
            return 8;
    }
    throw Error("there is no such type");
}

std::span<const std::byte> bytes(const void* data, int count, MPI_Datatype type) {
    expects(count >= 0, "a count is not negative");
    return {static_cast<const std::byte*>(data), static_cast<std::size_t>(count) * size_of(type)};
}

std::span<std::byte> bytes(void* data, int count, MPI_Datatype type) {
    expects(count >= 0, "a count is not negative");
    return {static_cast<std::byte*>(data), static_cast<std::size_t>(count) * size_of(type)};
}

}  // namespace dist::own_mpi

int PMPI_Init_thread(int* /*argc*/, char*** /*argv*/, int /*required*/, int* provided) {
    *provided = MPI_THREAD_MULTIPLE;
    return dist::own_mpi::code_of([] {
        const int size = std::stoi(environment("WORLD_SIZE"));
        world.ranks.clear();
        world.rank = std::stoi(environment("RANK"));
        for (int r = 0; r < size; ++r) {
            world.ranks.push_back(r);
        }
        dist::TcpStore all(environment("MASTER_ADDR"), std::stoi(environment("MASTER_PORT")));
        dist::PrefixStore store(environment_or("STORE_PREFIX", ""), all);
        carrier = std::make_unique<dist::TcpTransport>(
            dist::full_mesh(store, world.rank, size, environment_or("NODE_ADDR", "127.0.0.1")),
            world.rank
        );
    });
}

int PMPI_Finalize() {
    const int code = PMPI_Barrier(MPI_COMM_WORLD);
    carrier.reset();
    return code;
}

int PMPI_Abort(MPI_Comm /*comm*/, int code) {
    std::fflush(nullptr);
    _exit(code);  // the kernel closes its connections: the others learn of it
}

double PMPI_Wtime() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

int PMPI_Error_string(int /*code*/, char* text, int* length) {
    const std::size_t most = MPI_MAX_ERROR_STRING - 1;
    const std::string cut = last_error.substr(0, most);
    std::memcpy(text, cut.c_str(), cut.size() + 1);
    *length = static_cast<int>(cut.size());
    return MPI_SUCCESS;
}

int PMPI_Type_size(MPI_Datatype type, int* size) {
    *size = static_cast<int>(dist::own_mpi::size_of(type));
    return MPI_SUCCESS;
}

OWN_MPI(Init_thread)
OWN_MPI(Finalize)
OWN_MPI(Abort)
OWN_MPI(Wtime)
OWN_MPI(Error_string)
OWN_MPI(Type_size)
