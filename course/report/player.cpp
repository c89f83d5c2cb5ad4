#include "course/report/player.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <vector>

#include "course/diagrams/waits.hpp"
#include "course/judge/explain.hpp"
#include "course/pages/pages.hpp"
#include "course/report/drawing.hpp"
#include "course/report/failure_text.hpp"

namespace dist::cli {
namespace {

using harness::MessageRecord;
using nlohmann::json;
using trace::Part;

/// A piece of memory that a rank has, and where messages cut it: the same for all ranks.
struct Cut {
    std::string name;
    long bytes = 0;
    std::set<long> places;
};

/// All memory that messages carry parts of: what has a name, and of the rest what is more than one message.
class Memories {
  public:
    explicit Memories(const std::vector<trace::Parcel>& parcels) {
        for (const trace::Parcel& parcel : parcels) {
            add(parcel.from);
            add(parcel.into);
        }
        std::ranges::stable_sort(cuts_, {}, [](const Cut& cut) {
            return std::tuple(cut.name.empty(), cut.name, cut.bytes);
        });
    }

    [[nodiscard]] json part(const Part& part) const {
        const auto found = std::ranges::find_if(cuts_, [&](const Cut& cut) {
            return part.is_known() && cut.name == part.memory && cut.bytes == part.of;
        });
        return found == cuts_.end() ? json()
                                    : json{
                                          {"memory", found - cuts_.begin()},
                                          {"begin", part.begin},
                                          {"end", part.end},
                                          {"of", part.of}};
    }

    [[nodiscard]] json all() const {
        json list = json::array();
        for (const Cut& cut : cuts_) {
            list.push_back({{"name", cut.name}, {"bytes", cut.bytes}, {"cuts", cut.places}});
        }
        return list;
    }

  private:
    void add(const Part& part) {
        if (!part.is_known() || (part.memory.empty() && !part.is_less_than_all())) {
            return;
        }
        const auto found = std::ranges::find_if(cuts_, [&](const Cut& cut) {
            return cut.name == part.memory && cut.bytes == part.of;
        });
        Cut& cut = found != cuts_.end()
                       ? *found
                       : cuts_.emplace_back(Cut{part.memory, part.of, {0, part.of}});
        cut.places.insert({part.begin, part.end});
    }

    std::vector<Cut> cuts_;
};

json document_of(const MessageRecord& message, const Drawing& drawing, const Memories& memories) {
    json document = {
        {"src", message.src},     {"dst", message.dst},          {"tag", message.tag},
        {"bytes", message.bytes}, {"begin", message.begin},      {"end", message.end},
        {"lost", message.is_lost}, {"excess", message.is_excess}, {"call", message.call}};
    const trace::Parcel parcel =
        message.parcel < 0 ? trace::Parcel{}
                           : drawing.parcels.at(static_cast<std::size_t>(message.parcel));
    document["part"] = memories.part(parcel.part);
    document["from"] = memories.part(parcel.from);
    document["into"] = memories.part(parcel.into);
    document["values"] = parcel.values;
    return document;
}

/// How the ranks ended that did not end well.
json ends_of(const TestResult& test, const diagrams::Diagram& diagram) {
    json ends = json::array();
    for (const RankResult& rank : test.per_rank) {
        std::string text = rank.died;
        if (diagram.stuck.contains(rank.rank)) {
            const std::string line = rank_line(rank);
            const std::string who = fmt::format("rank {}", rank.rank);
            const std::size_t after = line.starts_with(who) ? who.size() : 0;
            text = line.substr(std::min(line.find_first_not_of(' ', after), line.size()));
        } else if (!rank.failures.empty()) {
            text = "a check failed: " + rank.failures.front().expression;
        }
        if (!text.empty()) {
            const bool is_wrong = diagram.accused.empty() || diagram.accused.contains(rank.rank);
            ends.push_back({{"rank", rank.rank}, {"text", text}, {"wrong", is_wrong}});
        }
    }
    return ends;
}

}  // namespace

json played(const TestResult& test, const std::string& exercise) {
    const Drawing drawing = drawing_of(test, exercise);
    const Memories memories(drawing.parcels);
    int rounds = 0;
    for (const MessageRecord& message : drawing.messages) {
        rounds = std::max(rounds, message.end);
    }
    const long right_rounds = drawing.diagram.right_rounds;
    json document = {
        {"name", exercise},
        {"test", test.name},
        {"state", name_of(test.status)},
        {"reason", test.status == State::pass ? "" : in_one_line(test)},
        {"ranks", test.ranks},
        {"rounds", rounds},
        {"right_rounds", right_rounds > 0 ? json(right_rounds) : json()},
        {"unit", drawing.diagram.in_bytes ? "bytes" : "floats"},
        {"cut", drawing.cut},
        {"to_themselves", drawing.to_themselves},
        {"calls", drawing.calls},
        {"memory", memories.all()},
        {"messages", json::array()},
        {"waits", json::array()},
        {"ends", ends_of(test, drawing.diagram)}};
    for (const MessageRecord& message : drawing.messages) {
        document["messages"].push_back(document_of(message, drawing, memories));
    }
    for (const diagrams::Wait& wait :
         diagrams::waits_of(drawing.diagram, drawing.messages, rounds)) {
        document["waits"].push_back(
            {{"rank", wait.rank},
             {"begin", wait.begin},
             {"end", wait.end},
             {"forever", wait.forever}}
        );
    }
    return document;
}

std::string player_page(const TestResult& test, const std::string& exercise) {
    const Drawing drawing = drawing_of(test, exercise);
    return pages::player(
        {.title = fmt::format(
             "{}: {} ranks{}", exercise, test.ranks,
             test.status == State::pass ? "" : fmt::format(", {}", name_of(test.status))
         ),
         .still = diagrams::svg(drawing.diagram, drawing.messages)},
        played(test, exercise)
    );
}

}  // namespace dist::cli
