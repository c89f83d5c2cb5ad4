// How the test in progress goes on this rank: failed checks, and what exceptions mean.

#include <cstdlib>
#include <cxxabi.h>
#include <typeinfo>

#include "course/runtime/error.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/job/runs.hpp"
#include "tests/harness/roll_call/roll_call.hpp"

namespace dist::harness {
namespace {

struct Skipped : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// What a failed check is for: a verdict, INFO's text, or evidence that failed checks arrive.
enum class Purpose { verdict, info, control };
Purpose purpose = Purpose::verdict;

// A failed MPI call without what is not the student's: the macro's text and place, where they are those
// of a reference solution. The place that matters is where the exception was thrown from.
std::string without_reference(const std::string& text) {
    const std::size_t name_end = text.find('(');
    const std::size_t failed = text.find(") failed: ");
    const std::size_t place = text.rfind(" (solutions/");
    if (failed == std::string::npos || place == std::string::npos || name_end > failed) {
        return text;
    }
    return text.substr(0, name_end) + text.substr(failed + 1, place - failed - 1);
}

// What INFO says where an exception was thrown.
std::string info_in_scope() {
    note_info();
    std::string text;
    for (const std::string& line : current_test().info) {
        text += (text.empty() ? " (" : "; ") + line;
    }
    return text.empty() ? "" : text + ")";
}

}  // namespace

std::string type_name(const std::exception& error) {
    int status = 0;
    char* text = abi::__cxa_demangle(typeid(error).name(), nullptr, nullptr, &status);
    std::string name = text != nullptr ? text : "an exception";
    std::free(text);
    return name;
}

TestRun& current_test() {
    static TestRun test;
    return test;
}

void worsen(Outcome outcome, const std::string& message) {
    TestRun& test = current_test();
    if (outcome > test.outcome) {
        test.outcome = outcome;
        test.message = message;
    }
}

void add_failure(Failure failure) {
    if (purpose == Purpose::info) {
        current_test().info = std::move(failure.info);
        return;
    }
    if (purpose == Purpose::control) {
        ++current_test().controls;
        return;
    }
    worsen(Outcome::fail, "");
    current_test().failures.push_back(std::move(failure));
}

// Catch2 tells what INFO says with a failed check only: this one goes no further than add_failure().
void note_info() {
    purpose = Purpose::info;
    current_test().info.clear();
    FAIL_CHECK("");
    purpose = Purpose::verdict;
    std::erase(current_test().info, "");  // what the check itself says
}

void control_the_checks() {
    if (purpose != Purpose::verdict) {
        return;  // somebody else's doing: one control less
    }
    volatile float expected = 1;
    volatile float got = 2;
    purpose = Purpose::control;
    const Comparison wrong = same(std::vector<float>{got}, std::vector<float>{expected});
    CHECK(wrong);
    purpose = Purpose::verdict;
}

bool note_course_exception() {
    try {
        throw;
    } catch (const NotImplemented& error) {
        worsen(Outcome::not_started, error.what());
    } catch (const ForbiddenCall& error) {
        worsen(Outcome::forbidden, error.what());
    } catch (const Skipped& error) {
        worsen(Outcome::skipped, error.what());
    } catch (const Stopped& error) {
        worsen(Outcome::stopped, error.what());
        if (current_test().phase == Phase::absent) {
            const bool returned = my_line().phase == Phase::returned;
            current_test().phase = returned ? Phase::returned : Phase::waiting;
        }
    } catch (...) {
        return false;
    }
    return true;
}

void note_exception() {
    try {
        throw;
    } catch (const std::exception& error) {
        const std::string text = error.what();  // LibTorch's goes on with its own stack
        const std::string first_line = text.substr(0, text.find('\n'));
        worsen(
            Outcome::fail,
            type_name(error) + " was thrown: " + without_reference(first_line) + info_in_scope()
        );
    } catch (...) {
        // A failed REQUIRE leaves this way too; it has been noted already.
        if (current_test().failures.empty()) {
            worsen(Outcome::fail, "something was thrown that is not a std::exception");
        }
    }
}

void skip(const std::string& reason) {
    throw Skipped(reason);
}

}  // namespace dist::harness
