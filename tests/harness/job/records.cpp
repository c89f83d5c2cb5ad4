#include "tests/harness/job/records.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <unistd.h>

#include "course/runtime/clock.hpp"
#include "tests/harness/job/crash.hpp"
#include "tests/harness/mpi/messages.hpp"
#include "tests/harness/mpi/traffic.hpp"
#include "tests/harness/roll_call/roll_call.hpp"

namespace dist::harness {
namespace {

using nlohmann::json;

int descriptor = -1;

[[noreturn]] void lose_records() {
    const std::string reason = std::strerror(errno);
    std::snprintf(
        my_slot().end_message, sizeof my_slot().end_message,
        "rank %d cannot write down how its tests went (%s): does the code close files that it has "
        "not "
        "opened?",
        world_rank(), reason.c_str()
    );
    note_if_full();
    throw std::runtime_error("cannot write the test's records: " + reason);
}

void write_line(const json& line) {
    // a student's bytes may be no UTF-8: replaced, never an exception
    const std::string text = line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
    std::size_t written = 0;
    while (written < text.size()) {
        const ssize_t n = write(descriptor, text.data() + written, text.size() - written);
        if (n <= 0) {
            lose_records();
        }
        written += static_cast<std::size_t>(n);
    }
}

const char* name(Outcome outcome) {
    switch (outcome) {
        case Outcome::pass:
            return "pass";
        case Outcome::skipped:
            return "skipped";
        case Outcome::stopped:
            return "stopped";
        case Outcome::fail:
            return "fail";
        case Outcome::hang:
            return "hang";
        case Outcome::not_started:
            return "not_started";
        case Outcome::forbidden:
            return "forbidden";
    }
    return "?";
}

json where(const TestRun& test) {
    const Line& line = my_slot().line[0];
    json frames = json::array();
    json wait = {{"phase", test.phase}};
    if (test.phase == "waiting") {
        // the line that waited, if it was another thread's
        const Line* waiting = &line;
        for (const Line& other : my_slot().line) {
            waiting = other.phase == Phase::waiting ? &other : waiting;
        }
        for (int i = 0; i < waiting->frames.count; ++i) {
            frames.push_back(waiting->frames.address[i].load());
        }
        wait["call"] = waiting->call;
        wait["peer"] = waiting->peer.load();
        wait["tag"] = waiting->tag.load();
        wait["since_s"] = now_s() - waiting->since_s;
    }
    wait["frames"] = frames;
    return wait;
}

}  // namespace

void open_records(const std::string& folder, int rank) {
    const std::string file = folder + "/rank-" + std::to_string(rank) + ".jsonl";
    descriptor = open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (descriptor < 0) {
        throw std::runtime_error("cannot write " + file);
    }
}

void write_plan(const std::vector<std::string>& tests) {
    write_line({{"plan", tests}});
}

void write_test(const TestRun& test, double duration_s, long output_begin, long output_end) {
    json failures = json::array();
    for (const Failure& failure : test.failures) {
        failures.push_back(
            {{"expression", failure.expression},
             {"expansion", failure.expansion},
             {"file", failure.file},
             {"line", failure.line},
             {"info", failure.info}}
        );
    }
    json line = {
        {"test", test.name},
        {"state", name(test.outcome)},
        {"ranks", test.ranks},
        {"message", test.message},
        {"duration_s", duration_s},
        {"failures", failures},
        {"output", {output_begin, output_end}}};
    const Traffic sent = traffic();
    line["traffic"] = {
        {"messages_sent", sent.messages_sent},
        {"bytes_sent", sent.bytes_sent},
        {"messages_received", sent.messages_received},
        {"bytes_received", sent.bytes_received}};
    if (!test.phase.empty()) {
        line["wait"] = where(test);
    }
    write_line(line);
}

void write_finished() {
    write_line({{"finished", true}});
}

}  // namespace dist::harness
