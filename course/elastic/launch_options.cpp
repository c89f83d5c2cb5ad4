#include "course/elastic/launch_options.hpp"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <regex>
#include <stdexcept>
#include <string_view>

namespace dist::elastic {
namespace {

using Duration = LaunchOptions::Duration;

std::optional<int> whole(std::string_view text) {
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool good = error == std::errc() && end == text.data() + text.size();
    return good ? std::optional(number) : std::nullopt;
}

void read_nodes(const std::string& text, LaunchOptions& options) {
    const std::size_t colon = text.find(':');
    const auto least = whole(text.substr(0, colon));
    const auto most = colon == std::string::npos ? least : whole(text.substr(colon + 1));
    if (!least || !most || *least < 1 || *most < *least) {
        throw std::invalid_argument("--nnodes " + text + ": give N, or MIN:MAX, as in 1:4");
    }
    options.min_nodes = *least;
    options.max_nodes = *most;
}

/// node1, node1:29400, [::1]:29400; several colons without brackets are an IPv6 address.
void read_endpoint(const std::string& text, LaunchOptions& options) {
    static const std::regex kEndpoint(
        R"((?:\[([^\[\]]+)\]|([^:\[\]]+))(?::(\d{1,5}))?|([^\[\]]*:[^\[\]]*:[^\[\]]*))"
    );
    std::smatch parts;
    const bool is_one = std::regex_match(text, parts, kEndpoint);
    const int port = is_one && parts[3].matched ? std::stoi(parts[3]) : options.port;
    constexpr int kPorts = 65535;
    if (!is_one || port < 1 || port > kPorts) {
        throw std::invalid_argument(
            "--rdzv-endpoint " + text + ": give HOST:PORT, as in node1:29400 or [::1]:29400"
        );
    }
    options.host = parts[1].str() + parts[2].str() + parts[4].str();  // one of them
    options.port = port;
}

Duration seconds(const std::string& name, const std::string& text) {
    char* end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    constexpr double kMost = 1e9;
    if (text.empty() || *end != '\0' || !(number >= 0 && number <= kMost)) {
        throw std::invalid_argument(name + " " + text + ": give seconds, as in 0.5");
    }
    constexpr double kMilliseconds = 1000;
    return Duration(std::llround(number * kMilliseconds));
}

/// join_timeout=60,last_call_timeout=1
void read_conf(const std::string& text, LaunchOptions& options) {
    const std::map<std::string, Duration*> times = {
        {"join_timeout", &options.join_timeout},
        {"last_call_timeout", &options.last_call},
        {"keep_alive_interval", &options.heartbeat}};
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        const std::string part = text.substr(begin, end - begin);
        const std::size_t equals = std::min(part.find('='), part.size());
        const std::string name = part.substr(0, equals);
        const std::string value = part.substr(std::min(equals + 1, part.size()));
        if (const auto time = times.find(name); time != times.end()) {
            *time->second = seconds("--rdzv-conf " + name, value);
        } else if (name == "is_host" && (value == "true" || value == "false")) {
            options.is_host = value == "true";
        } else if (name == "keep_alive_max_attempt" && whole(value).value_or(0) >= 2) {
            options.missed_heartbeats = *whole(value);
        } else {
            throw std::invalid_argument(
                "--rdzv-conf " + part +
                ": there is join_timeout, last_call_timeout, keep_alive_interval, all in seconds, "
                "keep_alive_max_attempt, a number from 2 on, and is_host, true or false"
            );
        }
        begin = end + 1;
    }
    if (options.heartbeat <= Duration(0)) {
        throw std::invalid_argument("--rdzv-conf keep_alive_interval: give seconds above 0");
    }
}

CLI::Option& add_text(
    CLI::App& app,
    const char* names,
    const char* what,
    const char* type,
    const char* otherwise,
    const std::function<void(const std::string&)>& read
) {
    return *app.add_option_function<std::string>(names, read, what)
                ->type_name(type)
                ->default_str(otherwise);
}

void add_number(CLI::App& app, const char* names, int& value, const char* what, int least) {
    constexpr int kMost = 4096;
    app.add_option(names, value, what)
        ->check(CLI::Range(least, kMost))
        ->type_name("N")
        ->capture_default_str();
}

/// How many nodes and workers there are, and what becomes of those that fail.
void add_workers(CLI::App& app, LaunchOptions& options) {
    add_text(
        app, "--nnodes", "How many nodes: N, or MIN:MAX; with MAX free, nodes may come later", "N",
        "1", [&](const std::string& value) { read_nodes(value, options); }
    );
    add_number(
        app, "--nproc-per-node,--nproc_per_node", options.workers, "Worker processes of this node",
        1
    );
    add_number(
        app, "--max-restarts,--max_restarts", options.max_restarts,
        "How often this node's workers are started again after one has failed; nodes that come or "
        "go cost none",
        0
    );
    app.add_flag(
        "--restart-alone,--restart_alone", options.restart_alone,
        "Start a worker that fails again alone, up to --max-restarts times each, while the others "
        "go on; train --fault-tolerant asks for it"
    );
}

/// Where the nodes meet, and how long they wait for each other.
void add_rendezvous(CLI::App& app, LaunchOptions& options) {
    app.add_option(
           "--rdzv-id,--rdzv_id", options.run,
           "Names the job: the same on all its nodes, and on no others"
    )
        ->type_name("ID")
        ->capture_default_str();
    add_text(
        app, "--rdzv-endpoint,--rdzv_endpoint",
        "Where the nodes meet: the agent that runs on HOST serves the store there; default: this "
        "machine alone",
        "HOST:PORT", "", [&](const std::string& value) { read_endpoint(value, options); }
    );
    add_text(
        app, "--rdzv-conf,--rdzv_conf",
        "join_timeout=600,last_call_timeout=30,keep_alive_interval=5,keep_alive_max_attempt=3; "
        "is_host=true: this agent serves the store, is_host=false: it does not",
        "NAME=VALUE,...", "", [&](const std::string& value) { read_conf(value, options); }
    ).join(',');
}

/// What this node does by itself.
void add_node(CLI::App& app, LaunchOptions& options) {
    add_text(
        app, "--monitor-interval,--monitor_interval", "From one look at the workers to the next",
        "SECONDS", "0.1",
        [&](const std::string& value) {
            options.monitor_interval = std::max(seconds("--monitor-interval", value), Duration(1));
        }
    );
    add_text(
        app, "--grace", "From SIGTERM to SIGKILL, for workers that are told to end", "SECONDS",
        "30", [&](const std::string& value) { options.grace = seconds("--grace", value); }
    );
    app.add_option(
           "--local-addr,--local_addr", options.address,
           "Of this machine, as others reach it; default: its address on the way to the store"
    )
        ->type_name("ADDRESS");
    app.add_option(
           "--log-dir,--log_dir", options.logs,
           "Keeps what workers write to standard error, in a file for each rank and round"
    )
        ->type_name("DIR");
    app.add_flag_callback(
        "--standalone", [&] { options.host.clear(); }, "This machine alone, on any free port"
    );
}

void declare(CLI::App& app, LaunchOptions& options) {
    app.option_defaults()->group("Launch");
    add_workers(app, options);
    add_rendezvous(app, options);
    add_node(app, options);
}

}  // namespace

