// What the launcher has drawn for this job.
#pragma once

#include "course/protocol/secret.hpp"

namespace dist::harness {

/// All zeros where there is no launcher.
const Secret& secret();

/// Takes it from its file in `folder`.
/// remove  the file as well: no code under test is to find it.
void read_secret(const char* folder, bool remove);

/// For this rank's records: once, since the key is no longer in the secret then.
Seal take_seal(int rank);

}  // namespace dist::harness
