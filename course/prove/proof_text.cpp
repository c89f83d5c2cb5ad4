// A proof in words and as a document.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "course/protocol/counted.hpp"
#include "course/prove/proof.hpp"
#include "course/report/failure_text.hpp"

namespace dist::cli {
namespace {

using harness::counted;

/// The trials of each test together, in order.
std::vector<Explored> by_test(const std::vector<Explored>& trials, std::vector<long>& counts) {
    std::vector<Explored> tests;
    for (const Explored& trial : trials) {
        if (tests.empty() || tests.back().test != trial.test) {
            tests.push_back({trial.test, trial.trial, 0, 0, 0});
            counts.push_back(0);
        }
        ++counts.back();
        tests.back().calls += trial.calls;
        tests.back().states += trial.states;
        tests.back().seconds += trial.seconds;
    }
    return tests;
}

std::string table(const Proof& proof) {
    std::string text;
    std::vector<long> counts;
    const std::vector<Explored> tests = by_test(proof.explored, counts);
    for (std::size_t i = 0; i < tests.size(); ++i) {
        text += fmt::format(
            "  {:>7} states  {}, {}\n", tests[i].states, tests[i].test, counted(counts[i], "trial")
        );
    }
    return text;
}

std::string limits_of(const Proof& proof) {
    std::string text = "Each trial is one call of the test, on short inputs; no send is buffered.";
    if (proof.repeated > 0) {
        text += fmt::format(
            " {} more trial{} the same messages as one of these.", proof.repeated,
            proof.repeated == 1 ? " sends" : "s send"
        );
    }
    text += "\n";
    for (const std::string& left_out : proof.left_out) {
        text += fmt::format("  not explored: {}\n", left_out);
    }
    return text;
}

nlohmann::ordered_json waits_of(const TestResult& test) {
    nlohmann::ordered_json waits = nlohmann::ordered_json::array();
    for (const RankResult& rank : test.per_rank) {
        if (rank.phase == harness::Phase::waiting) {
            waits.push_back(
                {{"rank", rank.rank},
                 {"call", rank.call},
                 {"for", rank.peer},
                 {"tag", rank.tag},
                 {"where", rank.where}}
            );
        }
    }
    return waits;
}

nlohmann::ordered_json json_of(const WrongOrder& wrong) {
    nlohmann::ordered_json messages = nlohmann::ordered_json::array();
    for (const simulation::Message& message : wrong.messages) {
        messages.push_back(
            {{"from", message.from},
             {"to", message.to},
             {"tag", message.tag},
             {"bytes", message.bytes},
             {"call", message.call}}
        );
    }
    return {{"test", wrong.test.name},         {"status", name_of(wrong.test.status)},
            {"message", in_full(wrong.test)},  {"replay", wrong.replay},
            {"messages", std::move(messages)}, {"waits", waits_of(wrong.test)}};
}

}  // namespace

std::string text_of(const WrongOrder& wrong) {
    std::string text = fmt::format("{}\n{}", wrong.test.name, in_full(wrong.test));
    text += wrong.messages.empty() ? "No message had arrived.\n"
                                   : "Messages had arrived, in this order:\n";
    std::size_t number = 0;
    for (const simulation::Message& message : wrong.messages) {
        text += fmt::format(
            "  {}. rank {} to rank {}, {}, tag {}, in {}\n", ++number, message.from, message.to,
            counted(message.bytes, "byte"), message.tag, message.call
        );
    }
    return text;
}

Drawing drawing_of(const WrongOrder& wrong, const std::string& exercise) {
    std::vector<harness::MessageRecord> arrows;
    for (const simulation::Message& message : wrong.messages) {
        harness::MessageRecord& arrow = arrows.emplace_back();
        arrow.src = message.from;
        arrow.dst = message.to;
        arrow.tag = message.tag;
        arrow.bytes = static_cast<int>(message.bytes);
        arrow.end = static_cast<int>(arrows.size());
        arrow.begin = arrow.end - 1;
    }
    Drawing drawing = drawing_of(wrong.test, exercise, std::move(arrows));
    drawing.diagram.legend += "; one message a round, in the order in which they came";
    return drawing;
}

std::string text_of(const Proof& proof, const Claim& claim, const std::string& command) {
    if (proof.wrong) {
        const std::string again =
            proof.wrong->replay.empty()
                ? ""
                : fmt::format(
                      "Again, exactly this:  {} --replay '{}'\n", command, proof.wrong->replay
                  );
        return fmt::format(
            "{}\nThis order of messages goes wrong. It was found after {}, on {} ranks.\n{}",
            text_of(*proof.wrong), counted(proof.states(), "state"), claim.ranks, again
        );
    }
    std::string text = table(proof) + limits_of(proof);
    if (!proof.cut_short.empty()) {
        return text + fmt::format(
                          "no proof: {}. All orders that were tried end well: {}, {:.1f} s\n",
                          proof.cut_short, counted(proof.states(), "state"), proof.seconds
                      );
    }
    if (proof.explored.empty()) {
        return text + fmt::format("no proof: no test sends a message on {} ranks\n", claim.ranks);
    }
    return text + fmt::format(
                      "no order of messages goes wrong on {} ranks: {}, {:.1f} s\n", claim.ranks,
                      counted(proof.states(), "state"), proof.seconds
                  );
}

std::string json_of(const Proof& proof, const Claim& claim, const std::string& name) {
    nlohmann::ordered_json trials = nlohmann::ordered_json::array();
    for (const Explored& some : proof.explored) {
        trials.push_back(
            {{"test", some.test},
             {"trial", some.trial},
             {"calls", some.calls},
             {"states", some.states},
             {"seconds", some.seconds}}
        );
    }
    nlohmann::ordered_json document = {
        {"format", 1},
        {"exercise", name},
        {"ranks", claim.ranks},
        {"proved", proof.is_proof()},
        {"cut_short", proof.cut_short},
        {"states", proof.states()},
        {"seconds", proof.seconds},
        {"trials", std::move(trials)},
        {"same_messages", proof.repeated},
        {"left_out", proof.left_out}};
    document["wrong"] = nullptr;
    if (proof.wrong) {
        document["wrong"] = json_of(*proof.wrong);
    }
    return document.dump(2) + "\n";
}

}  // namespace dist::cli
