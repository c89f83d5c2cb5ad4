// Workers that live and die by a script.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "tests/10_elastic/agent_text.hpp"

namespace dist::harness {

inline constexpr Ms kNever = 24h;

/// A worker of one round; times count from its start.
struct WorkerScript {
    Ms ends = kNever;      // by itself
    int exit_code = 0;     // with this code
    int signal = 0;        // or by this signal
    Ms noticed{0};         // so much later the group says so
    bool ignores = false;  // every signal but SIGKILL
    int told_exit = -1;    // ends with this code when it is told to; -1: by the signal
    Ms dies_after = 20ms;  // told to end, it takes so long
};

inline const WorkerScript kRuns = {};
inline const WorkerScript kCrashes = {.ends = 150ms, .exit_code = 1};
inline const WorkerScript kEndsWell = {.ends = 250ms};
inline const WorkerScript kIgnores = {.ignores = true};

class ScriptedWorkers {
  public:
    void start(const std::vector<WorkerScript>& scripts, Ms now) {
        workers_.clear();
        for (const WorkerScript& script : scripts) {
            WorkerEnd end = exits(static_cast<int>(workers_.size()), script.exit_code, kNever);
            end.signal = script.signal;
            end.at = script.ends == kNever ? kNever : now + script.ends;
            workers_.push_back({script, end});
        }
    }

    std::vector<WorkerEnd> ended(Ms now) {
        std::vector<WorkerEnd> ended;
        for (Worker& worker : workers_) {
            if (!worker.is_told && worker.end.at + worker.script.noticed <= now) {
                worker.is_told = true;
                ended.push_back(worker.end);
            }
        }
        return ended;
    }

    void signal(int number, Ms now) {
        for (auto& [script, end, is_told] : workers_) {
            const bool is_killed = number == SIGKILL;
            const Ms then = now + (is_killed ? 0ms : script.dies_after);
            if (end.at > then && (is_killed || !script.ignores)) {
                const bool by_code = !is_killed && script.told_exit >= 0;
                end.exit_code = by_code ? script.told_exit : 0;
                end.signal = by_code ? 0 : number;
                end.at = then;
            }
        }
    }

    [[nodiscard]] int alive(Ms now) const {
        return static_cast<int>(std::ranges::count_if(workers_, [&](const Worker& worker) {
            return worker.end.at > now;
        }));
    }

    [[nodiscard]] bool ended_well(Ms now) const {
        return std::ranges::all_of(workers_, [&](const Worker& worker) {
            return worker.end.at <= now && worker.end.is_good();
        });
    }

  private:
    struct Worker {
        WorkerScript script;
        WorkerEnd end;         // which is to come
        bool is_told = false;  // to the agent, that it has ended
    };

    std::vector<Worker> workers_;
};

}  // namespace dist::harness
