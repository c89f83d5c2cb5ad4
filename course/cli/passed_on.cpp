#include "course/cli/passed_on.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fmt/core.h>

#include "course/build/build.hpp"
#include "course/launch/launch.hpp"
#include "course/process/error.hpp"
#include "course/process/room.hpp"
#include "course/process/session_folder.hpp"
#include "course/process/subprocess.hpp"

namespace dist::cli {
namespace {

constexpr int kSignalled = 128;  // and the signal's number: a shell's way to say it

}  // namespace

void pass_on_the_rest(Command& command, Context& context) {
    command.keep_the_rest();
    command.add_flag("--verbose", context.verbose, "Show every cmake and mpirun line");
}

void build_with_notice(
    Context& context,
    const std::string& target,
    const std::filesystem::path& product,
    const std::string& notice
) {
    if (!std::filesystem::exists(product)) {
        fmt::print(stderr, "{}\n", notice);
    }
    build_targets(context, {target});
}

int run_ranks(
    Context& context,
    const Ranks& ranks,
    Purpose purpose,
    const std::filesystem::path& program,
    const std::vector<std::string>& arguments
) {
    if (const std::string reason = missing_room(std::max(1, ranks.count)); !reason.empty()) {
        throw CommandError(exit_status::kOurs, reason);
    }
    if (!ranks.hosts.none()) {
        expect_reachable(context, ranks.count, ranks.hosts, program);
    }
    std::vector<std::string> command = mpirun(ranks.count, purpose, ranks.hosts);
    if (ranks.over_tcp) {
        std::ranges::replace(command, "self,vader", "self,tcp");
    }
    if (!ranks.starter.empty()) {
        command = {ranks.starter.string(), std::to_string(ranks.count)};
    }
    command.push_back(program.string());
    command.insert(command.end(), arguments.begin(), arguments.end());
    RunOptions options;
    options.environment = mpi_environment(ranks.count, purpose, ranks.hosts);
    const SessionFolder session;
    if (ranks.hosts.none()) {
        session.add_to(options.environment);
    }
    options.folder = std::filesystem::current_path();
    options.attached = true;
    const int status = run(context, command, options).status;
    if (status > kSignalled) {
        fmt::print(
            stderr, "shardlings: one of the processes died of SIG{}{}\n",
            sigabbrev_np(status - kSignalled),
            status - kSignalled == SIGKILL ? ": is there enough memory? Smaller sizes need less"
                                           : ""
        );
    }
    return status;
}

void expect_rank_count(const Ranks& ranks) {
    if (ranks.hosts.none() || ranks.count < 0) {
        expect_rank_count(ranks.count);
    }
}

}  // namespace dist::cli
