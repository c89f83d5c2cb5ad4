// Two tables, of objects and of uses, and counts in them: no use is held by a pointer. What may end
// is looked at after each event.
#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "exercises/09_rpc/remote_reference.hpp"

namespace dist {
namespace {

using Callbacks = std::vector<RemoteRef::Callback>;

enum class Stage { waits, confirmed, given_up };

struct Object {
    std::any value = {};
    bool is_made = false;
    int handles = 0;
    std::map<ForkId, int> alive = {};
    Callbacks callbacks = {};
};

struct User {
    ForkData data = {};
    Stage stage = Stage::waits;
    bool is_held = true;
    std::map<ForkId, int> children = {};
    std::exception_ptr error = {};
    Callbacks callbacks = {};
};

struct Outgoing {
    ControlMessage message = {};
    int to = 0;
    int sent = 1;
    Clock::Duration due{0};
};

void run(const Callbacks& callbacks, const std::exception_ptr& error) {
    for (const RemoteRef::Callback& callback : callbacks) {
        callback(error);
    }
}

Error error_about(const ForkData& data, const std::string& what) {
    const std::string owner = std::to_string(data.owner);
    return Error("reference " + to_string(data.reference) + ", rank " + owner + "'s, " + what);
}

}  // namespace

struct RefState {
    RefState(int its_rank, Clock& its_clock, RefContext::Send its_send, const RetryOptions& options)
        : rank(its_rank), clock(its_clock), send(std::move(its_send)), retries(options) {}

    bool owns(const ForkData& data) const { return data.owner == rank; }

    void check() const {
        if (is_shut) {
            throw Error("rank " + std::to_string(rank) + " has shut down");
        }
    }

    void start(int to, ControlKind kind, const ForkData& data, bool is_sent = false) {
        const ControlMessage message{kind, false, data.reference, data.fork};
        outgoing.push_back({message, to, 1, clock.now() + retries.wait(1)});
        if (!is_sent) {
            send(to, message);
        }
    }

    bool stop(ControlMessage message) {
        message.is_ack = false;
        return std::erase_if(outgoing, [&](const Outgoing& o) { return o.message == message; }) > 0;
    }

    void decide(ForkId fork, const std::exception_ptr& error) {
        User& user = users.at(fork);
        user.stage = error ? Stage::given_up : Stage::confirmed;
        user.error = error;
        if (user.data.fork != user.data.reference) {
            start(user.data.parent, ControlKind::child_accept, user.data);
        }
        run(std::exchange(user.callbacks, {}), error);
    }

    // Ends all that may end.
    void clean() {
        for (bool is_clean = false; !is_clean;) {
            is_clean = true;
            for (auto it = users.begin(); it != users.end(); ++it) {
                const User& user = it->second;
                if (user.stage != Stage::waits && !user.is_held && user.children.empty()) {
                    const ForkData data = user.data;
                    users.erase(it);
                    start(data.owner, ControlKind::user_delete, data);
                    is_clean = false;
                    break;
                }
            }
            for (auto it = objects.begin(); it != objects.end(); ++it) {
                if (it->second.handles == 0 && it->second.alive.empty()) {
                    const auto freed = objects.extract(it);
                    is_clean = false;
                    break;
                }
            }
        }
    }

    int rank;
    Clock& clock;
    RefContext::Send send;
    RetryOptions retries;
    bool is_shut = false;
    std::int64_t ids = 0;
    std::map<RefId, Object> objects = {};
    std::map<ForkId, User> users = {};
    std::vector<Outgoing> outgoing = {};
    std::set<ForkId> buried = {};
};

struct RefUse {
    RefUse(const std::shared_ptr<RefState>& its_state, const ForkData& its_data)
        : state(its_state), data(its_data) {
        if (its_state->owns(data)) {
            ++its_state->objects[data.reference].handles;
        }
    }
    ~RefUse() {
        const auto self = state.lock();
        if (!self || self->is_shut) {
            return;
        }
        if (self->owns(data)) {
            --self->objects.at(data.reference).handles;
        } else {
            self->users.at(data.fork).is_held = false;
        }
        self->clean();
    }
    RefUse(const RefUse&) = delete;
    RefUse& operator=(const RefUse&) = delete;

    std::shared_ptr<RefState> get() const {
        auto self = state.lock();
        if (!self) {
            throw Error("the RefContext is gone");
        }
        self->check();
        return self;
    }

