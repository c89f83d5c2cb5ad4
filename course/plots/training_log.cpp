#include "course/plots/training_log.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

namespace dist::plots {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

double number(const Json& record, const char* key) {
    const auto found = record.find(key);
    if (found == record.end() || !(found->is_number() || found->is_null())) {
        throw LogError(fmt::format("is no line of a training log: it has no number \"{}\"", key));
    }
    return found->is_null() ? std::numeric_limits<double>::quiet_NaN() : found->get<double>();
}

double seconds(const Json& record, const char* key) {
    const double value = record.contains(key) ? number(record, key) : 0;
    return std::isfinite(value) ? value : 0;
}

std::size_t count(const Json& record, const char* key) {
    const double value = number(record, key);
    if (!(value >= 1 && value <= 1e15)) {
        throw LogError(fmt::format("has {} where \"{}\" counts from 1", record[key].dump(), key));
    }
    return static_cast<std::size_t>(value);
}

void add_step(TrainingLog& log, const Json& record) {
    const bool of_text = record.contains("tokens");
    const Step step{
        .step = count(record, "step"),
        .seen = static_cast<double>(count(record, of_text ? "tokens" : "images")),
        .loss = number(record, "loss"),
        .accuracy = number(record, "accuracy"),
        .seen_per_s = number(record, of_text ? "tokens_per_s" : "images_per_s")};
    if (!log.steps.empty() && (step.step <= log.steps.back().step ||
                               step.seen <= log.steps.back().seen || of_text != log.of_text)) {
        throw LogError(fmt::format(
            "step {} comes after step {}: are these two runs in one file?", step.step,
            log.steps.back().step
        ));
    }
    log.of_text = of_text;
    log.steps.push_back(step);
    log.times.data_s += seconds(record, "data_s");
    log.times.forward_s += seconds(record, "forward_s");
    log.times.backward_s += seconds(record, "backward_s");
    log.times.communication_s += seconds(record, "communication_s");
    log.times.optimizer_s += seconds(record, "optimizer_s");
}

void add_test(TrainingLog& log, const Json& record) {
    if (log.steps.empty()) {
        throw LogError("is an epoch's line, and no step comes before it");
    }
    log.tests.push_back({log.steps.back().seen, number(record, "test_accuracy")});
    const auto synthetic = record.find("synthetic");
    log.synthetic = synthetic != record.end() && *synthetic == true;
}

/// Seconds that steps and tests took. A run that was killed leaves no line with its time.
struct Spent {
    double steps_and_tests_s = 0;
    double whole_runs_s = 0;  // as their last lines say; more than one where a run went on
};

void add_line(TrainingLog& log, const Json& record, Spent& spent) {
    if (record.is_discarded()) {
        throw LogError("is no JSON; a training log (train --log FILE) has one object a line");
    }
    static_cast<void>(count(record, "step"));
    if (record.contains("test_accuracy")) {
        add_test(log, record);
        spent.steps_and_tests_s += seconds(record, "evaluation_s");
    } else if (record.contains("total_s")) {
        spent.whole_runs_s += seconds(record, "total_s");
    } else {
        add_step(log, record);
        const Step& step = log.steps.back();
        if (step.seen_per_s > 0) {
            spent.steps_and_tests_s += step.seen / static_cast<double>(step.step) / step.seen_per_s;
        }
    }
}

/// The last `parts` parts of a path.
std::string end_of(const fs::path& path, std::ptrdiff_t parts) {
    const fs::path whole = fs::absolute(path).lexically_normal();
    fs::path end;
    const auto length = std::distance(whole.begin(), whole.end());
    for (auto part = std::next(whole.begin(), std::max<std::ptrdiff_t>(length - parts, 0));
         part != whole.end(); ++part) {
        end /= *part;
    }
    return end.string();
}

}  // namespace

TrainingLog read_log(std::istream& in, const std::string& name) {
    TrainingLog log;
    log.name = name;
    Spent spent;
    std::size_t number_of_line = 0;
    for (std::string line; std::getline(in, line);) {
        ++number_of_line;
        const Json record = Json::parse(line, nullptr, /*allow_exceptions=*/false);
        if (record.is_discarded() && in.eof() && line.starts_with('{')) {
            log.cut_line = number_of_line;
            break;
        }
        try {
            add_line(log, record, spent);
        } catch (const LogError& error) {
            throw LogError(fmt::format("{}:{}: {}", name, number_of_line, error.what()));
        }
    }
    if (log.steps.empty()) {
        throw LogError(
            name + ": no step in it yet; a run writes its first line when its first step is done"
        );
    }
    log.times.total_s =
        std::max({spent.whole_runs_s, spent.steps_and_tests_s, log.times.parts_s()});
    return log;
}

TrainingLog read_log(const fs::path& path) {
    std::error_code unknown;
    if (fs::is_directory(path, unknown)) {
        throw LogError(path.string() + ": is a folder; give the FILE that train --log FILE wrote");
    }
    std::ifstream in(path);
    if (!in) {
        throw LogError(fmt::format("{}: cannot be read ({})", path.string(), std::strerror(errno)));
    }
    return read_log(in, path.string());
}

std::string seen_by(const TrainingLog& log) {
    return log.of_text ? "tokens" : "pictures";
}

std::vector<std::string> short_names(const std::vector<fs::path>& paths) {
    std::vector<std::string> names;
    for (const fs::path& path : paths) {
        std::ptrdiff_t parts = 1;
        const auto same_end = [&](const fs::path& other) {
            return end_of(other, parts) == end_of(path, parts);
        };
        while (parts < 100 && std::ranges::count_if(paths, same_end) > 1) {
            ++parts;
        }
        names.push_back(end_of(path, parts));
    }
    return names;
}

}  // namespace dist::plots
