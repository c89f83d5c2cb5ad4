#include "course/report/drawing.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <sstream>

#include "course/judge/explain.hpp"
#include "course/report/failure_text.hpp"
#include "course/report/fold.hpp"

namespace dist::cli {
namespace {

using harness::Phase;
using trace::Limits;

constexpr int kReportLines = 20;
constexpr int kReportColumns = 72;
constexpr std::size_t kReasonColumns = 90;  // of a picture

std::vector<trace::Log> logs_of(const TestResult& test) {
    std::vector<trace::Log> logs(static_cast<std::size_t>(test.ranks));
    for (const RankResult& rank : test.per_rank) {
        if (rank.rank < test.ranks) {
            logs[static_cast<std::size_t>(rank.rank)] = rank.log;
        }
    }
    return logs;
}

bool waits(const RankResult& rank) {
    return rank.phase == Phase::waiting;
}

/// Where the waiting ends: who waits for nobody, or those that wait for each other in a circle.
std::set<int> accused_in(const TestResult& test) {
    std::set<int> accused;
    const auto next = [&](int rank) {
        const auto found = std::ranges::find(test.per_rank, rank, &RankResult::rank);
        return found != test.per_rank.end() && waits(*found) ? found->peer : -1;
    };
    for (const RankResult& rank : test.per_rank) {
        std::set<int> path;
        int at = waits(rank) ? rank.rank : -1;
        while (at >= 0 && path.insert(at).second && next(at) >= 0) {
            at = next(at);
        }
        if (at >= 0 && at != rank.rank) {
            accused.insert(at);
        } else if (at >= 0 && path.size() > 1) {  // back at itself
            accused.insert(path.begin(), path.end());
        }
    }
    return accused;
}

std::string xml(const std::string& text) {
    std::string out;
    for (const char character : text) {
        out += character == '<'   ? "&lt;"
               : character == '>' ? "&gt;"
               : character == '&' ? "&amp;"
                                  : std::string(1, character);
    }
    return out;
}

}  // namespace

bool has_messages(const TestResult& test) {
    return std::ranges::any_of(test.per_rank, [](const RankResult& rank) {
        return std::ranges::any_of(rank.log.steps, [](const trace::Step& step) {
            return step.did == trace::Did::send;
        });
    });
}

bool spent_too_much(const TestResult& test) {
    return std::ranges::any_of(test.per_rank, [](const RankResult& rank) {
        const Limits& limits = rank.log.limits;
        return limits.messages != Limits::kAny || limits.bytes != Limits::kAny ||
               limits.rounds != Limits::kAny || limits.partners;
    });
}

Drawing drawing_of(const TestResult& test, const std::string& exercise) {
    trace::Timeline timeline = trace::timeline_of(logs_of(test));
    Drawing drawing = drawing_of(test, exercise, std::move(timeline.messages));
    drawing.cut = timeline.cut;
    for (const std::string& call : timeline.calls) {
        drawing.diagram.calls.push_back(xml(call));
    }
    drawing.calls = std::move(timeline.calls);
    drawing.parcels = std::move(timeline.parcels);
    if (timeline.right_rounds != Limits::kAny) {
        drawing.diagram.right_rounds = timeline.right_rounds;
    }
    return drawing;
}

Drawing drawing_of(
    const TestResult& test,
    const std::string& exercise,
    std::vector<harness::MessageRecord> messages
) {
    Drawing drawing;
    drawing.to_themselves = static_cast<int>(std::erase_if(messages, [](const auto& message) {
        return message.src == message.dst;
    }));
    drawing.messages = std::move(messages);
    diagrams::Diagram& diagram = drawing.diagram;
    diagram.name = exercise;
    diagram.heading = xml(fmt::format(
        "{}: {} rank{}{}", exercise, test.ranks, test.ranks == 1 ? "" : "s",
        test.status == State::pass ? "" : fmt::format(", {}", name_of(test.status))
    ));
    diagram.legend = xml(fmt::format("in the test: {}", test.name));
    if (test.status != State::pass) {
        std::istringstream lines(folded_line(in_one_line(test), kReasonColumns, 0));
        for (std::string line; std::getline(lines, line);) {
            diagram.reason.push_back(xml(line));
        }
    }
    diagram.ranks = test.ranks;
    diagram.shows_waits = true;
    const bool in_floats = std::ranges::all_of(drawing.messages, [](const auto& message) {
        return message.bytes % sizeof(float) == 0;
    });
    diagram.in_bytes = !in_floats;
    diagram.label = [length = in_floats
                                  ? diagrams::floats()
                                  : diagrams::bytes()](const harness::MessageRecord& message) {
        diagrams::Label label = length(message);
        label.colour = std::max(0, message.call - 1);  // one for each call
        return label;
    };
    for (const RankResult& rank : test.per_rank) {
        if (waits(rank)) {
            diagram.stuck.insert(rank.rank);
        }
    }
    for (const RankResult& rank : test.per_rank) {
        if (!rank.died.empty()) {
            diagram.remarks.push_back(xml(fmt::format("rank {}: {}", rank.rank, rank.died)));
        }
    }
    // where something is red, each round counts
    diagram.shortens = diagram.stuck.empty() && !spent_too_much(test) &&
                       std::ranges::none_of(drawing.messages, &harness::MessageRecord::is_lost);
    if (!diagram.stuck.empty()) {
        diagram.accused = accused_in(test);
        for (const RankResult& rank : test.per_rank) {
            diagram.remarks.push_back(xml(rank_line(rank)));
        }
    }
    return drawing;
}

std::string small_drawing(const TestResult& test) {
    if (!has_messages(test)) {
        return "";
    }
    const Drawing drawing = drawing_of(test, "");
    return diagrams::lanes(drawing.diagram, drawing.messages, {kReportColumns, kReportLines});
}

}  // namespace dist::cli
