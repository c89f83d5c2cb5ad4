// What the launcher has drawn for this job.
#pragma once

#include "course/protocol/secret.hpp"

namespace dist::harness {

/// All zeros where there is no launcher.
const Secret& secret();

/// For this rank's records: once, since the key is no longer in the secret then.
Seal take_seal(int rank);

}  // namespace dist::harness
