// What the ranks of a pipeline do, as data: actions, rows of them, and how PyTorch writes them down.
#pragma once

#include <compare>
#include <string>
#include <vector>

namespace dist {

/// What a rank does for one micro-batch in one stage. The comment is its word in a cell.
enum class ActionKind {
    forward,          // F
    input_gradient,   // I: the gradient of the stage's input, which the stage before it waits for
    weight_gradient,  // W: the gradients of its weights, which nobody waits for
    backward,         // B: I and W in one
    send_f,           // SEND_F: the output of F, to the next stage
    recv_f,           // RECV_F
    send_b,           // SEND_B: the result of I or B, to the stage before
    recv_b            // RECV_B
};

/// One action. Stages and micro-batches are numbered from 0.
struct PipelineAction {
    int stage = 0;
    ActionKind kind = ActionKind::forward;
    int micro_batch = 0;

    auto operator<=>(const PipelineAction&) const = default;  // NOLINT(modernize-use-nullptr)
};

inline bool is_message(ActionKind kind) {
    return kind >= ActionKind::send_f;
}
inline bool is_send(ActionKind kind) {
    return kind == ActionKind::send_f || kind == ActionKind::send_b;
}

/// The other end of a message: stage 1's RECV_F of stage 0's SEND_F.
PipelineAction peer_of(const PipelineAction& message);

/// A row for each rank: its actions, in their order. Where a rank has to wait stands nowhere: that is a matter of time.
using Schedule = std::vector<std::vector<PipelineAction>>;

/// The action's cell: stage, word and micro-batch. "0F3", "2I0", "0SEND_F1".
std::string cell(const PipelineAction& action);

/// Writes a schedule as PyTorch does: a line for each rank, cells with commas between them, no comma at the end. "0F3,0F4".
std::string write_schedule(const Schedule& rows);

/// Reads what write_schedule() or PyTorch has written. An empty cell is a bubble: it is left out. Each line is a
/// row, one without cells, too. Lines end with "\n" or "\r\n", the last one with or without.
///
/// Errors  std::invalid_argument that says the cell, if a cell is something else: "0BW3", "F3", "0F", "0F-1", "0F3x".
Schedule read_schedule(const std::string& text);

/// An action, and when.
struct Slot {
    PipelineAction action;
    double begin = 0;
    double end = 0;
};

/// Draws rows of slots: a line for each rank, a column for each `unit` of time, "F3" where a computation begins, "--" where
/// it goes on, ". " where the rank waits. Where a rank has several stages, they stand in front: "4F3".
std::string draw_schedule(const std::vector<std::vector<Slot>>& rows, double unit = 1);

}  // namespace dist
