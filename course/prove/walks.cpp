#include "course/prove/walks.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sstream>

#include "course/process/error.hpp"
#include "course/process/progress_line.hpp"
#include "course/process/subprocess.hpp"
#include "course/protocol/counted.hpp"

namespace dist::cli {
namespace {

using harness::counted;

/// The number in {"known":NUMBER}, the last time it was said.
long known_in(const std::string& output) {
    const std::string words = "{\"known\":";
    const std::size_t at = output.rfind(words);
    return at == std::string::npos ? 0 : std::atol(output.c_str() + at + words.size());
}

void read_walk(const nlohmann::json& line, WalkProof& proof) {
    const std::string name = line["walk"];
    proof.walks.push_back({name, line["states"], line["seconds"]});
    proof.states += proof.walks.back().states;
    if (!line["whole"]) {
        proof.cut_short = "it reached the limit of states (--states)";
    }
    if (line.contains("invariant")) {
        proof.broken = {name, line["invariant"], line["how"], line["events"]};
    }
}

}  // namespace

WalkProof read_walks(const std::string& output) {
    WalkProof proof;
    std::istringstream lines(output);
    for (std::string text; std::getline(lines, text);) {
        const auto line = nlohmann::json::parse(text, nullptr, false);
        if (!line.is_object()) {
            continue;  // the code under test has said it
        }
        if (line.contains("not_started")) {
            throw CommandError(exit_status::kFailed, line["not_started"]);
        }
        if (line.contains("walk")) {
            read_walk(line, proof);
        }
    }
    return proof;
}

WalkProof prove_walks(Context& context, const WalkClaim& claim) {
    ProgressLine progress;
    RunOptions options;
    options.time_limit_s = claim.time_limit_s;
    options.watch = [&](const std::string& output, double seconds) {
        if (const long known = known_in(output); known > 0) {
            progress.show(fmt::format("proving: {} states, {:.0f} s", known, seconds));
        }
    };
    const Ended ended =
        run(context, {claim.program.string(), std::to_string(claim.most_states), claim.walk},
            options);
    progress.clear();
    WalkProof proof = read_walks(ended.output);
    proof.seconds = ended.seconds;
    const bool has_finished = ended.output.find("{\"finished\":true}") != std::string::npos;
    if (ended.timed_out) {
        proof.cut_short = "it reached the time limit (--time-limit)";
        proof.states = std::max(proof.states, known_in(ended.output));
    } else if (!has_finished) {
        const char* const signal = ended.status > 128 ? sigabbrev_np(ended.status - 128) : nullptr;
        throw CommandError(
            exit_status::kCrash,
            fmt::format(
                "the walk of {} {}; ./shardlings run {} says more about it", claim.exercise,
                signal == nullptr ? std::string("ended too early")
                                  : fmt::format("died of SIG{}", signal),
                claim.exercise
            )
        );
    }
    return proof;
}

std::string text_of(const WalkProof& proof) {
    std::string text;
    if (proof.broken) {
        const BrokenInvariant& broken = *proof.broken;
        text = fmt::format("broken: {}\n  {}\n", broken.invariant, broken.how);
        text += broken.events.empty() ? "Nothing had happened yet.\n"
                                      : "This had happened, in this order:\n";
        std::size_t number = 0;
        for (const std::string& event : broken.events) {
            text += fmt::format("  {}. {}\n", ++number, event);
        }
        return text + fmt::format(
                          "\nNo shorter order breaks anything in this walk. It was found after {} "
                          "of: {}\n",
                          counted(proof.states, "state"), broken.walk
                      );
    }
    for (const Walk& walk : proof.walks) {
        text += fmt::format("  {:>7} states  {}\n", walk.states, walk.name);
    }
    if (!proof.cut_short.empty()) {
        return text + fmt::format(
                          "no proof: {}. Not all orders were tried: those that were break no "
                          "invariant: {}, {:.1f} s\n",
                          proof.cut_short, counted(proof.states, "state"), proof.seconds
                      );
    }
    if (proof.walks.empty()) {
        return "no proof: there is no walk of that name\n";
    }
    return text + fmt::format(
                      "no order of events breaks an invariant: {}, {:.1f} s\n",
                      counted(proof.states, "state"), proof.seconds
                  );
}

std::string json_of(const WalkProof& proof, const std::string& exercise) {
    nlohmann::ordered_json walks = nlohmann::ordered_json::array();
    for (const Walk& walk : proof.walks) {
        walks.push_back({{"walk", walk.name}, {"states", walk.states}, {"seconds", walk.seconds}});
    }
    nlohmann::ordered_json document = {
        {"format", 1},
        {"exercise", exercise},
        {"proved", proof.is_proof()},
        {"cut_short", proof.cut_short},
        {"states", proof.states},
        {"seconds", proof.seconds},
        {"walks", std::move(walks)}};
    document["wrong"] = nullptr;
    if (proof.broken) {
        document["wrong"] = {
            {"walk", proof.broken->walk},
            {"invariant", proof.broken->invariant},
            {"how", proof.broken->how},
            {"events", proof.broken->events}};
    }
    return document.dump(2) + "\n";
}

}  // namespace dist::cli
