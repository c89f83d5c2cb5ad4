// Workers and servers as threads of a virtual time, what each worker pulled, and the training of
// one process beside it.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "exercises/01_point_to_point/chunk_bounds.hpp"
#include "exercises/09_rpc/parameter_server.hpp"
#include "tests/09_rpc/parameter_server_network.hpp"
#include "tests/09_rpc/parameter_server_training.hpp"
#include "tests/harness/harness.hpp"

namespace dist::harness {

using namespace std::chrono_literals;
using Ms = Clock::Duration;

enum class Moment { begins, has_pulled, has_pushed };

/// What a worker does, and what came of it.
struct Worker {
    Ms computes{1};                // in each step
    Ms lingers{0};                 // in step 1, and longer
    int leaves_at = -1;            // the step that it does not begin
    std::vector<Row> pulled = {};  // version 0, 1, ...
    std::string error = {};
    bool is_torn = false;  // a pull threw, and had changed the row
    std::size_t most_calls = 0;
};

class ParameterScene {
  public:
    ParameterScene(int p, int s, std::size_t its_n, std::uint64_t seed = 1)
        : n(its_n),
          workers(static_cast<std::size_t>(p)),
          time(seed),
          network(time, 1 + p + s, seed),
          servers_(static_cast<std::size_t>(s)),
          busy_(p) {}

    int steps = 3;
    std::size_t n;
    Ms servers_begin{0};
    std::map<int, Ms> dies;  // ranks, and when
    std::vector<Worker> workers;
    std::function<void(int worker, int step, Moment moment)> at = [](int, int, Moment) {};
    VirtualTime time;
    ParameterNetwork network;

    // Rank 0 is neither. Workers have the next ranks, the last one first, and then come the
    // servers.
    [[nodiscard]] int p() const { return static_cast<int>(workers.size()); }
    [[nodiscard]] int worker_rank(int worker) const { return p() - worker; }
    [[nodiscard]] int server_rank(std::size_t server) const {
        return p() + 1 + static_cast<int>(server);
    }
    [[nodiscard]] Chunk share(std::size_t server) const {
        return chunk_bounds(n, static_cast<int>(servers_.size()), static_cast<int>(server));
    }

    /// False if a rank ended in a way that is none of the scene's.
    Comparison play() {
        std::vector<std::function<void()>> plots;
        std::vector<int> ranks;
        for (int worker = 0; worker < p(); ++worker) {
            plots.emplace_back([this, worker] { work(worker); });
            ranks.push_back(worker_rank(worker));
        }
        for (std::size_t server = 0; server < servers_.size(); ++server) {
            plots.emplace_back([this, server] { serve(server); });
            ranks.push_back(server_rank(server));
        }
        for (const auto& [rank, when] : dies) {
            plots.emplace_back([this, rank = rank, when = when] {
                time.sleep(when);
                network.kill(rank);
            });
            ranks.push_back(rank);
        }
        for (int rank = 0; rank < network.size(); ++rank) {
            rpcs_.push_back(std::make_unique<ParameterRpc>(network, rank));
        }
        const std::vector<std::string> ends = time.run(plots);
        for (std::size_t i = 0; i < ends.size(); ++i) {
            const bool is_dead = network.is_dead[static_cast<std::size_t>(ranks[i])];
            if (!ends[i].empty() && !is_dead) {
                return {false, "rank " + std::to_string(ranks[i]) + ": " + ends[i]};
            }
        }
        return {};
    }

    /// Whether what a worker pulled is right, and it was told of `end` then, or of no error.
    [[nodiscard]] Comparison told(int worker, const std::string& end) const {
        const Worker& one = workers[static_cast<std::size_t>(worker)];
        const std::string name = name_of(worker);
        for (std::size_t version = 0; version < one.pulled.size(); ++version) {
            const Row right = trained(n, p(), static_cast<int>(version));
            const Comparison result = same(one.pulled[version], right);
            if (!result) {
                return {false, name + "version " + std::to_string(version) + ": " + result.text};
            }
        }
        if (one.error.empty() != end.empty() || !one.error.ends_with(end)) {
            return {
                false, name + "it must be told \"" + end + "\", and is told \"" + one.error + "\""};
        }
        return {!one.is_torn, name + "the pull that failed has changed the parameters"};
    }

    /// And whether these were all versions up to `last`.
    [[nodiscard]] Comparison pulled(int worker, int last, const std::string& end = "") const {
        Comparison result = told(worker, end);
        const auto got = std::ssize(workers[static_cast<std::size_t>(worker)].pulled) - 1;
        if (result && got != last) {
            return {
                false, name_of(worker) + "its last version is " + std::to_string(got) +
                           ", and it can have " + std::to_string(last)};
        }
        return result;
    }

