// One submission's answer to one exercise, and its record.
#pragma once

#include "course/grade/record.hpp"
#include "course/grade/submissions.hpp"
#include "course/manifest/manifest.hpp"

namespace dist::cli {

struct Graded {
    const Submission* submission;
    const Exercise* exercise;
    Grade record;  // null until it is known
};

}  // namespace dist::cli
