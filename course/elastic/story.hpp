// What launch says of a job: rounds, restarts, who failed, and how it ends.
#pragma once

#include <fstream>

#include "course/elastic/launch_options.hpp"
#include "course/elastic/worker_logs.hpp"
#include "exercises/10_elastic/elastic_agent.hpp"

namespace dist::elastic {

/// Writes lines to standard error; and to events.jsonl in the folder of the logs, for programs, each event with its time.
class Story {
  public:
    Story(const LaunchOptions& options, WorkerLogs& logs);

    void waits_for_nodes() const;

    /// In the order of the agent's log.
    void tell(const AgentLogEntry& entry);

    /// How it ended. Returns the exit status: 0, 1, that of the worker which failed first, or 128 and the signal's number.
    int end(const AgentResult& result);

  private:
    void tell_of_round(const WorkerRound& round);
    void tell_of_failure(const WorkerEnd& failure);
    [[nodiscard]] bool quote(int rank) const;
    void quote_any() const;
    void tell_of_records();

    const LaunchOptions& options_;
    WorkerLogs& logs_;
    std::ofstream events_;
    WorkerRound round_ = {};
    bool all_well_ = false;    // nobody has failed in this round, and nobody was told to end
    bool has_failed_ = false;  // this round, and its flight records are not told of yet
    bool has_quoted_ = false;  // what the first to fail said last
    int failures_ = 0;         // of rounds
    int signal_ = 0;           // that the agent was told to end by
};

}  // namespace dist::elastic
