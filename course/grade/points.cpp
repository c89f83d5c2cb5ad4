#include "course/grade/points.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include "course/process/error.hpp"

namespace dist::cli {
namespace {

[[noreturn]] void refuse(
    const std::filesystem::path& file, const toml::source_region& place, const std::string& what
) {
    throw UsageError(fmt::format("{}:{}: {}", file.string(), place.begin.line, what));
}

}  // namespace

double Points::worth(const std::string& exercise) const {
    const auto found = of.find(exercise);
    return found == of.end() ? 1 : found->second;
}

Points read_points(const std::filesystem::path& file, const Manifest& manifest) {
    Points points;
    if (!std::filesystem::is_regular_file(file)) {
        throw UsageError(file.string() + " is not there: it must say what each exercise is worth");
    }
    try {
        const toml::table document = toml::parse_file(file.string());
        for (const auto& [key, value] : document) {
            if (key == "partial" && value.is_boolean()) {
                points.partial = value.value_or(false);
            } else if (key != "points" || !value.is_table()) {
                refuse(
                    file, value.source(),
                    fmt::format(
                        "'{}' is none of: partial = true or false, and a table [points]", key.str()
                    )
                );
            }
        }
        if (const toml::table* table = document["points"].as_table()) {
            for (const auto& [key, value] : *table) {
                static_cast<void>(manifest.find(key.str()));
                const auto worth = value.value<double>();
                if (!worth || *worth < 0) {
                    refuse(
                        file, value.source(),
                        fmt::format("{} must be a number from 0 on", key.str())
                    );
                }
                points.of[std::string(key.str())] = *worth;
            }
        }
    } catch (const toml::parse_error& error) {
        refuse(file, error.source(), std::string(error.description()));
    }
    return points;
}

void give_points(Grade& record, const Points& points) {
    const State state = state_in(record);
    const double worth = points.worth(exercise_of(record));
    record["max_score"] = worth;
    if (state == State::harness_error || state == State::skipped) {
        record["score"] = nullptr;
        return;
    }
    double part = state == State::pass ? 1 : 0;
    if (points.partial && state != State::forbidden && !record.at("tests").empty()) {
        double passed = 0;
        for (const Grade& test : record["tests"]) {
            passed += state_in(test) == State::pass ? 1 : 0;
        }
        part = passed / static_cast<double>(record["tests"].size());
    }
    record["score"] = worth * part;
}

}  // namespace dist::cli
