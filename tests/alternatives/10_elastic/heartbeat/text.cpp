// Heartbeats are text with a count, receives are posted from the beginning on, and what is kept are
// ages, which grow from look to look. The ranks that are heard are sorted, not their steps.
#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "exercises/10_elastic/heartbeat.hpp"

namespace dist {
namespace {

struct Line {
    std::array<char, 64> in = {};
    std::string out = {};
    Request coming = {};
    Request leaving = {};
    RankHealth known = {};
};

}  // namespace

struct Heartbeat::State {
    Transport& transport;
    std::uint32_t group;
    Clock& clock;
    HeartbeatSettings settings;
    std::vector<Line> lines = {};
    bool has_looked = false;
    Clock::Duration last_now{0};
    Clock::Duration since_beat{0};
    long beats = 0;

    void post(Line& line, int rank) {
        line.coming = transport.irecv(std::as_writable_bytes(std::span(line.in)), rank, group, 5);
    }

    void read(Line& line, int rank) {
        while (transport.test(line.coming)) {
            const std::string text(line.in.data(), line.coming->arrival.bytes);
            line.known.step = std::stoll(text.substr(text.find(' ')));
            line.known.silence = Clock::Duration(0);
            post(line, rank);
        }
    }

    void write(Line& line, int rank, std::int64_t step) {
        if (line.leaving && !transport.test(line.leaving)) {
            return;
        }
        line.out = std::to_string(beats) + " " + std::to_string(step);
        line.leaving = transport.isend(std::as_bytes(std::span(line.out)), rank, group, 5);
    }

    void age() {
        const Clock::Duration now = clock.now();
        Clock::Duration passed = has_looked ? now - last_now : Clock::Duration(0);
        if (passed < Clock::Duration(0)) {
            passed = Clock::Duration(0);
        } else if (passed > settings.interval) {
            passed = settings.interval;
        }
        last_now = now;
        since_beat += passed;
        for (Line& line : lines) {
            line.known.silence += passed;
        }
    }

    void exchange(std::int64_t step) {
        const bool beat = !has_looked || since_beat >= settings.interval;
        if (beat) {
            since_beat = Clock::Duration(0);
            ++beats;
        }
        for (int rank = 0; rank < transport.size(); ++rank) {
            Line& line = lines[static_cast<std::size_t>(rank)];
            if (rank == transport.rank() || line.known.health == Health::dead) {
                continue;
            }
            try {
                read(line, rank);
                if (beat) {
                    write(line, rank, step);
                }
            } catch (const Error&) {
                line.known.health = Health::dead;
            }
        }
    }

    void judge() {
        std::vector<RankHealth*> heard;
        for (Line& line : lines) {
            RankHealth& one = line.known;
            if (one.health == Health::dead) {
                continue;
            }
            const bool is_silent = one.silence / settings.misses >= settings.interval;
            one.health = is_silent ? Health::suspected : Health::alive;
            if (!is_silent && one.step.has_value()) {
                heard.push_back(&one);
            }
        }
        std::ranges::stable_sort(heard, [](const RankHealth* a, const RankHealth* b) {
            return a->step > b->step;
        });
        const std::int64_t middle = *heard[(heard.size() - 1) / 2]->step;
        for (RankHealth* one : heard) {
            if (*one->step + settings.max_lag < middle) {
                one->health = Health::straggler;
            }
        }
    }
};

Heartbeat::Heartbeat(
    Transport& transport, std::uint32_t group, Clock& clock, const HeartbeatSettings& settings
)
    : state_(new State{transport, group, clock, settings}) {
    expects(settings.interval.count() > 0, "Heartbeat: no interval");
    expects(settings.misses > 1, "Heartbeat: too few misses");
    expects(settings.max_lag >= 0, "Heartbeat: a lag below 0");
    state_->lines.resize(static_cast<std::size_t>(transport.size()));
    for (int rank = 0; rank < transport.size(); ++rank) {
        if (rank != transport.rank()) {
            state_->post(state_->lines[static_cast<std::size_t>(rank)], rank);
        }
    }
}

Heartbeat::~Heartbeat() = default;

std::vector<RankHealth> Heartbeat::look(std::int64_t step) {
    State& my = *state_;
    my.age();
    my.exchange(step);
    my.lines[static_cast<std::size_t>(my.transport.rank())].known = {.step = step};
    my.judge();
    my.has_looked = true;
    std::vector<RankHealth> all;
    for (const Line& line : my.lines) {
        all.push_back(line.known);
    }
    return all;
}

}  // namespace dist
