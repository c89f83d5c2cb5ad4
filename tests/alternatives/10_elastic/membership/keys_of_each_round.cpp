// Each node has keys of its own in each round, and the next round erases them. One value is never
// erased: which round is the newest, and what has become of it. Who comes late to that one sets
// what nobody reads, and erases it when it comes back.
#include <algorithm>
#include <sstream>
#include <vector>

#include "exercises/10_elastic/membership.hpp"

namespace dist {
namespace {

const std::string kWorkers = "workers";
const std::string kFinished = "finished";

// A round is open until all have finished it; then it stays so.
struct Newest {
    std::int64_t number = 0;
    std::string fate;

    explicit Newest(const std::string& text) {
        std::istringstream in(text);
        in >> number >> fate;
    }
};

}  // namespace

std::string round_prefix(const std::string& run, std::int64_t number) {
    return run + "/workers of round " + std::to_string(number);
}

struct Membership::State {
    Store& store;
    std::string run;
    int workers;
    RendezvousSettings settings;
    Clock& clock;
    Rendezvous rendezvous;
    RendezvousRound round = {};
    std::int64_t last = 0;  // the round that it was in before

    std::string key(std::int64_t number, const std::string& what, int node) const {
        return run + "/" + std::to_string(number) + "/" + what + "/" + std::to_string(node);
    }

    std::vector<std::string> keys_of_all(const std::string& what) const {
        std::vector<std::string> keys;
        for (int node = 0; node < round.size(); ++node) {
            keys.push_back(key(round.number, what, node));
        }
        return keys;
    }

    // Without a fate it only looks.
    Newest decide(const std::string& fate) {
        for (;;) {
            const std::string text = store.compare_set(run + "/newest", "", "");
            Newest now(text);
            if (now.fate == kFinished) {
                rendezvous.close();
                return now;
            }
            const std::string desired = std::to_string(round.number) + " " + fate;
            if (fate.empty() || now.number > round.number || text == desired) {
                return now;
            }
            store.compare_set(run + "/newest", text, desired);
        }
    }

    bool is_open() {
        const Newest now = decide("open");
        return now.number == round.number && now.fate == "open";
    }

    void erase_older() {
        for (const std::int64_t number : {last, round.number - 1}) {
            for (int node = 0; node < settings.max_nodes; ++node) {
                store.erase(key(number, kWorkers, node));
                store.erase(key(number, kFinished, node));
            }
        }
    }

    // None: another one has to be waited for.
    std::optional<WorkerRound> told() {
        if (!is_open()) {
            return std::nullopt;
        }
        erase_older();
        store.set(key(round.number, kWorkers, round.rank), std::to_string(workers));
        while (!store.check(keys_of_all(kWorkers))) {
            if (!rendezvous.stay()) {
                return std::nullopt;
            }
            clock.sleep(settings.poll);
        }
        WorkerRound result;
        result.number = round.number;
        result.node = round.rank;
        result.nodes = round.size();
        result.workers = workers;
        result.world_size = 0;
        for (const std::string& at : keys_of_all(kWorkers)) {
            result.first_rank = at == key(round.number, kWorkers, round.rank) ? result.world_size
                                                                              : result.first_rank;
            // reads, and sets nothing where nothing is: a newer round has erased it then
            result.world_size += std::stoi(store.compare_set(at, "0", "0"));
        }
        return is_open() ? std::optional(result) : std::nullopt;
    }

    void go() {
        if (round.number > 0) {
            last = round.number;
            round = {};
        }
    }
};

Membership::Membership(
    Store& store,
    const std::string& run,
    const std::string& node,
    int workers,
    const RendezvousSettings& settings,
    Clock& clock
)
    : state_(new State{
          store, run, workers, settings, clock,
          Rendezvous(store, run + "/rendezvous", node, settings, clock)}) {
    expects(workers > 0, "Membership: workers must be positive");
}

Membership::~Membership() = default;

std::optional<WorkerRound> Membership::next() {
    try {
        for (;;) {
            state_->go();
            state_->round = state_->rendezvous.next_round();
            if (const auto round = state_->told()) {
                return round;
            }
        }
    } catch (const RendezvousClosed&) {
        state_->go();
        state_->rendezvous.leave();
        return std::nullopt;
    }
}

bool Membership::holds() {
    return state_->rendezvous.stay();
}

bool Membership::finish() {
    State& state = *state_;
    if (state.round.number == 0) {
        return false;
    }
    state.rendezvous.stay();
    state.store.set(state.key(state.round.number, kFinished, state.round.rank), "");
    const bool have_all = state.store.check(state.keys_of_all(kFinished));
    const Newest now = state.decide(have_all ? kFinished : "");
    return now.number == state.round.number && now.fate == kFinished;
}

void Membership::leave() {
    state_->go();
    state_->rendezvous.leave();
}

void Membership::close() {
    state_->rendezvous.close();
}

}  // namespace dist
