#include "exercises/10_elastic/membership.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <sstream>
#include <vector>

namespace dist {
namespace {

// What a node has said in its round.
struct Word {
    int workers = 0;  // 0: nothing yet
    bool has_finished = false;
};

// What the nodes of a round have said, by rank: one value of the store. A newer round's takes the
// place of an older one's.
struct Words {
    std::int64_t round = 0;  // 0: of none
    std::vector<Word> nodes = {};

    [[nodiscard]] bool all_said() const {
        return std::ranges::all_of(nodes, [](const Word& node) { return node.workers > 0; });
    }

    [[nodiscard]] bool all_finished() const {
        return round > 0 && std::ranges::all_of(nodes, &Word::has_finished);
    }

    [[nodiscard]] std::string text() const {
        std::ostringstream out;
        out << round;
        for (const Word& node : nodes) {
            out << ' ' << node.workers << ' ' << node.has_finished;
        }
        return out.str();
    }

    static Words from(const std::string& text) {
        std::istringstream in(text);
        Words words;
        in >> words.round;
        for (Word node; in >> node.workers >> node.has_finished;) {
            words.nodes.push_back(node);
        }
        return words;
    }
};

}  // namespace

std::string round_prefix(const std::string& run, std::int64_t number) {
    return run + "/round/" + std::to_string(number);
}

struct Membership::State {
    Words say(const std::function<void(Word&)>& change);
    Words hear_all();
    [[nodiscard]] WorkerRound ranks(const Words& words) const;

    Store& store;
    std::string key;  // of the words
    int workers;
    Clock& clock;
    Clock::Duration poll;
    Rendezvous rendezvous;
    RendezvousRound round = {};  // number 0: in none
};

// Changes this node's word, and returns the words of all. Words of a newer round, and those of a
// finished one, stay as they are.
Words Membership::State::say(const std::function<void(Word&)>& change) {
    for (;;) {
        const std::string text = store.compare_set(key, "", "");  // only reads
        Words words = Words::from(text);
        if (words.all_finished()) {
            rendezvous.close();
            return words;
        }
        if (words.round > round.number) {
            return words;
        }
        if (words.round < round.number) {
            words = {round.number, std::vector<Word>(round.nodes.size())};
        }
        change(words.nodes[static_cast<std::size_t>(round.rank)]);
        if (words.text() == text) {
            return words;
        }
        store.compare_set(key, text, words.text());  // or another node was first
    }
}

// Says how many workers there are here, and waits until all have said so, or the round is over.
Words Membership::State::hear_all() {
    for (;;) {
        Words words = say([&](Word& mine) { mine.workers = workers; });
        if (words.round != round.number || words.all_said() || !rendezvous.stay()) {
            return words;
        }
        clock.sleep(poll);
    }
}

WorkerRound Membership::State::ranks(const Words& words) const {
    WorkerRound result = {.number = round.number, .node = round.rank, .nodes = round.size()};
    result.workers = workers;
    result.world_size = 0;
    for (int node = 0; node < round.size(); ++node) {
        const int its_workers = words.nodes[static_cast<std::size_t>(node)].workers;
        result.first_rank += node < round.rank ? its_workers : 0;
        result.world_size += its_workers;
    }
    return result;
}

Membership::Membership(
    Store& store,
    const std::string& run,
    const std::string& node,
    int workers,
    const RendezvousSettings& settings,
    Clock& clock
)
    : state_(new State{
          store, run + "/nodes", workers, clock, settings.poll,
          Rendezvous(store, run + "/rendezvous", node, settings, clock)}) {
    expects(workers >= 1, "Membership: a node has at least one worker");
}

Membership::~Membership() = default;

std::optional<WorkerRound> Membership::next() {
    try {
        for (;;) {
            state_->round = state_->rendezvous.next_round();
            const Words words = state_->hear_all();
            if (words.round == state_->round.number && words.all_said()) {
                return state_->ranks(words);
            }
        }
    } catch (const RendezvousClosed&) {
        leave();
        return std::nullopt;
    } catch (const Error&) {
        state_->round = {};  // also if one had begun: it has told none
        throw;
    }
}

bool Membership::holds() {
    return state_->rendezvous.stay();
}

bool Membership::finish() {
    if (state_->round.number == 0) {
        return false;
    }
    state_->rendezvous.stay();  // this node lives
    const Words words = state_->say([](Word& mine) { mine.has_finished = true; });
    return words.round == state_->round.number && words.all_finished();
}

void Membership::leave() {
    state_->round = {};
    state_->rendezvous.leave();
}

void Membership::close() {
    state_->rendezvous.close();
}

}  // namespace dist
