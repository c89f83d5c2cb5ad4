// What the code under test makes in MPI and has to free: communicators, types, operations, ...
//
// Note [Leaks] Each body of on_ranks ends with the question what was made in it and not freed. MPI has
// room for some thousands of communicators only: a function that duplicates one in each call, and never
// frees it, works in every test and ends a training after some thousand steps.
#pragma once

#include <string>

#include <mpi.h>

#include "tests/harness/roll_call/roll_call.hpp"

namespace dist::harness {

inline const char* kind_of(MPI_Comm) {
    return "communicator";
}
inline const char* kind_of(MPI_Datatype) {
    return "datatype";
}
inline const char* kind_of(MPI_Op) {
    return "operation";
}
inline const char* kind_of(MPI_Group) {
    return "rank group";
}
inline const char* kind_of(MPI_Errhandler) {
    return "error handler";
}
inline const char* kind_of(MPI_Info) {
    return "info object";
}
inline const char* kind_of(MPI_Win) {
    return "window";
}

void note_handle(const void* handle, const char* kind, const std::string& call);
void forget_handle(const void* handle);

/// The code under test made `handle`, by `call`. Handles of Open MPI are addresses.
template <class Handle>
void note_made(Handle handle, const std::string& call) {
    note_handle(static_cast<const void*>(handle), kind_of(handle), call);
}

template <class Handle>
int made(const char* call, int code, const Handle* handle) {
    if (guarded() && code == MPI_SUCCESS) {
        note_made(*handle, call);
    }
    return code;
}

template <class Handle>
void note_freed(Handle handle) {
    forget_handle(static_cast<const void*>(handle));
}

/// What was made since the last call and not freed, in words; empty if all was. Forgets it.
std::string never_freed();

}  // namespace dist::harness
