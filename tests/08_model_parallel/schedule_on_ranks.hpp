// Schedules on ranks: messages that are sent, and numbers in the place of tensors.
#pragma once

#include <map>
#include <vector>

#include "exercises/01_point_to_point/send_recv.hpp"
#include "tests/08_model_parallel/schedule_findings.hpp"

namespace dist::harness {

/// The input of stage 0.
inline float number_of(int micro_batch) {
    return static_cast<float>(micro_batch + 1);
}
/// What a stage makes of its input, forward or backward: each computation has a result of its own.
inline float made_of(float input, int stage) {
    return 2 * input + static_cast<float>(3 + stage);
}

/// The result of an F, or of an I or B, in one process. The last stage goes back from its own F.
inline float right_result(const Action& action, int stages) {
    float number = number_of(action.micro_batch);
    const int last_forward = action.kind == ActionKind::forward ? action.stage : stages - 1;
    for (int stage = 0; stage <= last_forward; ++stage) {
        number = made_of(number, stage);
    }
    for (int stage = stages - 1; action.kind != ActionKind::forward && stage >= action.stage;
         --stage) {
        number = made_of(number, stage);
    }
    return number;
}

/// Goes through this rank's row, where each send waits for its receive. Returns all numbers by their F, I or RECV.
inline std::map<Action, float> go_through(const Schedule& rows, const Communicator& comm) {
    using enum ActionKind;
    const int last_stage = stages_of(rows) - 1;
    std::map<Action, float> numbers;
    for (const Action& action : rows[static_cast<std::size_t>(comm.rank())]) {
        const auto [stage, kind, i] = action;
        const bool is_forward = kind == forward || kind == send_f;
        const Action result = {stage, is_forward ? forward : input_gradient, i};
        if (is_message(kind)) {
            const auto peer = static_cast<int>(rank_of(peer_of(action).stage, rows));
            if (is_send(kind)) {
                send({&numbers[result], 1}, peer, comm);
            } else {
                recv({&numbers[action], 1}, peer, comm);
            }
        } else if (kind != weight_gradient) {
            const Action before =
                is_forward ? Action{stage - 1, forward, i} : Action{stage + 1, input_gradient, i};
            const Action received = {stage, is_forward ? recv_f : recv_b, i};
            const float input = is_forward && stage == 0             ? number_of(i)
                                : !is_forward && stage == last_stage ? numbers[{stage, forward, i}]
                                : numbers.contains(received)         ? numbers[received]
                                                                     : numbers[before];
            numbers[result] = made_of(input, stage);
        }
    }
    return numbers;
}

/// Each computation of this rank has the result that it has in one process.
inline Comparison computes_as_one(const Schedule& rows, const Communicator& comm) {
    const std::map<Action, float> numbers = go_through(rows, comm);
    for (const auto& [action, got] : numbers) {
        const float right = is_message(action.kind) ? got : right_result(action, stages_of(rows));
        if (got != right) {
            return {
                false, cell(action) + ": expected " + std::to_string(right) + ", got " +
                           std::to_string(got) + ": it began with another message"};
        }
    }
    return {};
}

}  // namespace dist::harness
