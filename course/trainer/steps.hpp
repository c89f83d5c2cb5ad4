// How far a run is.
#pragma once

#include <cstddef>

namespace dist::trainer {

struct Steps {
    std::size_t done = 0;
    std::size_t all =
        0;  // that were asked for; 0: a checkpoint of an older version, which does not say it
};

}  // namespace dist::trainer
