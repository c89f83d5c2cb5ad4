// A cluster that SimGrid simulates, and the line that starts ranks on it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "course/process/subprocess.hpp"

namespace dist::cli {

/// Every rank has a link of its own to a switch without limits, as fast in both directions at once.
/// Where ranks have nodes, that is for messages from node to node; for those inside of a node each
/// rank has another link, to a switch of the node.
struct Cluster {
    double latency_s = 2e-6;         // of a message between two ranks, before its first byte
    double bytes_per_s = 1.25e9;     // of a link
    double add_s_per_byte = 0;       // what a rank takes to add; 0: nothing
    std::filesystem::path platform;  // SimGrid's description in the place of the networks
    int per_node = 0;                // ranks of a node, one node after the other; 0: no nodes
    double inside_latency_s = 0;     // the same inside of a node
    double inside_bytes_per_s = 0;
};

/// "2us", "0.5ms", "1s": seconds.
/// Errors  UsageError, which names `option`; so do the next ones
double parse_seconds(const std::string& option, const std::string& text);

/// "3.1h", "5m", "60s", "54d", or a number of seconds alone.
/// Errors  UsageError
double parse_duration(const std::string& option, const std::string& text);

/// "10Gbit", "1.25GB", "200MB": bytes in a second; K, M, G for powers of 1000, as networks count.
/// Errors  UsageError
double parse_bytes_per_s(const std::string& option, const std::string& text);

/// "312T": operations in a second; G, T, P for powers of 1000.
/// Errors  UsageError
double parse_flops_per_s(const std::string& option, const std::string& text);

/// "80GB": bytes, with powers of 1000, as data sheets count.
/// Errors  UsageError
double parse_memory(const std::string& option, const std::string& text);

/// "0.5", "50%": above 0, and at most 1.
/// Errors  UsageError
double parse_share(const std::string& option, const std::string& text);

/// "64K": bytes; K, M, G for powers of 1024, as bench takes them.
/// Errors  UsageError; also for what is no whole number of floats
std::size_t parse_bytes(const std::string& option, const std::string& text);

/// The beginning of a command line that starts so many ranks, one a machine; a module and its order follow. Writes what it
/// needs into `folder`.
///
/// settings  further ones of SMPI: "smpi/coll-selector:ompi".
/// log       how much SimGrid tells: "error", "info".
/// Errors    CommandError if the folder cannot be written.
std::vector<std::string> on_cluster(
    const Cluster& cluster,
    int ranks,
    const std::filesystem::path& folder,
    const std::vector<std::string>& settings,
    const std::string& log = "error"
);

/// The first line in which SimGrid says what it cannot do; the first of all where there is none.
std::string first_complaint(const std::string& output);

/// How a simulation ended that was to go on: "died of SIGSEGV: Segmentation fault", and the status of the command that says so.
struct EarlyEnd {
    int exit_status = 0;
    std::string words;
};
EarlyEnd early_end(const Ended& ended);

}  // namespace dist::cli
