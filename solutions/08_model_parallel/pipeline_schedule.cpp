#include "exercises/08_model_parallel/pipeline_schedule.hpp"

#include <algorithm>
#include <map>

namespace dist {
namespace {

using Action = PipelineAction;
using enum ActionKind;
using Row = std::vector<Action>;

Row each_micro_batch(int stage, ActionKind kind, int m) {
    Row row;
    for (int i = 0; i < m; ++i) {
        row.push_back({stage, kind, i});
    }
    return row;
}

/// Groups of g micro-batches go through all chunks, one group after the other.
Row in_groups(int s, ActionKind kind, int p, int m, int v, int g) {
    Row row;
    for (int k = 0; k < m * v; ++k) {
        const int chunk = k % (g * v) / g;
        const int from_the_end = v - 1 - chunk;
        row.push_back(
            {(kind == forward ? chunk : from_the_end) * p + s, kind, k / (g * v) * g + k % g}
        );
    }
    return row;
}

Row in_turn(int warm_up, const Row& forwards, const Row& backwards) {
    const std::size_t first = std::min(static_cast<std::size_t>(warm_up), forwards.size());
    Row row(forwards.begin(), forwards.begin() + static_cast<std::ptrdiff_t>(first));
    for (std::size_t k = 0; k < backwards.size(); ++k) {
        if (first + k < forwards.size()) {
            row.push_back(forwards[first + k]);
        }
        row.push_back(backwards[k]);
    }
    return row;
}

/// Puts W `late` micro-batches behind I.
Row with_weights(const Row& without, int late, int m) {
    Row row;
    int next = 0;
    for (const Action& action : without) {
        row.push_back(action);
        if (action.kind == input_gradient && action.micro_batch >= late) {
            row.push_back({action.stage, weight_gradient, next++});
        }
    }
    for (; next < m; ++next) {
        row.push_back({without.front().stage, weight_gradient, next});
    }
    return row;
}

Row row_of(ScheduleKind kind, int s, int p, int m, int v) {
    const int g = m / std::max(1, m / p);
    const Row forwards = each_micro_batch(s, forward, m);
    switch (kind) {
        case ScheduleKind::gpipe:
            return in_turn(m, forwards, each_micro_batch(s, backward, m));
        case ScheduleKind::one_forward_one_backward:
            return in_turn(p - 1 - s, forwards, each_micro_batch(s, backward, m));
        case ScheduleKind::interleaved:
            return in_turn(
                2 * (p - 1 - s) + (v - 1) * g, in_groups(s, forward, p, m, v, g),
                in_groups(s, backward, p, m, v, g)
            );
        case ScheduleKind::zero_bubble:
            return with_weights(
                in_turn(p - 1 - s, forwards, each_micro_batch(s, input_gradient, m)), s, m
            );
    }
    throw std::invalid_argument("pipeline_schedule: there is no such kind");
}

/// A computation's result: F, the input's gradient, or W. B ends with the second.
Action result(Action computation) {
    if (computation.kind == backward) {
        computation.kind = input_gradient;
    }
    return computation;
}

std::vector<Action> inputs_of(const Action& computation, int last_stage) {
    const auto [stage, kind, i] = computation;
    if (kind == weight_gradient) {
        return {{stage, input_gradient, i}};
    }
    if (kind == forward) {
        return stage == 0 ? Row{} : Row{{stage - 1, forward, i}};
    }
    return stage == last_stage ? Row{{stage, forward, i}}
                               : Row{{stage, forward, i}, {stage + 1, input_gradient, i}};
}

double duration(ActionKind kind, const PipelineTimes& times) {
    return kind == forward           ? times.forward
           : kind == input_gradient  ? times.input_gradient
           : kind == weight_gradient ? times.weight_gradient
                                     : times.input_gradient + times.weight_gradient;
}

/// When a result is where.
struct Ended {
    double time;
    std::size_t rank;
};

/// When all inputs are at `rank`, or -1 while one is not made.
double inputs_there(
    const std::vector<Action>& inputs,
    std::size_t rank,
    const std::map<Action, Ended>& ended,
    double send
) {
    double there = 0;
    for (const Action& input : inputs) {
        const auto found = ended.find(input);
        if (found == ended.end()) {
            return -1;
        }
        there = std::max(there, found->second.time + (found->second.rank == rank ? 0 : send));
    }
    return there;
}

int most_in_flight(const Row& computations) {
    int now = 0;
    int most = 0;
    for (const Action& action : computations) {
        now += action.kind == forward ? 1 : action.kind == input_gradient ? 0 : -1;
        most = std::max(most, now);
    }
    return most;
}

}  // namespace

Schedule pipeline_schedule(ScheduleKind kind, int p, int m, int v) {
    expects(p >= 1 && m >= 1 && v >= 1, "pipeline_schedule: p, m and v are >= 1");
    expects(
        v == 1 || kind == ScheduleKind::interleaved,
        "pipeline_schedule: only interleaved has several chunks a rank"
    );
    expects(
        kind != ScheduleKind::interleaved || m % std::max(1, m / p) == 0,
        "pipeline_schedule: interleaved needs groups of equally many micro-batches"
    );
    Schedule rows;
    for (int s = 0; s < p; ++s) {
        rows.push_back(row_of(kind, s, p, m, v));
    }
    return rows;
}

PipelineRun simulate_schedule(const Schedule& rows, const PipelineTimes& times) {
    Schedule left = rows;
    int last_stage = 0;
    for (Row& row : left) {
        std::erase_if(row, [](const Action& action) { return is_message(action.kind); });
        for (const Action& action : row) {
            last_stage = std::max(last_stage, action.stage);
        }
    }
    PipelineRun run;
    run.rows.resize(rows.size());
    std::map<Action, Ended> ended;
    // a rank goes on as far as its inputs are there; somebody must, or nobody ever will
    for (bool moves = true; moves;) {
        moves = false;
        for (std::size_t rank = 0; rank < left.size(); ++rank) {
            std::vector<Slot>& slots = run.rows[rank];
            while (slots.size() < left[rank].size()) {
                const Action& next = left[rank][slots.size()];
                const double there =
                    inputs_there(inputs_of(next, last_stage), rank, ended, times.send);
                if (there < 0) {
                    break;
                }
                const double begin = std::max(there, slots.empty() ? 0 : slots.back().end);
                slots.push_back({next, begin, begin + duration(next.kind, times)});
                ended[result(next)] = {slots.back().end, rank};
                run.total = std::max(run.total, slots.back().end);
                moves = true;
            }
        }
    }
    for (std::size_t rank = 0; rank < left.size(); ++rank) {
        double busy = 0;
        for (const Slot& slot : run.rows[rank]) {
            busy += slot.end - slot.begin;
        }
        if (run.rows[rank].size() < left[rank].size()) {
            throw std::invalid_argument(
                "simulate_schedule: the input of " + cell(left[rank][run.rows[rank].size()]) +
                " never comes"
            );
        }
        run.bubble.push_back(run.total - busy);
        run.most_in_flight.push_back(most_in_flight(left[rank]));
    }
    return run;
}

}  // namespace dist
