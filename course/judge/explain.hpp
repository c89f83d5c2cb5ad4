// From what the ranks were doing to one sentence that says where to look first.
#pragma once

#include <string>

#include "course/protocol/protocol.hpp"
#include "course/result/result.hpp"

namespace dist::cli {

/// Why nothing moved: who waits for whom in a circle, or for one that has left, which tags do not
/// match, who calls another collective. Empty when none of these explains it.
std::string explain_hang(const TestResult& test);

/// Who waits, and who has left, of a test that explain_hang knows nothing about.
std::string explain_waiting(const TestResult& test);

/// How a rank's process was ended by a signal, as a sentence: "rank 2 died of SIGSEGV: it used a null
/// pointer".
///
/// output  what it printed: the last words of a sanitizer, or of the allocator.
std::string explain_signal(int rank, const harness::Slot& slot, const std::string& output);

/// "rank 1", "ranks 0, 1 and 3"
std::string ranks_text(const std::vector<int>& ranks);

/// "rank 0  waits in MPI_Recv(from rank 2, tag 0, 4 bytes)   ring_shift.cpp:14"
std::string rank_line(const RankResult& rank);

}  // namespace dist::cli
