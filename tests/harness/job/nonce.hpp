// The word that makes a record one of ours.
#pragma once

namespace dist::harness {

/// What the launcher drew; empty where there is no launcher.
const char* nonce();

}  // namespace dist::harness
