#include "exercises/08_model_parallel/pipeline_messages.hpp"

#include <map>
#include <set>

namespace dist {
namespace {

using Action = PipelineAction;
using enum ActionKind;

/// The rank of each stage: the lowest that has an action of it.
std::map<int, int> ranks_of_stages(const Schedule& rows) {
    std::map<int, int> ranks;
    for (std::size_t rank = 0; rank < rows.size(); ++rank) {
        for (const Action& action : rows[rank]) {
            ranks.insert({action.stage, static_cast<int>(rank)});
        }
    }
    return ranks;
}

/// What stands where, and which stage is on which rank.
struct Checked {
    struct Entry {
        Action action;
        int rank;
        std::size_t index;
    };

    int stages;
    int micro_batches;
    std::map<int, int> ranks;
    std::vector<Entry> entries = {};
    std::map<Action, Entry> first = {};  // the first of several that are the same

    [[nodiscard]] bool has(const Action& action) const { return first.contains(action); }

    [[nodiscard]] bool is_stage(int stage) const { return 0 <= stage && stage < stages; }

    /// -1 for a stage that no rank has.
    [[nodiscard]] int rank_of(int stage) const {
        const auto found = ranks.find(stage);
        return found == ranks.end() ? -1 : found->second;
    }

    /// Whether these are two stages, on two ranks.
    [[nodiscard]] bool is_across(int one, int other) const {
        return is_stage(one) && is_stage(other) && rank_of(one) != rank_of(other);
    }

