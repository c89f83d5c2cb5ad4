// The schedules of exercise pipeline_schedule, by the words of the command line. No LibTorch here.
#pragma once

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <vector>

#include "exercises/08_model_parallel/pipeline_schedule.hpp"

namespace dist::trainer {

struct NamedSchedule {
    const char* name;
    ScheduleKind kind;
};

inline constexpr std::array kSchedules = {
    NamedSchedule{"gpipe", ScheduleKind::gpipe},
    NamedSchedule{"1f1b", ScheduleKind::one_forward_one_backward},
    NamedSchedule{"interleaved", ScheduleKind::interleaved},
    NamedSchedule{"zb", ScheduleKind::zero_bubble},
};

/// "gpipe", ...
inline std::vector<std::string> schedule_names() {
    std::vector<std::string> names;
    std::ranges::transform(kSchedules, std::back_inserter(names), &NamedSchedule::name);
    return names;
}

/// name  one of schedule_names().
inline ScheduleKind find_schedule(const std::string& name) {
    return std::ranges::find(kSchedules, name, &NamedSchedule::name)->kind;
}

}  // namespace dist::trainer
