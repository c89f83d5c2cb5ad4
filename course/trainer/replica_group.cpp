#include "course/trainer/replica_group.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <optional>

#include "course/parallel/stop.hpp"
#include "exercises/04_groups_and_rendezvous/file_store.hpp"
#include "exercises/04_groups_and_rendezvous/full_mesh.hpp"
#include "exercises/04_groups_and_rendezvous/tcp_transport.hpp"

namespace dist::trainer {

namespace {

/// Members of a new quorum wait for its number at the same moment. Who does not come has died.
constexpr std::chrono::seconds kMeet{5};

std::string said_by_launcher(const char* name) {
    const char* const value = std::getenv(name);
    if (value == nullptr) {
        throw Stop(
            "--fault-tolerant: replicas that come back need a launcher: ./shardlings launch "
            "--nproc-per-node 3 --max-restarts 3 -- train --fault-tolerant"
        );
    }
    return value;
}

void hand_on(const char* from, const char* to, const char* alone) {
    if (const char* const value = std::getenv(from); value != nullptr) {
        setenv(to, value, 1);
        setenv(from, alone, 1);
    }
}

}  // namespace

void leave_world(int argc, char** argv) {
    const std::span words(argv, static_cast<std::size_t>(argc));
    if (std::ranges::any_of(words, [](const std::string& word) {
            return word == "--fault-tolerant";
        })) {
        hand_on("RANK", "REPLICA_GROUP_ID", "0");
        hand_on("WORLD_SIZE", "NUM_REPLICA_GROUPS", "1");
    }
}

ReplicaId replica_id() {
    ReplicaId id;
    id.number = std::stoi(said_by_launcher("REPLICA_GROUP_ID"));
    id.replicas = std::stoi(said_by_launcher("NUM_REPLICA_GROUPS"));
    id.name = elastic::replica_name(id.number, std::stoll(said_by_launcher("SHARDLINGS_ROUND")));
    return id;
}

ReplicaGroup::ReplicaGroup(const ReplicaId& id, std::span<float> state, std::int64_t step)
    : name_(id.name),
      run_(said_by_launcher("TORCHELASTIC_RUN_ID")),
      store_(said_by_launcher("MASTER_ADDR"), std::stoi(said_by_launcher("MASTER_PORT"))),
      meeting_(said_by_launcher("MASTER_ADDR"), std::stoi(said_by_launcher("MASTER_PORT"))),
      lighthouse_(store_, run_, id.replicas, clock_),
      step_(state, step),
      heart_([this] { beat(); }) {}

ReplicaGroup::~ReplicaGroup() {
    {
        const std::scoped_lock guard(mutex_);
        is_over_ = true;
    }
    end_.notify_all();
    heart_.join();
}

void ReplicaGroup::beat() {
    std::unique_lock lock(mutex_);
    while (!end_.wait_for(lock, lighthouse_.interval(), [this] { return is_over_; })) {
        lock.unlock();
        try {
            lighthouse_.beat(name_);
        } catch (const Error&) {
            return;  // the store is gone, and the launcher with it: the next question says so
        }
        lock.lock();
    }
}

bool ReplicaGroup::begin_step() {
    for (;;) {
        const std::optional<Quorum> quorum = lighthouse_.ask(name_, step_.step(), failed_);
        if (!quorum) {
            return false;
        }
        try {
            if (transport_ == nullptr || quorum->number != quorum_.number) {
                connect(*quorum);
            }
            quorum_ = *quorum;
            failed_ = false;
            step_.begin(quorum_, *transport_);
            return true;
        } catch (const Error&) {  // a member has died meanwhile
            transport_.reset();
            failed_ = true;
        }
    }
}

void ReplicaGroup::connect(const Quorum& quorum) {
    transport_.reset();
    PrefixStore here(run_ + "/quorum/" + std::to_string(quorum.number), meeting_);
    const auto place = std::ranges::find(quorum.members, name_);
    rank_ = static_cast<int>(place - quorum.members.begin());
    const int size = static_cast<int>(quorum.members.size());
    transport_ = std::make_unique<TcpTransport>(
        full_mesh(here, rank_, size, said_by_launcher("NODE_ADDR"), kMeet), rank_
    );
    here.erase("mesh/" + std::to_string(rank_));  // all have come
}

bool ReplicaGroup::should_commit() {
    failed_ = !step_.should_commit();
    return !failed_;
}

}  // namespace dist::trainer
