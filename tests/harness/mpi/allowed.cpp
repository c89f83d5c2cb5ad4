#include "tests/harness/mpi/allowed.hpp"

#include <map>
#include <string>

#include "tests/harness/harness.hpp"
#include "tests/harness/roll_call/roll_call.hpp"

namespace dist::harness {
namespace {

std::map<std::string, std::string>& forbidden_calls() {
    static std::map<std::string, std::string> calls;  // by name; filled before main()
    return calls;
}

const char* why_none = nullptr;  // may be called; none: some may
int permits = 0;                 // that live: the test itself calls

/// Ends the test if the exercise forbids this call, or all of its kind.
void check_forbidden(const char* call, const char* kind) {
    if (permits > 0) {
        return;
    }
    const auto& calls = forbidden_calls();
    auto found = calls.find(call);
    if (found == calls.end() && kind != nullptr) {
        found = calls.find(kind);
    }
    if (found != calls.end()) {
        refuse(call, found->second.c_str());
    }
}

}  // namespace

void forbid_all_calls(const char* sentence) {
    why_none = sentence;
}

void forbid_call(const char* call, const char* sentence) {
    forbidden_calls()[call] = sentence;
}

Forbid::Forbid(std::initializer_list<const char*> calls, const char* sentence) {
    for (const char* call : calls) {
        forbid_call(call, sentence);
    }
}

Permit::Permit() {
    ++permits;
}

Permit::~Permit() {
    --permits;
}

void refuse(const char* call, const char* sentence) {
    const std::string text = std::string(call) + " was called. " + sentence;
    stop_all(Stop::forbidden, text);
    throw ForbiddenCall(text);
}

void check_allowed(const char* call, MPI_Comm comm, bool is_collective) {
    if (!guarded()) {
        return;
    }
    leave_if_stopped();
    if (why_none != nullptr) {
        refuse(call, why_none);
    }
    check_forbidden(call, is_collective ? "collectives" : nullptr);
    if (comm == MPI_COMM_WORLD) {
        refuse(
            call,
            "It was called on MPI_COMM_WORLD. Use comm.handle(): your function must work on any "
            "communicator, also on one that holds only some of the ranks."
        );
    }
}

void check_made(const char* call) {
    leave_if_stopped();
    if (why_none != nullptr) {
        refuse(call, why_none);
    }
    check_forbidden(call, "communicators");
}

}  // namespace dist::harness
