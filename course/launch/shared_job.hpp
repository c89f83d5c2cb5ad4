// Jobs that are started once, and try one answer after the other (tests/harness/job/shared_job.hpp): for `check` and the watch.
// Each answer gets the verdict that it gets in a job of its own: it has processes, a folder and records of its own.
#pragma once

#include <filesystem>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "course/judge/verdict.hpp"
#include "course/launch/launch.hpp"

namespace dist::cli {

/// The target that starts such jobs for this program; empty where each answer needs a job of its own.
std::string host_of(const Context& context, const Program& program);

/// Those that this command has started. Several threads may use them.
class SharedJobs {
  public:
    explicit SharedJobs(Context& context);
    ~SharedJobs();  // ends them all
    SharedJobs(const SharedJobs&) = delete;
    SharedJobs& operator=(const SharedJobs&) = delete;

    /// As run_job(), in a job that waits, or else in a new one, which waits afterwards.
    ///
    /// library  the answer, with its test (Built::library)
    /// Errors   as run_job()
    Verdict run(
        const Program& program,
        const std::filesystem::path& library,
        const LaunchOptions& options,
        const std::string& after
    );

    /// Starts a job of so many ranks for this program, where none waits: its next answer need not wait for that.
    void warm(const Program& program, int ranks);

  private:
    class Job;

    std::unique_ptr<Job> take(const Program& program, int ranks);
    void give_back(std::unique_ptr<Job> job);

    Context& context_;
    std::mutex lock_;
    std::list<std::unique_ptr<Job>> waiting_;  // the one that was used last comes first
};

}  // namespace dist::cli
