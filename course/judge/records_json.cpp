#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sys/mman.h>
#include <unistd.h>

#include "course/judge/records.hpp"
#include "course/process/error.hpp"
#include "course/trace/step_json.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr long kMostOutput = 16384;  // bytes of one rank in one test that are kept

Failure failure_of(const json& in) {
    Failure failure;
    failure.expression = in.value("expression", "");
    failure.expansion = in.value("expansion", "");
    failure.file = in.value("file", "");
    failure.line = in.value("line", 0);
    failure.info = in.value("info", std::vector<std::string>());
    return failure;
}

/// A word of the protocol; its first, which says nothing, where it is missing or unknown.
template <class Word>
Word word(const json& in, const char* field) {
    return harness::word_of<Word>(in.value(field, "")).value_or(Word{});
}

Wait wait_of(const json& in) {
    Wait wait;
    wait.phase = word<harness::Phase>(in, "phase");
    wait.call = in.value("call", "");
    wait.kind = word<harness::CallKind>(in, "kind");
    wait.direction = word<harness::Direction>(in, "direction");
    wait.collectives = in.value("collectives", 0L);
    wait.peer = in.value("peer", -1);
    wait.rank_in_comm = in.value("rank_in_comm", -1);
    wait.peer_in_comm = in.value("peer_in_comm", -1);
    wait.tag = in.value("tag", -1);
    wait.since_s = in.value("since_s", 0.0);
    wait.frames = in.value("frames", std::vector<std::uint64_t>());
    wait.info = in.value("info", std::vector<std::string>());
    return wait;
}

Record record_of(const json& in, const fs::path& folder, int rank) {
    Record record;
    record.test = in.at("test").get<std::string>();
    record.state = harness::word_of<harness::Outcome>(in.at("state").get<std::string>());
    record.ranks = in.value("ranks", 0);
    record.message = in.value("message", "");
    record.duration_s = in.value("duration_s", 0.0);
    record.checks = in.value("checks", 0L);
    for (const json& failure : in.value("failures", json::array())) {
        record.failures.push_back(failure_of(failure));
    }
    if (in.contains("wait") && in["wait"].is_object()) {
        record.wait = wait_of(in["wait"]);
    }
    if (in.contains("output") && in["output"].size() == 2) {
        record.output =
            read_output(folder, rank, in["output"][0].get<long>(), in["output"][1].get<long>());
    }
    if (in.contains("trace")) {
        record.log = trace::log_of(in["trace"]);
    }
    record.died = in.value("died", "");
    for (const json& process : in.value("processes", json::array())) {
        record.processes.push_back(record_of(process, folder, rank));
    }
    if (in.contains("traffic") && in["traffic"].is_object()) {
        for (const auto& [name, value] : in["traffic"].items()) {
            record.traffic.emplace_back(name, value.get<long>());
        }
    }
    return record;
}

}  // namespace

std::string read_output(const fs::path& folder, int rank, long begin, long end) {
    std::ifstream file(folder / ("rank-" + std::to_string(rank) + ".out"), std::ios::binary);
    std::string text(static_cast<std::size_t>(std::clamp(end - begin, 0L, kMostOutput)), '\0');
    file.seekg(begin);
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
    return text;
}

RankLog read_rank_log(const fs::path& folder, int rank, harness::Seal seal) {
    RankLog log;
    std::ifstream file(folder / ("rank-" + std::to_string(rank) + ".jsonl"));
    for (std::string line; std::getline(file, line) && !file.eof();) {
        const std::optional<std::string> object = seal.opened(line);
        if (!object) {
            log.forged = true;
            break;
        }
        const json in = json::parse(*object);
        if (in.contains("plan")) {
            log.planned = true;
            log.plan = in["plan"].get<std::vector<std::string>>();
            log.many = in.value("many", 0);
        } else if (in.contains("test")) {
            log.records.push_back(record_of(in, folder, rank));
            log.output_end =
                in.contains("output") ? in["output"].at(1).get<long>() : log.output_end;
        } else if (in.contains("finished")) {
            log.finished = in["finished"] == true;
        }
    }
    return log;
}

BoardFile::BoardFile(const fs::path& folder) {
    const std::string path = (folder / "board").string();
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    void* mapped = MAP_FAILED;
    // room for all of it: a full disk is found here, and not by a rank that writes to a hole
    if (file >= 0 && posix_fallocate(file, 0, sizeof(harness::Board)) == 0) {
        mapped = mmap(nullptr, sizeof(harness::Board), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    if (file >= 0) {
        close(file);
    }
    if (mapped == MAP_FAILED) {
        throw CommandError(exit_status::kOurs, path + " cannot be made: is the disk full?");
    }
    board_ = static_cast<harness::Board*>(mapped);
}

BoardFile::~BoardFile() {
    munmap(board_, sizeof(harness::Board));
}

}  // namespace dist::cli
