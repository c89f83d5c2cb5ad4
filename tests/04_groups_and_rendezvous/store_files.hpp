// A run whose processes share a file.
#pragma once

#include "exercises/04_groups_and_rendezvous/file_store.hpp"
#include "tests/harness/words/files.hpp"

namespace dist::harness {

inline const std::string kRun = "run-seven";

}  // namespace dist::harness
