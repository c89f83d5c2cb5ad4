#include "exercises/09_rpc/remote_reference.hpp"

#include <map>
#include <set>
#include <vector>

#include "course/runtime/deadline.hpp"

namespace dist {
namespace {

ControlMessage about(ControlKind kind, const ForkData& data) {
    return {.kind = kind, .reference = data.reference, .fork = data.fork};
}

ControlMessage ack_of(ControlMessage message) {
    message.is_ack = true;
    return message;
}

std::string name_of(const ForkData& data) {
    return "reference " + to_string(data.reference) + " of rank " + std::to_string(data.owner);
}

}  // namespace

// A use, on its rank; on the owner it holds the object. It is there as long as somebody holds it: a
// RemoteRef, or RefState, which knows who else needs it.
struct RefUse {
    RefUse(std::weak_ptr<RefState> its_context, const ForkData& its_data)
        : context(std::move(its_context)), data(its_data) {}
    ~RefUse();
    RefUse(const RefUse&) = delete;
    RefUse& operator=(const RefUse&) = delete;

    std::weak_ptr<RefState> context;
    ForkData data;
    std::any value = {};
    bool is_confirmed = false;
    std::exception_ptr error = {};  // why it is given up
};

using Use = std::shared_ptr<RefUse>;

struct RefState : std::enable_shared_from_this<RefState> {
    // An object that others use.
    struct Shared {
        Use object;
        std::map<ForkId, int> forks;  // the uses, and where
    };
    // A use that was given from here, and is not accepted yet.
    struct Child {
        Use parent;
        int where;
    };
    // A message that is not acknowledged.
    struct Request {
        int to;
        Use use;  // that a FORK_REQUEST asks for
        Clock::Duration due;
        int sent = 1;  // how often
    };

    RefState(int its_rank, Clock& its_clock, RefContext::Send its_send, const RetryOptions& options)
        : rank(its_rank), clock(its_clock), send(std::move(its_send)), retries(options) {}

    GlobalId new_id() { return {rank, next++}; }
    [[nodiscard]] GlobalId key(const ForkData& data) const {
        return data.owner == rank ? data.reference : data.fork;
    }

    // The one that is here, or a new one.
    Use use(const ForkData& data) {
        std::weak_ptr<RefUse>& known = uses[key(data)];
        Use found = known.lock();
        if (!found) {
            found = std::make_shared<RefUse>(weak_from_this(), data);
            known = found;
        }
        return found;
    }

    void share(const Use& object, ForkId fork, int where) {
        Shared& entry = shared[object->data.reference];
        entry.object = object;
        entry.forks.emplace(fork, where);
    }

    void add_request(int to, const ControlMessage& message, const Use& use) {
        requests.try_emplace(
            message, Request{to, use, deadline_after(clock.now(), retries.wait(1))}
        );
    }

    // Sends, and again until it is acknowledged.
    void request(int to, const ControlMessage& message, const Use& use = nullptr) {
        add_request(to, message, use);
        send(to, message);
    }

    // A use is confirmed or, by an error, given up. Its parent is not needed any more.
    void decide(RefUse& use, const std::exception_ptr& error) {
        use.is_confirmed = error == nullptr;
        use.error = error;
        if (use.data.owner != rank && use.data.fork != use.data.reference) {  // it has a parent
            request(use.data.parent, about(ControlKind::child_accept, use.data));
        }
        if (const auto callbacks = waiting.extract(key(use.data))) {
            for (const RemoteRef::Callback& callback : callbacks.mapped()) {
                callback(error);
            }
        }
    }

    void acknowledged(const ControlMessage& message) {
        const auto answered = requests.extract(message);
        if (answered && message.kind == ControlKind::fork_request) {
            decide(*answered.mapped().use, nullptr);
        }
    }

    void fork_requested(int from, const ControlMessage& message) {
        if (ended.contains(message.fork)) {
            return;
        }
        const Use object = use({.reference = message.reference, .owner = rank});
        share(object, message.fork, from);
        if (object->is_confirmed) {  // else make() answers
            send(from, ack_of(message));
        }
    }

    void fork_ended(RefId reference, ForkId fork) {
        ended.insert(fork);
        const auto entry = shared.find(reference);
        if (entry != shared.end()) {
            entry->second.forks.erase(fork);
            if (entry->second.forks.empty()) {
                const auto unused = shared.extract(entry);  // frees the object, if none is here
            }
        }
    }

