// Which part of a rank's memory a message carries.
#pragma once

#include <string>
#include <vector>

#include "course/trace/step.hpp"

namespace dist::trace {

/// Bytes [begin, end) of memory that has `of` bytes.
struct Part {
    std::string memory;  // its name; empty: nobody has named it
    long begin = 0;
    long end = 0;
    long of = 0;  // 0: not known which
    [[nodiscard]] bool is_known() const { return of > 0; }
    [[nodiscard]] bool is_less_than_all() const { return end - begin < of; }
};

/// The memory that messages of one rank go through: what its calls were given, and what else its messages show. Messages that
/// overlap or touch each other are taken to be in one piece of memory.
class MemoryOfMessages {
  public:
    explicit MemoryOfMessages(const Log& log);

    /// The part at that address; not known if the address is not.
    [[nodiscard]] Part part_at(std::uint64_t at, long bytes) const;

  private:
    std::vector<Memory> pieces_;  // what has a name first
};

}  // namespace dist::trace
