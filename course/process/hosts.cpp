#include "course/process/hosts.hpp"

#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <sstream>
#include <vector>

#include "course/process/error.hpp"
#include "course/process/mpirun.hpp"
#include "course/process/subprocess.hpp"

namespace dist::cli {
namespace {

constexpr double kStartLimitS = 60;  // a host that is down says nothing

std::vector<std::string> names_in(const std::filesystem::path& hostfile) {
    std::vector<std::string> names;
    std::ifstream file(hostfile);
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line.substr(0, line.find('#')));
        if (std::string name; words >> name) {
            names.push_back(name);
        }
    }
    return names;
}

bool is_set(const std::string& variable) {
    const char* const value = std::getenv(variable.c_str());
    return value != nullptr && *value != '\0';
}

/// mpirun with these words, which say nothing to the terminal; and ssh asks nobody for a password.
Ended try_mpirun(const Context& context, const std::vector<std::string>& command) {
    RunOptions options;
    options.environment = mpi_environment(1, Purpose::work, {.allocated = true});
    std::erase_if(options.environment, [](const auto& variable) {
        return variable.first == "OMPI_MCA_orte_execute_quiet";  // it is asked for its reasons
    });
    for (const std::string launcher : {"OMPI_MCA_plm_rsh", "PRTE_MCA_plm_ssh"}) {  // of 4, of 5
        if (!is_set(launcher + "_agent") && !is_set(launcher + "_args")) {
            options.environment.emplace_back(
                launcher + "_args", "-o BatchMode=yes -o ConnectTimeout=10"
            );
        }
    }
    options.time_limit_s = kStartLimitS;
    return run(context, command, options);
}

Ended try_on(
    const Context& context, const std::string& host, const std::vector<std::string>& command
) {
    std::vector<std::string> words = {"mpirun", "--host", host, "-np", "1"};
    words.insert(words.end(), command.begin(), command.end());
    return try_mpirun(context, words);
}

/// The first line that says something; mpirun draws rules above and below, and warns of what did not stop it.
std::string reason_in(const Ended& ended) {
    if (ended.timed_out) {
        return fmt::format("no answer in {:.0f} s", kStartLimitS);
    }
    std::istringstream lines(ended.output);
    for (std::string line; std::getline(lines, line);) {
        const bool warns = line.find("Warning:") != std::string::npos;
        if (!warns && line.find_first_not_of("- \t\r") != std::string::npos) {
            return line.substr(0, line.find_last_not_of(" \t\r") + 1);
        }
    }
    return fmt::format("exit status {}", ended.status);
}

/// Asks each host by itself what a start on all of them did not say.
[[noreturn]] void explain(
    const Context& context,
    const Hosts& hosts,
    const std::filesystem::path& program,
    const Ended& ended
) {
    const std::string where = hosts.file.empty() ? "Slurm's nodes" : hosts.file.string();
    for (const std::string& name : names_in(hosts.file)) {
        if (const Ended alone = try_on(context, name, {"true"}); !alone.ok()) {
            throw UsageError(fmt::format(
                "no process can be started on {} of {} ({}); this has to work without a "
                "password: ssh {} mpirun --version",
                name, where, reason_in(alone), name
            ));
        }
        if (!try_on(context, name, {"test", "-x", program.string()}).ok()) {
            throw UsageError(fmt::format(
                "{} does not have {}: the course has to lie in a folder that all hosts share", name,
                program.string()
            ));
        }
    }
    throw UsageError(
        fmt::format("mpirun cannot start {} on {}: {}", program.string(), where, reason_in(ended))
    );
}

}  // namespace

Hosts find_hosts(const std::string& hostfile) {
    if (hostfile.empty()) {
        return {.allocated = is_set("SLURM_JOB_ID") && is_set("SLURM_JOB_NODELIST")};
    }
    Hosts hosts{.file = std::filesystem::absolute(hostfile)};
    if (!std::filesystem::is_regular_file(hosts.file)) {
        throw UsageError("--hostfile: there is no file " + hostfile);
    }
    if (names_in(hosts.file).empty()) {
        throw UsageError(fmt::format(
            "--hostfile: {} names no host; write one on each line: node1 slots=2", hostfile
        ));
    }
    return hosts;
}

void expect_reachable(
    const Context& context, int ranks, const Hosts& hosts, const std::filesystem::path& program
) {
    std::vector<std::string> command = mpirun(ranks, Purpose::work, hosts);
    command.insert(command.end(), {"test", "-x", program.string()});
    const Ended ended = try_mpirun(context, command);
    if (ended.ok()) {
        return;
    }
    if (ended.output.find("not enough slots") != std::string::npos) {
        throw UsageError(fmt::format(
            "-n {}: there are not so many slots; {}", ranks,
            hosts.file.empty() ? "ask Slurm for more tasks (--ntasks)"
                               : "give the hosts more, as in: node1 slots=4"
        ));
    }
    explain(context, hosts, program, ended);
}

}  // namespace dist::cli
