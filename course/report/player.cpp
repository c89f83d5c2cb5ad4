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

/// A piece of memory that ranks have, and where messages cut it.
struct Cut {
    std::string name;
    long bytes = 0;  // where no message cuts it the most that any rank has
    std::set<long> places;
    [[nodiscard]] bool is_whole() const { return places.size() == 2; }
};

/// All memory that messages carry parts of: what has a name; where nothing has one, what is more than one message; and where
/// nothing is, one piece for each rank, with what it last sent or took in.
class Memories {
  public:
    explicit Memories(const std::vector<trace::Parcel>& parcels) {
        std::vector<Part> known;
        for (const trace::Parcel& parcel : parcels) {
            for (const Part& part : {parcel.from, parcel.into}) {
                if (part.is_known()) {
                    known.push_back(part);
                }
            }
        }
        if (std::ranges::any_of(known, [](const Part& part) { return !part.memory.empty(); })) {
            std::erase_if(known, [](const Part& part) { return part.memory.empty(); });
        }
        for (const Part& part : known) {
            if (part.is_less_than_all()) {
                cut(part);
            }
        }
        for (const Part& part : known) {
            if (!part.memory.empty() || cuts_.empty() || cuts_.front().is_whole()) {
                keep_whole(part);
            }
        }
        std::ranges::stable_sort(cuts_, {}, [](const Cut& cut) {
            return std::tuple(cut.name, cut.bytes);
        });
    }

    [[nodiscard]] json part(const Part& part) const {
        const Cut* cut = part.is_known() ? find(part) : nullptr;
        if (cut == nullptr) {
            return {};
        }
        const bool whole = cut->is_whole();
        return {
            {"memory", cut - cuts_.data()},
            {"begin", whole ? 0 : part.begin},
            {"end", whole ? cut->bytes : part.end},
            {"of", cut->bytes}};
    }

    [[nodiscard]] json all() const {
        json list = json::array();
        for (const Cut& cut : cuts_) {
            list.push_back({{"name", cut.name}, {"bytes", cut.bytes}, {"cuts", cut.places}});
        }
        return list;
    }

  private:
    [[nodiscard]] const Cut* find(const Part& part) const {
        const auto found = std::ranges::find_if(cuts_, [&](const Cut& cut) {
            return cut.name == part.memory && (cut.is_whole() || cut.bytes == part.of);
        });
        return found == cuts_.end() ? nullptr : &*found;
    }

    void cut(const Part& part) {
        const auto found = std::ranges::find_if(cuts_, [&](const Cut& cut) {
            return cut.name == part.memory && cut.bytes == part.of;
        });
        Cut& cut = found != cuts_.end()
                       ? *found
                       : cuts_.emplace_back(Cut{part.memory, part.of, {0, part.of}});
        cut.places.insert({part.begin, part.end});
    }

    /// What no message cuts has one cell, of whatever size it is on each rank.
    void keep_whole(const Part& part) {
        if (find(part) == nullptr) {
            cuts_.push_back({part.memory, part.of, {0, part.of}});
        }
        for (Cut& cut : cuts_) {
            if (cut.name == part.memory && cut.is_whole() && cut.bytes < part.of) {
                cut.bytes = part.of;
                cut.places = {0, part.of};
            }
        }
    }

    std::vector<Cut> cuts_;
};

json document_of(const MessageRecord& message, const Drawing& drawing, const Memories& memories) {
    json document = {
        {"src", message.src},      {"dst", message.dst},          {"tag", message.tag},
        {"bytes", message.bytes},  {"begin", message.begin},      {"end", message.end},
        {"lost", message.is_lost}, {"excess", message.is_excess}, {"call", message.call}};
    const trace::Parcel parcel = message.parcel < 0
                                     ? trace::Parcel{}
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
