#include "course/runtime/flight_record.hpp"

#include <algorithm>
#include <array>
#include <iomanip>
#include <sstream>
#include <string_view>

#include "course/runtime/error.hpp"

namespace dist {
namespace {

constexpr std::array<std::string_view, 3> kStates = {"scheduled", "started", "completed"};

std::string_view name(FlightState state) {
    return kStates[static_cast<std::size_t>(state)];
}

void write(std::ostream& out, const FlightEntry& entry) {
    const FlightCall& call = entry.call;
    out << entry.id << ' ' << std::quoted(entry.group) << (entry.is_p2p ? " p2p " : " collective ")
        << entry.collective_seq << ' ' << entry.p2p_seq << ' ' << std::quoted(call.name) << ' '
        << call.count << ' ' << std::quoted(call.type) << ' ' << std::quoted(call.op) << ' '
        << call.root << ' ' << std::quoted(entry.where.file) << ' ' << entry.where.line << ' '
        << name(entry.state) << ' ' << entry.scheduled.count() << ' ' << entry.started.count()
        << ' ' << entry.completed.count() << '\n';
}

FlightEntry read_entry(std::istream& in, std::int64_t id) {
    FlightEntry entry;
    FlightCall& call = entry.call;
    std::string kind;
    std::string state;
    std::array<Clock::Duration::rep, 3> times{};
    entry.id = id;
    in >> std::quoted(entry.group) >> kind >> entry.collective_seq >> entry.p2p_seq >>
        std::quoted(call.name) >> call.count >> std::quoted(call.type) >> std::quoted(call.op) >>
        call.root >> std::quoted(entry.where.file) >> entry.where.line >> state >> times[0] >>
        times[1] >> times[2];
    entry.is_p2p = kind == "p2p";
    const auto place = std::ranges::find(kStates, std::string_view(state)) - kStates.begin();
    entry.state = static_cast<FlightState>(place % 3);
    entry.scheduled = Clock::Duration(times[0]);
    entry.started = Clock::Duration(times[1]);
    entry.completed = Clock::Duration(times[2]);
    return entry;
}

void read_group(std::istream& in, FlightRecord& record) {
    std::string group;
    std::string word;
    std::size_t members = 0;
    in >> std::quoted(group);
    FlightGroup& read = record.groups[group];
    in >> word >> read.collectives >> word >> read.p2ps >> word >> members;
    for (int member = 0; read.members.size() < members && in >> member;) {
        read.members.push_back(member);
    }
}

/// "all_reduce(100 float32, sum) at ddp.cpp:88"
std::string text_of(const FlightEntry& entry) {
    const FlightCall& call = entry.call;
    std::ostringstream out;
    out << call.name << '(' << (call.count < 0 ? "" : std::to_string(call.count) + " ") << call.type
        << (call.op.empty() ? "" : ", " + call.op);
    if (call.root >= 0) {
        out << (entry.is_p2p ? ", rank " : ", root ") << call.root;
    }
    out << ") at " << entry.where.file << ':' << entry.where.line;
    return out.str();
}

std::string inside_of(const FlightEntry& entry) {
    return std::to_string((entry.completed - entry.started).count()) + " ms";
}

/// What its rank has done, as the end of a sentence.
std::string deed(const FlightFinding& finding) {
    const std::string call = text_of(finding.collective);
    const FlightEntry instead = finding.instead.value_or(FlightEntry());
    const std::string own = text_of(instead);
    switch (finding.fault) {
        case FlightFault::skipped:
            return "skipped " + call + ", and went on with " + own;
        case FlightFault::no_majority:
            return "called " + own + ", and others " + call + ": neither is a majority";
        case FlightFault::behind:
            return "did not start " + call + ", as others did; " +
                   (finding.instead ? "newest: " + own + ", group " + instead.group + ", " +
                                          std::string(name(instead.state))
                                    : "no operation before it");
        case FlightFault::no_record:
            return "left no record; others wait in " + call;
        case FlightFault::slow:
            return "came late to " + call + ": was in it for " + inside_of(instead) +
                   ", and others for " + inside_of(finding.collective);
        default:
            return "called " + own + ", and most others " + call;
    }
}

}  // namespace

std::string FlightRecord::text() const {
    std::ostringstream out;
    out << "rank " << rank << " dropped " << dropped << '\n';
    for (const auto& [group, known] : groups) {
        out << "group " << std::quoted(group) << " collectives " << known.collectives << " p2ps "
            << known.p2ps << " members " << known.members.size();
        for (const int member : known.members) {
            out << ' ' << member;
        }
        out << '\n';
    }
    for (const FlightEntry& entry : entries) {
        write(out, entry);
    }
    out << "end\n";
    return out.str();
}

FlightRecord FlightRecord::from(const std::string& text) {
    FlightRecord record;
    std::istringstream in(text);
    std::string word;
    in >> word >> record.rank >> word >> record.dropped;
    while (in >> word && word != "end") {
        if (word == "group") {
            read_group(in, record);
        } else {
            std::int64_t id = 0;
            std::istringstream(word) >> id;
            record.entries.push_back(read_entry(in, id));
        }
    }
    if (!in || record.text() != text) {
        throw Error("this is no flight record: " + text.substr(0, 80));
    }
    return record;
}

std::string FlightFinding::text() const {
    return "group " + collective.group + ", collective " +
           std::to_string(collective.collective_seq) + ": rank " + std::to_string(rank) + " " +
           deed(*this);
}

}  // namespace dist
