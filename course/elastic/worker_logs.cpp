#include "course/elastic/worker_logs.hpp"

#include <cstdlib>
#include <fstream>
#include <utility>

#include "course/runtime/error.hpp"

namespace dist::elastic {

namespace fs = std::filesystem;

namespace {

fs::path make_temporary() {
    std::string name = (fs::temp_directory_path() / "shardlings-launch-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
        throw Error(name + ": cannot be made");
    }
    return name;
}

fs::path make(const fs::path& folder) {
    if (folder.empty()) {
        return make_temporary();
    }
    fs::create_directories(folder);
    return fs::absolute(folder);
}

}  // namespace

WorkerLogs::WorkerLogs(const fs::path& folder)
    : folder_(make(folder)), is_temporary_(folder.empty()) {}

WorkerLogs::~WorkerLogs() {
    if (is_temporary_) {
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
    }
}

std::vector<std::string> WorkerLogs::keep(const std::vector<std::string>& command) {
    std::vector<std::string> kept = {
        "/bin/sh", "-c", R"(exec "$@" 2>>"$WORKER_LOG.rank-$RANK.stderr")", "sh"};
    kept.insert(kept.end(), command.begin(), command.end());
    return kept;
}

void WorkerLogs::begin(const WorkerRound& round) {
    round_ = round;
    setenv("WORKER_LOG", (folder_ / ("round-" + std::to_string(round.number))).c_str(), 1);
}

fs::path WorkerLogs::file(int rank) const {
    return folder_ /
           ("round-" + std::to_string(round_.number) + ".rank-" + std::to_string(rank) + ".stderr");
}

std::vector<std::string> WorkerLogs::last_words(int rank, std::size_t lines) const {
    std::ifstream in(file(rank));
    std::vector<std::string> last;
    for (std::string line; std::getline(in, line);) {
        last.push_back(std::move(line));
        if (last.size() > lines) {
            last.erase(last.begin());
        }
    }
    return last;
}

fs::path WorkerLogs::stay() {
    is_temporary_ = false;
    return folder_;
}

}  // namespace dist::elastic
