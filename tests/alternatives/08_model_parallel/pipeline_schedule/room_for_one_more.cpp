// Rows by one rule: F while there is room for one more in flight, else a backward. The run by events: of all computations
// that can begin, the one that begins first.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "exercises/08_model_parallel/pipeline_schedule.hpp"

namespace dist {
namespace {

using Action = PipelineAction;
using enum ActionKind;

int room(ScheduleKind kind, int s, int p, int m, int v, int g) {
    return kind == ScheduleKind::gpipe         ? m
           : kind == ScheduleKind::interleaved ? 2 * (p - 1 - s) + (v - 1) * g + 1
                                               : p - s;
}

Action number(int k, ActionKind kind, int s, int p, int v, int g) {
    const int turn = k / g % v;
    return {(kind == forward ? turn : v - 1 - turn) * p + s, kind, k / g / v * g + k % g};
}

/// When `action` could begin by its inputs, if they are all made.
std::optional<double> inputs_at(
    const Action& action,
    int rank,
    int last,
    double send,
    const std::map<Action, std::pair<double, int>>& made
) {
    std::vector<Action> inputs;
    const auto [stage, kind, i] = action;
    if (kind == weight_gradient) {
        inputs.push_back({stage, input_gradient, i});
    } else if (kind == forward && stage > 0) {
        inputs.push_back({stage - 1, forward, i});
    } else if (kind != forward) {
        inputs.push_back({stage, forward, i});
        if (stage < last) {
            inputs.push_back({stage + 1, input_gradient, i});
        }
    }
    double at = 0;
    for (const Action& input : inputs) {
        const auto found = made.find(input);
        if (found == made.end()) {
            return {};
        }
        const auto& [end, where] = found->second;
        at = std::max(at, where == rank ? end : end + send);
    }
    return at;
}

}  // namespace

Schedule pipeline_schedule(ScheduleKind kind, int p, int m, int v) {
    const bool has_chunks = kind == ScheduleKind::interleaved;
    expects(p > 0 && m > 0 && v > 0 && (has_chunks || v == 1), "pipeline_schedule: p, m, v");
    const int g = has_chunks ? m / std::max(1, m / p) : m;
    expects(m % g == 0, "pipeline_schedule: m is no multiple of a group");
    const ActionKind back = kind == ScheduleKind::zero_bubble ? input_gradient : backward;
    Schedule rows(static_cast<std::size_t>(p));
    for (int s = 0; s < p; ++s) {
        std::vector<Action>& row = rows[static_cast<std::size_t>(s)];
        int f = 0;
        int w = 0;
        for (int b = 0; b < m * v; ++b) {
            while (f < m * v && f - b < room(kind, s, p, m, v, g)) {
                row.push_back(number(f++, forward, s, p, v, g));
            }
            row.push_back(number(b, back, s, p, v, g));
            if (back == input_gradient && b - w == s) {
                row.push_back({s, weight_gradient, w++});
            }
        }
        while (back == input_gradient && w < m) {
            row.push_back({s, weight_gradient, w++});
        }
    }
    return rows;
}

PipelineRun simulate_schedule(const Schedule& rows, const PipelineTimes& times) {
    std::vector<std::vector<Action>> left(rows.size());
    int last = 0;
    for (std::size_t r = 0; r < rows.size(); ++r) {
        for (const Action& action : rows[r]) {
            last = std::max(last, action.stage);
            if (!is_message(action.kind)) {
                left[r].insert(left[r].begin(), action);  // the next one stands last
            }
        }
    }
    const double both = times.input_gradient + times.weight_gradient;
    const std::map<ActionKind, double> takes = {
        {forward, times.forward},
        {input_gradient, times.input_gradient},
        {weight_gradient, times.weight_gradient},
        {backward, both}};
    PipelineRun run;
    run.rows.resize(rows.size());
    std::vector<double> busy(rows.size(), 0);
    std::vector<int> now(rows.size(), 0);
    run.most_in_flight.assign(rows.size(), 0);
    std::map<Action, std::pair<double, int>> made;
    while (true) {
        std::optional<std::pair<double, std::size_t>> first;
        for (std::size_t r = 0; r < left.size(); ++r) {
            if (!left[r].empty()) {
                const auto at =
                    inputs_at(left[r].back(), static_cast<int>(r), last, times.send, made);
                const double free = run.rows[r].empty() ? 0 : run.rows[r].back().end;
                if (at && (!first || std::max(*at, free) < first->first)) {
                    first = {std::max(*at, free), r};
                }
            }
        }
        if (!first) {
            break;
        }
        const auto [begin, r] = *first;
        const Action action = left[r].back();
        left[r].pop_back();
        const double end = begin + takes.at(action.kind);
        run.rows[r].push_back({action, begin, end});
        run.total = std::max(run.total, end);
        busy[r] += end - begin;
        now[r] += action.kind == forward ? 1 : 0;
        run.most_in_flight[r] = std::max(run.most_in_flight[r], now[r]);
        now[r] -= action.kind == backward || action.kind == weight_gradient ? 1 : 0;
        const ActionKind as = action.kind == backward ? input_gradient : action.kind;
        made[{action.stage, as, action.micro_batch}] = {end, static_cast<int>(r)};
    }
    for (std::size_t r = 0; r < left.size(); ++r) {
        if (!left[r].empty()) {
            throw std::invalid_argument("simulate_schedule: stuck at " + cell(left[r].back()));
        }
        run.bubble.push_back(run.total - busy[r]);
    }
    return run;
}

}  // namespace dist
