// One mpirun: its folder, its environment, its end.
#pragma once

#include <filesystem>
#include <string>

#include "course/judge/verdict.hpp"
#include "course/launch/launch.hpp"
#include "course/launch/start.hpp"
#include "course/process/subprocess.hpp"

namespace dist::cli {

/// Starts the processes once, for the tests after `after` (empty: all; else one has failed already), and judges what they left.
/// When it returns or throws, no process and no folder is left.
Verdict run_job(
    Context& context,
    const Program& program,
    const std::filesystem::path& executable,
    const LaunchOptions& options,
    const std::string& after
);

/// The second half of run_job(): judges every test, and what the program did to the run itself.
///
/// folder  with the records and the board of the processes
/// ended   how mpirun ended
/// rest_over  RestOver::is_over()
Verdict judge_job(
    const Context& context,
    const Program& program,
    const LaunchOptions& options,
    const std::string& after,
    const std::filesystem::path& folder,
    const harness::Board& board,
    const harness::Secret& secret,
    const Ended& ended,
    bool rest_over
);

/// Adds to the context's account: tests last as long as they say, and the rest of `all_s` went into starting and ending processes.
void spend(Context& context, double all_s, const Verdict& verdict);

/// The verdict on a job that had no chance, because of `reason`.
Verdict cannot_start(int ranks, const std::string& reason);

}  // namespace dist::cli
