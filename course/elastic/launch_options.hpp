// The words of launch: torchrun's.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "course/runtime/clock.hpp"

namespace dist::elastic {

struct LaunchOptions {
    using Duration = Clock::Duration;

    int min_nodes = 1;
    int max_nodes = 1;
    int workers = 1;  // of each node
    int max_restarts = 0;
    bool restart_alone = false;  // a worker that fails, while the others go on
    std::string run = "none";
    std::string host;  // of the store; empty: this machine alone
    int port = 29400;
    std::optional<bool> is_host = {};  // this agent serves the store, or not; none: one on `host`
    std::string address;  // of this machine, as the others reach it; empty: as it reaches the store
    std::filesystem::path logs =
        {};  // empty: a temporary folder, which is kept where something went wrong
    Duration monitor_interval = std::chrono::milliseconds(100);
    Duration join_timeout = std::chrono::seconds(600);
    Duration last_call = std::chrono::seconds(30);
    Duration heartbeat = std::chrono::seconds(5);
    int missed_heartbeats = 3;  // then a node is dead
    Duration grace = std::chrono::seconds(30);
    std::vector<std::string> command = {};  // of a worker

    /// HOST:PORT, as --rdzv-endpoint takes it.
    [[nodiscard]] std::string endpoint() const {
        const bool is_ipv6 = host.find(':') != std::string::npos;
        return (is_ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
    }
};

/// Reads `launch OPTIONS [--] PROGRAM ARGUMENTS`, without the first word.
///
/// Errors  std::invalid_argument, with one line.
LaunchOptions parse_launch(const std::vector<std::string>& words);

/// The options alone, as --help lists them.
std::string launch_help();

}  // namespace dist::elastic
