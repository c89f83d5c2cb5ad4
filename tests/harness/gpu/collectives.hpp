// NCCL's own collectives, for the tests of exercises that build one.
#pragma once

#include "tests/harness/harness.hpp"

namespace dist::harness {

/// Forbids all of them; one at file scope of a test.
class ForbidNcclCollectives {
  public:
    explicit ForbidNcclCollectives(const char* sentence)
        : forbid_(
              {"ncclAllReduce", "ncclReduce", "ncclReduceScatter", "ncclAllGather", "ncclBroadcast",
               "ncclBcast"},
              sentence
          ) {}

  private:
    Forbid forbid_;
};

}  // namespace dist::harness