    /// The B or the I.
    [[nodiscard]] Action gradient(int stage, int i) const {
        const Action whole = {stage, backward, i};
        return has(whole) ? whole : Action{stage, input_gradient, i};
    }
};

Checked look_through(const Schedule& rows, int stages, int micro_batches) {
    Checked all{stages, micro_batches, ranks_of_stages(rows)};
    for (std::size_t rank = 0; rank < rows.size(); ++rank) {
        for (std::size_t index = 0; index < rows[rank].size(); ++index) {
            all.entries.push_back({rows[rank][index], static_cast<int>(rank), index});
            all.first.insert({rows[rank][index], all.entries.back()});
        }
    }
    return all;
}

std::vector<Finding> misplaced(const Checked& all) {
    std::vector<Finding> found;
    for (const auto& [action, rank, index] : all.entries) {
        const bool is_known = all.is_stage(action.stage) && 0 <= action.micro_batch &&
                              action.micro_batch < all.micro_batches;
        const bool has_two_ends =
            !is_message(action.kind) || all.is_across(action.stage, peer_of(action).stage);
        if (!is_known || !has_two_ends || all.rank_of(action.stage) != rank) {
            found.push_back({Fault::misplaced, rank, action});
        }
    }
    return found;
}

std::vector<ActionKind> wanted(int stage, int i, const Checked& all) {
    std::vector<ActionKind> kinds = {forward};
    const bool has_part =
        all.has({stage, input_gradient, i}) || all.has({stage, weight_gradient, i});
    if (has_part && !all.has({stage, backward, i})) {
        kinds.insert(kinds.end(), {input_gradient, weight_gradient});
    } else {
        kinds.push_back(backward);
    }
    if (all.is_across(stage, stage + 1)) {
        kinds.insert(kinds.end(), {send_f, recv_b});
    }
    if (all.is_across(stage, stage - 1)) {
        kinds.insert(kinds.end(), {recv_f, send_b});
    }
    return kinds;
}

std::vector<Finding> repeated_or_missing(const Checked& all) {
    std::vector<Finding> found;
    for (const auto& [action, rank, index] : all.entries) {
        const bool is_part = action.kind == input_gradient || action.kind == weight_gradient;
        if (all.first.at(action).index != index ||
            (is_part && all.has({action.stage, backward, action.micro_batch}))) {
            found.push_back({Fault::repeated, rank, action});
        }
    }
    for (int stage = 0; stage < all.stages; ++stage) {
        for (int i = 0; i < all.micro_batches; ++i) {
            for (const ActionKind kind : wanted(stage, i, all)) {
                if (!all.has({stage, kind, i})) {
                    found.push_back({Fault::missing, all.rank_of(stage), {stage, kind, i}});
                }
            }
        }
    }
    return found;
}

/// What has to stand before an action in its row.
std::vector<Action> needed_by(const Action& action, const Checked& all) {
    const auto [stage, kind, i] = action;
    const Action own = {stage, forward, i};
    switch (kind) {
        case forward:
            return stage == 0                        ? std::vector<Action>{}
                   : all.is_across(stage, stage - 1) ? std::vector<Action>{{stage, recv_f, i}}
                                                     : std::vector<Action>{{stage - 1, forward, i}};
        case input_gradient:
        case backward:
            return !all.is_stage(stage + 1) ? std::vector<Action>{own}
                   : all.is_across(stage, stage + 1)
                       ? std::vector<Action>{own, {stage, recv_b, i}}
                       : std::vector<Action>{own, all.gradient(stage + 1, i)};
        case weight_gradient:
            return {{stage, input_gradient, i}};
        case send_f:
            return {own};
        case send_b:
            return {all.gradient(stage, i)};
        default:
            return {};
    }
}

std::vector<Finding> too_early(const Checked& all) {
    std::vector<Finding> found;
    for (const auto& [action, rank, index] : all.entries) {
        bool is_early = false;
        for (const Action& needed : needed_by(action, all)) {
            is_early = is_early || all.first.at(needed).index > index;
        }
        if (is_early) {
            found.push_back({Fault::too_early, rank, action});
        }
    }
    return found;
}

std::vector<Finding> deadlock(const Schedule& rows, const Checked& all, Sends sends) {
    std::vector<std::size_t> next(rows.size(), 0);
    const auto can_pass = [&](const Action& action) {
        if (!is_message(action.kind) || (is_send(action.kind) && sends == Sends::buffered)) {
            return true;
        }
        const Checked::Entry& peer = all.first.at(peer_of(action));
        const std::size_t reached = next[static_cast<std::size_t>(peer.rank)];
        return reached > peer.index || (reached == peer.index && sends == Sends::rendezvous);
    };
    for (bool moves = true; moves;) {
        moves = false;
        for (std::size_t rank = 0; rank < rows.size(); ++rank) {
            while (next[rank] < rows[rank].size() && can_pass(rows[rank][next[rank]])) {
                ++next[rank];
                moves = true;
            }
        }
    }
    std::vector<Finding> found;
    for (std::size_t rank = 0; rank < rows.size(); ++rank) {
        if (next[rank] < rows[rank].size()) {
            const Action& stuck = rows[rank][next[rank]];
            const int other = all.first.at(peer_of(stuck)).rank;
            found.push_back({Fault::deadlock, static_cast<int>(rank), stuck, other});
        }
    }
    return found;
}

/// Whether what `next` needs is made; B is made as I.
bool is_ready(const Action& next, const std::set<Action>& made, int last_stage) {
    const auto [stage, kind, i] = next;
    switch (kind) {
        case forward:
            return stage == 0 || made.contains({stage - 1, forward, i});
        case weight_gradient:
            return made.contains({stage, input_gradient, i});
        default:
            return made.contains({stage, forward, i}) &&
                   (stage == last_stage || made.contains({stage + 1, input_gradient, i}));
    }
}

}  // namespace

Schedule insert_messages(const Schedule& rows) {
    const std::map<int, int> ranks = ranks_of_stages(rows);
    const int last_stage = ranks.empty() ? 0 : ranks.rbegin()->first;
    Schedule with(rows.size());
    std::vector<std::size_t> next(rows.size(), 0);
    std::set<Action> made;
    // Both ends of a message enter their rows at one moment, so there is one order of all messages. Of those that are not
    // through, the first one has both its ranks waiting in it: nobody waits in a circle.
    for (bool moves = true; moves;) {
        std::vector<Action> results;
        moves = false;
        for (std::size_t rank = 0; rank < rows.size(); ++rank) {
            if (next[rank] < rows[rank].size() &&
                is_ready(rows[rank][next[rank]], made, last_stage)) {
                const auto [stage, kind, i] = rows[rank][next[rank]];
                expects(kind < send_f, "insert_messages: rows hold messages already");
                with[rank].push_back(rows[rank][next[rank]++]);
                results.push_back({stage, kind == backward ? input_gradient : kind, i});
                moves = true;
            }
        }
        for (const auto& [stage, kind, i] : results) {
            made.insert({stage, kind, i});
            const Action send = {stage, kind == forward ? send_f : send_b, i};
            const auto other = ranks.find(peer_of(send).stage);
            if (kind != weight_gradient && other != ranks.end() &&
                other->second != ranks.at(stage)) {
                with[static_cast<std::size_t>(ranks.at(stage))].push_back(send);
                with[static_cast<std::size_t>(other->second)].push_back(peer_of(send));
            }
        }
    }
    for (std::size_t rank = 0; rank < rows.size(); ++rank) {
        expects(next[rank] == rows[rank].size(), "insert_messages: an input never comes");
    }
    return with;
}

std::vector<Finding> validate(const Schedule& rows, int stages, int micro_batches, Sends sends) {
    const Checked all = look_through(rows, stages, micro_batches);
    std::vector<Finding> found = misplaced(all);
    if (found.empty()) {
        found = repeated_or_missing(all);
    }
    if (found.empty()) {
        found = too_early(all);
    }
    return found.empty() ? deadlock(rows, all, sends) : found;
}

}  // namespace dist