    /// Whether serve() was false on all servers in the end.
    [[nodiscard]] Comparison servers_end() const {
        return {
            std::ranges::all_of(servers_, &Server::has_ended),
            "serve() says that a worker is still there, and all have left"};
    }

    /// Whether all went well on all ranks.
    [[nodiscard]] Comparison all_well() const {
        for (int worker = 0; worker < p(); ++worker) {
            if (Comparison result = pulled(worker, steps); !result) {
                return result;
            }
        }
        const Row right = trained(n, p(), steps);
        for (std::size_t i = 0; i < servers_.size(); ++i) {
            const Server& one = servers_[i];
            const std::string name = "server " + std::to_string(i) + ": ";
            const Chunk part = share(i);
            const Comparison result =
                same(one.row, std::span(right).subspan(part.begin, part.size()));
            if (!result || one.steps != steps) {
                return {false, name + std::to_string(one.steps) + " steps. " + result.text};
            }
        }
        return servers_end();
    }

  private:
    static constexpr int kRest = 20;  // ms, after the last worker has ended

    struct Server {
        Row row = {};
        int steps = 0;
        bool has_ended = false;  // serve() was false
    };

    // Also a rank that has died is no longer busy.
    struct Busy {
        explicit Busy(int& its_count) : count(its_count) {}
        Busy(const Busy&) = delete;
        Busy& operator=(const Busy&) = delete;
        ~Busy() { --count; }
        int& count;
    };

    [[nodiscard]] std::string name_of(int worker) const {
        return "worker " + std::to_string(worker) + " of " + std::to_string(p()) + ", on rank " +
               std::to_string(worker_rank(worker)) + ": ";
    }

    // Whether all workers have ended some time ago.
    bool is_over(int& idle) const {
        idle = busy_ > 0 ? 0 : idle + 1;
        return idle > kRest;
    }

    ParameterRpc& rpc(int rank) { return *rpcs_[static_cast<std::size_t>(rank)]; }

    void work(int number) {
        Worker& self = workers[static_cast<std::size_t>(number)];
        std::vector<int> ranks(servers_.size());
        for (std::size_t server = 0; server < servers_.size(); ++server) {
            ranks[server] = server_rank(server);
        }
        ParameterRpc& mine = rpc(worker_rank(number));
        VirtualClock clock(time);
        std::unique_ptr<ParameterClient> client;
        {
            const Busy busy(busy_);
            client = std::make_unique<ParameterClient>(mine, ranks, n, clock);
            train(number, *client);
            self.most_calls = mine.most_open;
        }
        for (int idle = 0; !is_over(idle);) {  // servers ask it still
            mine.serve();
            time.sleep(1ms);
        }
    }

    void train(int number, ParameterClient& client) {
        Worker& self = workers[static_cast<std::size_t>(number)];
        Row row(n, -1);
        Row before;
        try {
            for (int step = 0; step != self.leaves_at; ++step) {
                at(number, step, Moment::begins);
                before = row;
                client.pull(step, row);
                before = row;
                self.pulled.push_back(row);
                if (step == steps) {
                    break;
                }
                at(number, step, Moment::has_pulled);
                time.sleep(self.computes + (step == 1 ? self.lingers : 0ms));
                client.push(step, gradient_of(number, row));
                at(number, step, Moment::has_pushed);
            }
            client.leave();
        } catch (const Error& error) {
            self.error = error.what();
            self.is_torn = row != before;
        }
    }

    void serve(std::size_t number) {
        Server& self = servers_[number];
        const Row all = first_row(n);
        const Chunk part = share(number);
        self.row.assign(
            all.begin() + static_cast<long>(part.begin), all.begin() + static_cast<long>(part.end)
        );
        time.sleep(servers_begin);
        SynchronousTable table(
            self.row, p(),
            [&](std::span<float> row, std::span<const float> mean) {
                ++self.steps;
                sgd(row, mean);
            }
        );
        std::vector<int> ranks(workers.size());
        for (int worker = 0; worker < p(); ++worker) {
            ranks[static_cast<std::size_t>(worker)] = worker_rank(worker);
        }
        ParameterServer server(rpc(server_rank(number)), table, ranks);
        for (int idle = 0; !is_over(idle);) {
            if (!server.serve()) {
                self.has_ended = true;
                return;
            }
            time.sleep(1ms);
        }
    }

    std::vector<Server> servers_;
    std::vector<std::unique_ptr<ParameterRpc>> rpcs_;  // by rank
    int busy_;                                         // workers that train
};

}  // namespace dist::harness
