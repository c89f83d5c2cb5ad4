// Each chunk has an owner, to whom all send it, and who sends the mean to all. The quorum is made
// of sets.
#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <set>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/10_elastic/quorum_step.hpp"

namespace dist {

std::optional<Quorum> quorum(
    const std::vector<Replica>& replicas,
    const Quorum& previous,
    const QuorumSettings& settings,
    Clock::Duration now
) {
    std::set<std::string> living;
    std::map<std::string, Replica> asking;
    Clock::Duration first = now;
    for (const Replica& replica : replicas) {
        if (now < replica.heard + settings.dead_after) {
            living.insert(replica.name);
            if (replica.asked) {
                asking[replica.name] = replica;
                first = std::min(first, *replica.asked);
            }
        }
    }
    const std::set<std::string> before(previous.members.begin(), previous.members.end());
    const auto comes_again = [&](const std::string& name) { return asking.contains(name); };
    if (before.empty() || !std::ranges::all_of(before, comes_again)) {
        const auto n = static_cast<int>(asking.size());
        const auto missing = static_cast<int>(living.size()) - n;
        const bool is_over = now - first >= settings.join_timeout;
        if (n < settings.min_replicas || n <= missing || (missing > 0 && !is_over)) {
            return {};
        }
    }
    Quorum made;
    bool is_new = asking.size() != before.size();
    for (const auto& [name, replica] : asking) {
        made.members.push_back(name);
        made.step = std::max(made.step, replica.step);
        is_new = is_new || replica.failed || !before.contains(name);
    }
    made.number = previous.number + static_cast<int>(is_new);
    // the best: at the step, and there before; then those at the step
    const auto rank_of = [&](const Replica& replica) {
        return replica.step == made.step ? 1 + static_cast<int>(before.contains(replica.name)) : 0;
    };
    int best = 0;
    for (const auto& [name, replica] : asking) {
        best = std::max(best, rank_of(replica));
    }
    std::vector<int> sources;
    int rank = 0;
    for (const auto& [name, replica] : asking) {
        const bool is_source = rank_of(replica) == best && (made.step > 0 || sources.empty());
        made.sources.push_back(is_source ? rank : -1);
        if (is_source) {
            sources.push_back(rank);
        }
        ++rank;
    }
    std::size_t next = 0;
    for (int& source : made.sources) {
        if (source < 0) {
            source = sources[next];
            next = next + 1 == sources.size() ? 0 : next + 1;
        }
    }
    return made;
}

struct QuorumStep::State {
    std::span<float> row;
    std::int64_t step = 0;
    Quorum quorum = {};
    Transport* transport = nullptr;
    bool is_well = true;
    std::vector<float> other = {};
    Request receive = {};
    std::vector<Request> sends = {};

    bool finish(const Request& request) {
        try {
            transport->wait(request);
            return true;
        } catch (const Error&) {
            is_well = false;
            return false;
        }
    }

    template <class T>
    Request send(std::span<T> data, int dst, int tag) {
        const auto group = static_cast<std::uint32_t>(quorum.number);
        return transport->isend(std::as_bytes(data), dst, group, tag);
    }

    template <class T>
    Request take(std::span<T> place, int src, int tag) {
        const auto group = static_cast<std::uint32_t>(quorum.number);
        return transport->irecv(std::as_writable_bytes(place), src, group, tag);
    }

    // Calls for all ranks but this one.
    template <class Call>
    void others(const Call& call) {
        for (int rank = 0; rank < transport->size(); ++rank) {
            if (rank != transport->rank()) {
                call(rank);
            }
        }
    }
};

QuorumStep::QuorumStep(std::span<float> state, std::int64_t step)
    : state_(std::make_unique<State>()) {
    state_->row = state;
    state_->step = step;
}

QuorumStep::~QuorumStep() = default;

void QuorumStep::begin(const Quorum& quorum, Transport& transport) {
    if (static_cast<std::size_t>(transport.size()) != quorum.members.size()) {
        throw std::invalid_argument("QuorumStep: as many ranks as members");
    }
    State& self = *state_;
    self.quorum = quorum;
    self.transport = &transport;
    self.is_well = true;
    self.receive = {};
    self.sends = {};
    const int me = transport.rank();
    if (quorum.heals(me)) {
        self.other.assign(self.row.size(), 0);
        const int source = quorum.sources[static_cast<std::size_t>(me)];
        self.receive = self.take(std::span(self.other), source, 9);
    }
    self.others([&](int rank) {
        if (quorum.sources[static_cast<std::size_t>(rank)] == me) {
            self.sends.push_back(self.send(self.row, rank, 9));
        }
    });
}

void QuorumStep::report_error() {
    state_->is_well = false;
}

void QuorumStep::all_reduce(std::span<float> gradient) {
    State& self = *state_;
    const int me = self.transport->rank();
    const auto chunk = [&](int rank) {
        const Chunk bounds = chunk_bounds(gradient.size(), self.transport->size(), rank);
        return gradient.subspan(bounds.begin, bounds.size());
    };
    if (self.quorum.heals(me)) {
        std::fill(gradient.begin(), gradient.end(), 0.0F);
    }
    std::vector<Request> sends;
    self.others([&](int rank) { sends.push_back(self.send(chunk(rank), rank, 1)); });
    const std::span<float> mine = chunk(me);
    std::vector<float> place(mine.size());
    self.others([&](int rank) {
        self.finish(self.take(std::span(place), rank, 1));
        for (std::size_t i = 0; i < mine.size(); ++i) {
            mine[i] += place[i];
        }
    });
    for (float& x : mine) {
        x /= static_cast<float>(self.quorum.participants().size());
    }
    for (const Request& request : sends) {  // their chunks are written to below
        self.finish(request);
    }
    sends.clear();
    self.others([&](int rank) { sends.push_back(self.send(mine, rank, 2)); });
    self.others([&](int rank) { self.finish(self.take(chunk(rank), rank, 2)); });
    for (const Request& request : sends) {
        self.finish(request);
    }
}

bool QuorumStep::should_commit() {
    State& self = *state_;
    if (self.receive && self.finish(self.receive)) {
        std::memcpy(self.row.data(), self.other.data(), self.row.size_bytes());
        self.step = self.quorum.step;
    }
    for (const Request& request : self.sends) {
        self.finish(request);
    }
    std::array<char, 1> word = {self.is_well ? 'y' : 'n'};
    if (self.transport->rank() != 0) {
        self.finish(self.send(std::span<char>(word), 0, 3));
        word = {'n'};
        self.finish(self.take(std::span<char>(word), 0, 3));
    } else {
        char all = word[0];
        self.others([&](int rank) {
            word = {'n'};
            self.finish(self.take(std::span<char>(word), rank, 3));
            all = word[0] == 'y' ? all : 'n';
        });
        word = {all};
        self.others([&](int rank) { self.finish(self.send(std::span<char>(word), rank, 3)); });
    }
    if (word[0] == 'y') {
        ++self.step;
        return true;
    }
    return false;
}

std::int64_t QuorumStep::step() const {
    return state_->step;
}

}  // namespace dist
