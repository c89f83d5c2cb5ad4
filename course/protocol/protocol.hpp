// What a test process and the command that launched it agree on: a folder, a shared roll-call, and
// one file of records per rank. Only the layout is here; nobody's behaviour.
//
// The launcher makes an empty folder (the run folder), puts a zeroed file of sizeof(Board) bytes
// named "board" into it and a Secret (secret.hpp) named "secret", and starts `mpirun ... rank_proxy TEST` with the
// environment below. The test's program removes the secret as it reads it, before anything else of it runs. In that folder a test process leaves, for each rank R:
//
//   rank-R.out    everything the rank wrote to standard output and standard error
//   rank-R.jsonl  one JSON object a line, each complete as soon as its newline is there:
//                   {"plan": ["name of a test", ...],      first: the tests this rank is about to run;
//                    "many": 1}                            tests left for a job of kManyRanks ranks
//                   {"test": ..., ...}                     one for each test that ended, in order
//                   {"finished": true}                     last: nothing died, nothing was left out
//
// A record of a test:
//   test        its name                      state       Outcome, in terms.hpp
//   ranks       size of the world it ended in message     one or more sentences; empty on a pass
//   duration_s  on this rank                  failures    [{expression, expansion, file, line, info}]
//   output      [begin, end) in rank-R.out    wait        {phase, call, kind, direction, peer, tag,
//   checks      how many were made                        rank_in_comm, peer_in_comm, collectives, since_s, frames, info}
//   trace       what this rank did with messages in the last piece of code that was looked at, as step_json.hpp writes
//               it; not in every record
//   traffic     {messages_sent, bytes_sent, messages_received, bytes_received} by the code under test
//
// Each object begins with {"seal": ...}, the checksum of all that follows it in the line (seal.hpp). A line whose seal is not the
// next one was written by somebody else, and no test of that run has passed.
//
// `wait` says where this rank stood when the test was stopped: waiting (in `call`, which is for
// people; kind and direction say the same to programs), returned from the code under test, thrown out
// of it, or computing; `collectives` is how many it had called, `info` what the test said of the call
// by INFO. Frames are addresses in the test's executable, innermost first, relative to where it was
// loaded: addr2line turns them into lines. Of a rank that threw they are those of the throw.
//
// A shared job (SHARDLINGS_SHARED_JOB) tries one answer after the other. The command makes a folder K in the run folder, 0 for the
// first, with a board, a secret, a folder "work" that the ranks run in, and a file "answer": the path of a shared object of the answer
// and its test, and then a line NAME=VALUE for each of the variables below that holds for it alone. Then it sets Board::handed_in of the job's
// own board to K + 1. The records come into that folder, and Board::tried is K + 1 when all of the answer's processes have ended.
//
// A pass is a complete record: a plan on every rank, the same on all; "pass" for every test on
// every rank; "finished" on every rank. What a dead rank could not write stands in its slot of the
// board.
#pragma once

#include <atomic>
#include <cstdint>

#include "course/protocol/terms.hpp"

