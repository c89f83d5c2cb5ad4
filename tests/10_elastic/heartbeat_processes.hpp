// Three processes, of which one is stopped by SIGSTOP, goes on, and leaves.
#pragma once

#include <csignal>
#include <cstdint>
#include <functional>
#include <span>
#include <unistd.h>
#include <vector>

#include "exercises/10_elastic/heartbeat.hpp"
#include "tests/04_groups_and_rendezvous/transport_ranks.hpp"
#include "tests/10_elastic/heartbeat_scene.hpp"

namespace dist::harness {

/// The rank that is stopped. Its step is 0, the others' 100: while it is heard it is a straggler.
inline constexpr int kStopped = 2;

inline constexpr std::uint32_t kWords = 9;  // group of what ranks tell each other besides

/// A rank of them, whose looks are a millisecond apart.
struct HeartbeatProcess {
    HeartbeatProcess(Transport& the_transport, int rank)
        : transport(the_transport), step(rank == kStopped ? 0 : 100) {}

    const std::vector<RankHealth>& look() {
        clock.sleep(1ms);
        last = heartbeat.look(step);
        return last;
    }

    /// Looks until it takes the stopped one for that.
    void until(
        Health health, const std::function<void()>& meanwhile = [] {}
    ) {
        while (look().at(kStopped).health != health) {
            meanwhile();
        }
    }

    Transport& transport;
    std::int64_t step;
    SteadyClock clock;
    Heartbeat heartbeat{transport, 3, clock, {.interval = 20ms, .misses = 3}};
    std::vector<RankHealth> last = {};
};

inline void is_stopped(HeartbeatProcess& me) {
    me.look();
    for (const int other : {0, 1}) {
        me.transport.recv({}, other, kWords, 0);
    }
    const pid_t pid = getpid();
    for (const int other : {0, 1}) {
        me.transport.send(std::as_bytes(std::span(&pid, 1)), other, kWords, 1);
    }
    raise(SIGSTOP);
    me.look();
    for (const int other : {0, 1}) {
        INFO("the process that was stopped takes rank " << other << " for");
        CHECK(
            text_of(me.last.at(static_cast<std::size_t>(other))) ==
            "alive, step 100, silent for 0 ms"
        );
    }
    for (const int other : {0, 1}) {
        const Request leave = me.transport.irecv({}, other, kWords, 2);
        while (!me.transport.test(leave)) {
            me.look();
        }
    }
}

inline void sees_it_stop(HeartbeatProcess& me, int rank) {
    constexpr int kLooks = 1000;  // of a millisecond or more each
    me.until(straggler);
    me.transport.send({}, kStopped, kWords, 0);
    pid_t pid = 0;
    me.transport.recv(std::as_writable_bytes(std::span(&pid, 1)), kStopped, kWords, 1);
    int looks = 0;
    while (me.look().at(kStopped).health != suspected && looks < kLooks) {
        ++looks;
    }
    {
        INFO("looks in vain, 1 ms or more apart; 3 intervals of 20 ms are too long a silence");
        CHECK(looks < kLooks);
    }
    if (rank == 0) {
        me.transport.recv({}, 1, kWords, 3);
    } else {
        me.transport.send({}, 0, kWords, 3);
    }
    // again and again: it may not have come to its stop yet
    me.until(straggler, [&] {
        if (rank == 0) {
            kill(pid, SIGCONT);
        }
    });
    me.transport.send({}, kStopped, kWords, 2);
    me.until(dead);
}

inline void stopped_process() {
    on_ranks({1}, [](const Communicator&) {
        const Processes run = on_transport(3, [](Transport& transport, int rank, int) {
            HeartbeatProcess me(transport, rank);
            rank == kStopped ? is_stopped(me) : sees_it_stop(me, rank);
        });
        CHECK(run.passed);
    });
}

}  // namespace dist::harness
