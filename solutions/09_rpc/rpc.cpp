#include "exercises/09_rpc/rpc.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <exception>
#include <list>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "course/runtime/deadline.hpp"
#include "course/runtime/error.hpp"
#include "course/runtime/rpc_message.hpp"

namespace dist {
namespace {

constexpr int kHeads = 0;     // tag of messages that begin with a head
constexpr int kBodies = 1;    // tag of long bodies: each follows its head
constexpr int kLooks = 3000;  // in vain, one after the other, before it sleeps

// Where a rank stands that has nothing to do: how often it has called each rank (kDead: that one has died, and nothing more
// will come from it), then how often each rank has called it.
using Report = std::vector<std::int64_t>;
constexpr std::int64_t kDead = -1;

// Another rank. One receive waits for it: for a head and a short body, or for a long body.
struct Peer {
    Bytes place = Bytes(sizeof(RpcHead) + RpcAgent::kShort);
    RpcMessage coming = {};
    Request receive = {};  // none: it has left or died
    std::string died = {};
    bool has_left = false;
    Report report = {};
};

// A call that is under way.
struct Call {
    int to;
    std::string function;
    RpcFuture future;
    Clock::Duration timeout;  // 0: none
    Clock::Duration deadline;
};

}  // namespace

struct RpcAgent::State : std::enable_shared_from_this<RpcAgent::State> {
    State(Transport& the_transport, std::uint32_t the_group, Clock& the_clock, Duration the_timeout)
        : transport(the_transport), group(the_group), clock(the_clock), timeout(the_timeout) {
        for (int rank = 0; rank < p; ++rank) {
            receive_head(rank);
        }
    }

    Peer& peer(int rank) { return peers.at(static_cast<std::size_t>(rank)); }
    std::int64_t& begun(int to) { return counts.at(static_cast<std::size_t>(to)); }
    std::int64_t& served(int caller) { return begun(p + caller); }
    bool lives(int rank) { return peer(rank).died.empty(); }

    void receive_head(int rank) {
        Peer& from = peer(rank);
        const bool is_over = rank == me || from.has_left;
        from.receive = is_over ? nullptr : transport.irecv(from.place, rank, group, kHeads);
    }

    void leave(int to, int tag, Bytes data) {
        auto& [kept, request] = leaving.emplace_back(std::move(data), nullptr);
        request = transport.isend(kept, to, group, tag);
    }

    // Serves until `holds`.
    template <class Condition>
    void until(const Condition& holds) {
        for (int looks = 0; !holds(); ++looks) {
            const bool has_moved = move();
            if (holds() || run_one() || has_moved) {
                looks = 0;
            } else {
                clock.sleep(Duration(looks < kLooks ? 0 : 1));
            }
        }
    }

    void send(int to, RpcMessage one);
    bool move();
    bool receive(int rank);
    void take(int rank, RpcMessage one);
    void end_calls();
    bool run_one();
    void answer(int caller, std::uint64_t id, const std::string& function, RpcResult result);
    bool are_all_here();
    void report();
    bool are_all_through();

