#include "exercises/10_elastic/monitored_barrier.hpp"

#include <chrono>
#include <cstddef>
#include <list>
#include <optional>
#include <span>

#include "course/runtime/deadline.hpp"

namespace dist {
namespace {

constexpr int kTag = 0;
constexpr Clock::Duration kLook = std::chrono::milliseconds(1);

// A rank says to rank 0: the number of the call that it has come to, or minus that number: it has given that call up.
// Rank 0 says to a rank: the number of the call that it has decided, then who is missing.
using Words = std::vector<std::int64_t>;

// What comes from another rank. A call that ends before the message comes leaves its receive to the next one.
struct Inbox {
    Words place = {};
    Request receive = {};
    std::int64_t last_said = 0;  // to rank 0
    bool is_dead = false;
};

// What has been said to another rank. One that stands still may take it late, or never.
struct Said {
    Words words = {};
    Request send = {};
};

}  // namespace

struct MonitoredBarrier::State {
    State(Transport& the_transport, std::uint32_t the_group, Clock& the_clock)
        : transport(the_transport),
          group(the_group),
          clock(the_clock),
          p(transport.size()),
          inboxes(static_cast<std::size_t>(p)) {
        for (Inbox& inbox : inboxes) {
            inbox.place.resize(transport.rank() == 0 ? 1 : inboxes.size() + 1);
        }
    }

    Inbox& inbox_of(int rank) { return inboxes[static_cast<std::size_t>(rank)]; }
    std::optional<Words> next_from(int rank);
    void say(int rank, const Words& words);
    bool is_through(const Request& send);
    void hear(int rank);
    bool is_there(int rank);
    bool is_lost(int rank);
    void tell(const Words& missing);
    void end(const Words& words) const;
    void decide(Clock::Duration timeout, bool wait_all_ranks);
    void ask(Clock::Duration timeout);

    Transport& transport;
    std::uint32_t group;
    Clock& clock;
    int p;
    std::int64_t call = 0;       // this one; the first is 1
    std::vector<Inbox> inboxes;  // by rank
    std::list<Said> leaving = {};
};

// The next message that has come from a rank.
std::optional<Words> MonitoredBarrier::State::next_from(int rank) {
    Inbox& inbox = inbox_of(rank);
    if (inbox.is_dead) {
        return std::nullopt;
    }
    try {
        if (!inbox.receive) {
            const auto bytes = std::as_writable_bytes(std::span(inbox.place));
            inbox.receive = transport.irecv(bytes, rank, group, kTag);
        }
        if (!transport.test(inbox.receive)) {
            return std::nullopt;
        }
        const std::size_t bytes = inbox.receive->arrival.bytes;
        inbox.receive.reset();
        const auto n = static_cast<std::ptrdiff_t>(bytes / sizeof(std::int64_t));
        return Words(inbox.place.begin(), inbox.place.begin() + n);
    } catch (const Error&) {
        inbox.is_dead = true;
        return std::nullopt;
    }
}

// Waits for nobody. The words stay where they are until they are sent.
void MonitoredBarrier::State::say(int rank, const Words& words) {
    std::erase_if(leaving, [&](const Said& one) { return is_through(one.send); });
    Said& said = leaving.emplace_back(Said{words});
    said.send = transport.isend(std::as_bytes(std::span(said.words)), rank, group, kTag);
}

// Or the other rank has died: next_from() finds out.
bool MonitoredBarrier::State::is_through(const Request& send) {
    try {
        return transport.test(send);
    } catch (const Error&) {
        return true;
    }
}

// The last word of a rank counts.
void MonitoredBarrier::State::hear(int rank) {
    while (const std::optional<Words> words = next_from(rank)) {
        inbox_of(rank).last_said = words->front();
    }
}

bool MonitoredBarrier::State::is_there(int rank) {
    return inbox_of(rank).last_said == call && !inbox_of(rank).is_dead;
}

// It has died, has given this call up, or is already at a later one.
bool MonitoredBarrier::State::is_lost(int rank) {
    const std::int64_t said = inbox_of(rank).last_said;
    return inbox_of(rank).is_dead || said > call || said <= -call;
}

// Rank 0: all leave, or all throw, those that come later as well.
void MonitoredBarrier::State::tell(const Words& missing) {
    Words words = {call};
    words.insert(words.end(), missing.begin(), missing.end());
    for (int rank = 1; rank < p; ++rank) {
        say(rank, words);
    }
    end(words);
}

// Leaves, or throws: as rank 0 has decided.
void MonitoredBarrier::State::end(const Words& words) const {
    if (words.size() > 1) {
        throw MissingRanks({words.begin() + 1, words.end()});
    }
}

// Rank 0. A rank that is lost is missing as well: who is neither may still come.
void MonitoredBarrier::State::decide(Clock::Duration timeout, bool wait_all_ranks) {
    const Clock::Duration deadline = deadline_after(clock.now(), timeout);
    for (;;) {
        Words missing;
        Words lost;
        for (int rank = 1; rank < p; ++rank) {
            hear(rank);
            if (!is_there(rank)) {
                missing.push_back(rank);
            }
            if (is_lost(rank)) {
                lost.push_back(rank);
            }
        }
        const bool is_one_enough = !wait_all_ranks && !lost.empty();
        if (is_one_enough || missing == lost || clock.now() >= deadline) {
            return tell(is_one_enough ? lost : missing);
        }
        clock.sleep(kLook);
    }
}

// Another rank. What rank 0 says of an older call comes when this rank has given that one up.
void MonitoredBarrier::State::ask(Clock::Duration timeout) {
    const Clock::Duration deadline = deadline_after(deadline_after(clock.now(), timeout), timeout);
    say(0, {call});
    for (;;) {
        while (const std::optional<Words> words = next_from(0)) {
            if (words->front() == call) {
                return end(*words);
            }
        }
        if (inboxes.front().is_dead) {
            throw MissingRanks({0});
        }
        if (clock.now() >= deadline) {
            say(0, {-call});
            throw MissingRanks({0});
        }
        clock.sleep(kLook);
    }
}

MonitoredBarrier::MonitoredBarrier(Transport& transport, std::uint32_t group, Clock& clock)
    : state_(std::make_unique<State>(transport, group, clock)) {}

MonitoredBarrier::~MonitoredBarrier() = default;

void MonitoredBarrier::wait(Clock::Duration timeout, bool wait_all_ranks) {
    ++state_->call;
    if (state_->transport.rank() == 0) {
        state_->decide(timeout, wait_all_ranks);
    } else {
        state_->ask(timeout);
    }
}

}  // namespace dist
