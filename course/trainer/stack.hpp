// Whose code the trainer stands on.
#pragma once

#include <string>
#include <string_view>

namespace dist::trainer {

/// One line: which layers of the stack are the student's, and which the reference's.
///
/// mine  names of exercises, with a comma between; those that are no layer of the trainer are left
///       out.
std::string describe_stack(std::string_view mine);

}  // namespace dist::trainer
