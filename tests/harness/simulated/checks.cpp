#include "tests/harness/simulated/checks.hpp"

#include "tests/harness/job/runs.hpp"

namespace dist::harness::simulated {
namespace {

std::vector<std::string>& infos() {
    static std::vector<std::string> all;
    return all;
}

/// What the GENERATEs of the test in progress chose, in the order in which they are come to: like the digits of a number.
struct Choice {
    std::size_t value = 0;
    std::size_t count = 1;
};
std::vector<Choice> choices;
std::size_t next_choice = 0;

/// The next combination; false after the last.
bool next_choices() {
    while (!choices.empty() && choices.back().value + 1 == choices.back().count) {
        choices.pop_back();
    }
    if (choices.empty()) {
        return false;
    }
    ++choices.back().value;
    return true;
}

}  // namespace

std::vector<TestCase>& test_cases() {
    static std::vector<TestCase> all;
    return all;
}

std::size_t choose(std::size_t count) {
    if (next_choice == choices.size()) {
        choices.push_back({0, count});
    }
    return choices[next_choice++].value;
}

void run_choices(const TestCase& test, bool (*failed)()) {
    choices.clear();
    do {
        next_choice = 0;
        try {
            test.body();
        } catch (...) {
            if (!note_course_exception()) {
                note_exception();
            }
        }
    } while (!failed() && next_choices());
}

Info::Info(std::string text) {
    infos().push_back(std::move(text));
}

Info::~Info() {
    infos().pop_back();
}

void note_check(bool holds, const std::string& expansion, const Place& place) {
    if (!holds) {
        add_failure({place.expression, expansion, place.file, place.line, infos()});
    }
}

}  // namespace dist::harness::simulated
