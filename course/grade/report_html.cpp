#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>

#include "course/grade/formats.hpp"
#include "course/protocol/counted.hpp"
#include "course/protocol/shortened.hpp"

namespace dist::cli {
namespace {

constexpr const char* kStyle = R"css(
:root { color-scheme: light dark; --paper: #fff; --ink: #1b1f24; --faint: #5c6570; --line: #d5dae0;
  --head: #f3f5f7; --pass: #1a7f37; --fail: #b42318; --odd: #8a5a00; --none: #5c6570; --mark: #fff3bf; }
@media (prefers-color-scheme: dark) { :root { --paper: #15181c; --ink: #e6e8eb; --faint: #9aa4af;
  --line: #343b43; --head: #1e2329; --pass: #56c271; --fail: #ff8f85; --odd: #e0b04a; --none: #9aa4af; --mark: #3a3413; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 90rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
h3 { font-size: 1rem; margin: 0; } p { margin: .25rem 0; } .faint { color: var(--faint); }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; }
table { border-collapse: separate; border-spacing: 0; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .6rem; border-bottom: 1px solid var(--line); text-align: left; white-space: nowrap; }
thead th { background: var(--head); position: sticky; top: 0; }
tbody th { position: sticky; left: 0; background: var(--paper); font-weight: 600; }
thead th:first-child { left: 0; z-index: 1; }
td.number { text-align: right; }
td a { display: block; text-decoration: none; border-radius: 4px; padding: 0 .3rem; margin: 0 -.3rem; }
a { color: inherit; } a:focus-visible { outline: 3px solid Highlight; outline-offset: 1px; }
td a:hover { text-decoration: underline; }
.pass { color: var(--pass); } .fail { color: var(--fail); } .odd { color: var(--odd); } .none { color: var(--none); }
section.case { border: 1px solid var(--line); border-radius: 6px; padding: .6rem .8rem; margin: .6rem 0; scroll-margin-top: 1rem; }
section.case:target { background: var(--mark); }
pre { margin: .5rem 0 0; white-space: pre-wrap; overflow-wrap: anywhere; font: 14px/1.45 ui-monospace, monospace; }
ul { margin: .25rem 0; padding-left: 1.2rem; } li { overflow-wrap: anywhere; }
@media (max-width: 40rem) { body { padding: .6rem; font-size: 15px; } th, td { padding: .25rem .4rem; } }
@media print { body { max-width: none; } .scroll { overflow: visible; border: 0; } thead th, tbody th { position: static; }
  section.case { break-inside: avoid; } }
)css";

std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        switch (c) {
            case '&':
                out += "&amp;";
                break;
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '"':
                out += "&quot;";
                break;
            default:
                if (static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t') {
                    out += c;
                }
        }
    }
    return out;
}

/// Colour says it a second time: the word alone is enough.
const char* class_of(State state) {
    switch (state) {
        case State::pass:
            return "pass";
        case State::fail:
        case State::build_error:
        case State::crash:
        case State::hang:
        case State::time_limit:
        case State::memory_limit:
        case State::output_limit:
        case State::abort:
        case State::early_exit:
            return "fail";
        case State::forbidden:
        case State::harness_error:
            return "odd";
        case State::not_started:
        case State::not_run:
        case State::skipped:
            break;
    }
    return "none";
}

/// What a cell says: "hang", "not handed in".
std::string word_of(const Grade& record) {
    const State state = state_in(record);
    std::string text(
        state != State::not_run    ? name_of(state)
        : flags_of(record).empty() ? "not handed in"
                                   : "not clear"
    );
    std::replace(text.begin(), text.end(), '_', ' ');
    return text;
}

/// Submissions and exercises, in the order that the records have them.
struct Axes {
    std::vector<std::string> submissions;
    std::vector<std::string> exercises;
    std::map<std::pair<std::string, std::string>, const Grade*> at;

    explicit Axes(const std::vector<Grade>& records) {
        for (const Grade& record : records) {
            add(submissions, submission_of(record));
            add(exercises, exercise_of(record));
            at[{submission_of(record), exercise_of(record)}] = &record;
        }
    }

