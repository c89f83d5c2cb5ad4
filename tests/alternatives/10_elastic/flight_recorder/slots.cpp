// A ring of slots that are written over, sorted by dump(); one table of all groups; votes of ranks.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "exercises/10_elastic/flight_recorder.hpp"

namespace dist {
namespace {

using Duration = Clock::Duration;
using Calls = std::map<int, const FlightEntry*>;
using Key = std::pair<std::string, std::int64_t>;  // group and number

struct Table {
    std::map<int, const FlightRecord*> records = {};
    std::map<std::string, std::set<int>> members = {};
    std::map<Key, Calls> rows = {};
    std::vector<FlightFinding> findings = {};
    std::map<std::pair<std::string, int>, std::pair<Duration, FlightFinding>> late = {};

    explicit Table(const std::vector<FlightRecord>& all) {
        for (const FlightRecord& record : all) {
            records[record.rank] = &record;
            for (const auto& [name, group] : record.groups) {
                members[name].insert(group.members.begin(), group.members.end());
            }
            for (const FlightEntry& entry : record.entries) {
                if (!entry.is_p2p) {
                    rows[{entry.group, entry.collective_seq}][record.rank] = &entry;
                }
            }
        }
    }

    bool same(const Key& mine, int rank, const Key& theirs, int other) const {
        const auto a = rows.find(mine);
        const auto b = rows.find(theirs);
        return a != rows.end() && b != rows.end() && a->second.contains(rank) &&
               b->second.contains(other) && a->second.at(rank)->call == b->second.at(other)->call;
    }

    FlightFault fault(const Key& key, int rank, int other) const {
        const auto& [group, number] = key;
        int shifted = 0;
        while (same({group, number + shifted}, rank, {group, number + 1 + shifted}, other)) {
            ++shifted;
        }
        int in_place = 0;
        while (same({group, number + 1 + in_place}, rank, {group, number + 1 + in_place}, other)) {
            ++in_place;
        }
        if (in_place < shifted) {
            return FlightFault::skipped;
        }
        const FlightCall& a = rows.at(key).at(rank)->call;
        const FlightCall& b = rows.at(key).at(other)->call;
        if (a.name != b.name) {
            return FlightFault::other_collective;
        }
        if (a.root != b.root) {
            return FlightFault::other_root;
        }
        if (a.op != b.op) {
            return FlightFault::other_op;
        }
        return a.type != b.type ? FlightFault::other_type : FlightFault::other_size;
    }

    bool compare(const Key& key, const Calls& calls) {
        std::size_t most = 0;
        int right = -1;
        for (const auto& [rank, entry] : calls) {
            std::size_t votes = 0;
            for (const auto& [other, theirs] : calls) {
                votes += theirs->call == entry->call ? 1 : 0;
            }
            if (votes > most) {
                most = votes;
                right = rank;
            }
        }
        for (const auto& [rank, entry] : calls) {
            int other = right;
            if (most * 2 <= calls.size()) {
                for (const auto& [candidate, theirs] : calls) {
                    other = theirs->call != entry->call ? candidate : other;
                }
                findings.push_back({FlightFault::no_majority, rank, *calls.at(other), *entry});
            } else if (entry->call != calls.at(right)->call) {
                findings.push_back({fault(key, rank, right), rank, *calls.at(right), *entry});
            }
        }
        return most < calls.size();
    }

    bool wait(const Key& key, const Calls& calls) {
        const FlightEntry* inside = nullptr;
        const FlightEntry* left = nullptr;
        for (const auto& [rank, entry] : calls) {
            inside = entry->state == FlightState::started ? entry : inside;
            left = entry->state == FlightState::completed ? entry : left;
        }
        const std::size_t before = findings.size();
        for (const int rank : members[key.first]) {
            if (!records.contains(rank)) {
                continue;
            }
            const FlightRecord& record = *records.at(rank);
            const bool is_known = record.groups.contains(key.first);
            bool has_started = is_known && record.groups.at(key.first).collectives >= key.second;
            if (calls.contains(rank)) {
                has_started = calls.at(rank)->state != FlightState::scheduled;
            }
            if (!has_started && (inside != nullptr || left != nullptr)) {
                std::optional<FlightEntry> doing;
                for (const FlightEntry& entry : record.entries) {
                    if (!doing || entry.state == FlightState::started ||
                        doing->state != FlightState::started) {
                        doing = entry;
                    }
                }
                findings.push_back(
                    {FlightFault::behind, rank, inside != nullptr ? *inside : *left, doing}
                );
            }
        }
        const bool all_left = inside == nullptr && findings.size() == before;
        for (const int rank : members[key.first]) {
            if (!records.contains(rank) && !all_left) {
                const FlightEntry& other = inside != nullptr ? *inside : *left;
                findings.push_back({FlightFault::no_record, rank, other, std::nullopt});
            }
        }
        return findings.size() > before;
    }

