// Verdicts that `check` need not find again: of trials that were as expected, as long as nothing has changed that they
// rest on. They save the author's time and prove nothing: --fresh and CI use none of them.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "course/process/context.hpp"

namespace dist::cli {

/// What a verdict rests on.
struct Basis {
    std::string trial;  // a name that no other trial has
    std::string how;    // what is no file: lines that build it, seeds, what is expected
    std::vector<std::filesystem::path>
        files;  // absolute; a large one stands for itself by its size and time
};

class Verdicts {
  public:
    /// fresh  use no old verdict; new ones are kept
    Verdicts(const Context& context, bool fresh);

    /// Whether the trial was as expected when it last ran in this way, and every file that it rested on then is as it was.
    [[nodiscard]] bool hold(const Basis& basis);

    /// Keeps that it was. A folder that cannot be written costs the memory, not the check.
    void keep(const Basis& basis);

    /// Forgets it: it was not as expected.
    void forget(const Basis& basis);

  private:
    [[nodiscard]] std::filesystem::path file_of(const std::string& trial) const;
    /// Of a file's content, or of its size and time where it is large. Read once for all trials.
    std::string digest(const std::filesystem::path& file);

    std::filesystem::path folder_;
    bool fresh_;
    std::mutex lock_;
    std::map<std::filesystem::path, std::string> digests_;
};

}  // namespace dist::cli
