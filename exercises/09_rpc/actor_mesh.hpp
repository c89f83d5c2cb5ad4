// Exercise 09: actors on a mesh of ranks. Others call them by name, all at once or some; each
// handles one message at a time, fails alone, and goes on from its last snapshot.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "course/runtime/actor_places.hpp"
#include "course/runtime/error.hpp"
#include "course/runtime/rpc.hpp"

namespace dist {

/// An object on one rank, with a state of its own.
class Actor {
  public:
    Actor() = default;
    Actor(const Actor&) = delete;
    Actor& operator=(const Actor&) = delete;
    virtual ~Actor() = default;

    /// Handles a message. It may call other actors and wait for them. If it throws, this actor has
    /// failed.
    virtual Bytes call(const std::string& endpoint, std::span<const std::byte> arguments) = 0;

    /// Its state.
    [[nodiscard]] virtual Bytes snapshot() const = 0;

    /// Takes up a state. Called on a new actor, before its first message.
    virtual void restore(std::span<const std::byte> snapshot) = 0;
};

/// An actor that gave no answer, and why.
struct ActorFailure {
    int place = 0;
    std::string actor = {};   // "trainers[hosts=0, gpus=1]"
    std::string reason = {};  // "train: out of memory"
};

/// Some of the actors that were called gave no answer. what() names them all:
/// "1 of 4 actors failed: trainers[hosts=0, gpus=1]: train: out of memory"
class MeshError : public Error {
  public:
    /// failures  by place, not empty.
    /// answers   those of the other actors, by place.
    MeshError(std::vector<ActorFailure> failures, std::map<int, Bytes> answers)
        : Error(text_of(failures, failures.size() + answers.size())),
          failures_(std::move(failures)),
          answers_(std::move(answers)) {}

    [[nodiscard]] const std::vector<ActorFailure>& failures() const { return failures_; }
    [[nodiscard]] const std::map<int, Bytes>& answers() const { return answers_; }

  private:
    static std::string text_of(const std::vector<ActorFailure>& failures, std::size_t all) {
        std::string text =
            std::to_string(failures.size()) + " of " + std::to_string(all) + " actors failed";
        for (const ActorFailure& one : failures) {
            text += (&one == failures.data() ? ": " : "; ") + one.actor + ": " + one.reason;
        }
        return text;
    }

    std::vector<ActorFailure> failures_;
    std::map<int, Bytes> answers_;
};

/// Actors on the p ranks of an Rpc. Each rank makes one mesh for its Rpc, all with the same
/// dimensions, and spawns the same actors; then they may be called. The mesh stays until nobody
/// calls any more. The actor of place i is on rank i mod p, until that one dies.
///
/// Messages. An actor handles one message at a time: what comes while it works or waits is queued.
/// What one rank sends to an actor is handled in the order in which it was begun. A rank has one
/// thread: while an actor waits for another one, others of its rank handle messages, inside of its
/// wait.
///
/// Deadlock. A call fails at once, with a reason that begins with "deadlock", if the called actor
///   - waits for the caller, directly or through others that wait;
///   - or waits on the rank of one of these, who began inside of its wait: it cannot go on before.
/// It has not failed by that. Who has begun a call is taken to wait for it. Two actors that call
/// each other at the same time are not found out; the Rpc's timeout ends that.
///
/// Failure. Where call() throws, the reason is "ENDPOINT: what()". From then on the actor handles
/// no message, also none that was queued: all fail with "has failed: ENDPOINT: what()", until it is
/// restarted. What is no std::exception is an "unknown exception". No message is handled twice.
///
/// Source  Hewitt, Bishop & Steiger (1973), "A Universal Modular ACTOR Formalism for Artificial
///         Intelligence"; PyTorch Monarch, actor meshes; Ray, actors.
class ActorMesh {
  public:
    /// Makes the actor of a place. If it throws, that actor has failed: "spawn: what()".
    using Factory = std::function<std::unique_ptr<Actor>(int place)>;

    /// A call that has been begun.
    struct Call {
        std::string name = {};
        std::map<int, RpcFuture> answers = {};  // by place
    };

    /// rpc   outlives the mesh.
    /// dims  with different names, and sizes >= 1.
    ActorMesh(Rpc& rpc, std::vector<ActorDim> dims);
    ~ActorMesh();
    ActorMesh(const ActorMesh&) = delete;
    ActorMesh& operator=(const ActorMesh&) = delete;

    /// Makes the actors of that name whose places are on this rank.
    ///
    /// snapshot_every  after so many messages since its last snapshot, or since it was made, an
    ///                 actor takes the next one; 0: only when snapshot() asks for it.
    ///
    /// Errors  std::invalid_argument if there are actors of that name already.
    void spawn(const std::string& name, const Factory& factory, int snapshot_every = 0);

    /// Calls actors, waits for all of them, and returns their answers by place.
    ///
    /// Cost    a request and an answer for each actor. All are begun before one is waited for.
    /// Errors  MeshError if an actor failed, its rank has died, or its answer did not come in time;
    ///         std::invalid_argument, before any message, if there is no such name or slice.
    std::map<int, Bytes> call(
        const std::string& name,
        const ActorSlice& slice,
        const std::string& endpoint,
        std::span<const std::byte> arguments
    ) {
        return wait(call_async(name, slice, endpoint, arguments));
    }

    /// call() in two parts, once each.
    Call call_async(
        const std::string& name,
        const ActorSlice& slice,
        const std::string& endpoint,
        std::span<const std::byte> arguments
    );
    std::map<int, Bytes> wait(const Call& call);

    /// Has all actors of that name take a snapshot, each when its turn comes, as for a message.
    ///
    /// A snapshot lies on the actor's rank r, and on the first that lives of r + 1, r + 2, ... (mod
    /// p). It lies there when the message after which it was taken is answered. Until then no actor
    /// of that rank begins with another message.
    ///
    /// Cost    of each snapshot a request, and its answer.
    /// Errors  as call's.
    void snapshot(const std::string& name);

    /// Makes an actor anew that has failed, or whose rank has died, and has it restore its last
    /// snapshot. One that has not failed goes on as it was.
    ///
    /// It is on its rank again; if it has no snapshot yet, it begins anew there. If its rank has
    /// died, it is on the next one that lives, and all ranks know that when restart() returns. Its
    /// snapshot lies on two ranks again. At any time one rank restarts it.
    ///
    /// Errors  MeshError if it cannot be made, or if its rank has died without a snapshot of it.
    void restart(const std::string& name, int place);

  private:
    struct State;  // yours: in your .cpp
    std::unique_ptr<State> state_;
};

}  // namespace dist