    int rank;
    Clock& clock;
    RefContext::Send send;
    RetryOptions retries;
    bool is_shut = false;
    std::int64_t next = 0;
    std::map<GlobalId, std::weak_ptr<RefUse>> uses = {};  // all, by key()
    std::map<RefId, Shared> shared = {};
    std::map<ForkId, Child> children = {};
    std::map<ControlMessage, Request> requests = {};
    std::map<GlobalId, std::vector<RemoteRef::Callback>> waiting = {};  // by key()
    std::set<ForkId> ended = {};  // no message that comes late brings them back
};

RefUse::~RefUse() {
    const auto state = context.lock();
    if (!state) {
        return;
    }
    state->uses.erase(state->key(data));
    if (data.owner != state->rank && !state->is_shut) {
        state->request(data.owner, about(ControlKind::user_delete, data));
    }
}

namespace {

std::shared_ptr<RefState> open(std::shared_ptr<RefState> state) {
    if (!state || state->is_shut) {
        throw Error("a reference is used after the shutdown");
    }
    return state;
}

}  // namespace

ForkData RemoteRef::fork_for(int to) const {
    const auto state = open(use_->context.lock());
    if (use_->error) {
        std::rethrow_exception(use_->error);
    }
    const ForkData child{id_, state->new_id(), owner_, state->rank};
    if (owner_ != state->rank) {
        state->children.emplace(child.fork, RefState::Child{use_, to});
    } else if (use_->is_confirmed) {
        state->share(use_, child.fork, to);
    } else {
        throw Error(name_of(child) + " is not made yet");
    }
    return child;
}

bool RemoteRef::is_confirmed() const {
    return use_->is_confirmed;
}

void RemoteRef::when_confirmed(Callback callback) const {
    const auto state = open(use_->context.lock());
    if (use_->is_confirmed || use_->error) {
        callback(use_->error);
    } else {
        state->waiting[state->key(use_->data)].push_back(std::move(callback));
    }
}

std::any& RemoteRef::value() const {
    const int here = open(use_->context.lock())->rank;
    if (owner_ != here || !use_->is_confirmed) {
        throw Error(name_of(use_->data) + " has no value on rank " + std::to_string(here));
    }
    return use_->value;
}

RefContext::RefContext(int rank, Clock& clock, Send send, const RetryOptions& retries)
    : state_(std::make_shared<RefState>(rank, clock, std::move(send), retries)) {}

RemoteRef RefContext::create(std::any value) {
    const auto state = open(state_);
    const RefId id = state->new_id();
    const Use object = state->use({.reference = id, .owner = state->rank});
    object->value = std::move(value);
    object->is_confirmed = true;
    return {object, id, state->rank};
}

RefContext::Remote RefContext::remote(int owner) {
    const auto state = open(state_);
    expects(owner != state->rank, "RefContext::remote: create() makes the objects of this rank");
    const RefId id = state->new_id();
    const ForkData data{id, id, owner, state->rank};
    const Use use = state->use(data);
    // the call that takes `data` along is the first FORK_REQUEST
    state->add_request(owner, about(ControlKind::fork_request, data), use);
    return {{use, id, owner}, data};
}

void RefContext::make(const ForkData& data, std::any value) {
    const auto state = open(state_);
    const Use object = state->use(data);
    object->value = std::move(value);
    state->share(object, data.fork, data.parent);
    for (const auto& [fork, where] : state->shared.at(data.reference).forks) {
        state->send(where, {ControlKind::fork_request, true, data.reference, fork});
    }
    state->decide(*object, nullptr);
    if (state->ended.contains(data.fork)) {  // the creator has given up meanwhile
        state->fork_ended(data.reference, data.fork);
    }
}

RemoteRef RefContext::accept(const ForkData& data) {
    const auto state = open(state_);
    const Use use = state->use(data);
    if (data.owner == data.parent) {  // the owner knew it first
        if (data.owner == state->rank) {
            state->fork_ended(data.reference, data.fork);
        } else {
            use->is_confirmed = true;
        }
    } else if (data.owner == state->rank) {
        state->request(data.parent, about(ControlKind::child_accept, data));
    } else {
        state->request(data.owner, about(ControlKind::fork_request, data), use);
    }
    return {use, data.reference, data.owner};
}

void RefContext::receive(int from, const ControlMessage& message) {
    if (message.is_ack) {
        state_->acknowledged({message.kind, false, message.reference, message.fork});
    } else if (message.kind == ControlKind::fork_request) {
        state_->fork_requested(from, message);
    } else {
        state_->send(from, ack_of(message));
        if (message.kind == ControlKind::user_delete) {
            state_->fork_ended(message.reference, message.fork);
        } else {
            const auto accepted = state_->children.extract(message.fork);  // its parent may end
        }
    }
}

void RefContext::tick() {
    std::vector<ControlMessage> lost;
    const Clock::Duration now = state_->clock.now();
    for (auto& [message, request] : state_->requests) {
        if (request.due <= now && request.sent > state_->retries.max_retries) {
            lost.push_back(message);
        } else if (request.due <= now) {
            request.due = deadline_after(now, state_->retries.wait(++request.sent));
            state_->send(request.to, message);
        }
    }
    for (const ControlMessage& message : lost) {
        const auto request = state_->requests.extract(message);
        if (const Use use = request.mapped().use) {
            const Error error(name_of(use->data) + " is given up: its owner is silent");
            state_->decide(*use, std::make_exception_ptr(error));
        }
    }
}

RefCounts RefContext::counts() const {
    RefCounts counts;
    for (const auto& [id, object] : state_->shared) {
        counts.owned += 1;
        counts.forks += static_cast<int>(object.forks.size());
    }
    for (const auto& [key, use] : state_->uses) {
        counts.users += use.lock()->data.owner == state_->rank ? 0 : 1;
    }
    counts.pending = static_cast<int>(state_->requests.size());
    return counts;
}

void RefContext::shutdown() {
    state_->is_shut = true;
    std::string leaks;
    for (const auto& [id, object] : state_->shared) {
        for (const auto& [fork, where] : object.forks) {
            leaks += "; " + name_of(object.object->data) + " is used by rank ";
            leaks += std::to_string(where) + ", " + to_string(fork);
        }
    }
    for (const auto& [key, use] : state_->uses) {
        if (const ForkData& data = use.lock()->data; data.owner != state_->rank) {
            leaks += "; " + name_of(data) + " is used here, " + to_string(data.fork);
        }
    }
    for (const auto& [fork, child] : state_->children) {
        leaks += "; " + name_of(child.parent->data) + " is not accepted by rank ";
        leaks += std::to_string(child.where) + ", " + to_string(fork);
    }
    if (!leaks.empty()) {
        throw Error("rank " + std::to_string(state_->rank) + " leaks" + leaks.substr(1));
    }
}

}  // namespace dist
