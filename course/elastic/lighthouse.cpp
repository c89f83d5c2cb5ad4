#include "course/elastic/lighthouse.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <sstream>
#include <utility>

namespace dist::elastic {

std::string replica_name(int number, std::int64_t life) {
    return std::to_string(number) + "." + std::to_string(life);
}

bool LighthouseState::has_member(const std::string& name) const {
    return std::ranges::count(quorum.members, name) > 0;
}

std::string LighthouseState::text() const {
    std::ostringstream out;
    out << formed << ' ' << is_finished << ' ' << quorum.number << ' ' << quorum.step << ' '
        << quorum.members.size();
    for (std::size_t rank = 0; rank < quorum.members.size(); ++rank) {
        out << ' ' << quorum.members[rank] << ' ' << quorum.sources[rank];
    }
    for (const auto& [name, entry] : replicas) {
        out << '\n'
            << name << ' ' << entry.beats << ' ' << entry.asks << ' ' << entry.step << ' '
            << entry.failed;
    }
    return out.str();
}

LighthouseState LighthouseState::from(const std::string& text) {
    std::istringstream in(text);
    LighthouseState state;
    std::size_t members = 0;
    in >> state.formed >> state.is_finished >> state.quorum.number >> state.quorum.step >> members;
    for (std::size_t rank = 0; rank < members; ++rank) {
        in >> state.quorum.members.emplace_back() >> state.quorum.sources.emplace_back();
    }
    std::string name;
    Entry entry;
    while (in >> name >> entry.beats >> entry.asks >> entry.step >> entry.failed) {
        state.replicas[name] = entry;
    }
    return state;
}

Lighthouse::Lighthouse(
    Store& store, const std::string& run, int replicas, Clock& clock, const QuorumSettings& settings
)
    : store_(store),
      key_(run + "/lighthouse"),
      replicas_(replicas),
      clock_(clock),
      settings_(settings) {}

std::optional<Quorum> Lighthouse::ask(const std::string& name, std::int64_t step, bool failed) {
    std::int64_t asked_after = std::numeric_limits<std::int64_t>::max();  // so many were formed
    const auto has_answer = [&](const LighthouseState& state) {
        return state.formed > asked_after && state.has_member(name);
    };
    for (;;) {
        const LighthouseState state = change([&](LighthouseState& now) {
            if (now.is_finished || has_answer(now)) {
                return;
            }
            LighthouseState::Entry& mine =
                now.replicas[name];  // a new one, if it was taken for dead
            if (!mine.asks) {
                mine = {.beats = mine.beats, .asks = true, .step = step, .failed = failed};
                asked_after = now.formed;
            }
            ++mine.beats;
        });
        if (state.is_finished) {
            return std::nullopt;
        }
        if (has_answer(state)) {
            return state.quorum;
        }
        wait_for(state.formed + 1);
    }
}

void Lighthouse::beat(const std::string& name) {
    change([&](LighthouseState& now) {
        if (const auto mine = now.replicas.find(name); mine != now.replicas.end()) {
            ++mine->second.beats;
        }
    });
}

void Lighthouse::forget(const std::string& name) {
    change([&](LighthouseState& now) { now.replicas.erase(name); });
}

void Lighthouse::finish() {
    const LighthouseState state = change([](LighthouseState& now) { now.is_finished = true; });
    store_.set(formed_key(state.formed + 1), "finished");  // wakes those that wait
}

bool Lighthouse::is_finished() {
    return LighthouseState::from(store_.compare_set(key_, "", "")).is_finished;
}

Clock::Duration Lighthouse::interval() const {
    constexpr int kBeats = 5;
    return settings_.dead_after / kBeats;
}

LighthouseState Lighthouse::change(const std::function<void(LighthouseState&)>& say) {
    for (;;) {
        const std::string text = store_.compare_set(key_, "", "");  // only reads
        LighthouseState state = LighthouseState::from(text);
        say(state);
        const bool is_formed = form(state);
        const std::string next = state.text();
        if (next != text && store_.compare_set(key_, text, next) != next) {
            continue;  // another one was first
        }
        if (is_formed) {
            store_.set(formed_key(state.formed), "formed");
            store_.erase(formed_key(state.formed - 2));
        }
        return state;
    }
}

bool Lighthouse::form(LighthouseState& state) {
    const std::scoped_lock guard(mutex_);
    const std::vector<Replica> replicas = look(state);
    const auto waits_long = [&](const Replica& one) {
        return one.asked && time_ - *one.asked >= settings_.join_timeout;
    };
    QuorumSettings settings = settings_;
    if (state.formed == 0 && std::ranges::none_of(replicas, waits_long)) {
        settings.min_replicas = replicas_;
    }
    const std::optional<Quorum> next = quorum(replicas, state.quorum, settings, time_);
    if (state.is_finished || !next) {
        return false;
    }
    state.quorum = *next;
    ++state.formed;
    for (const std::string& name : next->members) {
        state.replicas[name].asks = false;
    }
    for (const Replica& one : replicas) {
        if (time_ - one.heard >= settings_.dead_after) {
            state.replicas.erase(one.name);
        }
    }
    return true;
}

/// All replicas, as they are known here now. Who asked since the last quorum has asked since it was
/// seen to.
std::vector<Replica> Lighthouse::look(const LighthouseState& state) {
    const Clock::Duration now = clock_.now();
    time_ += std::clamp(now - looked_.value_or(now), Clock::Duration(0), interval());
    looked_ = now;
    const bool is_new = std::exchange(formed_, state.formed) != state.formed;
    std::map<std::string, Seen> seen;
    std::vector<Replica> replicas;
    for (const auto& [name, entry] : state.replicas) {
        const auto before = seen_.find(name);
        Seen one = before == seen_.end() ? Seen{.heard = time_} : before->second;
        if (std::exchange(one.beats, entry.beats) != entry.beats) {
            one.heard = time_;
        }
        if (!entry.asks || is_new) {
            one.asked.reset();
        }
        if (entry.asks) {
            one.asked = one.asked.value_or(time_);
        }
        seen[name] = one;
        replicas.push_back(
            {.name = name,
             .heard = one.heard,
             .asked = one.asked,
             .step = entry.step,
             .failed = entry.failed}
        );
    }
    seen_ = std::move(seen);
    return replicas;
}

/// Or for an interval: who formed it may have died before it told.
void Lighthouse::wait_for(std::int64_t formed) {
    try {
        store_.wait({formed_key(formed)}, interval());
    } catch (const Timeout&) {  // then it looks again
    }
}

std::string Lighthouse::formed_key(std::int64_t formed) const {
    return key_ + "/" + std::to_string(formed);
}

}  // namespace dist::elastic