namespace dist::harness {

// The launcher sets these; every one but the folder may be missing.
inline constexpr const char* kEnvFolder = "SHARDLINGS_RUN_FOLDER";
// Another folder of the run, in shared memory.
inline constexpr const char* kEnvShared = "SHARDLINGS_SHARED_FOLDER";
inline constexpr const char* kEnvRanks = "SHARDLINGS_RANKS";  // only worlds of this size
inline constexpr const char* kEnvTest =
    "SHARDLINGS_TEST";  // only tests so named, or else whose name holds this
inline constexpr const char* kEnvAfter = "SHARDLINGS_AFTER";  // only tests after the one so named
inline constexpr const char* kEnvMany = "SHARDLINGS_MANY";    // "1": only tests with the tag [many]
inline constexpr const char* kEnvUntilFailure =
    "SHARDLINGS_UNTIL_FAILURE";  // "1": all ranks finish after the first test that fails
// "1": the job waits for answers, and tries one after the other.
inline constexpr const char* kEnvSharedJob = "SHARDLINGS_SHARED_JOB";
// "1": while tests run, ranks write below the folder that they are in, /tmp and /dev alone.
inline constexpr const char* kEnvClosed = "SHARDLINGS_CLOSED";
// "1": the program changes and makes no code. LibTorch's kernels do.
inline constexpr const char* kEnvNoNewCode = "SHARDLINGS_NO_NEW_CODE";
// Set: each record of a test holds what this rank did with messages; otherwise those of tests that did not pass.
inline constexpr const char* kEnvTrace = "SHARDLINGS_TRACE";
inline constexpr const char* kEnvDelays = "SHARDLINGS_DELAYS";  // "1": seeded delays in MPI calls
inline constexpr const char* kEnvMemoryMb = "SHARDLINGS_MEMORY_MB";  // a rank's limit, default 1024
inline constexpr const char* kEnvOutputMb = "SHARDLINGS_OUTPUT_MB";  // a rank's limit, default 8
inline constexpr const char* kEnvComputeS =
    "SHARDLINGS_COMPUTE_S";  // CPU seconds without progress, default 5

inline constexpr int kMaxRanks = 64;
inline constexpr int kManyRanks = 11;      // of the second job, for tests with the tag [many]
inline constexpr int kMaxThreads = 64;     // of one rank, that call MPI at a time
inline constexpr int kMaxMessages = 4096;  // of one rank, posted and not yet through
inline constexpr int kMaxFrames = 24;
inline constexpr int kMaxGroups = 32;  // communicators of one rank that collectives were called on

/// How a rank's process ended, as seen by the parent process that watches over it.
enum class End : int {
    none,          // it lives
    finished,      // wrote its last record, and exited with status 0
    exited,        // exited without having finished; code is the exit status
    signalled,     // was killed by a signal; code is the signal
    aborted,       // called MPI_Abort; code is the argument
    time_limit,    // computed without progress for too long; the watching parent killed it
    asleep,        // slept outside MPI, or was stopped, for too long; likewise
    memory_limit,  // used too much memory; likewise
    output_limit,  // wrote too much; likewise
    unwound,       // was stopped in a place where no exception can pass: see Board::stop
    left,          // went because another rank (Board::died) had died, or because mpirun ended all
    no_room,       // a disk was full: its records, or memory that ranks share, found no room
};

/// Why all ranks were stopped.
enum class Stop : int { none, deadlock, collectives_differ, forbidden };

struct Frames {
    std::atomic<int> count;
    std::atomic<std::uint64_t> address[kMaxFrames];
};

/// A thread's line in the roll-call.
struct Line {
    std::atomic<Phase> phase;
    std::atomic<int> polls;  // looks at its request since the epoch it saw last
    std::atomic<long> seen_epoch;
    std::atomic<double> since_s;  // CLOCK_MONOTONIC, when this phase began
    std::atomic<int> peer;        // rank in the world of the job, or negative: none, or any
    std::atomic<int>
        rank_in_comm;  // this rank in the communicator of the call, or negative: not known
    std::atomic<int> peer_in_comm;  // its peer, likewise
    std::atomic<int> tag;
    std::atomic<int> tid;  // of the thread, for the kernel
    std::atomic<CallKind> kind;
    std::atomic<Direction> direction;
    char call[160];  // "MPI_Recv(from rank 2, tag 0, 4 bytes)"
    Frames frames;
};

/// A message that was posted and is not through yet.
struct Message {
    /// The group of a receive that MPI has matched with its send already.
    static constexpr std::uint64_t kMatched = 0;
    std::atomic<int> used;
    std::atomic<int>
        is_send;  // 0: it is a receive; else a send, and the sender's number of it where that is of use
    std::atomic<int> peer;  // rank in the world of the job; MPI_ANY_SOURCE stays what it is
    std::atomic<int> tag;
    std::atomic<std::uint64_t> group;
};

/// A rank's arrivals at the collectives of one communicator.
struct Arrivals {
    std::atomic<std::uint64_t> group;  // 0: unused
    std::atomic<long> count;
    char signature[2][96];  // of the last two: call, root, bytes
};

struct Slot {
    std::atomic<int> proxy;    // pid of what mpirun started for this rank
    std::atomic<int> watcher;  // of the process that watches over the rank
    std::atomic<int> pid;      // of the rank's own process, its child
    std::atomic<int>
        rank_end;  // 1 + wait status of the watcher, which the proxy is to end like; 0: not ended
    std::atomic<End> end;
    std::atomic<int> end_code;
    std::atomic<int> starting;     // it is inside MPI_Init
    std::atomic<int> planned;      // it is past it, and has said what it is about to run
    std::atomic<int> met;          // how often it came to where all ranks of several answers meet
    std::atomic<int> exit_called;  // exit() was reached: an early exit by exit(), not by _exit()
    std::atomic<long> run_started, run_left,
        run_done;                    // the last on_ranks body that it began, left, judged
    std::atomic<long> gate;          // number of the last gate that this rank reached
    std::atomic<long> gate_left;     // number of the last gate that it went through
    std::atomic<long> tests_done;    // number of the last test that this rank ended
    std::atomic<long> asleep_epoch;  // its threads outside MPI have slept since this epoch
    std::atomic<int>
        recording;  // the harness brings its records together: the rank computes nothing
    std::atomic<std::uint64_t> value;  // what it shares at a gate
    std::atomic<int> rounds;           // longest chain of messages, seen by this rank
    std::atomic<std::uint64_t> fault_address;
    std::atomic<std::uint64_t> fault_stack;  // the stack's pointer then; 0 if not known
    std::atomic<int> fault_code;  // si_code: SI_KERNEL when the address is none, and so not known
    char test[256];               // the test it is in, empty between tests
    std::atomic<int> ranks;       // size of the world that body runs in
    char end_message[256];
    char overrun
        [256];  // a message that does not fit where it was to come from or to go; empty: none
    Frames end_frames;  // where it crashed, or computed for ever
    Line line[kMaxThreads];
    std::atomic<int> message_lines;  // how many of the lines below were ever used
    Message message[kMaxMessages];
    Arrivals arrivals[kMaxGroups];
};

struct Board {
    std::atomic<long> epoch;  // moves on whenever anything moves
    std::atomic<Stop> stop;   // holds for the on_ranks body `stopped_run`
    std::atomic<long> stopped_run;
    char stop_message[512];
    std::atomic<int> died;    // 1 + the rank that died first; 0: all live
    std::atomic<int> mpirun;  // its pid
    std::atomic<int>
        loaded_end;  // 1 + wait status of the process all ranks were forked from; 0: not ended
    std::atomic<long> failed_test;  // number of the last test in which a rank failed
    std::atomic<int> handed_in;     // of a shared job: answers that there are
    std::atomic<int> tried;         // likewise: answers whose processes have all ended
    std::atomic<int>
        left;  // of an answer in it: processes that outlived its ranks; they were ended
    Slot slot[kMaxRanks];
};

/// How many collectives the rank has called in this body, over all communicators.
inline long collective_calls(const Slot& slot) {
    long calls = 0;
    for (const Arrivals& arrivals : slot.arrivals) {
        calls += arrivals.count;
    }
    return calls;
}

static_assert(std::atomic<double>::is_always_lock_free && std::atomic<long>::is_always_lock_free);

}  // namespace dist::harness
