// launch OPTIONS [--] PROGRAM ARGUMENTS: the agent of one node, on the store, the rendezvous and the transport of chapter 04.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <unistd.h>

#include "course/elastic/launch_options.hpp"
#include "course/elastic/node_address.hpp"
#include "course/elastic/replicas.hpp"
#include "course/elastic/story.hpp"
#include "course/elastic/worker_logs.hpp"
#include "course/elastic/worker_processes.hpp"
#include "course/runtime/deadline.hpp"
#include "exercises/04_groups_and_rendezvous/tcp_store.hpp"
#include "exercises/04_groups_and_rendezvous/tcp_store_server.hpp"
#include "exercises/10_elastic/elastic_agent.hpp"
#include "exercises/10_elastic/membership.hpp"

namespace {

using namespace dist;
using namespace dist::elastic;

std::atomic<ElasticAgent*> agent_to_tell = nullptr;
std::atomic<int> signal_that_came = 0;

// Of Slurm's --signal, too: USR1 and USR2. The first asks the agent to end, which leaves its workers time for it; the second is an order.
extern "C" void on_signal(int number) {
    if (signal_that_came.exchange(number) != 0) {
        _exit(128 + number);  // the workers end with this process
    }
    if (ElasticAgent* const agent = agent_to_tell) {
        agent->interrupt(number);
    }
}

/// A signal came while this node waited for others.
class SignalCame : public Error {
    using Error::Error;
};

/// The machine's clock. Who waits by it for others waits no longer when a signal has come.
class WakingClock : public SteadyClock {
  public:
    void sleep(Duration duration) override {
        constexpr Duration kSlice{50};
        while (duration > Duration(0) && signal_that_came == 0) {
            SteadyClock::sleep(std::min(duration, kSlice));
            duration -= kSlice;
        }
        if (signal_that_came != 0) {
            throw SignalCame("a signal came");
        }
    }
};

/// A signal ends the wait for a round: there is none, and the agent leaves. The others need not wait
/// until it looks dead.
class LeavingMembership : public Membership {
  public:
    using Membership::Membership;

    std::optional<WorkerRound> next() override {
        try {
            return Membership::next();
        } catch (const SignalCame&) {
            agent_to_tell.load()->interrupt(signal_that_came);  // the handler may be about to
            return std::nullopt;
        }
    }
};

/// Serves the store, where its host is this machine and no other agent on it does; or where it is told to.
std::unique_ptr<TcpStoreServer> serve_store(LaunchOptions& options) {
    if (options.host.empty()) {
        auto server = std::make_unique<TcpStoreServer>();
        options.host = "127.0.0.1";
        options.port = server->port();
        return server;
    }
    if (!options.is_host.value_or(is_this_machine(options.host))) {
        return nullptr;
    }
    try {
        return std::make_unique<TcpStoreServer>(options.port);
    } catch (const Error&) {
        if (options.is_host) {
            throw;
        }
        return nullptr;  // another agent of this machine does
    }
}

RendezvousSettings settings_of(const LaunchOptions& options) {
    constexpr Clock::Duration kPoll{100};
    return {
        .min_nodes = options.min_nodes,
        .max_nodes = options.max_nodes,
        .last_call = options.last_call,
        .join_timeout = options.join_timeout,
        .heartbeat = options.heartbeat,
        .dead_after = options.heartbeat * options.missed_heartbeats,
        .poll = std::min(kPoll, options.heartbeat)};
}

/// Where other ranks reach those of this node.
std::string address_of(const LaunchOptions& options) {
    if (!options.address.empty()) {
        return options.address;
    }
    return options.max_nodes > 1 ? address_for_others(options.host, options.port) : "127.0.0.1";
}

/// Connects to the store, whose host may come later. A store that then does not answer for as long as a node may be silent is gone.
std::unique_ptr<TcpStore> connect_store(
    const LaunchOptions& options, const RendezvousSettings& settings
) {
    SteadyClock clock;
    const Clock::Duration patience =
        std::max<Clock::Duration>(settings.dead_after, std::chrono::seconds(1));
    const Clock::Duration deadline = deadline_after(clock.now(), settings.join_timeout);
    for (;;) {
        try {
            return std::make_unique<TcpStore>(
                options.host, options.port, std::min(patience, settings.join_timeout)
            );
        } catch (const Timeout&) {
            if (signal_that_came != 0 || clock.now() >= deadline) {
                throw;
            }
        }
    }
}

/// Says so where the store is that of another job, whose launch ends it.
void tell_whose_store(Store& store, const LaunchOptions& options, bool is_served_here) {
    const std::string key = "launch/served_for";
    if (is_served_here) {
        store.set(key, options.run);
    } else if (store.check({key}) && store.get(key) != options.run) {
        std::fprintf(
            stderr, "launch: the store at %s is job %s's, and ends with it: take another port\n",
            options.endpoint().c_str(), store.get(key).c_str()
        );
    }
}

/// Tells workers where their round meets.
class LaunchedWorkers : public WorkerGroup {
  public:
    LaunchedWorkers(const LaunchOptions& options, WorkerLogs& logs)
        : run_(options.run), logs_(logs), processes_(logs.keep(options.command)) {}

