// Each computation gets the number of its round, and each message that of what it sends; rows are sorted by them. Faults
// are found by counting, and deadlocks by crossing messages off whose two ranks both stand at them.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "exercises/08_model_parallel/pipeline_messages.hpp"

namespace dist {
namespace {

using Action = PipelineAction;
using enum ActionKind;
using Homes = std::map<int, std::size_t>;  // of stages

Homes homes_of(const Schedule& rows) {
    Homes homes;
    for (std::size_t rank = rows.size(); rank-- > 0;) {
        for (const Action& action : rows[rank]) {
            homes[action.stage] = rank;
        }
    }
    return homes;
}

bool lives_apart(int one, int other, const Homes& homes, int stages) {
    const auto home = [&](int stage) {
        const auto found = homes.find(stage);
        return found == homes.end() ? homes.size() + 1000 : found->second;
    };
    return 0 <= other && other < stages && home(one) != home(other);
}

/// All that may have to stand before an action; what is not in its row does not count.
std::vector<Action> before(const Action& action) {
    const auto [stage, kind, i] = action;
    const std::vector<Action> gradient = {{stage, input_gradient, i}, {stage, backward, i}};
    switch (kind) {
        case forward:
            return {{stage, recv_f, i}, {stage - 1, forward, i}};
        case weight_gradient:
            return {{stage, input_gradient, i}};
        case send_f:
            return {{stage, forward, i}};
        case send_b:
            return gradient;
        case input_gradient:
        case backward:
            return {
                {stage, forward, i},
                {stage, recv_b, i},
                {stage + 1, input_gradient, i},
                {stage + 1, backward, i}};
        default:
            return {};
    }
}

std::vector<Finding> wrong_places(const Schedule& rows, int stages, int m, const Homes& homes) {
    std::vector<Finding> found;
    for (std::size_t rank = 0; rank < rows.size(); ++rank) {
        for (const Action& action : rows[rank]) {
            const auto [stage, kind, i] = action;
            bool is_right = 0 <= stage && stage < stages && 0 <= i && i < m;
            is_right = is_right && homes.at(stage) == rank;
            if (is_right && is_message(kind)) {
                is_right = lives_apart(stage, peer_of(action).stage, homes, stages);
            }
            if (!is_right) {
                found.push_back({Fault::misplaced, static_cast<int>(rank), action});
            }
        }
    }
    return found;
}

std::vector<Finding> wrong_counts(const Schedule& rows, int stages, int m, const Homes& homes) {
    std::map<Action, int> wanted;
    std::map<Action, int> there;
    for (const auto& row : rows) {
        for (const Action& action : row) {
            ++there[action];
        }
    }
    for (int stage = 0; stage < stages; ++stage) {
        for (int i = 0; i < m; ++i) {
            const bool whole = there.contains({stage, backward, i}) ||
                               (!there.contains({stage, input_gradient, i}) &&
                                !there.contains({stage, weight_gradient, i}));
            ++wanted[{stage, forward, i}];
            for (const ActionKind kind :
                 whole ? std::vector{backward} : std::vector{input_gradient, weight_gradient}) {
                ++wanted[{stage, kind, i}];
            }
            if (lives_apart(stage, stage + 1, homes, stages)) {
                ++wanted[{stage, send_f, i}];
                ++wanted[{stage, recv_b, i}];
            }
            if (lives_apart(stage, stage - 1, homes, stages)) {
                ++wanted[{stage, send_b, i}];
                ++wanted[{stage, recv_f, i}];
            }
        }
    }
    std::vector<Finding> found;
    for (const auto& [action, times] : wanted) {
        if (!there.contains(action)) {
            const auto home = homes.find(action.stage);
            const int rank = home == homes.end() ? -1 : static_cast<int>(home->second);
            found.push_back({Fault::missing, rank, action});
        }
    }
    for (const auto& [action, times] : there) {
        for (int more = wanted.contains(action) ? 1 : 0; more < times; ++more) {
            found.push_back({Fault::repeated, static_cast<int>(homes.at(action.stage)), action});
        }
    }
    return found;
}

std::vector<Finding> wrong_order(const Schedule& rows) {
    std::vector<Finding> found;
    for (std::size_t rank = 0; rank < rows.size(); ++rank) {
        const auto& row = rows[rank];
        for (auto at = row.begin(); at != row.end(); ++at) {
            const auto needed = before(*at);
            if (std::find_first_of(at, row.end(), needed.begin(), needed.end()) != row.end()) {
                found.push_back({Fault::too_early, static_cast<int>(rank), *at});
            }
        }
    }
    return found;
}

std::vector<Finding> wrong_waits(Schedule rows, const Homes& homes, Sends sends) {
    std::set<Action> sent;
    const auto home = [&](const Action& action) { return homes.at(action.stage); };
    for (bool moves = true; moves;) {
        moves = false;
        for (auto& row : rows) {
            if (row.empty()) {
                continue;
            }
            const Action action = row.front();
            if (is_message(action.kind) && sends == Sends::rendezvous) {
                auto& other = rows[home(peer_of(action))];
                if (other.empty() || other.front() != peer_of(action)) {
                    continue;
                }
                other.erase(other.begin());
            } else if (is_send(action.kind)) {
                sent.insert(peer_of(action));
            } else if (is_message(action.kind) && !sent.contains(action)) {
                continue;
            }
            row.erase(row.begin());
            moves = true;
        }
    }
    std::vector<Finding> found;
    for (std::size_t rank = 0; rank < rows.size(); ++rank) {
        if (!rows[rank].empty()) {
            const Action& stuck = rows[rank].front();
            const auto other = static_cast<int>(home(peer_of(stuck)));
            found.push_back({Fault::deadlock, static_cast<int>(rank), stuck, other});
        }
    }
    return found;
}

}  // namespace

Schedule insert_messages(const Schedule& rows) {
    const Homes homes = homes_of(rows);
    std::map<Action, int> round;  // of what has been computed, B as I
    std::vector<std::size_t> next(rows.size(), 0);
    using Entry = std::tuple<int, int, Action, Action>;
    std::vector<std::vector<Entry>> entries(rows.size());
    const int last = homes.empty() ? 0 : homes.rbegin()->first;
    bool moves = true;
    for (int now = 0; moves; ++now) {
        moves = false;
        for (std::size_t rank = 0; rank < rows.size(); ++rank) {
            if (next[rank] == rows[rank].size()) {
                continue;
            }
            const Action& action = rows[rank][next[rank]];
            const auto [stage, kind, i] = action;
            expects(!is_message(kind), "insert_messages: these rows have messages");
            const auto made = [&, now = now](const Action& what) {
                return round.contains(what) && round.at(what) < now;
            };
            const bool is_back = kind == input_gradient || kind == backward;
            if ((kind == forward && stage > 0 && !made({stage - 1, forward, i})) ||
                (kind == weight_gradient && !made({stage, input_gradient, i})) ||
                (is_back && !made({stage, forward, i})) ||
                (is_back && stage < last && !made({stage + 1, input_gradient, i}))) {
                continue;
            }
            ++next[rank];
            moves = true;
            round[{stage, is_back ? input_gradient : kind, i}] = now;
            entries[rank].emplace_back(now, 0, action, action);
            const Action send = {stage, is_back ? send_b : send_f, i};
            const auto other = homes.find(peer_of(send).stage);
            if (kind != weight_gradient && other != homes.end() && other->second != rank) {
                entries[rank].emplace_back(now, 1, send, send);
                entries[other->second].emplace_back(now, 1, send, peer_of(send));
            }
        }
    }
    Schedule with(rows.size());
    for (std::size_t rank = 0; rank < rows.size(); ++rank) {
        expects(next[rank] == rows[rank].size(), "insert_messages: somebody never computes");
        std::ranges::sort(entries[rank]);
        for (const Entry& entry : entries[rank]) {
            with[rank].push_back(std::get<3>(entry));
        }
    }
    return with;
}

std::vector<Finding> validate(const Schedule& rows, int stages, int micro_batches, Sends sends) {
    const Homes homes = homes_of(rows);
    auto found = wrong_places(rows, stages, micro_batches, homes);
    found = found.empty() ? wrong_counts(rows, stages, micro_batches, homes) : found;
    found = found.empty() ? wrong_order(rows) : found;
    return found.empty() ? wrong_waits(rows, homes, sends) : found;
}

}  // namespace dist
