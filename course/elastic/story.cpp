#include "course/elastic/story.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

#include "course/elastic/diagnosis.hpp"

namespace dist::elastic {
namespace {

constexpr int kSignalled = 128;  // and the signal's number: a shell's way to say it

void say(const std::string& text) {
    std::fprintf(stderr, "launch: %s\n", text.c_str());
}

std::string number_of(int count, const std::string& what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string how_it_ended(const WorkerEnd& end) {
    return end.signal != 0 ? "died of SIG" + std::string(sigabbrev_np(end.signal))
                           : "ended with " + std::to_string(end.exit_code);
}

const char* name_of(AgentEvent::Kind kind) {
    switch (kind) {
        case AgentEvent::Kind::round:
            return "round";
        case AgentEvent::Kind::no_round:
            return "no_round";
        case AgentEvent::Kind::looked:
            return "looked";
        case AgentEvent::Kind::changed:
            return "changed";
        case AgentEvent::Kind::finished:
            return "finished";
        case AgentEvent::Kind::interrupted:
            return "interrupted";
        case AgentEvent::Kind::error:
            return "error";
    }
    return "";
}

const char* name_of(WorkerState state) {
    switch (state) {
        case WorkerState::init:
            return "INIT";
        case WorkerState::healthy:
            return "HEALTHY";
        case WorkerState::unhealthy:
            return "UNHEALTHY";
        case WorkerState::stopped:
            return "STOPPED";
        case WorkerState::succeeded:
            return "SUCCEEDED";
        case WorkerState::failed:
            return "FAILED";
    }
    return "";
}

nlohmann::ordered_json document_of(const AgentLogEntry& entry) {
    const AgentEvent& event = entry.event;
    nlohmann::ordered_json document = {
        {"at_ms", event.at.count()},
        {"event", name_of(event.kind)},
        {"workers", name_of(entry.workers)}};
    if (event.kind == AgentEvent::Kind::round) {
        document["round"] = event.round.number;
        document["world_size"] = event.round.world_size;
    }
    for (const WorkerEnd& end : event.ended) {
        document["ended"].push_back(
            {{"local_rank", end.local_rank},
             {"exit_code", end.exit_code},
             {"signal", end.signal},
             {"at_ms", end.at.count()}}
        );
    }
    if (entry.actions.signal != 0) {
        document["signal"] = entry.actions.signal;
    }
    return document;
}

/// Of those that ended badly, the first.
const WorkerEnd* first_failure(const std::vector<WorkerEnd>& ended) {
    const WorkerEnd* first = nullptr;
    for (const WorkerEnd& end : ended) {
        if (!end.is_good() && (first == nullptr || end.at < first->at)) {
            first = &end;
        }
    }
    return first;
}

}  // namespace

Story::Story(const LaunchOptions& options, WorkerLogs& logs)
    : options_(options), logs_(logs), events_(logs.folder() / "events.jsonl", std::ios::app) {}

void Story::waits_for_nodes() const {
    if (options_.max_nodes > 1) {
        say("waits at " + options_.endpoint() + " for " + std::to_string(options_.min_nodes) +
            " to " + std::to_string(options_.max_nodes) + " nodes");
    }
}

void Story::tell(const AgentLogEntry& entry) {
    const AgentEvent& event = entry.event;
    events_ << document_of(entry).dump() << std::endl;  // whoever reads it waits for it
    if (event.kind == AgentEvent::Kind::round) {
        tell_of_round(event.round);
    } else if (event.kind == AgentEvent::Kind::changed) {
        say("round " + std::to_string(round_.number) + " is over: a node has come, or gone");
        all_well_ = false;
    } else if (event.kind == AgentEvent::Kind::interrupted) {
        signal_ = event.signal;
        say("SIG" + std::string(sigabbrev_np(event.signal)) + ": the workers are told to end");
        all_well_ = false;
    } else if (event.kind == AgentEvent::Kind::error) {
        say(event.text + ": the workers are told to end");
        all_well_ = false;
    } else if (const WorkerEnd* const failure = first_failure(event.ended);
               failure != nullptr && all_well_) {
        tell_of_failure(*failure);
    }
    if (entry.actions.signal == SIGKILL) {
        say("workers that do not end are killed");
    }
    const bool none_lives =
        entry.workers == WorkerState::stopped || entry.workers == WorkerState::failed;
    if (has_failed_ && none_lives) {
        if (!has_quoted_) {
            quote_any();
        }
        tell_of_records();
    }
}

void Story::tell_of_round(const WorkerRound& round) {
    round_ = round;
    all_well_ = true;
    std::string text =
        options_.restart_alone
            ? "rank " + std::to_string(round.first_rank) + " starts"
            : "round " + std::to_string(round.number) + ": " + number_of(round.world_size, "rank");
    if (options_.max_nodes > 1) {
        text += " on " + number_of(round.nodes, "node") + ", " + std::to_string(round.workers) +
                " here from rank " + std::to_string(round.first_rank) + " on";
    }
    if (failures_ > 0) {
        text += "; restart " + std::to_string(failures_) + " of " +
                std::to_string(options_.max_restarts);
    }
    say(text);
}

void Story::tell_of_failure(const WorkerEnd& failure) {
    all_well_ = false;
    has_failed_ = true;
    ++failures_;
    const int rank = round_.first_rank + failure.local_rank;
    std::string others;
    if (options_.restart_alone) {
        others = "; the others go on";
    } else if (round_.workers > 1) {
        others = "; the others here are told to end";
    }
    say("rank " + std::to_string(rank) + " " + how_it_ended(failure) + others);
    has_quoted_ = quote(rank);
}

/// Returns whether the rank has said something.
bool Story::quote(int rank) const {
    constexpr std::size_t kLines = 5;
    const auto words = logs_.last_words(rank, kLines);
    for (const std::string& line : words) {
        std::fprintf(stderr, "    %s\n", line.c_str());
    }
    return !words.empty();
}

/// Where ranks fail together one speaks for all, and it need not have been the first to end.
void Story::quote_any() const {
    for (int rank = round_.first_rank; rank < round_.first_rank + round_.workers; ++rank) {
        if (quote(rank)) {
            return;
        }
    }
}

/// Of the ranks here: what those of other nodes have left is there.
void Story::tell_of_records() {
    has_failed_ = false;
    const std::string prefix = "round-" + std::to_string(round_.number) + ".";
    const auto records = read_flight_records(logs_.folder(), prefix);
    for (const FlightFinding& found : diagnosis_of(records)) {
        const int local_rank = found.rank - round_.first_rank;
        const bool is_here = 0 <= local_rank && local_rank < round_.workers;
        if (is_here || found.fault != FlightFault::no_record) {
            std::fprintf(stderr, "    %s\n", found.text().c_str());
        }
    }
}

int Story::end(const AgentResult& result) {
    if (result.end == AgentEnd::succeeded) {
        say("all ranks have ended well");
        return 0;
    }
    if (result.end == AgentEnd::interrupted) {
        return kSignalled + signal_;
    }
    if (result.end == AgentEnd::error) {
        return 1;  // it was told
    }
    if (result.end == AgentEnd::closed) {
        say("no more rounds begin: another node has given up, or all was done before");
        return 1;
    }
    say("rank " + std::to_string(result.round.first_rank + result.cause->local_rank) + " " +
        how_it_ended(*result.cause) + ", and " +
        (options_.max_restarts == 0
             ? "--max-restarts is 0"
             : "all " + number_of(options_.max_restarts, "restart") + " are used up") +
        "; what workers said is in " + logs_.stay().string());
    return result.cause->signal != 0 ? kSignalled + result.cause->signal : result.cause->exit_code;
}

}  // namespace dist::elastic
