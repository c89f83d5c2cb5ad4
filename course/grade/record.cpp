#include "course/grade/record.hpp"

#include <fmt/format.h>

namespace dist::cli {

State state_in(const Grade& record) {
    return state_of(record.at("status").get<std::string>()).value_or(State::harness_error);
}

std::string submission_of(const Grade& record) {
    return record.at("submission").at("id").get<std::string>();
}

std::string exercise_of(const Grade& record) {
    return record.at("exercise").get<std::string>();
}

FirstFailed first_failed(const Grade& record) {
    for (const Grade& test : record.at("tests")) {
        const State state = state_in(test);
        if (state != State::pass && state != State::skipped) {
            return {test.value("name", ""), test.value("message", ""), test.value("where", "")};
        }
    }
    return {"", state_in(record) == State::pass ? "" : record.value("message", ""), ""};
}

bool counts(const Grade& record) {
    return record.at("score").is_number();
}

double score_of(const Grade& record) {
    return counts(record) ? record["score"].get<double>() : 0;
}

double counted_of(const Grade& record) {
    return counts(record) ? record.value("counted", score_of(record)) : 0;
}

std::string late_by(int days) {
    return days == 0 ? "" : fmt::format("{} day{} late", days, days == 1 ? "" : "s");
}

double max_score_of(const Grade& record) {
    return counts(record) ? record.value("max_score", 0.0) : 0;
}

std::vector<std::string> flags_of(const Grade& record) {
    std::vector<std::string> flags = record.value("flags", std::vector<std::string>());
    std::string similar;
    for (const Grade& other : record.value("similar_to", Grade::array())) {
        similar += fmt::format(
            "{}{} ({:.0f} %)", similar.empty() ? "" : ", ", other.at("id").get<std::string>(),
            100 * other.at("share").get<double>()
        );
    }
    if (!similar.empty()) {
        flags.push_back("nearly the same text as that of " + similar);
    }
    return flags;
}

}  // namespace dist::cli
