// Messages are text, rank 0 keeps a state for each rank, and whoever looks in vain sleeps longer each time.
#include <algorithm>
#include <chrono>
#include <deque>
#include <span>
#include <sstream>

#include "exercises/10_elastic/monitored_barrier.hpp"

namespace dist {
namespace {

enum class Place { away, here, gone };

struct Pause {
    Clock& clock;
    std::int64_t ms = 1;

    void operator()() {
        clock.sleep(std::chrono::milliseconds(ms));
        ms = std::min<std::int64_t>(2 * ms, 8);
    }
};

}  // namespace

struct MonitoredBarrier::State {
    Transport& transport;
    std::uint32_t group;
    Clock& clock;
    long call = 0;
    std::vector<std::string> places = {};
    std::vector<Request> receives = {};
    std::vector<bool> dead = {};
    std::vector<long> newest = {};  // call that a rank was heard of
    std::vector<bool> gave_up = {};
    std::deque<std::string> written = {};

    // What came from a rank, "" if nothing.
    std::string read(std::size_t rank) {
        try {
            if (dead[rank]) {
                return "";
            }
            if (!receives[rank]) {
                places[rank].assign(16 * (dead.size() + 1), ' ');
                receives[rank] = transport.irecv(
                    std::as_writable_bytes(std::span(places[rank])), static_cast<int>(rank), group,
                    1
                );
            }
            if (!transport.test(receives[rank])) {
                return "";
            }
            const std::size_t bytes = receives[rank]->arrival.bytes;
            receives[rank] = nullptr;
            return places[rank].substr(0, bytes);
        } catch (const Error&) {
            dead[rank] = true;
            return "";
        }
    }

    // All that was ever said stays: a rank that stands still may not have taken it.
    void write(const std::string& text, int first, int last) {
        const auto bytes = std::as_bytes(std::span(written.emplace_back(text)));
        for (int rank = first; rank <= last; ++rank) {
            transport.isend(bytes, rank, group, 1);  // its receive says if a rank has died
        }
    }

    Place place_of(std::size_t rank) {
        for (std::string text = read(rank); !text.empty(); text = read(rank)) {
            std::istringstream in(text);
            std::string word;
            in >> word >> newest[rank];
            gave_up[rank] = word == "bye";
        }
        if (dead[rank] || newest[rank] > call) {
            return Place::gone;
        }
        if (newest[rank] < call) {
            return Place::away;
        }
        return gave_up[rank] ? Place::gone : Place::here;
    }
};

MonitoredBarrier::MonitoredBarrier(Transport& transport, std::uint32_t group, Clock& clock)
    : state_(new State{transport, group, clock}) {
    const auto p = static_cast<std::size_t>(transport.size());
    state_->places.resize(p);
    state_->receives.resize(p);
    state_->dead.resize(p);
    state_->newest.resize(p);
    state_->gave_up.resize(p);
}

MonitoredBarrier::~MonitoredBarrier() = default;

void MonitoredBarrier::wait(Clock::Duration timeout, bool wait_all_ranks) {
    State& my = *state_;
    ++my.call;
    const Clock::Duration begin = my.clock.now();
    const std::string number = std::to_string(my.call);
    const int p = my.transport.size();
    Pause pause{my.clock};
    if (my.transport.rank() != 0) {
        my.write("here " + number, 0, 0);
        for (;; pause()) {
            for (std::string text = my.read(0); !text.empty(); text = my.read(0)) {
                std::istringstream in(text);
                long call = 0;
                std::vector<int> missing;
                in >> call;
                for (int rank = 0; in >> rank;) {
                    missing.push_back(rank);
                }
                if (call == my.call && missing.empty()) {
                    return;
                }
                if (call == my.call) {
                    throw MissingRanks(missing);
                }
            }
            const bool is_late = my.clock.now() - begin >= 2 * timeout;
            if (is_late) {
                my.write("bye " + number, 0, 0);
            }
            if (is_late || my.dead[0]) {
                throw MissingRanks({0});
            }
        }
    }
    for (;; pause()) {
        std::vector<int> away;
        std::vector<int> gone;
        for (int rank = 1; rank < p; ++rank) {
            const Place place = my.place_of(static_cast<std::size_t>(rank));
            (place == Place::away ? away : gone).push_back(rank);
            if (place == Place::here) {
                gone.pop_back();
            }
        }
        const bool is_over = my.clock.now() - begin >= timeout;
        if (!away.empty() && !is_over && (gone.empty() || wait_all_ranks)) {
            continue;
        }
        std::vector<int> missing = gone;
        if (wait_all_ranks || gone.empty()) {
            missing.insert(missing.end(), away.begin(), away.end());
            std::ranges::sort(missing);
        }
        std::string text = number;
        for (const int rank : missing) {
            text += " " + std::to_string(rank);
        }
        my.write(text, 1, p - 1);
        if (!missing.empty()) {
            throw MissingRanks(missing);
        }
        return;
    }
}

}  // namespace dist