    void start(const WorkerRound& round, int restarts) override {
        setenv("STORE_PREFIX", round_prefix(run_, round.number).c_str(), 1);
        logs_.begin(round);
        processes_.start(round, restarts);
    }
    std::vector<WorkerEnd> ended() override { return processes_.ended(); }
    void signal(int number) override { processes_.signal(for_workers(number)); }

  private:
    std::string run_;
    WorkerLogs& logs_;
    WorkerProcesses processes_;
};

std::string name_of_node(const std::string& address) {
    return address + ":" + std::to_string(getpid()) + ":" + std::to_string(std::random_device()());
}

void catch_signals() {
    struct sigaction action = {};
    action.sa_handler = on_signal;
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) {
        sigaction(number, &action, nullptr);
    }
    signal(SIGPIPE, SIG_IGN);
}

int launch(LaunchOptions options) {
    catch_signals();
    const auto server = serve_store(options);
    const std::string address = address_of(options);
    setenv("MASTER_ADDR", options.host.c_str(), 1);
    setenv("MASTER_PORT", std::to_string(options.port).c_str(), 1);
    setenv("NODE_ADDR", address.c_str(), 1);
    setenv("TORCHELASTIC_RUN_ID", options.run.c_str(), 1);
    setenv("TORCHELASTIC_MAX_RESTARTS", std::to_string(options.max_restarts).c_str(), 1);

    WakingClock waiting;
    SteadyClock clock;
    const auto store = connect_store(options, settings_of(options));
    tell_whose_store(*store, options, server != nullptr);
    if (options.restart_alone) {
        return run_replicas(options, *store, signal_that_came);
    }
    LeavingMembership rounds(
        *store, options.run, name_of_node(address), options.workers, settings_of(options), waiting
    );
    WorkerLogs logs(options.logs);
    LaunchedWorkers workers(options, logs);
    Story story(options, logs);
    ElasticAgent agent(
        rounds, workers, clock,
        {.max_restarts = options.max_restarts,
         .monitor_interval = options.monitor_interval,
         .grace = options.grace},
        [&](const AgentLogEntry& entry) { story.tell(entry); }
    );
    agent_to_tell = &agent;
    if (signal_that_came != 0) {
        agent.interrupt(signal_that_came);
    }
    story.waits_for_nodes();
    const AgentResult result = agent.run();
    agent_to_tell = nullptr;
    const int status = story.end(result);
    if (server != nullptr && result.end == AgentEnd::succeeded) {
        SteadyClock().sleep(
            settings_of(options).poll * 5
        );  // the other nodes still have to read that all is done
    }
    return status;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return launch(parse_launch({argv + 1, argv + argc}));
    } catch (const std::invalid_argument& error) {
        std::fprintf(stderr, "launch: %s\n", error.what());
        return 2;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "launch: %s\n", error.what());
        return signal_that_came != 0 ? 128 + signal_that_came : 1;
    }
}