    std::weak_ptr<RefState> state;
    ForkData data;
};

ForkData RemoteRef::fork_for(int to) const {
    const auto self = use_->get();
    const ForkData child{id_, {self->rank, self->ids++}, owner_, self->rank};
    if (self->owns(child)) {
        Object& object = self->objects.at(id_);
        if (!object.is_made) {
            throw error_about(child, "is not made");
        }
        object.alive.emplace(child.fork, to);
    } else {
        User& user = self->users.at(use_->data.fork);
        if (user.error) {
            std::rethrow_exception(user.error);
        }
        user.children.emplace(child.fork, to);
    }
    return child;
}

bool RemoteRef::is_confirmed() const {
    const auto self = use_->get();
    return self->owns(use_->data) ? self->objects.at(id_).is_made
                                  : self->users.at(use_->data.fork).stage == Stage::confirmed;
}

void RemoteRef::when_confirmed(Callback callback) const {
    const auto self = use_->get();
    if (is_confirmed()) {
        callback(nullptr);
    } else if (self->owns(use_->data)) {
        self->objects.at(id_).callbacks.push_back(std::move(callback));
    } else if (User& user = self->users.at(use_->data.fork); user.error) {
        callback(user.error);
    } else {
        user.callbacks.push_back(std::move(callback));
    }
}

std::any& RemoteRef::value() const {
    const auto self = use_->get();
    if (!self->owns(use_->data)) {
        throw error_about(use_->data, "is not at rank " + std::to_string(self->rank));
    }
    if (!is_confirmed()) {
        throw error_about(use_->data, "is not made");
    }
    return self->objects.at(id_).value;
}

RefContext::RefContext(int rank, Clock& clock, Send send, const RetryOptions& retries)
    : state_(std::make_shared<RefState>(rank, clock, std::move(send), retries)) {}

RemoteRef RefContext::create(std::any value) {
    state_->check();
    const ForkData data{.reference = {state_->rank, state_->ids++}, .owner = state_->rank};
    Object& object = state_->objects[data.reference];
    object.value = std::move(value);
    object.is_made = true;
    return {std::make_shared<RefUse>(state_, data), data.reference, data.owner};
}

RefContext::Remote RefContext::remote(int owner) {
    state_->check();
    expects(owner != state_->rank, "RefContext::remote: the owner is another rank");
    const RefId id{state_->rank, state_->ids++};
    const ForkData data{id, id, owner, state_->rank};
    state_->users.emplace(id, User{.data = data});
    state_->start(owner, ControlKind::fork_request, data, true);
    return {{std::make_shared<RefUse>(state_, data), id, owner}, data};
}

void RefContext::make(const ForkData& data, std::any value) {
    state_->check();
    Object& object = state_->objects[data.reference];
    object.value = std::move(value);
    object.is_made = true;
    if (!state_->buried.contains(data.fork)) {
        object.alive.emplace(data.fork, data.parent);
    }
    for (const auto& [fork, where] : object.alive) {
        state_->send(where, {ControlKind::fork_request, true, data.reference, fork});
    }
    run(std::exchange(object.callbacks, {}), nullptr);
    state_->clean();
}

RemoteRef RefContext::accept(const ForkData& data) {
    state_->check();
    if (!state_->owns(data)) {
        User user{.data = data};
        user.stage = data.parent == data.owner ? Stage::confirmed : Stage::waits;
        state_->users.emplace(data.fork, std::move(user));
        if (data.parent != data.owner) {
            state_->start(data.owner, ControlKind::fork_request, data);
        }
        return {std::make_shared<RefUse>(state_, data), data.reference, data.owner};
    }
    RemoteRef ref{std::make_shared<RefUse>(state_, data), data.reference, data.owner};
    if (data.parent != data.owner) {
        state_->start(data.parent, ControlKind::child_accept, data);
    } else {
        state_->objects.at(data.reference).alive.erase(data.fork);
    }
    return ref;
}

void RefContext::receive(int from, const ControlMessage& message) {
    RefState& self = *state_;
    const ControlMessage ack{message.kind, true, message.reference, message.fork};
    if (message.is_ack) {
        if (self.stop(message) && message.kind == ControlKind::fork_request) {
            self.decide(message.fork, nullptr);
        }
    } else if (message.kind == ControlKind::fork_request) {
        if (!self.buried.contains(message.fork)) {
            Object& object = self.objects[message.reference];
            object.alive.emplace(message.fork, from);
            if (object.is_made) {
                self.send(from, ack);
            }
        }
    } else if (message.kind == ControlKind::child_accept) {
        self.send(from, ack);
        for (auto& [fork, user] : self.users) {
            user.children.erase(message.fork);
        }
    } else {
        self.send(from, ack);
        self.buried.insert(message.fork);
        if (self.objects.contains(message.reference)) {
            self.objects.at(message.reference).alive.erase(message.fork);
        }
    }
    self.clean();
}

void RefContext::tick() {
    RefState& self = *state_;
    std::vector<ControlMessage> unanswered;
    for (Outgoing& out : self.outgoing) {
        if (out.due > self.clock.now()) {
            continue;
        }
        if (out.sent == self.retries.max_retries + 1) {
            unanswered.push_back(out.message);
            continue;
        }
        ++out.sent;
        out.due = self.clock.now() + self.retries.wait(out.sent);
        self.send(out.to, out.message);
    }
    for (const ControlMessage& message : unanswered) {
        self.stop(message);
        if (message.kind == ControlKind::fork_request) {
            const ForkData data = self.users.at(message.fork).data;
            const Error error = error_about(data, "is not confirmed, and given up");
            self.decide(message.fork, std::make_exception_ptr(error));
        }
    }
    self.clean();
}

RefCounts RefContext::counts() const {
    RefCounts counts;
    for (const auto& [id, object] : state_->objects) {
        counts.owned += object.alive.empty() ? 0 : 1;
        counts.forks += static_cast<int>(object.alive.size());
    }
    counts.users = static_cast<int>(state_->users.size());
    counts.pending = static_cast<int>(state_->outgoing.size());
    return counts;
}

void RefContext::shutdown() {
    state_->is_shut = true;
    std::string leaks;
    for (const auto& [id, object] : state_->objects) {
        for (const auto& [fork, where] : object.alive) {
            leaks += "\n" + to_string(id) + " of rank " + std::to_string(state_->rank) +
                     " is used by rank " + std::to_string(where);
        }
    }
    for (const auto& [fork, user] : state_->users) {
        leaks += "\n" + to_string(user.data.reference) + " of rank " +
                 std::to_string(user.data.owner) + " is used by rank " +
                 std::to_string(state_->rank);
        for (const auto& [child, where] : user.children) {
            leaks += ", not accepted by rank " + std::to_string(where);
        }
    }
    if (!leaks.empty()) {
        throw Error("leaks:" + leaks);
    }
}

}  // namespace dist
