#include "exercises/10_elastic/flight_recorder.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

namespace dist {
namespace {

using Duration = Clock::Duration;
using Findings = std::vector<FlightFinding>;
using Calls = std::map<int, const FlightEntry*>;  // of one collective, by rank

struct Group {
    std::map<int, const FlightRecord*> members = {};  // nullptr: it left no record
    std::map<std::int64_t, Calls> calls = {};         // by number; those that records have

    [[nodiscard]] const FlightEntry* call(std::int64_t number, int rank) const {
        const auto found = calls.find(number);
        const bool is_known = found != calls.end() && found->second.contains(rank);
        return is_known ? found->second.at(rank) : nullptr;
    }
};

std::map<std::string, Group> groups_of(const std::vector<FlightRecord>& records) {
    std::map<std::string, Group> groups;
    for (const FlightRecord& record : records) {
        for (const auto& [name, group] : record.groups) {
            for (const int member : group.members) {
                groups[name].members.try_emplace(member, nullptr);
            }
        }
    }
    for (const FlightRecord& record : records) {
        for (auto& [name, group] : groups) {
            if (group.members.contains(record.rank)) {
                group.members[record.rank] = &record;
            }
        }
        for (const FlightEntry& entry : record.entries) {
            if (!entry.is_p2p) {
                groups[entry.group].calls[entry.collective_seq][record.rank] = &entry;
            }
        }
    }
    return groups;
}

// How many calls of `rank` from `from` on are, in a row, what `other` called from `others` on.
int in_a_row(const Group& group, int rank, std::int64_t from, int other, std::int64_t others) {
    for (int count = 0;; ++count) {
        const FlightEntry* const mine = group.call(from + count, rank);
        const FlightEntry* const theirs = group.call(others + count, other);
        if (mine == nullptr || theirs == nullptr || mine->call != theirs->call) {
            return count;
        }
    }
}

FlightFault fault_of(const Group& group, std::int64_t number, int rank, int other) {
    const FlightCall& mine = group.call(number, rank)->call;
    const FlightCall& theirs = group.call(number, other)->call;
    if (in_a_row(group, rank, number, other, number + 1) >
        in_a_row(group, rank, number + 1, other, number + 1)) {
        return FlightFault::skipped;
    }
    return mine.name != theirs.name   ? FlightFault::other_collective
           : mine.root != theirs.root ? FlightFault::other_root
           : mine.op != theirs.op     ? FlightFault::other_op
           : mine.type != theirs.type ? FlightFault::other_type
                                      : FlightFault::other_size;
}

// Who called something else than the others.
Findings differing(const Group& group, std::int64_t number) {
    const Calls& calls = group.calls.at(number);
    std::map<FlightCall, std::vector<int>> by_call;
    for (const auto& [rank, entry] : calls) {
        by_call[entry->call].push_back(rank);
    }
    std::vector<std::vector<int>> sides;  // the largest first
    sides.reserve(by_call.size());
    for (const auto& [call, ranks] : by_call) {
        sides.push_back(ranks);
    }
    const auto size = [](const std::vector<int>& ranks) { return ranks.size(); };
    std::ranges::stable_sort(sides, std::ranges::greater(), size);
    const bool has_majority = 2 * sides.front().size() > calls.size();
    Findings findings;
    for (std::size_t i = has_majority ? 1 : 0; i < sides.size(); ++i) {
        const int other = sides[i == 0 ? 1 : 0].front();
        for (const int rank : sides[i]) {
            const FlightFault fault =
                has_majority ? fault_of(group, number, rank, other) : FlightFault::no_majority;
            findings.push_back({fault, rank, *calls.at(other), *calls.at(rank)});
        }
    }
    return findings;
}

// What a rank is in; if it is in nothing, what it did last.
std::optional<FlightEntry> newest(const FlightRecord& record) {
    const auto& entries = record.entries;
    const auto open = std::find_if(entries.rbegin(), entries.rend(), [](const FlightEntry& entry) {
        return entry.state == FlightState::started;
    });
    if (open != entries.rend()) {
        return *open;
    }
    return entries.empty() ? std::nullopt : std::optional(entries.back());
}

// Who has not started what others have.
Findings awaited(const Group& group, std::int64_t number) {
    const FlightEntry* begun = nullptr;  // by a rank that is in it; if nobody is, by one that was
    for (const FlightState state : {FlightState::completed, FlightState::started}) {
        for (const auto& [rank, entry] : group.calls.at(number)) {
            begun = entry->state == state ? entry : begun;
        }
    }
    if (begun == nullptr) {
        return {};
    }
    Findings findings;
    std::vector<int> silent;
    for (const auto& [rank, record] : group.members) {
        if (record == nullptr) {
            silent.push_back(rank);
            continue;
        }
        const auto known = record->groups.find(begun->group);
        const bool has_called =
            known != record->groups.end() && number <= known->second.collectives;
        const FlightEntry* const own = group.call(number, rank);
        if (!has_called || (own != nullptr && own->state == FlightState::scheduled)) {
            findings.push_back({FlightFault::behind, rank, *begun, newest(*record)});
        }
    }
    if (begun->state == FlightState::started || !findings.empty()) {  // one has not completed it
        for (const int rank : silent) {
            findings.push_back({FlightFault::no_record, rank, *begun, {}});
        }
    }
    return findings;
}

// For how long a rank was in it, by its own clock.
Duration inside(const FlightEntry& entry) {
    const bool has_left = entry.state == FlightState::completed;
    return has_left ? entry.completed - entry.started : Duration(-1);
}

// For how long a rank had been in no operation when it started this one. In one of 0 ms it did not wait.
Duration idle_before(const FlightEntry& mine, const FlightRecord& record) {
    Duration idle = Duration::max();
    for (const FlightEntry& entry : record.entries) {
        const bool has_left = entry.state == FlightState::completed;
        const Duration left = has_left ? entry.completed : Duration::max();
        if (entry.state != FlightState::scheduled && entry.started < left &&
            entry.started < mine.started) {
            idle = std::min(idle, mine.started - std::min(left, mine.started));
        }
    }
    const bool is_known = idle < Duration::max() || record.dropped == 0;
    return is_known ? idle : Duration(0);
}

// For how long half of the group, or more, were in it before this rank came.
Duration wait_for(const FlightEntry& mine, const Group& group) {
    std::vector<Duration> waits;
    for (const auto& [rank, record] : group.members) {
        const FlightEntry* const theirs = group.call(mine.collective_seq, rank);
        waits.push_back(theirs == nullptr ? Duration(0) : inside(*theirs) - inside(mine));
    }
    std::ranges::sort(waits, std::ranges::greater());
    const bool meets = mine.call.root < 0;  // nobody leaves before all have come
    const bool has_left = mine.state == FlightState::completed;
    return meets && has_left ? waits[(waits.size() - 1) / 2] : Duration(0);
}

// By rank: how long it was waited for, at the most so far, and the finding.
using Worst = std::map<int, std::pair<Duration, FlightFinding>>;

void note_slow(Worst& worst, const Group& group, const Calls& calls, Duration slow) {
    const auto duration = [](const auto& call) { return inside(*call.second); };
    const FlightEntry& longest = *std::ranges::max_element(calls, {}, duration)->second;
    for (const auto& [rank, entry] : calls) {
        const Duration wait = wait_for(*entry, group);
        if (wait >= slow && idle_before(*entry, *group.members.at(rank)) >= slow &&
            wait >= worst[rank].first) {
            worst[rank] = {wait, {FlightFault::slow, rank, longest, *entry}};
        }
    }
}

Findings findings_of(const Group& group, Duration slow) {
    Findings findings;
    Worst worst;
    for (const auto& [number, calls] : group.calls) {
        findings = differing(group, number);
        if (findings.empty()) {
            findings = awaited(group, number);
        }
        if (!findings.empty()) {
            break;  // what comes behind may be a consequence
        }
        note_slow(worst, group, calls, slow);
    }
    for (const auto& [rank, found] : worst) {
        findings.push_back(found.second);
    }
    return findings;
}

// None if it has fallen out of the ring.
FlightEntry* entry_of(FlightRecord& record, std::int64_t id) {
    const bool is_known = 1 <= id && id <= record.dropped + std::ssize(record.entries);
    expects(is_known, "FlightRecorder: no operation has this id");
    const std::int64_t place = id - record.dropped - 1;
    return place < 0 ? nullptr : &record.entries[static_cast<std::size_t>(place)];
}

}  // namespace

FlightRecorder::FlightRecorder(int rank, std::size_t capacity, Clock& clock)
    : capacity_(capacity), clock_(clock) {
    expects(capacity >= 1, "FlightRecorder: capacity must be at least 1");
    record_.rank = rank;
}

void FlightRecorder::add_group(const std::string& name, const std::vector<int>& members) {
    const std::scoped_lock guard(lock_);
    const bool is_member = std::ranges::find(members, record_.rank) != members.end();
    expects(is_member, "FlightRecorder: this rank must be a member of the group");
    const bool is_new = record_.groups.try_emplace(name, FlightGroup{.members = members}).second;
    expects(is_new, "FlightRecorder: there is a group of this name");
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
    const std::scoped_lock guard(lock_);
    const auto found = record_.groups.find(group);
    expects(found != record_.groups.end(), "FlightRecorder: add_group() comes first");
    FlightGroup& counts = found->second;
    ++(is_p2p ? counts.p2ps : counts.collectives);
    const std::int64_t id = record_.dropped + std::ssize(record_.entries) + 1;
    record_.entries.push_back(
        {.id = id,
         .group = group,
         .is_p2p = is_p2p,
         .collective_seq = counts.collectives,
         .p2p_seq = counts.p2ps,
         .call = call,
         .where = where,
         .scheduled = clock_.now()}
    );
    if (record_.entries.size() > capacity_) {
        record_.entries.pop_front();
        ++record_.dropped;
    }
    return id;
}

void FlightRecorder::start(std::int64_t id) {
    const std::scoped_lock guard(lock_);
    if (FlightEntry* const entry = entry_of(record_, id)) {
        entry->state = FlightState::started;
        entry->started = clock_.now();
    }
}

void FlightRecorder::complete(std::int64_t id) {
    const std::scoped_lock guard(lock_);
    if (FlightEntry* const entry = entry_of(record_, id)) {
        entry->state = FlightState::completed;
        entry->completed = clock_.now();
    }
}

FlightRecord FlightRecorder::dump() const {
    const std::scoped_lock guard(lock_);
    return record_;
}

std::vector<FlightFinding> diagnose(
    const std::vector<FlightRecord>& records, Clock::Duration slow
) {
    Findings all;
    for (const auto& [name, group] : groups_of(records)) {
        const Findings findings = findings_of(group, slow);
        all.insert(all.end(), findings.begin(), findings.end());
    }
    return all;
}

}  // namespace dist
