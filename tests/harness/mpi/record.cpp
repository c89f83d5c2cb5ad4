// Runs code under test between two gates, and brings together what every rank has noted of it.

#include <algorithm>
#include <exception>
#include <numeric>
#include <tuple>
#include <type_traits>

#include <mpi.h>

#include "tests/harness/harness.hpp"
#include "tests/harness/job/gates.hpp"
#include "tests/harness/job/memory.hpp"
#include "tests/harness/job/runs.hpp"
#include "tests/harness/mpi/groups.hpp"
#include "tests/harness/mpi/traffic.hpp"

namespace dist::harness {
namespace {

using trace::Schedule;

// While it lives, this rank waits for the others' records, which on a busy machine takes long: no limit is for that.
class Recording {
  public:
    Recording() { my_slot().recording = 1; }
    ~Recording() { my_slot().recording = 0; }
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;
};

// What every rank of `comm` holds, by rank. Whoever comes through the gate takes part in both calls.
template <class T>
std::vector<std::vector<T>> gathered(const std::vector<T>& mine, const Communicator& comm) {
    static_assert(std::is_trivially_copyable_v<T>);
    gate();
    const int my_bytes = static_cast<int>(mine.size() * sizeof(T));
    std::vector<int> bytes(static_cast<std::size_t>(comm.size()));
    PMPI_Allgather(&my_bytes, 1, MPI_INT, bytes.data(), 1, MPI_INT, comm.handle());
    std::vector<int> begins(bytes.size());
    std::exclusive_scan(bytes.begin(), bytes.end(), begins.begin(), 0);
    std::vector<T> all(static_cast<std::size_t>(begins.back() + bytes.back()) / sizeof(T));
    PMPI_Allgatherv(
        mine.data(), my_bytes, MPI_BYTE, all.data(), bytes.data(), begins.data(), MPI_BYTE,
        comm.handle()
    );
    std::vector<std::vector<T>> by_rank;
    for (std::size_t r = 0; r < bytes.size(); ++r) {
        const auto first = all.begin() + begins[r] / static_cast<int>(sizeof(T));
        by_rank.emplace_back(first, first + bytes[r] / static_cast<int>(sizeof(T)));
    }
    return by_rank;
}

// The rank in `comm` of a rank of the job; -1 if it has none. A message may have gone through
// another communicator.
int rank_in(const Communicator& comm, int rank_of_job) {
    const std::vector<int>& members = group_of(comm.handle()).members;
    const auto found = std::ranges::find(members, rank_of_job);
    return found == members.end() ? -1 : static_cast<int>(found - members.begin());
}

// What rank `from` holds, on all.
template <class T>
void broadcast(T* values, std::size_t n, int from, const Communicator& comm) {
    PMPI_Bcast(values, static_cast<int>(n * sizeof(T)), MPI_BYTE, from, comm.handle());
}

// The logs played on both machines: two ranks do so, at the same time, and tell the others.
void play_for_all(
    const std::vector<std::vector<trace::Step>>& logs,
    const Communicator& comm,
    Schedule& full,
    Schedule& half_duplex
) {
    const int other = comm.size() > 1 ? 1 : 0;
    full = comm.rank() == 0 ? play(logs, false) : Schedule();
    half_duplex = comm.rank() == other ? play(logs, true) : Schedule();
    broadcast(&full.rounds, 1, 0, comm);
    broadcast(&half_duplex.rounds, 1, other, comm);
    std::size_t n = full.deliveries.size();
    broadcast(&n, 1, 0, comm);
    full.deliveries.resize(n);
    broadcast(full.deliveries.data(), n, 0, comm);
}

void begin_record() {
    gate();
    reset_traffic();
    gate();
}

Traffic end_record(const Communicator& comm) {
    const Uncounted harness;
    const Recording records;
    Traffic result = traffic();
    auto logs = gathered(end_log(), comm);
    for (std::vector<trace::Step>& log : logs) {
        for (trace::Step& step : log) {
            step.peer = rank_in(comm, step.peer);
        }
    }
    Schedule full;
    Schedule half_duplex;
    play_for_all(logs, comm, full, half_duplex);
    note_schedule(full, comm.rank());
    result.rounds = full.rounds;
    result.half_duplex_rounds = half_duplex.rounds;
    gate();
    return result;
}

}  // namespace

Traffic record(const Communicator& comm, const std::function<void()>& body) {
    begin_record();
    body();
    Traffic result = end_record(comm);
    control_the_checks();  // while objects of the code under test live
    return result;
}

Answer answer(const Communicator& comm, const std::function<void()>& body) {
    begin_record();
    Answer result{kReturned, {}, {}};
    std::exception_ptr thrown;
    try {
        body();
    } catch (const std::exception& error) {
        if (note_course_exception()) {
            throw;
        }
        thrown = std::current_exception();
        result.what = type_name(error);
        result.text = error.what();
    }
    try {
        result.traffic = end_record(comm);
    } catch (...) {
        // the others wait for what this rank did not do: what it threw is the reason
        if (thrown) {
            std::rethrow_exception(thrown);
        }
        throw;
    }
    return result;
}

std::vector<MessageRecord> recorded_messages(const Communicator& comm) {
    const Recording records;
    std::vector<MessageRecord> mine = received_messages();
    for (MessageRecord& message : mine) {
        message.src = rank_in(comm, message.src);
        message.dst = comm.rank();
    }
    std::vector<MessageRecord> all;
    for (const auto& some : gathered(mine, comm)) {
        all.insert(all.end(), some.begin(), some.end());
    }
    std::ranges::sort(all, {}, [](const MessageRecord& message) {
        return std::tuple(message.end, message.src, message.dst, message.begin);
    });
    return all;
}

}  // namespace dist::harness
