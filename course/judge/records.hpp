// What the processes of one job left behind: see course/protocol/protocol.hpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "course/protocol/protocol.hpp"
#include "course/protocol/seal.hpp"
#include "course/result/result.hpp"

namespace dist::cli {

/// Where a rank stood when its test was stopped.
struct Wait {
    harness::Phase phase = harness::Phase::absent;  // absent: it was not stopped
    std::string call;
    harness::CallKind kind = harness::CallKind::none;
    harness::Direction direction = harness::Direction::none;
    long collectives = 0;
    int peer = -1;
    int rank_in_comm = -1;  // in the communicator of the call; so is the next
    int peer_in_comm = -1;
    int tag = -1;
    double since_s = 0;
    std::vector<std::uint64_t> frames;
    std::vector<std::string> info;  // what the test said of the call
};

/// One rank's record of one test.
struct Record {
    std::string test;
    std::optional<harness::Outcome> state;  // none: one that is not in the protocol
    int ranks = 0;
    std::string message;
    double duration_s = 0;
    std::vector<Failure> failures;
    std::string output;
    Wait wait;
    std::vector<std::pair<std::string, long>> traffic;
    long checks = 0;
    trace::Log log;
    std::string died = {};  // of a rank that was a plain process: "killed by SIGKILL"
    std::vector<Record> processes =
        {};  // the ranks, where they were plain processes; rank 0 started them
};

/// All records of one rank.
struct RankLog {
    bool planned = false;
    std::vector<std::string> plan;
    int many = 0;  // tests left for a job of kManyRanks ranks
    std::vector<Record> records;
    bool finished = false;
    long output_end = 0;  // where the last record's output ends in rank-R.out
    bool forged = false;  // somebody else has written a line
};

/// Reads rank-R.jsonl and the parts of rank-R.out that it speaks of. A last line that was cut short counts as not written.
///
/// seal  of that rank.
RankLog read_rank_log(const std::filesystem::path& folder, int rank, harness::Seal seal);

/// What rank R printed from `begin` on, at most a few thousand bytes: for a rank that wrote no
/// record.
std::string read_output(const std::filesystem::path& folder, int rank, long begin, long end);

/// The board of a run folder, in shared memory.
class BoardFile {
  public:
    /// Makes a zeroed one.
    explicit BoardFile(const std::filesystem::path& folder);
    ~BoardFile();
    BoardFile(const BoardFile&) = delete;
    BoardFile& operator=(const BoardFile&) = delete;
    harness::Board& operator*() const { return *board_; }
    harness::Board* operator->() const { return board_; }

  private:
    harness::Board* board_ = nullptr;
};

}  // namespace dist::cli
