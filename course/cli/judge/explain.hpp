// From what the ranks were doing to one sentence that says where to look first.
#pragma once

#include <string>

#include "course/cli/result/result.hpp"

namespace dist::cli {

/// Why nothing moved: who waits for whom in a circle, or for one that has left, which tags do not
/// match, who calls another collective. Empty when none of these explains it.
std::string explain_hang(const TestResult& test);

/// How a rank's process ended, as a sentence: "rank 2 died of SIGSEGV: it used the null pointer".
std::string explain_signal(int rank, int signal, std::uint64_t address, const std::string& output);

/// "rank 1", "ranks 0, 1 and 3"
std::string ranks_text(const std::vector<int>& ranks);

/// "rank 0  waits in MPI_Recv(from rank 2, tag 0, 4 bytes)   ring_shift.cpp:14"
std::string rank_line(const RankResult& rank);

}  // namespace dist::cli
