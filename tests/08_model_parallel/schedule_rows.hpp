// Schedules of pipelines in tests: which ones there are, and how to print them.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "exercises/08_model_parallel/pipeline_schedule.hpp"
#include "tests/harness/words/text.hpp"

namespace dist::harness {

using Action = PipelineAction;
using Row = std::vector<Action>;

/// "interleaved, p = 2, m = 4, v = 2"
struct PipelineCase {
    ScheduleKind kind = ScheduleKind::gpipe;
    int p = 1;
    int m = 1;
    int v = 1;
};
inline std::string text_of(const PipelineCase& one) {
    const char* const names[] = {"gpipe", "1F1B", "interleaved", "zero bubble"};
    return text(
        names[static_cast<int>(one.kind)], ", p = ", one.p, ", m = ", one.m, ", v = ", one.v
    );
}

/// "0F0,0F1", at most `most` cells.
inline std::string text_of_row(const Row& row, std::size_t most = 40) {
    std::string text;
    for (std::size_t i = 0; i < std::min(row.size(), most); ++i) {
        text += (i == 0 ? "" : ",") + cell(row[i]);
    }
    return text + (row.size() > most ? ",..." : "");
}

}  // namespace dist::harness
