#include "exercises/08_model_parallel/pipeline_schedule.hpp"

namespace dist {

Schedule pipeline_schedule(ScheduleKind kind, int p, int m, int v) {
    // TODO: all kinds but one are the same: some F first, then F and backward in turn, then what is
    // left. What differs is how many come first, and in which order chunks and micro-batches do.
    throw NotImplemented("pipeline_schedule");
}

PipelineRun simulate_schedule(const Schedule& rows, const PipelineTimes& times) {
    throw NotImplemented("pipeline_schedule");
}

}  // namespace dist
