// What a multi-process test is written with: Catch2's macros, and the names below.
//
//     TEST_CASE("ring_all_reduce sums every element over all ranks") {
//         const int n = GENERATE(0, 1, 7, 1000);
//         on_ranks({1, 2, 3, 4, 5}, [&](const Communicator& comm) {
//             auto data = input(n, comm.rank());
//             const Traffic traffic = record(comm, [&] { ring_all_reduce(data, ReduceOp::sum, comm); });
//             CHECK(same(data, expected(...)));
//             CHECK(traffic.messages_sent <= 2 * (comm.size() - 1));
//         });
//     }
//
// Every rank of the job runs every test. Inside on_ranks all MPI_* calls go through the layer in
// the files mpi_*.cpp: messages are counted, sends are synchronous, a deadlock ends the test by an
// exception on every rank. CHECK after the last message; a REQUIRE that fails on one rank alone
// leaves the others waiting, and the report then names that rank.
//
// For exercises that measure time, known_network.hpp has a network whose delays are known.
#pragma once

#include <functional>
#include <initializer_list>
#include <ostream>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "course/protocol/message_record.hpp"
#include "course/runtime/communicator.hpp"
#include "course/runtime/reduce_op.hpp"
#include "tests/harness/catch2.hpp"

namespace dist::harness {

/// Runs `body` on worlds of the given sizes, one after the other: on the first p ranks of the job,
/// over a communicator of their own. The others sleep meanwhile. Stops at the first size that
/// fails.
void on_ranks(
    std::initializer_list<int> sizes, const std::function<void(const Communicator&)>& body
);
void on_ranks(const std::vector<int>& sizes, const std::function<void(const Communicator&)>& body);

/// What the code under test sent and received on this rank.
struct Traffic {
    long messages_sent = 0;
    long messages_received = 0;
    long bytes_sent = 0;  // payload only
    long bytes_received = 0;
    int rounds = 0;  // longest chain of messages that wait for each other, over all ranks
    int half_duplex_rounds = 0;  // the same where a rank either sends or receives in a round
    std::set<int> sent_to;       // ranks in `comm`
    std::set<int> received_from;
    long collectives = 0;  // MPI collectives called on this rank

    /// All ranks that this one exchanged messages with.
    [[nodiscard]] std::set<int> partners() const;
};

/// Runs `body` and returns what it sent and received. Every rank of `comm` makes this call.
///
/// Rounds: each rank sends one message and receives one at a time, each taking one round. A ring
/// step by MPI_Sendrecv costs one, a root that sends to p-1 ranks p-1, a tree ceil(log2 p). Where a
/// program of blocking calls in turn is right as well, it has a bound of its own:
///
///     CHECK((traffic.rounds <= best || traffic.half_duplex_rounds <= best_half_duplex));
///
/// S segments down a chain of p ranks take p-2+S rounds, and 2S+p-3 half duplex (p >= 3).
///
/// What `body` throws leaves record() as well, without a count: see attempt().
Traffic record(const Communicator& comm, const std::function<void()>& body);

/// How a call went that may throw, on all ranks or on some.
struct Attempt {
    std::string threw;  // "std::invalid_argument"; empty if it returned
    std::string text;   // what() of it
    Traffic traffic;    // all the same: a call that refuses its arguments sends no message
};

/// As record(), also if `body` throws a std::exception. Every rank of `comm` makes this call.
Attempt attempt(const Communicator& comm, const std::function<void()>& body);

/// What the code under test allocated on this rank: by new, malloc or what calls them, in any of its
/// threads; by MPI and the harness nothing, and nothing on the stack.
struct Memory {
    long peak_bytes = 0;   // the most that it held at once, above what it began with
    long allocations = 0;  // how many, over all
};

/// Runs `body` and says what it allocated. Checks inside of it would be counted.
Memory memory_of(const Communicator& comm, const std::function<void()>& body);

/// Room for `n` floats, of any n, that can be named and not touched: for lengths that no memory holds.
/// Who reads or writes them crashes.
class Reserved {
  public:
    explicit Reserved(std::size_t n);
    ~Reserved();
    Reserved(const Reserved&) = delete;
    Reserved& operator=(const Reserved&) = delete;

    [[nodiscard]] std::span<float> floats() const { return floats_; }

  private:
    std::span<float> floats_;
};

/// All messages that arrived in the last record(), on all ranks of `comm`, in the order of their
/// last rounds, then of their senders. Every rank of `comm` makes this call; not counted.
std::vector<MessageRecord> recorded_messages(const Communicator& comm);

/// The two neighbours of this rank on the ring of `comm`; empty when p = 1.
std::set<int> neighbours(const Communicator& comm);

/// The seed of this run: the same on every rank.
std::uint64_t seed();

/// `n` seeded whole numbers in float for this rank; exact under sum, mean and product of 5 ranks.
/// `salt` makes a second, different input.
std::vector<float> input(std::size_t n, int rank, std::uint64_t salt = 0);

/// The reduction of input(n, 0..p-1, salt): what an all-reduce must give. Made in double precision.
std::vector<float> reduced_input(std::size_t n, int p, ReduceOp op, std::uint64_t salt = 0);

/// `n` values that no right answer contains; outputs are filled with them beforehand.
std::vector<float> poison(std::size_t n);

/// A value at an index where another was expected, and what it tells about the mistake.
struct Suspicion {
    std::vector<float> values;  // what a known mistake would leave
    std::string sentence;       // "that is this rank's own contribution: nothing was added to it"
};

/// The outcome of same(); prints as "index 7: expected 21, got 14 (3 of 12 differ)".
struct Comparison {
    bool equal = true;
    std::string text;
    explicit operator bool() const { return equal; }
    bool operator!() const { return !equal; }
};
std::ostream& operator<<(std::ostream& out, const Comparison& comparison);

/// Compares element by element; NaN equals nothing. `tolerance` is relative to the expected value,
/// 0 for bitwise equality. The first suspicion that explains the wrong value adds its sentence.
Comparison same(
    std::span<const float> got,
    std::span<const float> expected,
    double tolerance = 0.0,
    const std::vector<Suspicion>& suspicions = {}
);

/// True when every rank of `comm` holds the same bits. Every rank makes this call; not counted.
Comparison same_on_all_ranks(std::span<const float> data, const Communicator& comm);

/// Names MPI calls that the exercise asks to build; a call inside on_ranks then ends the test as
/// `forbidden`. One at file scope of a test. "collectives" stands for all of them.
class Forbid {
  public:
    Forbid(std::initializer_list<const char*> calls, const char* sentence);
};

/// While it lives, this rank comes out of every MPI collective so much later than the others: a race
/// that is rare becomes sure.
class Late {
  public:
    explicit Late(int milliseconds);
    ~Late();
    Late(const Late&) = delete;
    Late& operator=(const Late&) = delete;
};

/// While it lives, each message of this rank leaves so much later: of two requests the one that is first
/// in a list can be the last to be through.
class LateMessages {
  public:
    explicit LateMessages(int milliseconds);
    ~LateMessages();
    LateMessages(const LateMessages&) = delete;
    LateMessages& operator=(const LateMessages&) = delete;
};

/// While it lives, a crash of this rank is reported by this sentence.
class CrashMeans {
  public:
    explicit CrashMeans(const std::string& sentence);
    ~CrashMeans();
    CrashMeans(const CrashMeans&) = delete;
    CrashMeans& operator=(const CrashMeans&) = delete;

  private:
    std::string before_;
};

/// Marks this test as skipped, with a reason; never counted as a pass. Throws out of the test.
[[noreturn]] void skip(const std::string& reason);

}  // namespace dist::harness
