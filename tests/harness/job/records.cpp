#include "tests/harness/job/records.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>
#include <unistd.h>

#include "course/protocol/shortened.hpp"
#include "course/runtime/clock.hpp"
#include "course/trace/step_json.hpp"
#include "tests/harness/job/crash.hpp"
#include "tests/harness/job/secret.hpp"
#include "tests/harness/mpi/messages.hpp"
#include "tests/harness/mpi/traffic.hpp"
#include "tests/harness/roll_call/roll_call.hpp"

namespace dist::harness {
namespace {

using nlohmann::json;

int descriptor = -1;
Seal seal;

[[noreturn]] void lose_records() {
    const std::string reason = std::strerror(errno);
    descriptor = -1;  // a line that was begun is the last one
    std::snprintf(
        my_slot().end_message, sizeof my_slot().end_message,
        "rank %d cannot write down how its tests went (%s): does the code close files that it has "
        "not opened?",
        world_rank(), reason.c_str()
    );
    note_if_full();
    throw std::runtime_error("cannot write the test's records: " + reason);
}

void write_bytes(std::string_view bytes) {
    std::size_t written = 0;
    while (written < bytes.size()) {
        const ssize_t more = write(descriptor, bytes.data() + written, bytes.size() - written);
        if (more <= 0) {
            lose_records();
        }
        written += static_cast<std::size_t>(more);
    }
}

/// The longest text that a line of records holds, and of how many failures it says more than the line.
constexpr std::size_t kMostText = 4096;
constexpr std::size_t kMostFailures = 50;

// The answer decides how long messages, values and contexts are.
void cut_texts(json& value) {
    if (value.is_string()) {
        value = shortened(value.get<std::string>(), kMostText);
    } else if (value.is_structured()) {
        std::for_each(value.begin(), value.end(), cut_texts);
    }
}

void write_line(json line) {
    cut_texts(line);
    // a student's bytes may be no UTF-8: replaced, never an exception
    const std::string text = line.dump(-1, ' ', false, json::error_handler_t::replace);
    write_bytes(seal.sealed(text) + "\n");
}

json addresses(const Frames& frames) {
    json list = json::array();
    for (int i = 0; i < frames.count; ++i) {
        list.push_back(frames.address[i].load());
    }
    return list;
}

// The line that waits, if it is another thread's.
const Line& waiting_line() {
    for (const Line& line : my_slot().line) {
        if (line.phase == Phase::waiting) {
            return line;
        }
    }
    return my_slot().line[0];
}

json failures_of(const std::vector<Failure>& failures) {
    json list = json::array();
    for (const Failure& failure : failures) {
        if (list.size() >= kMostFailures) {
            list.push_back({{"file", failure.file}, {"line", failure.line}});  // counted, not told
            continue;
        }
        list.push_back(
            {{"expression", failure.expression},
             {"expansion", failure.expansion},
             {"file", failure.file},
             {"line", failure.line},
             {"info", failure.info}}
        );
    }
    return list;
}

// As the record of a rank.
json record_of(const ProcessRun& process, const std::string& test) {
    json record = {
        {"test", test},
        {"state", spelt(process.outcome)},
        {"message", process.message},
        {"failures", failures_of(process.failures)},
        {"died", process.died},
        {"trace", trace::to_json(process.log)}};
    if (process.phase != Phase::absent) {
        record["wait"] = {{"phase", spelt(process.phase)}, {"frames", process.frames}};
    }
    if (process.phase == Phase::waiting) {
        const WaitsIn& wait = process.waits_in;
        record["wait"].update(
            {{"call", wait.call},
             {"kind", spelt(wait.kind)},
             {"direction", spelt(wait.direction)},
             {"peer", wait.peer},
             {"tag", wait.tag},
             {"since_s", wait.since_s}}
        );
    }
    return record;
}

json where(const TestRun& test) {
    json wait = {{"phase", spelt(test.phase)}, {"collectives", collective_calls(my_slot())}};
    if (test.phase == Phase::waiting) {
        const Line& line = waiting_line();
        wait["call"] = line.call;
        wait["kind"] = spelt(line.kind.load());
        wait["direction"] = spelt(line.direction.load());
        wait["peer"] = line.peer.load();
        wait["rank_in_comm"] = line.rank_in_comm.load();
        wait["peer_in_comm"] = line.peer_in_comm.load();
        wait["tag"] = line.tag.load();
        wait["since_s"] = now_s() - line.since_s;
        wait["frames"] = addresses(line.frames);
        wait["info"] = test.info;
    } else if (test.phase == Phase::threw) {
        wait["frames"] = addresses(last_throw());
    }
    return wait;
}

bool is_traced(const TestRun& test) {
    const char* wanted = std::getenv(kEnvTrace);
    return test.outcome != Outcome::pass || !test.failures.empty() || test.failed_elsewhere ||
           wanted != nullptr;
}

}  // namespace

void open_records(const std::string& folder, int rank) {
    const std::string file = folder + "/rank-" + std::to_string(rank) + ".jsonl";
    descriptor = open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (descriptor < 0) {
        throw std::runtime_error("cannot write " + file);
    }
    seal = take_seal(rank);
}

void write_plan(const std::vector<std::string>& tests, int many) {
    write_line({{"plan", tests}, {"many", many}});
}

void write_test(
    const TestRun& test, double duration_s, long checks, long output_begin, long output_end
) {
    json line = {{"test", test.name},        {"state", spelt(test.outcome)},
                 {"ranks", test.ranks},      {"message", test.message},
                 {"duration_s", duration_s}, {"failures", failures_of(test.failures)},
                 {"checks", checks},         {"output", {output_begin, output_end}}};
    const Traffic sent = traffic();
    line["traffic"] = {
        {"messages_sent", sent.messages_sent},
        {"bytes_sent", sent.bytes_sent},
        {"messages_received", sent.messages_received},
        {"bytes_received", sent.bytes_received}};
    if (is_traced(test)) {
        trace::Log log = last_log();
        log.limits = test.limits;
        line["trace"] = trace::to_json(log);
    }
    for (const ProcessRun& process : test.processes) {
        line["processes"].push_back(record_of(process, test.name));
    }
    if (test.phase != Phase::absent) {
        line["wait"] = where(test);
    }
    write_line(line);
}

void write_finished() {
    write_line({{"finished", true}});
}

}  // namespace dist::harness
