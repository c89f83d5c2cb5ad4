// Which collectives this rank calls, for exercise flight_recorder: train --flight-records, and launch.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <semaphore.h>
#include <string>
#include <thread>

#include <mpi.h>

#include "course/runtime/clock.hpp"
#include "course/runtime/communicator.hpp"
#include "course/runtime/flight_record.hpp"
#include "exercises/10_elastic/flight_recorder.hpp"

namespace dist::trainer {

/// Records what this process notes, as long as it lives, and writes the record: at its end, when SIGTERM comes, and in
/// write_flight_record().
class Flight {
  public:
    /// The file for a rank's record: in this folder, which is made; without one beside what launch keeps of its workers; empty
    /// where nobody asks. Rank 0 removes the records of earlier runs.
    static std::filesystem::path file_in(const std::filesystem::path& folder, int rank);

    /// file  empty: nothing is recorded.
    /// all   ranks of the job.
    Flight(std::filesystem::path file, const Communicator& all);
    ~Flight();
    Flight(const Flight&) = delete;
    Flight& operator=(const Flight&) = delete;
    Flight(Flight&&) = delete;
    Flight& operator=(Flight&&) = delete;

    /// A collective begins: returns its id.
    std::int64_t begin(const Communicator& comm, const FlightCall& call, const SourceLine& where);
    void end(std::int64_t id) { recorder_.complete(id); }
    void write();

    /// For a signal's handler.
    void tell_to_end();

  private:
    std::string group_of(const Communicator& comm);
    void write_when_told();

    std::filesystem::path file_;
    int rank_;
    int size_;
    SteadyClock clock_;
    FlightRecorder recorder_;
    std::mutex lock_;                         // of the next two
    std::map<MPI_Comm, std::string> groups_;  // names, by handle
    std::map<std::string, int> same_;         // groups of the same ranks
    std::mutex writing_;
    std::atomic<bool> is_told_ = false;
    std::thread::id first_ = std::this_thread::get_id();
    sem_t bell_{};  // wakes the other one
    std::thread thread_;
};

/// Writes the record, where there is one: for who ends this process at once.
void write_flight_record();

/// A collective, from here to the end of the block. One that an exception leaves is not complete.
class Noted {
  public:
    /// comm   collective, the first time that it comes here. Its group is named "all", or by its ranks: "0, 2". Others of the
    ///        same ranks are "all (2)", ...
    Noted(
        const Communicator& comm,
        const FlightCall& call,
        const SourceLine& where = SourceLine::here()
    );
    ~Noted();
    Noted(const Noted&) = delete;
    Noted& operator=(const Noted&) = delete;
    Noted(Noted&&) = delete;
    Noted& operator=(Noted&&) = delete;

  private:
    std::int64_t id_ = 0;  // 0: it is not recorded
    int exceptions_;
};

}  // namespace dist::trainer
