// The student's own stack: which exercises pass, and the build that uses them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "course/process/context.hpp"
#include "course/result/result.hpp"

namespace dist::cli {

/// What carries messages where MPI does not: the exercises of chapter 04 that a program then stands on.
inline const std::vector<std::string> kOwnTransport = {
    "tcp_store_server", "tcp_store", "full_mesh", "tcp_transport"};

/// Of the exercises `used` and all that they stand on, those that pass, in course order. What run, watch and
/// verify have found holds as long as the files that it rests on stay the same: only what is unknown or
/// has changed is run, which one line on standard error tells.
std::vector<std::string> finished_exercises(Context& context, const std::vector<std::string>& used);

/// How many of these exercises pass, how many are not started, and the others by name.
std::string describe_tried(const std::vector<std::pair<std::string, State>>& tried);

/// One line: which exercises of that stack are the student's, and which the reference's; each stands on
/// the ones after it.
std::string describe_stack(
    const Context& context,
    const std::vector<std::string>& used,
    const std::vector<std::string>& mine
);

/// Configures the build so that the stack named "mine" is made of these exercises and of the
/// reference for the rest.
/// Errors  CommandError, status 1, when there are none.
void configure_mine(Context& context, const std::vector<std::string>& exercises);

}  // namespace dist::cli
