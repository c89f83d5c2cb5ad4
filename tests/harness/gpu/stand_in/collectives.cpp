// NCCL's collectives, which the stand-in does not have: every exercise that could use one builds it.

#include <nccl.h>

#include "course/runtime/error.hpp"

#define ABSENT(name, ...)                                                               \
    ncclResult_t pnccl##name(__VA_ARGS__) {                                             \
        throw dist::Error("nccl" #name " needs a GPU: the stand-in has messages only"); \
    }

extern "C" {

ABSENT(AllReduce, const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, cudaStream_t)
ABSENT(
    Reduce, const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, int, ncclComm_t, cudaStream_t
)
ABSENT(
    ReduceScatter, const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, cudaStream_t
)
ABSENT(AllGather, const void*, void*, size_t, ncclDataType_t, ncclComm_t, cudaStream_t)
ABSENT(Broadcast, const void*, void*, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t)
ABSENT(Bcast, void*, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t)

}  // extern "C"

#undef ABSENT
