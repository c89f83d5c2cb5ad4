#include "course/grade/formats.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <tinyxml2.h>

#include "course/protocol/shortened.hpp"

namespace dist::cli {
namespace {

/// What XML may hold: no control characters but tabs and ends of lines.
std::string printable(std::string text) {
    std::erase_if(text, [](char c) {
        return static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n';
    });
    return text;
}

std::string number(const Grade& value) {
    return value.is_number() ? fmt::format("{:g}", value.get<double>()) : "";
}

/// A test that the code was explicitly found wrong in; other ends are nobody's verdict on a value.
bool found_wrong(State state) {
    return state == State::fail || state == State::forbidden || state == State::not_started;
}

std::string name_with_ranks(const Grade& test) {
    const int ranks = test.value("ranks", 1);
    return fmt::format("{} ({} rank{})", test.value("name", ""), ranks, ranks == 1 ? "" : "s");
}

/// What is said of a test, with where and how to see it again.
std::string details(const Grade& test) {
    std::string text = test.value("message", "");
    for (const char* const field : {"where", "repro"}) {
        if (const std::string more = test.value(field, ""); !more.empty()) {
            text += (text.empty() ? "" : "\n") +
                    std::string(std::string_view(field) == "repro" ? "again: " : "") + more;
        }
    }
    return printable(text);
}

/// What the student's program printed in this test, at most so many bytes of it.
std::string output_of(const Grade& test, std::size_t most) {
    std::string text;
    for (const Grade& rank : test.value("per_rank", Grade::array())) {
        if (const std::string said = rank.value("output", ""); !said.empty()) {
            text += fmt::format("[rank {}] {}", rank.value("rank", 0), said);
        }
    }
    return shortened(printable(text), most);
}

void add_test(tinyxml2::XMLPrinter& out, const Grade& record, const Grade& test) {
    const State state = state_in(test);
    out.OpenElement("testcase");
    out.PushAttribute("classname", exercise_of(record).c_str());
    out.PushAttribute("name", name_with_ranks(test).c_str());
    out.PushAttribute("time", fmt::format("{:.3f}", test.value("duration_s", 0.0)).c_str());
    if (state == State::skipped) {
        out.OpenElement("skipped");
        out.PushText(printable(test.value("skip_reason", "skipped")).c_str());
        out.CloseElement();
    } else if (state != State::pass) {
        out.OpenElement(found_wrong(state) ? "failure" : "error");
        out.PushAttribute("type", std::string(name_of(state)).c_str());
        out.PushAttribute("message", printable(test.value("message", "")).c_str());
        out.PushText(details(test).c_str());
        out.CloseElement();
    }
    constexpr std::size_t kMost = 4000;
    if (const std::string said = output_of(test, kMost); !said.empty()) {
        out.OpenElement("system-out");
        out.PushText(said.c_str());
        out.CloseElement();
    }
    out.CloseElement();
}

/// The record's tests; for one that has none, such as one that did not build, the record as a test.
std::vector<Grade> tests_of(const Grade& record) {
    if (!record.at("tests").empty()) {
        return record["tests"].get<std::vector<Grade>>();
    }
    Grade whole = {
        {"name", "builds and runs"},
        {"ranks", 1},
        {"status", record.at("status")},
        {"message", record.value("message", "")}};
    if (state_in(record) == State::skipped) {
        whole["skip_reason"] = record.value("message", "");
    }
    return {whole};
}

struct Counts {
    int tests = 0;
    int failures = 0;
    int errors = 0;
    int skipped = 0;
    void add(const Grade& test) {
        const State state = state_in(test);
        ++tests;
        failures += found_wrong(state) ? 1 : 0;
        skipped += state == State::skipped ? 1 : 0;
        errors += state != State::pass && state != State::skipped && !found_wrong(state) ? 1 : 0;
    }
};

/// "2 days late: 6 of 10 points count"; empty in time.
std::string lateness_of(const Grade& record) {
    const std::string late = late_by(record.value("days_late", 0));
    return late.empty()
               ? ""
               : fmt::format(
                     "{}: {:g} of {:g} points count", late, counted_of(record), score_of(record)
                 );
}

void add_property(tinyxml2::XMLPrinter& out, const char* name, const std::string& value) {
    out.OpenElement("property");
    out.PushAttribute("name", name);
    out.PushAttribute("value", value.c_str());
    out.CloseElement();
}

std::string seeds_of(const Grade& record) {
    return fmt::format("{}", fmt::join(record.value("seeds", std::vector<std::uint64_t>()), " "));
}

}  // namespace

std::string csv_cell(std::string text) {
    text = printable(std::move(text));
    if (!text.empty() && std::string_view("=+-@\t").find(text.front()) != std::string_view::npos) {
        text.insert(text.begin(), '\'');
    }
    if (text.find_first_of(",\"\n") == std::string::npos) {
        return text;
    }
    std::string quoted = "\"";
    for (const char c : text) {
        quoted += c == '"' ? "\"\"" : std::string(1, c);
    }
    return quoted + "\"";
}

std::string as_csv(const std::vector<Grade>& records) {
    std::string text =
        "submission,exercise,status,score,max,first_failed,detail,seeds,flags,counted,days_late\n";
    for (const Grade& record : records) {
        const FirstFailed failed = first_failed(record);
        text += fmt::format(
            "{},{},{},{},{},{},{},{},{},{},{}\n", csv_cell(submission_of(record)),
            exercise_of(record), name_of(state_in(record)), number(record.at("score")),
            number(record.at("max_score")), csv_cell(failed.test), csv_cell(failed.message),
            seeds_of(record), csv_cell(fmt::format("{}", fmt::join(flags_of(record), "; "))),
            number(record.value("counted", Grade())), number(record.value("days_late", Grade()))
        );
    }
    return text;
}

std::string as_canvas(const std::vector<Grade>& records) {
    std::vector<std::string> exercises;
    std::map<std::string, std::map<std::string, const Grade*>> rows;
    std::map<std::string, std::string> worth;
    std::map<std::string, std::string> ids;
    for (const Grade& record : records) {
        const std::string exercise = exercise_of(record);
        if (std::ranges::find(exercises, exercise) == exercises.end()) {
            exercises.push_back(exercise);
        }
        rows[submission_of(record)][exercise] = &record;
        ids[submission_of(record)] = record.at("submission").value("canvas_id", "");
        worth[exercise] = number(record.at("max_score"));
    }
    std::string text = "Student,ID,SIS User ID,SIS Login ID,Section";
    std::string points = "\n    Points Possible,,,,";
    for (const std::string& exercise : exercises) {
        text += "," + exercise;
        points += "," + worth[exercise];
    }
    text += points + "\n";
    for (const auto& [name, its] : rows) {
        const std::string& id = ids[name];
        text += fmt::format("{},{},,{},", csv_cell(name), id, id.empty() ? csv_cell(name) : "");
        for (const std::string& exercise : exercises) {
            const auto found = its.find(exercise);
            text +=
                "," + (found == its.end() ? "" : number(found->second->value("counted", Grade())));
        }
        text += "\n";
    }
    return text;
}

std::string as_junit(const std::vector<Grade>& records) {
    tinyxml2::XMLPrinter out;
    out.PushHeader(false, true);
    Counts all;
    double seconds = 0;
    for (const Grade& record : records) {
        seconds += record.value("duration_s", 0.0);
        for (const Grade& test : tests_of(record)) {
            all.add(test);
        }
    }
    out.OpenElement("testsuites");
    out.PushAttribute("name", "shardlings");
    out.PushAttribute("tests", all.tests);
    out.PushAttribute("failures", all.failures);
    out.PushAttribute("errors", all.errors);
    out.PushAttribute("time", fmt::format("{:.3f}", seconds).c_str());
    for (const Grade& record : records) {
        Counts counts;
        for (const Grade& test : tests_of(record)) {
            counts.add(test);
        }
        out.OpenElement("testsuite");
        out.PushAttribute(
            "name", printable(submission_of(record) + "." + exercise_of(record)).c_str()
        );
        out.PushAttribute("tests", counts.tests);
        out.PushAttribute("failures", counts.failures);
        out.PushAttribute("errors", counts.errors);
        out.PushAttribute("skipped", counts.skipped);
        out.PushAttribute("time", fmt::format("{:.3f}", record.value("duration_s", 0.0)).c_str());
        out.PushAttribute("timestamp", record.value("started_at", "").substr(0, 19).c_str());
        out.PushAttribute("hostname", "localhost");
        out.OpenElement("properties");
        add_property(out, "seeds", seeds_of(record));
        add_property(out, "score", number(record.at("score")));
        add_property(out, "max_score", number(record.at("max_score")));
        add_property(out, "counted", number(record.value("counted", Grade())));
        out.CloseElement();
        for (const Grade& test : tests_of(record)) {
            add_test(out, record, test);
        }
        out.CloseElement();
    }
    out.CloseElement();
    return out.CStr();
}

std::string as_gradescope(const std::vector<Grade>& records) {
    Grade document = {{"tests", Grade::array()}, {"stdout_visibility", "hidden"}};
    double score = 0;
    double seconds = 0;
    std::size_t passed = 0;
    int at = 0;
    constexpr std::size_t kMostOfAll = 64'000;  // bytes of texts
    const std::size_t most =
        std::min<std::size_t>(4000, kMostOfAll / std::max<std::size_t>(1, records.size()));
    for (const Grade& record : records) {
        const FirstFailed failed = first_failed(record);
        const State state = state_in(record);
        Grade test = {
            {"name", exercise_of(record)},
            {"number", std::to_string(++at)},
            {"status", state == State::pass ? "passed" : "failed"},
            {"output_format", "text"}};
        if (counts(record)) {
            test["score"] = counted_of(record);
            test["max_score"] = record["max_score"];
            score += counted_of(record);
        } else {
            test["score"] = 0;
            test["max_score"] = 0;
        }
        std::string text = std::string(name_of(state));
        if (!failed.test.empty()) {
            text += "\n" + failed.test;
        }
        if (!failed.message.empty()) {
            text += "\n" + failed.message;
        }
        if (const std::string late = lateness_of(record); !late.empty()) {
            text += "\n" + late;
        }
        for (const Grade& one : record.at("tests")) {
            if (one.value("name", "") == failed.test && !failed.test.empty()) {
                text += "\n" + one.value("where", "") + "\nagain: " + one.value("repro", "");
            }
        }
        test["output"] = shortened(printable(text), most);
        document["tests"].push_back(test);
        passed += state == State::pass ? 1U : 0U;
        seconds += record.value("duration_s", 0.0);
    }
    document["score"] = score;
    document["execution_time"] = seconds;
    document["output"] = fmt::format("{} of {} exercises passed.", passed, records.size());
    return document.dump(1) + "\n";
}

std::string as_exercism(const Grade& record) {
    constexpr std::size_t kMostOutput = 500;
    constexpr std::size_t kMostMessage = 65'000;
    const State state = state_in(record);
    Grade document = {{"version", 3}};
    if (record.at("tests").empty()) {
        const std::string message = shortened(printable(record.value("message", "")), kMostMessage);
        document["status"] = state == State::pass ? "pass" : "error";
        document["message"] = message.empty() ? std::string(name_of(state)) : message;
        return document.dump(1, ' ', false, Grade::error_handler_t::replace) + "\n";
    }
    document["status"] = state == State::pass ? "pass" : "fail";
    document["message"] = nullptr;
    int at = 0;
    for (const Grade& test : record["tests"]) {
        const State how = state_in(test);
        Grade one = {
            {"name", name_with_ranks(test)},
            {"task_id", ++at},
            {"status", how == State::pass ? "pass"
                       : found_wrong(how) ? "fail"
                                          : "error"}};
        if (how != State::pass) {
            const std::string text = details(test);
            one["message"] = text.empty() ? std::string(name_of(how)) : text;
        }
        if (const std::string said = output_of(test, kMostOutput); !said.empty()) {
            one["output"] = said;
        }
        document["tests"].push_back(one);
    }
    return document.dump(1) + "\n";
}

}  // namespace dist::cli
