// This process as a replica of the model: with whom it takes the next step, and over what.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>

#include "course/elastic/lighthouse.hpp"
#include "course/runtime/clock.hpp"
#include "course/runtime/transport.hpp"
#include "exercises/04_groups_and_rendezvous/tcp_store.hpp"
#include "exercises/10_elastic/quorum_step.hpp"

namespace dist::trainer {

/// Which replica this process is.
struct ReplicaId {
    int number = 0;         // one of 0 to replicas - 1
    int replicas = 1;       // that there are in all
    std::string name = {};  // replica_name(): with its life
};

/// If --fault-tolerant is among the words, makes this process a world of its own, as own_mpi will
/// see it: what RANK and WORLD_SIZE said, REPLICA_GROUP_ID and NUM_REPLICA_GROUPS say from then on.
/// Call it before MPI begins.
void leave_world(int argc, char** argv);

/// What the launcher has said.
///
/// Errors  Stop, if there is none.
ReplicaId replica_id();

/// The replicas, as one of them sees them. A thread of it says all the time that this process
/// lives.
class ReplicaGroup {
  public:
    /// state, step  as QuorumStep takes them.
    ReplicaGroup(const ReplicaId& id, std::span<float> state, std::int64_t step);
    ~ReplicaGroup();
    ReplicaGroup(const ReplicaGroup&) = delete;
    ReplicaGroup& operator=(const ReplicaGroup&) = delete;

    /// Waits for a quorum, connects with its members if they are not those of the step before, and
    /// begins the step.
    ///
    /// Returns  false if all steps are taken, by the others.
    bool begin_step();

    [[nodiscard]] const Quorum& quorum() const { return quorum_; }
    [[nodiscard]] int rank() const { return rank_; }  // in the quorum
    [[nodiscard]] bool heals() const { return quorum_.heals(rank_); }

    void all_reduce(std::span<float> gradient) { step_.all_reduce(gradient); }
    bool should_commit();
    [[nodiscard]] std::int64_t step() const { return step_.step(); }

    /// Tells those that would come back that all steps are taken.
    void finish() { lighthouse_.finish(); }

  private:
    void connect(const Quorum& quorum);
    void beat();

    std::string name_;
    std::string run_;
    SteadyClock clock_ = {};
    TcpStore
        store_;  // of the lighthouse; calls of one store wait for each other, so there are two:
    TcpStore meeting_;  // of those that connect
    elastic::Lighthouse lighthouse_;
    QuorumStep step_;
    Quorum quorum_ = {};
    int rank_ = 0;
    bool failed_ = false;
    std::unique_ptr<Transport> transport_ = {};  // after step_, into whose memory it may write
    std::mutex mutex_ = {};
    std::condition_variable end_ = {};
    bool is_over_ = false;
    std::thread heart_;
};

}  // namespace dist::trainer
