// Exercise 09: references to objects of other ranks. The owner frees an object when nobody uses it
// any more, and only then, although messages are late, lost, or come twice.
#pragma once

#include <any>
#include <chrono>
#include <compare>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "course/runtime/clock.hpp"
#include "course/runtime/error.hpp"

namespace dist {

/// An id that is given only once: by which rank, and the number that it had there.
struct GlobalId {
    std::int64_t creator = -1;
    std::int64_t number = 0;

    // clang-tidy 14 sees a 0 here
    auto operator<=>(const GlobalId&) const = default;  // NOLINT(modernize-use-nullptr)
};
using RefId = GlobalId;   // of an object, the same on all ranks
using ForkId = GlobalId;  // of one use of it on a rank other than its owner

/// "1.4"
inline std::string to_string(const GlobalId& id) {
    return std::to_string(id.creator) + "." + std::to_string(id.number);
}

/// What ranks tell each other of uses.
enum class ControlKind {
    fork_request,  // a new use to the owner: there is this use
    child_accept,  // to the rank that gave it: the owner knows it, or it is given up
    user_delete,   // a use to the owner: it has ended
};

/// One such message, or its ACK. All are sent again until they are acknowledged, but ACKs are not.
struct ControlMessage {
    ControlKind kind = ControlKind::fork_request;
    bool is_ack = false;
    RefId reference = {};
    ForkId fork = {};

    auto operator<=>(const ControlMessage&) const = default;  // NOLINT(modernize-use-nullptr)
};

/// When a message is sent again, and when it is given up.
struct RetryOptions {
    using Duration = Clock::Duration;

    int max_retries = 5;
    Duration first_wait = std::chrono::seconds(1);
    double backoff = 1.5;  // each wait is so much longer than the one before

    /// From the `sent`-th time that it is sent (1 is the first) to the next, or to its end.
    [[nodiscard]] Duration wait(int sent) const {
        auto ms = static_cast<double>(first_wait.count());
        for (int i = 1; i < sent; ++i) {
            ms *= backoff;
        }
        constexpr double kFar = 9e18;  // as long as a Duration can be
        return ms < kFar ? Duration(static_cast<Duration::rep>(ms)) : Duration::max();
    }
};

/// What a call takes along, so that the rank that it goes to gets a use. Its bytes can be sent as
/// they are. A call arrives once, or not at all: nobody repeats it.
struct ForkData {
    RefId reference = {};
    ForkId fork = {};
    int owner = -1;
    int parent = -1;  // the rank that gives it
};

/// How much is known on a rank.
struct RefCounts {
    int owned = 0;    // objects of this rank that others use
    int forks = 0;    // the uses of these on other ranks
    int users = 0;    // uses here of other ranks' objects, also those that wait for their end
    int pending = 0;  // messages that are not acknowledged

    bool operator==(const RefCounts&) const = default;
};

struct RefUse;    // yours: in your .cpp
struct RefState;  // yours: in your .cpp

/// A use of an object, which lies here or on another rank. Copies are one use; it ends with the
/// last of them. They may outlive the RefContext, and are of no use then.
class RemoteRef {
  public:
    /// `error`: none, or why the use is given up.
    using Callback = std::function<void(const std::exception_ptr& error)>;

    RemoteRef(std::shared_ptr<RefUse> use, RefId id, int owner)
        : use_(std::move(use)), id_(id), owner_(owner) {}

    [[nodiscard]] RefId id() const { return id_; }
    [[nodiscard]] int owner() const { return owner_; }

    /// Gives rank `to` a use, which it gets from accept(). It may be any rank, also this one.
    ///
    /// Errors  Error if this use is given up, or, on the owner, if the object is not made yet.
    [[nodiscard]] ForkData fork_for(int to) const;

    /// Whether the object is made and, if it is another rank's, the owner knows this use.
    [[nodiscard]] bool is_confirmed() const;

    /// Calls back once: when this use is confirmed, or given up. At once if it is so already. A
    /// function that takes references does its work then, and no earlier. The callback may hold
    /// this use; it is destroyed when it was called.
    void when_confirmed(Callback callback) const;

    /// The object.
    ///
    /// Errors  Error if it is another rank's. It names both ranks, as "rank 1". Error if it is not
    ///         made yet.
    [[nodiscard]] std::any& value() const;

  private:
    std::shared_ptr<RefUse> use_;
    RefId id_;
    int owner_;
};

/// The references of one rank. It knows of no network. What it has to say it hands out, and what
/// others say is handed to it:
///
///     const auto [ref, data] = context.remote(2);  // on rank 1: rank 2 is to make an object
///     call(2, "make", data);
///     call(3, "use", ref.fork_for(3));
///
///     context.make(data, Table());                 // on rank 2, in "make"
///
///     const RemoteRef ref = context.accept(data);  // on rank 3, in "use"
///     ref.when_confirmed([ref](const std::exception_ptr& error) { ... });
///
/// An object is freed when it has no use left on any rank. Until then it is there: also while a
/// call brings a use to another rank, and whatever becomes of messages. They may come in any order,
/// late, twice, or not at all. Each is sent up to 6 times (RetryOptions), and given up if no ACK
/// has come a wait later. With a FORK_REQUEST its use is given up, and stays so. It ends as others
/// do.
///
/// Cost    in messages, where none is lost:
///           remote() and make()      the ACK of a FORK_REQUEST: the call stands for the request
///           the owner gives a use    none
///           a user gives one
///             to the owner           CHILD_ACCEPT, ACK
///             to another rank        FORK_REQUEST, ACK, CHILD_ACCEPT, ACK
///             to itself              as to another rank
///           a use ends               USER_DELETE, ACK; on the owner none
///
/// Source  PyTorch, "Remote Reference Protocol", and torch/csrc/distributed/rpc/rref_context.cpp.
class RefContext {
  public:
    using Send = std::function<void(int to, const ControlMessage& message)>;

    /// clock  outlives this object.
    /// send   Sends a message to a rank, which may be this one. Throws nothing. Nothing of this
    ///        object is called before it has returned.
    RefContext(int rank, Clock& clock, Send send, const RetryOptions& retries = {});

    /// Makes an object here. Nobody is told before it is given to others.
    RemoteRef create(std::any value);

    /// A use, and what goes with the call that makes its object.
    struct Remote {
        RemoteRef ref;
        ForkData data;
    };

    /// Gets a use of an object that another rank is about to make. It can be given to others at
    /// once. If the owner says nothing for first_wait, asks for the ACK by a FORK_REQUEST.
    ///
    /// Errors  std::invalid_argument if `owner` is this rank.
    Remote remote(int owner);

    /// On the owner: makes the object. A FORK_REQUEST that came earlier is acknowledged now.
    void make(const ForkData& data, std::any value);

    /// Gets the use that another rank, or this one, has given. On the owner it may come before the
    /// object is made.
    RemoteRef accept(const ForkData& data);

    /// What rank `from` sends.
    void receive(int from, const ControlMessage& message);

    /// Sends again what is due. To be called now and then.
    void tick();

    [[nodiscard]] RefCounts counts() const;

    /// From now on nobody gets, gives or uses a reference here: create, remote, make, accept,
    /// fork_for, when_confirmed and value throw an Error. What others send is still answered, and
    /// tick() still sends again what has no ACK.
    ///
    /// Errors  Error if something is not at its end here. It names each reference, as "1.4", and
    ///         its ranks: of an object of this rank those that use it; of an object that is used
    ///         here its owner; of uses that were given from here, and not accepted, those that they
    ///         went to.
    void shutdown();

  private:
    std::shared_ptr<RefState> state_;
};

}  // namespace dist
