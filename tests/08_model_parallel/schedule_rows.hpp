// Rows of schedules as they have to be: made by a rule of what may be in flight, and compared cell by cell.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "exercises/08_model_parallel/pipeline_schedule.hpp"
#include "tests/harness/words/compare.hpp"

namespace dist::harness {

using Action = PipelineAction;
using Row = std::vector<Action>;

/// "interleaved, p = 2, m = 4, v = 2"
struct PipelineCase {
    ScheduleKind kind = ScheduleKind::gpipe;
    int p = 1;
    int m = 1;
    int v = 1;

    /// Micro-batches in a group, where chunks take turns.
    [[nodiscard]] int group() const {
        return kind == ScheduleKind::interleaved ? m / std::max(1, m / p) : m;
    }
};
inline std::string text_of(const PipelineCase& one) {
    const char* const names[] = {"gpipe", "1F1B", "interleaved", "zero bubble"};
    return std::string(names[static_cast<int>(one.kind)]) + ", p = " + std::to_string(one.p) +
           ", m = " + std::to_string(one.m) + ", v = " + std::to_string(one.v);
}

/// What a rank computes first, second, ... of one kind.
inline Row in_their_order(const PipelineCase& one, int s, ActionKind kind) {
    const bool is_forward = kind == ActionKind::forward;
    Row row;
    for (int group = 0; group * one.group() < one.m; ++group) {
        for (int c = 0; c < one.v; ++c) {
            for (int i = 0; i < one.group(); ++i) {
                const int chunk = is_forward ? c : one.v - 1 - c;
                row.push_back({chunk * one.p + s, kind, group * one.group() + i});
            }
        }
    }
    return row;
}

/// How many may have had their F, and not their B or I.
inline int most_without_backward(const PipelineCase& one, int s) {
    switch (one.kind) {
        case ScheduleKind::gpipe:
            return one.m;
        case ScheduleKind::interleaved:
            return 2 * (one.p - 1 - s) + (one.v - 1) * one.group() + 1;
        default:
            return one.p - s;
    }
}

/// The row of rank s: F as long as there is room for one more, else I or B; W where s others wait for theirs.
inline Row right_row(const PipelineCase& one, int s) {
    const bool splits = one.kind == ScheduleKind::zero_bubble;
    const Row forwards = in_their_order(one, s, ActionKind::forward);
    const Row backwards =
        in_their_order(one, s, splits ? ActionKind::input_gradient : ActionKind::backward);
    const auto room = static_cast<std::size_t>(most_without_backward(one, s));
    Row row;
    std::size_t f = 0;
    std::size_t b = 0;
    std::size_t w = 0;
    while (b < backwards.size()) {
        if (f < forwards.size() && f - b < room) {
            row.push_back(forwards[f++]);
            continue;
        }
        row.push_back(backwards[b++]);
        if (splits && b - w > static_cast<std::size_t>(s)) {
            row.push_back({s, ActionKind::weight_gradient, static_cast<int>(w++)});
        }
    }
    while (splits && w < b) {
        row.push_back({s, ActionKind::weight_gradient, static_cast<int>(w++)});
    }
    return row;
}

inline Schedule right_schedule(const PipelineCase& one) {
    Schedule rows;
    for (int s = 0; s < one.p; ++s) {
        rows.push_back(right_row(one, s));
    }
    return rows;
}

/// "0F0,0F1", at most `most` cells.
inline std::string text_of_row(const Row& row, std::size_t most = 40) {
    std::string text;
    for (std::size_t i = 0; i < std::min(row.size(), most); ++i) {
        text += (i == 0 ? "" : ",") + cell(row[i]);
    }
    return text + (row.size() > most ? ",..." : "");
}

/// What a wrong cell is likely to tell. GPipe has all F of a row first.
inline std::string likely(const Action* got, const Action* right, bool is_all_f_first) {
    using enum ActionKind;
    if (got == nullptr || right == nullptr) {
        return got == nullptr ? ": the row ends too early" : ": the row is too long";
    }
    if (got->kind == right->kind && got->micro_batch != right->micro_batch) {
        return ": micro-batches go through in another order";
    }
    if (got->kind == right->kind) {
        return ": that is another stage, so chunks come in another order, or have other numbers";
    }
    if (got->kind == weight_gradient) {
        return ": this W comes too early";
    }
    if (right->kind == weight_gradient) {
        return ": the W that has to come before it is late";
    }
    return right->kind == forward ? ": the backward begins too early, or too few F come first"
           : is_all_f_first       ? ": there is no F more, each micro-batch has one"
                                  : ": one F more than may be in flight: a B comes before it";
}

inline Comparison same_row(const Row& got, const Row& right, std::size_t rank) {
    if (got == right) {
        return {};
    }
    const auto at = static_cast<std::size_t>(std::ranges::mismatch(got, right).in1 - got.begin());
    const Action* const is = at < got.size() ? &got[at] : nullptr;
    const Action* const should = at < right.size() ? &right[at] : nullptr;
    const bool is_all_f_first = std::ranges::is_partitioned(right, [](const Action& one) {
        return one.kind == ActionKind::forward;
    });
    return {
        false, "row " + std::to_string(rank) + ", cell " + std::to_string(at) + ": expected " +
                   (should == nullptr ? "no more" : cell(*should)) + ", got " +
                   (is == nullptr ? "no more" : cell(*is)) + likely(is, should, is_all_f_first) +
                   "\nexpected " + text_of_row(right) + "\ngot      " + text_of_row(got)};
}

inline Comparison same_rows(const Schedule& got, const Schedule& right) {
    for (std::size_t rank = 0; rank < std::min(got.size(), right.size()); ++rank) {
        Comparison row = same_row(got[rank], right[rank], rank);
        if (!row) {
            return row;
        }
    }
    return {
        got.size() == right.size(), "expected a row for each of " + std::to_string(right.size()) +
                                        " ranks, got " + std::to_string(got.size())};
}

/// Finds when each computation ends by asking what it waits for, from the last one back.
class RightTimes {
  public:
    RightTimes(const Schedule& rows, const PipelineTimes& times) : rows_(rows), times_(times) {
        for (std::size_t rank = 0; rank < rows.size(); ++rank) {
            for (std::size_t i = 0; i < rows[rank].size(); ++i) {
                where_[made_by(rows[rank][i])] = {rank, i};
                last_stage_ = std::max(last_stage_, rows[rank][i].stage);
            }
        }
    }

