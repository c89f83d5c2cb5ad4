#include "exercises/10_elastic/quorum_step.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>

#include "exercises/01_point_to_point/chunk_bounds.hpp"

namespace dist {
namespace {

constexpr int kGradient = 0;
constexpr int kCopy = 1;
constexpr int kVote = 2;

// Whether those that ask may go on without the others.
bool are_enough(
    const std::vector<Replica>& asking,
    std::size_t living,
    const QuorumSettings& settings,
    Clock::Duration now
) {
    if (std::ssize(asking) < settings.min_replicas || 2 * asking.size() <= living) {
        return false;
    }
    const Replica& first = *std::ranges::min_element(asking, {}, &Replica::asked);
    return asking.size() == living || now - *first.asked >= settings.join_timeout;
}

// The ranks whose weights the others copy.
std::vector<int> up_to_date(
    const std::vector<Replica>& members, std::int64_t step, const Quorum& previous
) {
    std::vector<int> newest;
    std::vector<int> there;  // also in the previous quorum: another one may have come here alone
    for (int rank = 0; rank < std::ssize(members); ++rank) {
        const Replica& member = members[static_cast<std::size_t>(rank)];
        if (member.step == step) {
            newest.push_back(rank);
            if (std::ranges::count(previous.members, member.name) > 0) {
                there.push_back(rank);
            }
        }
    }
    std::vector<int> ranks = there.empty() ? newest : there;
    ranks.resize(step == 0 ? 1 : ranks.size());
    return ranks;
}

}  // namespace

std::optional<Quorum> quorum(
    const std::vector<Replica>& replicas,
    const Quorum& previous,
    const QuorumSettings& settings,
    Clock::Duration now
) {
    std::size_t living = 0;
    std::vector<Replica> asking;
    for (const Replica& replica : replicas) {
        const bool lives = now - replica.heard < settings.dead_after;
        living += lives ? 1 : 0;
        if (lives && replica.asked) {
            asking.push_back(replica);
        }
    }
    std::ranges::sort(asking, {}, &Replica::name);
    Quorum next;
    for (const Replica& replica : asking) {
        next.members.push_back(replica.name);
        next.step = std::max(next.step, replica.step);
    }
    const bool is_fast =
        !previous.members.empty() && std::ranges::includes(next.members, previous.members);
    if (!is_fast && !are_enough(asking, living, settings, now)) {
        return std::nullopt;
    }
    const bool goes_on =
        next.members == previous.members && std::ranges::none_of(asking, &Replica::failed);
    next.number = previous.number + (goes_on ? 0 : 1);
    const std::vector<int> sources = up_to_date(asking, next.step, previous);
    std::size_t healing = 0;
    for (int rank = 0; rank < std::ssize(asking); ++rank) {
        const bool heals = std::ranges::count(sources, rank) == 0;
        next.sources.push_back(heals ? sources[healing++ % sources.size()] : rank);
    }
    return next;
}

struct QuorumStep::State {
    void note(const std::function<void()>& call);
    void pass(std::span<const float> out, std::span<float> in);
    void say(int rank, bool yes);
    bool hear(int rank);

