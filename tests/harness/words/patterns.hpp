// What every collective is tried for, one line each in a test:
//
//     TEST_CASE("ring_all_reduce works for every length, also when p does not divide it") {
//         every_length(kAttempt);
//     }
//
// A test that only one exercise needs is written with on_ranks, as ever.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/harness/words/attempt.hpp"
#include "tests/harness/words/cost.hpp"

namespace dist::harness {

/// The worlds that a test runs on, a telling one first: three and five are in it, because powers of
/// two hide mistakes.
inline const std::vector<int> kWorlds = {3, 1, 2, 4, 5};

/// The right result for these calls.
void every_call(
    const Attempt& attempt, const std::vector<Call>& calls, const std::vector<int>& worlds = kWorlds
);

/// The right result for all of lengths(p); with a root, for each of them.
void every_length(const Attempt& attempt, const std::vector<int>& worlds = kWorlds);

/// The right result for mean, product, min and max; a maximum also where all is negative, a minimum
/// where all is positive.
void every_operation(const Attempt& attempt, const std::vector<int>& worlds = kWorlds);

/// The right result on 11 ranks: more than a table that was made for eight has room for. Its test has
/// the tag [many].
void on_many_ranks(const Attempt& attempt);

/// Two calls, the second begun at once, with another operation, to the same root and to another one; one
/// of the ranks comes late. `why` is told with a failure.
void two_in_a_row(
    const Attempt& attempt,
    const std::string& why = "do messages of the second call end in the first?"
);

/// Calls in groups of the ranks, numbered anew, two of them at work at the same time.
void on_other_communicators(const Attempt& attempt);

/// Every rank ends with the same bits in data, whatever the order of addition.
/// `why` is told with a failure.
void same_bits(
    const Attempt& attempt, const std::string& why, const std::vector<int>& worlds = kWorlds
);

/// Every rank refuses a root that is no rank by std::invalid_argument, and sends nothing; also if there are
/// no elements to send.
void refuses_roots(const Attempt& attempt);

/// As refuses_roots, for segments below 1.
void refuses_segments(const Attempt& attempt);

/// What each rank may spend on a call.
using CostOf = std::function<Cost(const Call&, const Communicator&)>;

/// Every call stays within its cost: for all of lengths(p); with a root, for each of them.
/// `why` is told with a failure.
void costs(
    const Attempt& attempt,
    const CostOf& cost,
    const std::string& why,
    const std::vector<int>& worlds = kWorlds,
    const Call& like = {}
);

/// A call on a long tensor holds at most `most_bytes` of memory at once, beside what it is given. A few kilobytes for
/// requests and the like do not count. `why` is told with a failure.
void holds_at_most(
    const Attempt& attempt,
    const std::function<long(const Call&, const Communicator&)>& most_bytes,
    const std::string& why,
    const std::vector<int>& worlds = {3, 2, 5}
);

/// A message that fails is an error. Where all do, every rank throws dist::Error; where the last one of a rank does,
/// which arrives all the same, that rank.
void reports_failures(
    const std::function<void(const Communicator&)>& call, const std::vector<int>& worlds = {3, 2}
);
void reports_failures(const Attempt& attempt, const std::vector<int>& worlds = {3, 2});

}  // namespace dist::harness