LaunchOptions parse_launch(const std::vector<std::string>& words) {
    CLI::App app("", "launch");
    app.prefix_command();
    app.set_help_flag();
    LaunchOptions options;
    declare(app, options);
    std::vector<const char*> arguments = {"launch"};
    for (const std::string& word : words) {
        arguments.push_back(word.c_str());
    }
    try {
        app.parse(static_cast<int>(arguments.size()), arguments.data());
    } catch (const CLI::ParseError& error) {
        throw std::invalid_argument(error.what());
    }
    options.command = app.remaining();
    if (!options.command.empty() && options.command.front() == "--") {
        options.command.erase(options.command.begin());
    }
    if (!options.command.empty() && options.command.front().starts_with("-")) {
        throw std::invalid_argument(options.command.front() + ": launch has no such option");
    }
    if (options.command.empty()) {
        throw std::invalid_argument(
            "there is no program: launch OPTIONS -- train --checkpoint DIR ..."
        );
    }
    if (options.restart_alone && options.max_nodes > 1) {
        throw std::invalid_argument(
            "--restart-alone, and train --fault-tolerant, run on this machine: not with --nnodes"
        );
    }
    if (options.run.empty() || options.run.find('/') != std::string::npos) {
        throw std::invalid_argument("--rdzv-id " + options.run + ": give a name without /");
    }
    if (options.max_nodes > 1 && options.host.empty()) {
        throw std::invalid_argument(
            "--nnodes above 1 needs --rdzv-endpoint HOST:PORT, where the nodes meet"
        );
    }
    return options;
}

std::string launch_help() {
    LaunchOptions options;
    CLI::App app;
    app.set_help_flag();
    declare(app, options);
    return CLI::Formatter().make_groups(&app, CLI::AppFormatMode::Normal);
}

}  // namespace dist::elastic
