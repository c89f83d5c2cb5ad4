#include "course/trace/parts.hpp"

#include <algorithm>

namespace dist::trace {
namespace {

std::uint64_t end_of(const Memory& memory) {
    return memory.at + static_cast<std::uint64_t>(memory.bytes);
}

bool holds(const Memory& memory, std::uint64_t at, long bytes) {
    return at >= memory.at && at + static_cast<std::uint64_t>(bytes) <= end_of(memory);
}

/// What the messages show, beside what has a name.
std::vector<Memory> seen_in(const Log& log) {
    std::vector<Memory> seen;
    auto payload = log.payloads.begin();
    for (const Step& step : log.steps) {
        if (step.did != Did::send && step.did != Did::wait_receive) {
            continue;
        }
        if (payload == log.payloads.end()) {
            break;
        }
        const Memory one = {"", payload->at, step.bytes};
        ++payload;
        if (one.at != 0 && one.bytes > 0 &&
            std::ranges::none_of(log.memory, [&](const Memory& named) {
                return holds(named, one.at, one.bytes);
            })) {
            seen.push_back(one);
        }
    }
    return seen;
}

}  // namespace

MemoryOfMessages::MemoryOfMessages(const Log& log) {
    std::vector<Memory> seen = seen_in(log);
    std::ranges::sort(seen, {}, &Memory::at);
    for (const Memory& one : seen) {
        if (!pieces_.empty() && one.at <= end_of(pieces_.back())) {
            Memory& last = pieces_.back();
            last.bytes = std::max(last.bytes, static_cast<long>(end_of(one) - last.at));
        } else {
            pieces_.push_back(one);
        }
    }
    pieces_.insert(pieces_.begin(), log.memory.begin(), log.memory.end());
}

Part MemoryOfMessages::part_at(std::uint64_t at, long bytes) const {
    const auto found = std::ranges::find_if(pieces_, [&](const Memory& piece) {
        return at != 0 && bytes > 0 && holds(piece, at, bytes);
    });
    if (found == pieces_.end()) {
        return {};
    }
    const auto begin = static_cast<long>(at - found->at);
    return {found->name, begin, begin + bytes, found->bytes};
}

}  // namespace dist::trace