    void time(const Key& key, const Calls& calls, Duration slow) {
        for (const auto& [rank, mine] : calls) {
            if (mine->state != FlightState::completed || mine->call.root != -1) {
                continue;
            }
            const Duration own = mine->completed - mine->started;
            std::size_t waiting = 0;
            const FlightEntry* longest = mine;
            std::vector<Duration> waits;
            for (const auto& [other, theirs] : calls) {
                if (theirs->state == FlightState::completed) {
                    const Duration wait = theirs->completed - theirs->started - own;
                    waits.push_back(wait);
                    waiting += wait >= slow ? 1 : 0;
                    if (wait > longest->completed - longest->started - own) {
                        longest = theirs;
                    }
                }
            }
            if (waiting * 2 < members[key.first].size() || !was_idle(*mine, rank, slow)) {
                continue;
            }
            std::ranges::sort(waits);
            const Duration wait = waits[waits.size() - (members[key.first].size() + 1) / 2];
            auto& [worst, finding] = late[{key.first, rank}];
            if (wait > worst) {
                worst = wait;
                finding = {FlightFault::slow, rank, *longest, *mine};
            }
        }
    }

    bool was_idle(const FlightEntry& mine, int rank, Duration slow) const {
        bool knows_one = records.at(rank)->dropped == 0;
        for (const FlightEntry& entry : records.at(rank)->entries) {
            const bool has_ended = entry.state == FlightState::completed;
            if (entry.state == FlightState::scheduled || entry.started >= mine.started ||
                (has_ended && entry.completed == entry.started)) {
                continue;
            }
            if (!has_ended || entry.completed > mine.started - slow) {
                return false;
            }
            knows_one = true;
        }
        return knows_one;
    }
};

}  // namespace

// record_.dropped counts all operations here.
FlightRecorder::FlightRecorder(int rank, std::size_t capacity, Clock& clock)
    : capacity_(capacity), clock_(clock) {
    expects(capacity > 0, "FlightRecorder: a ring has room for one operation at least");
    record_.rank = rank;
}

void FlightRecorder::add_group(const std::string& name, const std::vector<int>& members) {
    const std::lock_guard<std::mutex> guard(lock_);
    expects(std::ranges::count(members, record_.rank) > 0, "FlightRecorder: not this rank's group");
    expects(!record_.groups.contains(name), "FlightRecorder: the name is taken");
    record_.groups[name].members = members;
}

std::int64_t FlightRecorder::schedule(
    const std::string& group, const FlightCall& call, const SourceLine& where
) {
    return note(group, call, where, false);
}

std::int64_t FlightRecorder::schedule_p2p(
    const std::string& group, const FlightCall& call, const SourceLine& where
) {
    return note(group, call, where, true);
}

std::int64_t FlightRecorder::note(
    const std::string& group, const FlightCall& call, const SourceLine& where, bool is_p2p
) {
    const std::lock_guard<std::mutex> guard(lock_);
    expects(record_.groups.contains(group), "FlightRecorder: an unknown group");
    FlightGroup& counts = record_.groups.at(group);
    counts.collectives += is_p2p ? 0 : 1;
    counts.p2ps += is_p2p ? 1 : 0;
    FlightEntry entry;
    entry.id = ++record_.dropped;
    entry.group = group;
    entry.is_p2p = is_p2p;
    entry.collective_seq = counts.collectives;
    entry.p2p_seq = counts.p2ps;
    entry.call = call;
    entry.where = where;
    entry.scheduled = clock_.now();
    if (record_.entries.size() < capacity_) {
        record_.entries.push_back(entry);
    } else {
        record_.entries[static_cast<std::size_t>(entry.id - 1) % capacity_] = entry;
    }
    return entry.id;
}

void FlightRecorder::start(std::int64_t id) {
    const std::lock_guard<std::mutex> guard(lock_);
    expects(0 < id && id <= record_.dropped, "FlightRecorder: an unknown operation");
    FlightEntry& entry = record_.entries[static_cast<std::size_t>(id - 1) % capacity_];
    if (entry.id == id) {
        entry.state = FlightState::started;
        entry.started = clock_.now();
    }
}

void FlightRecorder::complete(std::int64_t id) {
    const std::lock_guard<std::mutex> guard(lock_);
    expects(0 < id && id <= record_.dropped, "FlightRecorder: an unknown operation");
    FlightEntry& entry = record_.entries[static_cast<std::size_t>(id - 1) % capacity_];
    if (entry.id == id) {
        entry.state = FlightState::completed;
        entry.completed = clock_.now();
    }
}

FlightRecord FlightRecorder::dump() const {
    const std::lock_guard<std::mutex> guard(lock_);
    FlightRecord record = record_;
    std::ranges::sort(record.entries, {}, &FlightEntry::id);
    record.dropped -= static_cast<std::int64_t>(record.entries.size());
    return record;
}

std::vector<FlightFinding> diagnose(
    const std::vector<FlightRecord>& records, Clock::Duration slow
) {
    Table table(records);
    std::set<std::string> done;
    for (const auto& [key, calls] : table.rows) {
        if (!done.contains(key.first)) {
            if (table.compare(key, calls) || table.wait(key, calls)) {
                done.insert(key.first);
            } else {
                table.time(key, calls, slow);
            }
        }
    }
    for (const auto& [who, late] : table.late) {
        table.findings.push_back(late.second);
    }
    return table.findings;
}

}  // namespace dist
