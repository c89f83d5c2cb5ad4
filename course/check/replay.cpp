#include "course/check/replay.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "course/process/subprocess.hpp"

namespace dist::cli {
namespace {

using nlohmann::json;

/// "STATE of 'TEST'", of the first test in a run's document that failed.
std::string first_failure(const json& document) {
    for (const json& test : document.value("tests", json::array())) {
        const std::string status = test.value("status", "");
        if (status != name_of(State::pass) && status != name_of(State::skipped)) {
            return fmt::format("{} of '{}'", status, test.value("name", ""));
        }
    }
    return document.value("status", "no document");
}

}  // namespace

std::string replay(const Context& context, const Result& result) {
    const TestResult* failed = result.first_failed();
    if (failed == nullptr) {
        return "";
    }
    RunOptions options;
    options.folder = context.root;
    const Ended again = run(context, {"sh", "-c", failed->repro + " --json 2>/dev/null"}, options);
    const json document = json::parse(again.output, nullptr, false);
    const std::string expected = fmt::format("{} of '{}'", name_of(failed->status), failed->name);
    const std::string got = document.is_object() ? first_failure(document) : "no document";
    return got == expected ? "" : fmt::format("'{}' ends with {}", failed->repro, got);
}

}  // namespace dist::cli
