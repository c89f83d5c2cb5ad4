// What the parts of the small MPI share.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <mpi.h>

#include "course/runtime/transport.hpp"

/// A call has two names, as the standard (3.1, section 14.2) has it: who stands before MPI_Send by name calls PMPI_Send.
#define OWN_MPI(name) \
    extern "C" decltype(PMPI_##name) MPI_##name __attribute__((weak, alias("PMPI_" #name)));

/// Some ranks of the world, in an order of their own.
struct OwnComm {
    std::vector<int> ranks;     // of the world, by rank here
    int rank = -1;              // this process's
    std::uint32_t context = 0;  // even: of its messages; the next one is that of its collectives
};

/// A message that has been begun.
struct OwnRequest {
    dist::Request request;
    const OwnComm* comm = nullptr;
};

namespace dist::own_mpi {

/// What carries all messages, from MPI_Init_thread to MPI_Finalize.
Transport& transport();

/// Makes a call; what it throws is noted for MPI_Error_string, and returned as a code a moment later.
int code_of(const std::function<void()>& call);

std::size_t size_of(MPI_Datatype type);

/// `count` elements.
std::span<const std::byte> bytes(const void* data, int count, MPI_Datatype type);
std::span<std::byte> bytes(void* data, int count, MPI_Datatype type);

}  // namespace dist::own_mpi