    Transport& transport;
    const std::uint32_t group;
    Clock& clock;
    Duration timeout;
    const int me = transport.rank();
    const int p = transport.size();
    std::vector<Peer> peers = std::vector<Peer>(static_cast<std::size_t>(p));  // by rank
    Report counts = Report(2 * peers.size());                                  // of this rank, now
    std::map<std::string, AsyncFunction> functions = {};
    std::map<std::uint64_t, Call> calls = {};
    std::uint64_t next_id = 0;
    std::deque<std::pair<int, RpcMessage>> come = {};  // from whom: calls that wait to be run
    std::list<std::pair<Bytes, Request>> leaving = {};
    bool is_closed = false;
};

// A short body goes with its head. What is for this rank needs no message.
void RpcAgent::State::send(int to, RpcMessage one) {
    if (to == me) {
        return take(to, std::move(one));
    }
    leave(to, kHeads, one.packed(kShort));
    if (one.body.size() > kShort) {
        leave(to, kBodies, std::move(one.body));
    }
}

// Takes first what has come, then looks which calls are over. Says whether anything had come.
bool RpcAgent::State::move() {
    bool has_moved = false;
    for (int rank = 0; rank < p; ++rank) {
        while (receive(rank)) {
            has_moved = true;
        }
    }
    std::erase_if(leaving, [&](const auto& one) {
        try {
            return transport.test(one.second);
        } catch (const Error&) {
            return true;  // its rank has died: the receive says so, too
        }
    });
    end_calls();
    return has_moved;
}

// Takes what has come from there: a message, the head of a long one, or its death. Says whether there was anything.
bool RpcAgent::State::receive(int rank) {
    Peer& from = peer(rank);
    auto& [head, body] = from.coming;
    try {
        if (!from.receive || !transport.test(from.receive)) {
            return false;
        }
    } catch (const Error& error) {
        from.receive = nullptr;
        from.died = "rank " + std::to_string(rank) + " has died: " + error.what();
        begun(rank) = kDead;
        return true;
    }
    if (body.empty()) {
        std::memcpy(&head, from.place.data(), sizeof head);
        body.resize(head.bytes);
        if (head.bytes > kShort) {
            from.receive = transport.irecv(body, rank, group, kBodies);
            return true;
        }
        std::copy_n(from.place.begin() + sizeof head, head.bytes, body.begin());
    }
    take(rank, std::exchange(from.coming, {}));
    receive_head(rank);
    return true;
}

void RpcAgent::State::take(int rank, RpcMessage one) {
    if (one.head.kind == RpcKind::call) {
        ++served(rank);
        come.emplace_back(rank, std::move(one));
    } else if (one.head.kind == RpcKind::report) {
        peer(rank).report.resize(counts.size());
        std::memcpy(peer(rank).report.data(), one.body.data(), one.body.size());
    } else if (one.head.kind == RpcKind::farewell) {
        peer(rank).has_left = true;
    } else if (const auto call = calls.find(one.head.id); call != calls.end()) {  // else too late
        RpcResult result;
        if (one.head.kind == RpcKind::error) {
            const RemoteError error(one.head.rank, one.name(), to_text(one.rest()));
            result.error = std::make_exception_ptr(error);
        } else {
            result.answer = std::move(one.body);
        }
        *call->second.future = {true, std::move(result)};
        calls.erase(call);
    }
}

// Those that will not be answered, or not in time.
void RpcAgent::State::end_calls() {
    const Duration now = clock.now();
    std::erase_if(calls, [&](const auto& entry) {
        const Call& call = entry.second;
        std::exception_ptr error;
        if (is_closed) {
            error = std::make_exception_ptr(Error(call.function + ": the agent was shut down"));
        } else if (!lives(call.to)) {
            error = std::make_exception_ptr(Error(peer(call.to).died));
        } else if (call.timeout > Duration(0) && now >= call.deadline) {
            error = std::make_exception_ptr(RpcTimeout(
                "rank " + std::to_string(call.to) + ", " + call.function + ": no answer within " +
                std::to_string(call.timeout.count()) + " ms"
            ));
        }
        if (error) {
            *call.future = {true, {.error = error}};
        }
        return error != nullptr;
    });
}

// Runs the first of the calls that have come. Says whether there was one.
bool RpcAgent::State::run_one() {
    if (come.empty()) {
        return false;
    }
    const auto [caller, call] = std::move(come.front());
    come.pop_front();
    const auto is_given = std::make_shared<bool>(false);
    const auto reply = [agent = weak_from_this(), caller = caller, id = call.head.id,
                        name = call.name(), is_given](RpcResult result) {
        if (std::exchange(*is_given, true)) {
            throw std::logic_error(name + ": this call has been answered");
        }
        if (const auto here = agent.lock()) {
            here->answer(caller, id, name, std::move(result));
        }
    };
    try {
        const auto function = functions.find(call.name());
        if (function == functions.end()) {
            throw Error("there is no such function");
        }
        function->second(caller, call.rest(), reply);
    } catch (...) {
        if (!*is_given) {
            reply({.error = std::current_exception()});
        }
    }
    return true;
}

void RpcAgent::State::answer(
    int caller, std::uint64_t id, const std::string& function, RpcResult result
) {
    if (is_closed || !lives(caller)) {
        return;
    }
    if (result.error) {
        const RemoteError error = remote_error(result.error, me, function);
        const auto reason = std::as_bytes(std::span(error.reason()));
        const RpcHead head{.kind = RpcKind::error, .rank = error.rank(), .id = id};
        send(caller, RpcMessage(head, error.function(), reason));
    } else {
        send(
            caller, RpcMessage(RpcHead{.kind = RpcKind::answer, .id = id}, std::move(result.answer))
        );
    }
}

bool RpcAgent::State::are_all_here() {
    return std::ranges::none_of(peers, [](const Peer& one) {
        return one.died.empty() && one.report.empty();
    });
}

// Tells all where this rank stands, if it has nothing to do: when it comes, and when that is new once all are here.
void RpcAgent::State::report() {
    const bool is_new = peer(me).report.empty() || (peer(me).report != counts && are_all_here());
    if (!is_new || !calls.empty() || !come.empty()) {
        return;
    }
    const auto words = std::as_bytes(std::span(counts));
    for (int rank = 0; rank < p; ++rank) {
        if (lives(rank)) {
            send(rank, RpcMessage(RpcHead{.kind = RpcKind::report}, "", words));
        }
    }
}

// Nothing is under way if, when each had nothing to do, all had called each other as often as they had been called. Who has
// left knows that it is so.
bool RpcAgent::State::are_all_through() {
    bool agree = are_all_here();
    const auto at = [&](int rank, int i) { return peer(rank).report[static_cast<std::size_t>(i)]; };
    for (int i = 0; i < p; ++i) {
        for (int j = 0; agree && lives(i) && j < p; ++j) {
            agree = at(i, j) == (lives(j) ? at(j, p + i) : kDead);
        }
    }
    return agree || std::ranges::any_of(peers, &Peer::has_left);
}

RpcAgent::RpcAgent(Transport& transport, std::uint32_t group, Clock& clock, Duration timeout)
    : state_(std::make_shared<State>(transport, group, clock, timeout)) {}

void RpcAgent::set_timeout(Duration timeout) {
    state_->timeout = timeout;
}

// Nobody leaves before all have said farewell: then no receive is posted any more.
void RpcAgent::shutdown(bool graceful) {
    State& state = *state_;
    if (graceful && !state.is_closed) {
        state.until([&] {
            state.report();
            return state.are_all_through();
        });
        for (int other = 0; other < state.p; ++other) {
            if (other != state.me && state.lives(other)) {
                state.send(other, RpcMessage(RpcHead{.kind = RpcKind::farewell}));
            }
        }
        state.until([&] {
            const auto waits = [](const Peer& one) { return one.receive != nullptr; };
            return state.leaving.empty() && std::ranges::none_of(state.peers, waits);
        });
    }
    state.is_closed = true;
    state.come.clear();
    state.end_calls();
}

int RpcAgent::rank() const {
    return state_->me;
}

int RpcAgent::size() const {
    return state_->p;
}

void RpcAgent::define_async(const std::string& name, AsyncFunction function) {
    const bool is_new = state_->functions.emplace(name, std::move(function)).second;
    expects(is_new, "RpcAgent: there is a function of this name");
}

RpcFuture RpcAgent::rpc_async(
    int to,
    const std::string& function,
    std::span<const std::byte> arguments,
    std::optional<Duration> timeout
) {
    State& state = *state_;
    expects(0 <= to && to < state.p, "rpc_async: there is no such rank");
    if (state.is_closed) {
        throw Error("rpc_async: the agent was shut down");
    }
    const Duration time = timeout.value_or(state.timeout);
    const std::uint64_t id = state.next_id++;
    const Duration deadline = deadline_after(state.clock.now(), time);
    Call call{to, function, std::make_shared<PendingCall>(), time, deadline};
    RpcFuture future = call.future;
    state.calls.emplace(id, std::move(call));
    if (state.lives(to)) {
        ++state.begun(to);
        state.send(to, RpcMessage(RpcHead{.kind = RpcKind::call, .id = id}, function, arguments));
    }
    return future;
}

Bytes RpcAgent::wait(const RpcFuture& call) {
    state_->until([&] { return call->is_done; });
    if (call->result.error) {
        std::rethrow_exception(call->result.error);
    }
    return std::move(call->result.answer);
}

bool RpcAgent::test(const RpcFuture& call) {
    serve();
    return call->is_done;
}

void RpcAgent::serve() {
    if (!state_->is_closed) {
        state_->move();
        for (std::size_t left = state_->come.size(); left > 0 && state_->run_one(); --left) {
        }
    }
}

}  // namespace dist
