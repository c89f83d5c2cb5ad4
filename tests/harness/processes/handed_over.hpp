// How a test went in a process of its own, handed to the one that started it: in memory that both have, since an answer may
// close every file.
#pragma once

#include <cstddef>

#include "tests/harness/job/runs.hpp"

namespace dist::harness {

class HandedOver {
  public:
    /// Outcome, message and failures; of the latter as many as there is room for.
    void write(const TestRun& test);
    void read(ProcessRun& run) const;

  private:
    static constexpr std::size_t kRoom = std::size_t{1} << 17U;
    std::size_t size_;
    char text_[kRoom];  // fields, each with a zero behind it
};

}  // namespace dist::harness