    std::span<float> row;
    std::int64_t step;
    Quorum quorum = {};
    Transport* transport = nullptr;
    std::uint32_t group = 0;
    bool failed = false;
    std::vector<float> copy = {};      // of another's row: its own is good until this one is whole
    std::vector<Request> copies = {};  // those that it sends, or the one that it receives
};

// Makes a call of the transport; an Error is noted.
void QuorumStep::State::note(const std::function<void()>& call) {
    try {
        call();
    } catch (const Error&) {
        failed = true;
    }
}

// To the next rank, and from the one before. After an error an empty message: one waits for it.
void QuorumStep::State::pass(std::span<const float> out, std::span<float> in) {
    const int p = transport->size();
    const int next = (transport->rank() + 1) % p;
    const int before = (transport->rank() + p - 1) % p;
    const auto bytes = std::as_bytes(out.first(failed ? 0 : out.size()));
    const Request sent = transport->isend(bytes, next, group, kGradient);
    note([&] {
        const auto place = std::as_writable_bytes(in);
        const Arrival came = transport->recv(place, before, group, kGradient);
        failed = failed || came.bytes != place.size();
    });
    note([&] { transport->wait(sent); });
}

void QuorumStep::State::say(int rank, bool yes) {
    note([&] { transport->send(std::as_bytes(std::span(&yes, 1)), rank, group, kVote); });
}

// Who has died says no.
bool QuorumStep::State::hear(int rank) {
    bool yes = false;
    note([&] { transport->recv(std::as_writable_bytes(std::span(&yes, 1)), rank, group, kVote); });
    return yes;
}

QuorumStep::QuorumStep(std::span<float> state, std::int64_t step)
    : state_(std::make_unique<State>(State{.row = state, .step = step})) {}

QuorumStep::~QuorumStep() = default;

void QuorumStep::begin(const Quorum& quorum, Transport& transport) {
    expects(
        transport.size() == std::ssize(quorum.members),
        "QuorumStep: the transport must have a rank for each member"
    );
    State& self = *state_;
    self.quorum = quorum;
    self.transport = &transport;
    self.group = static_cast<std::uint32_t>(quorum.number);
    self.failed = false;
    self.copies.clear();
    const int me = transport.rank();
    for (int rank = 0; rank < transport.size(); ++rank) {
        const int source = quorum.sources[static_cast<std::size_t>(rank)];
        if (source == me && rank != me) {
            const auto row = std::as_bytes(self.row);
            self.copies.push_back(transport.isend(row, rank, self.group, kCopy));
        } else if (source != me && rank == me) {
            self.copy.resize(self.row.size());
            const auto place = std::as_writable_bytes(std::span(self.copy));
            self.copies.push_back(transport.irecv(place, source, self.group, kCopy));
        }
    }
}

void QuorumStep::report_error() {
    state_->failed = true;
}

void QuorumStep::all_reduce(std::span<float> gradient) {
    const int p = state_->transport->size();
    const int r = state_->transport->rank();
    if (state_->quorum.heals(r)) {
        std::ranges::fill(gradient, 0.0F);
    }
    const auto chunk = [&](int i) {
        const Chunk bounds = chunk_bounds(gradient.size(), p, (i + p) % p);
        return gradient.subspan(bounds.begin, bounds.size());
    };
    std::vector<float> come(chunk(0).size());  // no chunk is longer
    for (int s = 0; s < p - 1; ++s) {          // chunk r - s is the sum of s + 1 ranks
        const std::span<float> sum = chunk(r - s - 1);
        state_->pass(chunk(r - s), std::span(come).first(sum.size()));
        std::ranges::transform(sum, come, sum.begin(), std::plus());
    }
    for (int s = 0; s < p - 1; ++s) {  // chunk r + 1 - s is the sum of all
        state_->pass(chunk(r + 1 - s), chunk(r - s));
    }
    const auto participants = static_cast<float>(state_->quorum.participants().size());
    for (float& x : gradient) {
        x /= participants;
    }
}

bool QuorumStep::should_commit() {
    State& self = *state_;
    const int me = self.transport->rank();
    for (const Request& request : self.copies) {
        self.note([&] {
            self.transport->wait(request);
            if (self.quorum.heals(me)) {
                std::ranges::copy(self.copy, self.row.begin());
                self.step = self.quorum.step;
            }
        });
    }
    bool yes = !self.failed;
    if (me == 0) {
        for (int rank = 1; rank < self.transport->size(); ++rank) {
            yes = self.hear(rank) && yes;
        }
        for (int rank = 1; rank < self.transport->size(); ++rank) {
            self.say(rank, yes);
        }
    } else {
        self.say(0, yes);
        yes = self.hear(0);
    }
    self.step += yes ? 1 : 0;
    return yes;
}

std::int64_t QuorumStep::step() const {
    return state_->step;
}

}  // namespace dist