    [[nodiscard]] double end(std::size_t rank, std::size_t i) {
        const auto known = ends_.find({rank, i});
        if (known == ends_.end()) {
            const double took = duration(rows_[rank][i].kind);
            const double end = begin(rank, i) + took;
            return ends_[{rank, i}] = end;
        }
        return known->second;
    }

    [[nodiscard]] double begin(std::size_t rank, std::size_t i) {
        const auto [stage, kind, micro_batch] = rows_[rank][i];
        double there = i == 0 ? 0 : end(rank, i - 1);
        const bool is_forward = kind == ActionKind::forward;
        const int from = is_forward ? stage - 1 : stage + 1;
        if (kind != ActionKind::weight_gradient && 0 <= from && from <= last_stage_) {
            const auto what = is_forward ? ActionKind::forward : ActionKind::input_gradient;
            const auto [other, place] = where_.at({from, what, micro_batch});
            there = std::max(there, end(other, place) + (other == rank ? 0 : times_.send));
        }
        return there;
    }

  private:
    static Action made_by(Action action) {
        if (action.kind == ActionKind::backward) {
            action.kind = ActionKind::input_gradient;
        }
        return action;
    }
    [[nodiscard]] double duration(ActionKind kind) const {
        switch (kind) {
            case ActionKind::forward:
                return times_.forward;
            case ActionKind::input_gradient:
                return times_.input_gradient;
            case ActionKind::weight_gradient:
                return times_.weight_gradient;
            default:
                return times_.input_gradient + times_.weight_gradient;
        }
    }

    const Schedule& rows_;
    PipelineTimes times_;
    int last_stage_ = 0;
    std::map<Action, std::pair<std::size_t, std::size_t>> where_;
    std::map<std::pair<std::size_t, std::size_t>, double> ends_;
};

}  // namespace dist::harness