  private:
    static void add(std::vector<std::string>& list, const std::string& name) {
        if (std::find(list.begin(), list.end(), name) == list.end()) {
            list.push_back(name);
        }
    }
};

std::string id_of(const Axes& axes, const Grade& record) {
    const auto row =
        std::find(axes.submissions.begin(), axes.submissions.end(), submission_of(record));
    return fmt::format("s{}-{}", row - axes.submissions.begin() + 1, exercise_of(record));
}

std::string table(const Axes& axes) {
    std::string text =
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Results\"><table>\n"
        "<thead><tr><th scope=\"col\">submission</th>";
    for (const std::string& exercise : axes.exercises) {
        text += fmt::format("<th scope=\"col\">{}</th>", escaped(exercise));
    }
    text += "<th scope=\"col\">points</th></tr></thead>\n<tbody>\n";
    for (const std::string& submission : axes.submissions) {
        text += fmt::format("<tr><th scope=\"row\">{}</th>", escaped(submission));
        double score = 0;
        double counted = 0;
        double most = 0;
        int days = 0;
        for (const std::string& exercise : axes.exercises) {
            const auto found = axes.at.find({submission, exercise});
            if (found == axes.at.end()) {
                text += "<td class=\"none\">not yet</td>";
                continue;
            }
            const Grade& record = *found->second;
            const State state = state_in(record);
            score += score_of(record);
            counted += counted_of(record);
            days = record.value("days_late", 0);
            most += max_score_of(record);
            text += fmt::format(
                R"(<td><a class="{}" href="#{}" aria-label="{}, {}: {}">{}{}</a></td>)",
                class_of(state), id_of(axes, record), escaped(submission), escaped(exercise),
                word_of(record), word_of(record), flags_of(record).empty() ? "" : " ⚑"
            );
        }
        const std::string late =
            days == 0 ? "" : fmt::format("<br>{}: {:g} count", late_by(days), counted);
        text += fmt::format("<td class=\"number\">{:g} / {:g}{}</td></tr>\n", score, most, late);
    }
    return text + "</tbody></table></div>\n";
}

/// Which check fails in most submissions.
std::string what_fails(const std::vector<Grade>& records) {
    std::map<std::pair<std::string, std::string>, int> failures;
    std::map<std::string, int> tried;
    for (const Grade& record : records) {
        const State state = state_in(record);
        if (state == State::not_run || state == State::not_started || !counts(record)) {
            continue;
        }
        ++tried[exercise_of(record)];
        if (const FirstFailed failed = first_failed(record); state != State::pass) {
            const std::string what = failed.test.empty() ? word_of(record) : failed.test;
            ++failures[{exercise_of(record), what}];
        }
    }
    std::vector<std::pair<int, std::pair<std::string, std::string>>> order;
    order.reserve(failures.size());
    for (const auto& [what, count] : failures) {
        order.emplace_back(-count, what);
    }
    std::sort(order.begin(), order.end());
    constexpr std::size_t kMost = 12;
    order.resize(std::min(order.size(), kMost));
    std::string text = "<h2>What fails most</h2>\n";
    if (order.empty()) {
        return text + "<p>Nothing.</p>\n";
    }
    text += "<ul>\n";
    for (const auto& [count, what] : order) {
        text += fmt::format(
            "<li>{} of {} to {}: {}</li>\n", -count, harness::counted(tried[what.first], "answer"),
            escaped(what.first), escaped(what.second)
        );
    }
    return text + "</ul>\n";
}

std::string what_to_look_at(
    const Axes& axes, const std::vector<Grade>& records, const std::vector<std::string>& notes
) {
    std::string text;
    for (const Grade& record : records) {
        for (const std::string& flag : flags_of(record)) {
            text += fmt::format(
                "<li><a href=\"#{}\">{}, {}</a>: {}</li>\n", id_of(axes, record),
                escaped(submission_of(record)), escaped(exercise_of(record)), escaped(flag)
            );
        }
    }
    for (const std::string& note : notes) {
        text += fmt::format("<li>{}</li>\n", escaped(note));
    }
    return "<h2>To look at</h2>\n" +
           (text.empty() ? "<p>Nothing.</p>\n" : "<ul>\n" + text + "</ul>\n");
}

std::string waits_of(const Grade& test) {
    std::string text;
    for (const Grade& rank : test.value("per_rank", Grade::array())) {
        const std::string call = rank.value("mpi_call", "");
        const std::string message = rank.value("message", "");
        if (!call.empty()) {
            text += fmt::format("\n  rank {}: in {}", rank.value("rank", 0), call);
        } else if (!message.empty() && message != test.value("message", "")) {
            text += fmt::format("\n  rank {}: {}", rank.value("rank", 0), message);
        }
    }
    return text;
}

std::string section(const Axes& axes, const Grade& record) {
    const State state = state_in(record);
    const FirstFailed failed = first_failed(record);
    std::string text = fmt::format(
        "<section class=\"case\" id=\"{}\"><h3>{}, {}: <span class=\"{}\">{}</span></h3>\n",
        id_of(axes, record), escaped(submission_of(record)), escaped(exercise_of(record)),
        class_of(state), word_of(record)
    );
    std::size_t passed = 0;
    for (const Grade& test : record.at("tests")) {
        passed += state_in(test) == State::pass ? 1U : 0U;
    }
    text += fmt::format(
        "<p class=\"faint\">{} of {} tests, seeds {}</p>\n", passed, record["tests"].size(),
        fmt::join(record.value("seeds", std::vector<std::uint64_t>()), ", ")
    );
    std::string said = failed.test.empty() ? "" : failed.test + "\n";
    said += failed.message;
    for (const Grade& test : record["tests"]) {
        if (!failed.test.empty() && test.value("name", "") == failed.test) {
            for (const Grade& rank : test.value("per_rank", Grade::array())) {
                for (const Grade& failure : rank.value("failures", Grade::array())) {
                    said += fmt::format(
                        "\n  rank {}: {}", rank.value("rank", 0),
                        failure.value("expansion", failure.value("expression", ""))
                    );
                }
            }
            said += waits_of(test);
            said += failed.where.empty() ? "" : "\n" + failed.where;
            said += "\nagain: " + test.value("repro", "");
            break;
        }
    }
    if (!said.empty()) {
        constexpr std::size_t kMost = 6000;
        text += fmt::format("<pre>{}</pre>\n", escaped(shortened(said, kMost)));
    }
    for (const std::string& flag : flags_of(record)) {
        text += fmt::format("<p>⚑ {}</p>\n", escaped(flag));
    }
    return text + "</section>\n";
}

}  // namespace

