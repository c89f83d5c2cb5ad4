// What a multi-process test is written with: Catch2's macros, and the names below. Most of a test are
// patterns of words/patterns.hpp, one line each, over an attempt that is stated once; what only one
// exercise needs is written out:
//
//     TEST_CASE("ring_shift sends one message to the next rank") {
//         on_ranks({3, 1, 2, 4, 5}, [](const Communicator& comm) {
//             auto out = poison(7);
//             const Traffic traffic = record(comm, [&] { ring_shift(in, out, comm); });
//             const Comparison result = same(out, expected);
//             CHECK(result);
//             const Comparison spent = within(traffic, {.messages_sent = exactly(1)});
//             CHECK(spent);
//         });
//     }
//
//     words/tensors.hpp     the same for tensors of LibTorch
//     words/inputs.hpp      lengths, inputs with their signs, what they reduce to, the tolerance
//     words/compare.hpp     same(), and suspicions: what a wrong value tells
//     words/bytes.hpp       the same for bytes that are held
//     words/reductions.hpp  reduced(), and what likely mistakes leave
//     words/cost.hpp        within(): traffic held against what it may cost
//     words/edges.hpp       traffic by edge: on a node, and to other nodes
//     words/attempt.hpp     a call, stated once
//     words/patterns.hpp    every_length, every_operation, two_in_a_row, on_other_communicators, ...
//     words/refusals.hpp    refuses(): in time, and with all as before; buffers that do not fit
//     words/zoo.hpp         tensors of every dtype in every layout, with every number; as_now()
//     words/quick.hpp       takes_a_few_operations(): no loop over a large argument
//     words/labels.hpp      data that tells where it comes from; words/chunks.hpp: in chunks
//     words/contributions.hpp   sums that tell who is in them, and how often
//     words/two_alive.hpp   two objects of a kind at the same time
//     words/calls.hpp       the calls of a loop, as a complete list
//     words/gone.hpp        tensors that nobody may keep
//     words/hand_clock.hpp  a clock that says what the test says
//     words/lives.hpp       random legal sequences of calls beside a plain model
//     words/throws.hpp      each call of a callback throws in turn, also what is no std::exception
//     words/text.hpp        text(...) of any values; must(), which ends a play
//     world/world.hpp       p ranks as threads of one virtual time, and a network that delays, fills up, tears and kills
//     network/faulty_network.hpp   a network between processes that delays, cuts and resets
//     words/settings.hpp    what a call leaves as it was: autograd's mode, and what tensors are to it
//
// Every rank of the job runs every test. Inside on_ranks all MPI_* calls go through the layer in
// mpi/: messages are counted, sends are synchronous, a deadlock ends the test by an exception on
// every rank. CHECK after the last message; a REQUIRE that fails on one rank alone leaves the others
// waiting, and the report then names that rank.
//
// For exercises that measure time, mpi/known_network.hpp has a network whose delays are known.
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
#include "tests/harness/words/compare.hpp"
#include "tests/harness/words/inputs.hpp"

namespace dist::harness {

/// Runs `body` on worlds of the given sizes, one after the other: on the first p ranks of the job,
/// over a communicator of their own. The others sleep meanwhile. Stops at the first size that
/// fails.
void on_ranks(
    std::initializer_list<int> sizes, const std::function<void(const Communicator&)>& body
);
void on_ranks(const std::vector<int>& sizes, const std::function<void(const Communicator&)>& body);

/// As on_ranks(), with `count(p)` bodies on each world, one after the other: what one leaves behind does not
/// get into the next, and the first that fails is the last.
void on_ranks_each(
    const std::vector<int>& sizes,
    const std::function<std::size_t(int p)>& count,
    const std::function<void(const Communicator&, std::size_t number)>& body
);

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
    bool listened_to_anyone = false;  // a receive from MPI_ANY_SOURCE, which is -1
    long collectives = 0;             // MPI collectives called on this rank
    long communicators = 0;           // calls on this rank that make one, such as MPI_Comm_split
    bool counted = true;  // false in a simulation, where nothing is: within() then asks for nothing

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
/// What `body` throws leaves record() as well, without a count: see answer().
Traffic record(const Communicator& comm, const std::function<void()>& body);

/// How a call went that may throw, on all ranks or on some.
struct Answer {
    std::string
        what;  // kInvalidArgument, kError, another type's name; kReturned if it did not throw
    std::string text;  // what() of it
    Traffic traffic;   // all the same: a call that refuses its arguments sends no message
};
inline constexpr const char* kReturned = "it returned as if all were well";
inline constexpr const char* kInvalidArgument = "std::invalid_argument";
inline constexpr const char* kError = "dist::Error";

/// As record(), also if `body` throws a std::exception. Every rank of `comm` makes this call.
Answer answer(const Communicator& comm, const std::function<void()>& body);

/// What the code under test allocated on this rank: by new, malloc or what calls them, in any of its
/// threads; by MPI and the harness nothing, and on stacks only what threads that it starts touch beyond 64 KB.
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

/// True when every rank of `comm` holds the same bits. Every rank makes this call; not counted.
Comparison same_on_all_ranks(std::span<const float> data, const Communicator& comm);

/// Names MPI calls that the exercise asks to build; a call inside on_ranks then ends the test as
/// `forbidden`. One at file scope of a test. "collectives" stands for all of them, "communicators"
/// for all calls that make one.
class Forbid {
  public:
    Forbid(std::initializer_list<const char*> calls, const char* sentence);
};

/// While it lives, this rank may call what Forbid names: the test does so, and no code under test.
class Permit {
  public:
    Permit();
    ~Permit();  // NOLINT(performance-trivially-destructible): it is not, on real processes
    Permit(const Permit&) = delete;
    Permit& operator=(const Permit&) = delete;
};

/// While it lives, this rank comes out of every MPI collective so much later than the others: a race
/// that is rare becomes sure.
class Late {
  public:
    explicit Late(int milliseconds);
    ~Late();  // NOLINT(performance-trivially-destructible): it is not, on real processes
    Late(const Late&) = delete;
    Late& operator=(const Late&) = delete;
};

/// While it lives, each message of this rank leaves so much later: of two requests the one that is first
/// in a list can be the last to be through.
class LateMessages {
  public:
    explicit LateMessages(int milliseconds);
    ~LateMessages();  // NOLINT(performance-trivially-destructible)
    LateMessages(const LateMessages&) = delete;
    LateMessages& operator=(const LateMessages&) = delete;
};

/// While it lives, all messages of this rank fail: the MPI call returns MPI_ERR_OTHER.
class FailingMessages {
  public:
    FailingMessages();
    ~FailingMessages();

    /// Whether the code under test has made a call that failed so. On simulated ranks that is taken for granted.
    [[nodiscard]] bool met() const;
    FailingMessages(const FailingMessages&) = delete;
    FailingMessages& operator=(const FailingMessages&) = delete;
};

/// While it lives, one message of this rank fails when it is through: it arrives, and yet the call that waits for it
/// returns MPI_ERR_OTHER. Who does not look at that, or leaves it to a destructor, does not know.
class FailingMessage {
  public:
    explicit FailingMessage(long number);  // 1 is the first that is sent or received; 0: none fails
    ~FailingMessage();                     // NOLINT(performance-trivially-destructible)
    FailingMessage(const FailingMessage&) = delete;
    FailingMessage& operator=(const FailingMessage&) = delete;
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
