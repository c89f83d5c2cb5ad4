#include "exercises/10_elastic/heartbeat.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

namespace dist {
namespace {

constexpr int kTag = 0;

// A rank, and the messages that may be under way from it and to it. A heartbeat is a step.
struct Peer {
    std::int64_t said = 0;  // where the next one from it goes
    Request receive = {};
    std::int64_t told = 0;  // the last one to it
    Request send = {};
    std::optional<std::int64_t> step = {};
    Clock::Duration heard{0};
    bool is_dead = false;
};

}  // namespace

struct Heartbeat::State {
    void go_on();
    void hear(int rank);
    void tell(int rank, std::int64_t step);
    [[nodiscard]] std::vector<RankHealth> judge() const;
    std::vector<RankHealth> look(std::int64_t step);

    Transport& transport;
    std::uint32_t group;
    Clock& clock;
    HeartbeatSettings settings;
    std::vector<Peer> peers = {};                   // by rank
    Clock::Duration time{0};                        // own
    std::optional<Clock::Duration> looked = {};     // what the clock said then
    std::optional<Clock::Duration> last_beat = {};  // in own time
};

// Own time. How long this process did not look says nothing about the others.
void Heartbeat::State::go_on() {
    const Clock::Duration now = clock.now();
    time += std::clamp(now - looked.value_or(now), Clock::Duration(0), settings.interval);
    looked = now;
}

// Takes all that has come from a rank. After a pause that may be much, and the last one counts.
void Heartbeat::State::hear(int rank) {
    Peer& peer = peers[static_cast<std::size_t>(rank)];
    try {
        for (;;) {
            if (!peer.receive) {
                const auto place = std::as_writable_bytes(std::span(&peer.said, 1));
                peer.receive = transport.irecv(place, rank, group, kTag);
            }
            if (!transport.test(peer.receive)) {
                return;
            }
            peer.receive.reset();
            peer.step = peer.said;
            peer.heard = time;
        }
    } catch (const Error&) {
        peer.is_dead = true;
    }
}

// To a rank that takes no more messages one is enough.
void Heartbeat::State::tell(int rank, std::int64_t step) {
    Peer& peer = peers[static_cast<std::size_t>(rank)];
    try {
        if (!peer.send || transport.test(peer.send)) {
            peer.told = step;
            peer.send = transport.isend(std::as_bytes(std::span(&peer.told, 1)), rank, group, kTag);
        }
    } catch (const Error&) {
        peer.is_dead = true;
    }
}

std::vector<RankHealth> Heartbeat::State::judge() const {
    std::vector<RankHealth> all;
    std::vector<std::int64_t> steps;  // of those that are heard: this rank's is among them
    for (const Peer& peer : peers) {
        RankHealth one = {.step = peer.step, .silence = time - peer.heard};
        if (peer.is_dead) {
            one.health = Health::dead;
        } else if (one.silence >= settings.misses * settings.interval) {
            one.health = Health::suspected;
        } else if (one.step) {
            steps.push_back(*one.step);
        }
        all.push_back(one);
    }
    std::ranges::sort(steps);
    const std::int64_t median = steps[steps.size() / 2];
    for (RankHealth& one : all) {
        if (one.health == Health::alive && median - one.step.value_or(median) > settings.max_lag) {
            one.health = Health::straggler;
        }
    }
    return all;
}

std::vector<RankHealth> Heartbeat::State::look(std::int64_t step) {
    go_on();
    const bool is_due = !last_beat || time - *last_beat >= settings.interval;
    if (is_due) {
        last_beat = time;
    }
    for (int rank = 0; Peer & peer : peers) {
        if (rank == transport.rank()) {
            peer.step = step;
            peer.heard = time;
        } else if (!peer.is_dead) {
            hear(rank);
        }
        if (is_due && rank != transport.rank() && !peer.is_dead) {
            tell(rank, step);
        }
        ++rank;
    }
    return judge();
}

Heartbeat::Heartbeat(
    Transport& transport, std::uint32_t group, Clock& clock, const HeartbeatSettings& settings
)
    : state_(new State{transport, group, clock, settings}) {
    expects(settings.interval > Clock::Duration(0), "Heartbeat: interval must be above 0");
    expects(settings.misses >= 2, "Heartbeat: misses must be 2 or more");
    expects(settings.max_lag >= 0, "Heartbeat: max_lag must be 0 or more");
    state_->peers.resize(static_cast<std::size_t>(transport.size()));
}

Heartbeat::~Heartbeat() = default;

std::vector<RankHealth> Heartbeat::look(std::int64_t step) {
    return state_->look(step);
}

}  // namespace dist