std::string as_html(const std::vector<Grade>& records, const std::vector<std::string>& notes) {
    const Axes axes(records);
    std::size_t passed = 0;
    std::size_t ours = 0;
    for (const Grade& record : records) {
        passed += state_in(record) == State::pass ? 1U : 0U;
        ours += state_in(record) == State::harness_error ? 1U : 0U;
    }
    std::string text = fmt::format(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<title>Grades</title>\n<link rel=\"icon\" "
        "href=\"data:,\">\n<style>{}</style></head><body>\n"
        "<h1>Grades</h1>\n<p>{}, {}: of {} {} pass.</p>\n",
        kStyle, harness::counted(axes.submissions.size(), "submission"),
        harness::counted(axes.exercises.size(), "exercise"),
        harness::counted(records.size(), "answer"), passed
    );
    if (ours > 0) {
        text += fmt::format(
            "<p class=\"odd\">{} could not be graded, through no fault of theirs: repeat them by "
            "--resume.</p>\n",
            ours
        );
    }
    text += table(axes) + what_fails(records) + what_to_look_at(axes, records, notes);
    text += "<h2>Each answer</h2>\n";
    for (const Grade& record : records) {
        text += section(axes, record);
    }
    return text + "</body></html>\n";
}

}  // namespace dist::cli
