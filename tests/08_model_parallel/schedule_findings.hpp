// Schedules with messages: put where a clock says, run by hand, and spoilt in one place.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "exercises/08_model_parallel/pipeline_messages.hpp"
#include "tests/08_model_parallel/schedule_rows.hpp"

namespace dist::harness {

inline int stages_of(const Schedule& rows) {
    int stages = 0;
    for (const Row& row : rows) {
        for (const Action& action : row) {
            stages = std::max(stages, action.stage + 1);
        }
    }
    return stages;
}

inline std::size_t rank_of(int stage, const Schedule& rows) {
    const auto has = [stage](const Action& action) { return action.stage == stage; };
    const auto found =
        std::ranges::find_if(rows, [&](const Row& row) { return std::ranges::any_of(row, has); });
    return static_cast<std::size_t>(found - rows.begin());
}

/// The SEND of what a computation makes; itself if no other rank needs that.
inline Action send_of(const Action& action, const Schedule& rows) {
    const bool is_forward = action.kind == ActionKind::forward;
    const int to = action.stage + (is_forward ? 1 : -1);
    const bool stays = action.kind == ActionKind::weight_gradient || to < 0 ||
                       to >= stages_of(rows) || rank_of(to, rows) == rank_of(action.stage, rows);
    return stays ? action
                 : Action{
                       action.stage, is_forward ? ActionKind::send_f : ActionKind::send_b,
                       action.micro_batch};
}

/// The times at which all computations take 1, whether they are I and W or B.
inline PipelineTimes ones(const Schedule& rows) {
    const bool splits = std::ranges::any_of(rows[0], [](const Action& action) {
        return action.kind == ActionKind::weight_gradient;
    });
    return splits ? PipelineTimes{} : PipelineTimes{1, 0.5, 0.5, 0};
}

/// Computations and messages in the order of a clock: a message stands where its result is made, before what begins then.
inline Schedule with_messages(const Schedule& rows) {
    using Entry =
        std::tuple<double, int, Action, Action>;  // when, message or not, of which, itself
    RightTimes times(rows, ones(rows));
    std::vector<std::vector<Entry>> all(rows.size());
    for (std::size_t rank = 0; rank < rows.size(); ++rank) {
        for (std::size_t i = 0; i < rows[rank].size(); ++i) {
            const Action& action = rows[rank][i];
            all[rank].emplace_back(times.begin(rank, i), 1, action, action);
            const Action send = send_of(action, rows);
            if (send != action) {
                const double end = times.end(rank, i);
                all[rank].emplace_back(end, 0, send, send);
                all[rank_of(peer_of(send).stage, rows)].emplace_back(end, 0, send, peer_of(send));
            }
        }
    }
    Schedule with;
    for (auto& entries : all) {
        std::ranges::sort(entries);
        with.emplace_back();
        for (const Entry& entry : entries) {
            with.back().push_back(std::get<3>(entry));
        }
    }
    return with;
}

/// A RECV right before the computation that needs it, and a SEND right behind the one that makes it.
inline Schedule next_to_their_computations(const Schedule& rows) {
    Schedule with;
    for (const Row& row : rows) {
        with.emplace_back();
        for (const Action& action : row) {
            const auto [stage, kind, i] = action;
            const bool is_forward = kind == ActionKind::forward;
            const int from = is_forward ? stage - 1 : stage + 1;
            const bool comes = kind != ActionKind::weight_gradient && from >= 0 &&
                               from < stages_of(rows) &&
                               rank_of(from, rows) != rank_of(stage, rows);
            if (comes) {
                with.back().push_back(
                    {stage, is_forward ? ActionKind::recv_f : ActionKind::recv_b, i}
                );
            }
            with.back().push_back(action);
            if (const Action send = send_of(action, rows); send != action) {
                with.back().push_back(send);
            }
        }
    }
    return with;
}

/// When the last computation ends, if each takes 1 and messages nothing.
inline double time_without_messages(const Schedule& rows) {
    RightTimes times(rows, ones(rows));
    double end = 0;
    for (std::size_t rank = 0; rank < rows.size(); ++rank) {
        end = std::max(end, times.end(rank, rows[rank].size() - 1));
    }
    return end;
}

/// What a run by hand ends with: when, and who stands where if it does not end.
struct HandRun {
    double end = 0;
    std::vector<Finding> stuck = {};
};

/// Runs rows whose computations take 1 and whose messages take nothing.
inline HandRun run_by_hand(const Schedule& rows, Sends sends) {
    std::vector<std::size_t> next(rows.size(), 0);
    std::vector<double> clock(rows.size(), 0);
    std::map<Action, double> sent;  // by RECV
    const auto at_front = [&](std::size_t rank, const Action& action) {
        return next[rank] < rows[rank].size() && rows[rank][next[rank]] == action;
    };
    for (bool moves = true; moves;) {
        moves = false;
        for (std::size_t rank = 0; rank < rows.size(); ++rank) {
            if (next[rank] == rows[rank].size()) {
                continue;
            }
            const Action& action = rows[rank][next[rank]];
            if (!is_message(action.kind)) {
                clock[rank] += 1;
            } else if (sends == Sends::rendezvous) {
                const std::size_t other = rank_of(peer_of(action).stage, rows);
                if (!at_front(other, peer_of(action))) {
                    continue;
                }
                ++next[other];
                clock[rank] = clock[other] = std::max(clock[rank], clock[other]);
            } else if (is_send(action.kind)) {
                sent[peer_of(action)] = clock[rank];
            } else if (sent.contains(action)) {
                clock[rank] = std::max(clock[rank], sent[action]);
            } else {
                continue;
            }
            ++next[rank];
            moves = true;
        }
    }
    HandRun run{.end = *std::ranges::max_element(clock)};
    for (std::size_t rank = 0; rank < rows.size(); ++rank) {
        if (next[rank] < rows[rank].size()) {
            const Action& action = rows[rank][next[rank]];
            const auto other = static_cast<int>(rank_of(peer_of(action).stage, rows));
            run.stuck.push_back({Fault::deadlock, static_cast<int>(rank), action, other});
        }
    }
    return run;
}

inline std::string text_of(const Finding& finding) {
    const char* const names[] = {"misplaced", "repeated", "missing", "too early", "deadlock"};
    std::string text = std::string(names[static_cast<int>(finding.fault)]) + ": " +
                       cell(finding.action) + " of rank " + std::to_string(finding.rank);
    if (finding.waits_for != -1) {
        text += ", which waits for rank " + std::to_string(finding.waits_for);
    }
    return text;
}

inline std::string text_of(const std::vector<Finding>& findings) {
    std::string text;
    for (const Finding& finding : findings) {
        text += (text.empty() ? "" : "; ") + text_of(finding);
    }
    return text.empty() ? "nothing" : text;
}

inline Comparison same_findings(std::vector<Finding> got, std::vector<Finding> right) {
    std::ranges::sort(got);
    std::ranges::sort(right);
    return {got == right, "expected " + text_of(right) + "\ngot      " + text_of(got)};
}

/// The rows, for INFO: all of them if they are short.
inline std::string text_of_rows(const Schedule& rows) {
    std::string text;
    for (const Row& row : rows) {
        text += "\n" + text_of_row(row, 24);
    }
    return text;
}

/// Computations of every kind, and of stages that go down the ranks and up again.
inline std::vector<Schedule> computations() {
    std::vector<Schedule> all;
    for (const ScheduleKind kind :
         {ScheduleKind::gpipe, ScheduleKind::one_forward_one_backward, ScheduleKind::interleaved,
          ScheduleKind::zero_bubble}) {
        for (const auto& [p, m] : {std::pair{1, 2}, {2, 1}, {2, 4}, {3, 2}, {3, 6}, {4, 8}}) {
            const int v = kind == ScheduleKind::interleaved ? 2 : 1;
            all.push_back(right_schedule({kind, p, m, v}));
        }
    }
    all.push_back(read_schedule("0F0,0F1,3F0,3B0,0B0,3F1,3B1,0B1\n1F0,2F0,1F1,2F1,2B0,1B0,2B1,1B1")
    );
    return all;
}

/// The schedules that are spoilt: all kinds of actions, small.
inline std::vector<Schedule> to_spoil() {
    std::vector<Schedule> all;
    for (const PipelineCase& one :
         {PipelineCase{ScheduleKind::one_forward_one_backward, 3, 3},
          {ScheduleKind::zero_bubble, 3, 3},
          {ScheduleKind::interleaved, 2, 2, 2}}) {
        all.push_back(with_messages(right_schedule(one)));
    }
    return all;
}

/// Whether `a` needs `b` before it in one row.
inline bool needs(const Action& a, const Action& b) {
    using enum ActionKind;
    const bool same = a.micro_batch == b.micro_batch;
    const bool is_gradient = a.kind == input_gradient || a.kind == backward;
    const bool b_is_gradient = b.kind == input_gradient || b.kind == backward;
    if (!same) {
        return false;
    }
    if (a.stage != b.stage) {
        return (a.kind == forward && b.kind == forward && b.stage + 1 == a.stage) ||
               (is_gradient && b_is_gradient && a.stage + 1 == b.stage);
    }
    return (a.kind == forward && b.kind == recv_f) ||
           (is_gradient && (b.kind == forward || b.kind == recv_b)) ||
           (a.kind == weight_gradient && b.kind == input_gradient) ||
           (a.kind == send_f && b.kind == forward) || (a.kind == send_b && b_is_gradient);
}

}  // namespace dist::harness
