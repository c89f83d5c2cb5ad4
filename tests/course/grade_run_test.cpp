// grade, as an instructor runs it: the corpus of cheats and of honest answers, graders that are killed, and what a sandbox
// keeps from those inside.
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "course/build/changed.hpp"
#include "course/manifest/cases.hpp"
#include "course/process/files.hpp"
#include "course/process/sandbox.hpp"
#include "course/process/subprocess.hpp"
#include "tests/course/cli_support.hpp"
#include "tests/harness/catch2.hpp"
#include "tests/harness/job/session.hpp"

using namespace dist::cli;

namespace {

namespace fs = std::filesystem;

const fs::path kRepository = REPOSITORY;

Context context() {
    Context result;
    result.root = kRepository;
    return result;
}

struct Folder {
    fs::path path = fs::temp_directory_path() / ("graded-" + std::to_string(getpid()));
    Folder() { fs::create_directories(path); }
    ~Folder() { fs::remove_all(path); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
};

Ended grade(const fs::path& submissions, const fs::path& out, std::vector<std::string> more = {}) {
    std::vector<std::string> command = {
        SHARDLINGS_CLI, "grade", submissions.string(), "--out", out.string(), "--jobs", "2"};
    command.insert(command.end(), more.begin(), more.end());
    RunOptions options;
    options.environment = {{"SHARDLINGS_ROOT", kRepository.string()}};
    return run(context(), command, options);
}

/// Waits until so many submissions have a grade, or a minute and a half.
void wait_for_grades(const fs::path& native, std::size_t submissions) {
    constexpr int kTries = 900;
    for (int i = 0; i < kTries; ++i) {
        std::error_code absent;
        const fs::directory_iterator there(native, absent);
        if (!absent && static_cast<std::size_t>(std::distance(fs::begin(there), fs::end(there))) >=
                           submissions) {
            return;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
}

/// The program that is handed in for a file, or for a change in a list (course/manifest/cases.hpp): the lines of FILE take the
/// place of "// paste: FILE".
std::string program_of(const fs::path& answer) {
    std::istringstream lines(read_text(make_source(context(), kRepository / answer)));
    const std::string paste = "// paste: ";
    std::string program;
    for (std::string line; std::getline(lines, line);) {
        const bool pastes = line.starts_with(paste);
        program += pastes ? read_text(kRepository / line.substr(paste.size())) : line + "\n";
    }
    return program;
}

void hand_in(const fs::path& answer, const fs::path& file) {
    fs::create_directories(file.parent_path());
    std::ofstream(file) << program_of(answer);
}

/// submission,exercise,status,score,...: the first four, and the whole line.
struct Row {
    std::string status;
    std::string score;
    std::string line;
};

std::map<std::string, Row> rows_of(const fs::path& out) {
    std::map<std::string, Row> rows;
    std::istringstream lines(read_text(out / "results.csv"));
    std::string line;
    for (std::getline(lines, line); std::getline(lines, line);) {
        std::istringstream cells(line);
        std::string name;
        std::string exercise;
        Row row;
        std::getline(cells, name, ',');
        std::getline(cells, exercise, ',');
        std::getline(cells, row.status, ',');
        std::getline(cells, row.score, ',');
        row.line = line;
        rows[name + "/" + exercise] = row;
    }
    return rows;
}

/// Processes whose command line holds this.
std::vector<std::string> processes_with(const std::string& words) {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator("/proc")) {
        const std::string line = read_text(entry.path() / "cmdline");
        if (entry.path().filename().string().find_first_not_of("0123456789") == std::string::npos &&
            has(line, words)) {
            found.push_back(entry.path().filename().string() + " " + line);
        }
    }
    return found;
}

/// What says so needs Linux 6.3 or newer: see tests/harness/job/no_new_code.cpp.
bool can_be_tried_here(const Case& one) {
    constexpr int kGetMemoryDenyWriteExecute = 66;
    return !has(one.sentence, "needs: a kernel that refuses new code") ||
           prctl(kGetMemoryDenyWriteExecute, 0UL, 0UL, 0UL, 0UL) >= 0;
}

Ended inside(const std::string& script, const Sandbox& sandbox = {}) {
    return run(context(), sandboxed({"sh", "-c", script}, sandbox, {}, "/tmp"));
}

}  // namespace

TEST_CASE("no cheat of the corpus scores, and every honest answer does") {
    const Folder folder;
    std::map<std::string, Case> corpus;
    for (const fs::path kind : {"cheats", "honest"}) {
        std::set<std::string> exercises;
        for (const auto& found : fs::directory_iterator(kRepository / "tests" / kind)) {
            exercises.insert(found.path().stem());
        }
        for (const std::string& exercise : exercises) {
            for (const Case& one : read_cases(context(), "tests" / kind / exercise)) {
                if (can_be_tried_here(one)) {
                    corpus[kind.string() + "_" + one.name + "/" + exercise] = one;
                }
            }
        }
    }
    // its tests write a file
    corpus["honest_backwards/barrier"] = {
        "tests/alternatives/02_naive_collectives/barrier/backwards.cpp"};
    for (const auto& [name, one] : corpus) {
        hand_in(one.file, folder.path / "in" / (name + ".cpp"));
    }
    REQUIRE(corpus.size() > 70);
    const Ended ended =
        grade(folder.path / "in", folder.path / "out", {"--seed", "20211", "--time-limit", "40"});
    INFO(ended.output);
    CHECK(ended.status == 0);
    const auto rows = rows_of(folder.path / "out");
    std::size_t counted = 0;
    for (const auto& [name, one] : corpus) {
        const auto found = rows.find(name);
        REQUIRE(found != rows.end());
        const Row& row = found->second;
        INFO(row.line);
        CHECK(row.score == (name.starts_with("honest_") ? "1" : "0"));
        CHECK(one.expects(state_of(row.status).value_or(State::skipped)));
        for (const std::string& words : one.says) {
            CHECK(has(row.line, words));
        }
        ++counted;
    }
    CHECK(counted == corpus.size());
    CHECK(processes_with("/grading/").empty());
    CHECK(processes_with(folder.path.string()).empty());
    CHECK(fs::is_empty(kRepository / "build/release/grading"));
    CHECK_FALSE(has(read_text("/proc/self/mounts"), "grading"));
}

TEST_CASE("a grader that is killed goes on where it was, to the same grades") {
    const Folder folder;
    for (const std::string answer :
         {"cheats/all_reduce/does_nothing.cpp", "honest/all_reduce/threads.cpp",
          "honest/all_reduce/requests.cpp", "cheats/all_reduce.toml:deadlock",
          "cheats/all_reduce.toml:nan_everywhere", "cheats/all_reduce.toml:forks"}) {
        const std::string student = answer.substr(answer.find_last_of(":/") + 1);
        hand_in("tests/" + answer, folder.path / "in" / student / "all_reduce.cpp");
    }
    REQUIRE(grade(folder.path / "in", folder.path / "whole", {"--seed", "7"}).status == 0);
    const fs::path out = folder.path / "killed";
    for (const std::size_t grades : {1U, 3U, 5U}) {
        const pid_t grader = fork();
        if (grader == 0) {
            setenv("SHARDLINGS_ROOT", kRepository.c_str(), 1);
            std::freopen("/dev/null", "w", stdout);
            std::freopen("/dev/null", "w", stderr);
            execl(
                SHARDLINGS_CLI, SHARDLINGS_CLI, "grade", (folder.path / "in").c_str(), "--out",
                out.c_str(), "--seed", "7", "--resume", nullptr
            );
            _exit(127);
        }
        wait_for_grades(out / "native", grades);
        kill(grader, SIGKILL);
        waitpid(grader, nullptr, 0);
    }
    const Ended again = grade(folder.path / "in", out, {"--seed", "7"});
    CHECK(again.status == 2);
    CHECK(has(again.output, "--resume goes on with them"));
    CHECK(grade(folder.path / "in", out, {"--seed", "7", "--resume"}).status == 0);
    const Ended other = grade(folder.path / "in", out, {"--seed", "8", "--resume"});
    CHECK(other.status == 2);
    CHECK(has(other.output, "was begun with other inputs (1 of them)"));
    CHECK(read_text(out / "results.csv") == read_text(folder.path / "whole/results.csv"));
    CHECK_FALSE(read_text(out / "results.csv").empty());
}

TEST_CASE("what is inside of a sandbox sees neither files, nor processes, nor a network") {
    const Folder folder;
    const fs::path canary = folder.path / "canary";
    std::ofstream(canary) << "the word is heliotrope\n";
    std::ofstream(folder.path / "theirs") << "this they may read\n";
    Sandbox sandbox;
    sandbox.readable = {folder.path / "theirs"};
    CHECK(has(
        inside("cat " + (folder.path / "theirs").string(), sandbox).output, "this they may read"
    ));
    CHECK_FALSE(
        has(inside("cat " + canary.string() + "; find / -name canary 2>/dev/null", sandbox).output,
            "heliotrope")
    );
    CHECK_FALSE(inside("echo x > " + (folder.path / "theirs").string(), sandbox).ok());
    CHECK_FALSE(inside("touch /usr/canary").ok());
    CHECK_FALSE(inside("test -e " + kRepository.string()).ok());
    CHECK_FALSE(inside("cat /etc/shadow").ok());
    CHECK_FALSE(has(inside("env").output, "USER="));
    CHECK(inside("test $(id -u) = 1000").ok());
    CHECK_FALSE(inside("kill -0 " + std::to_string(getpid())).ok());
    CHECK(has(inside("cat /proc/net/dev | wc -l").output, "3"));  // two lines of a heading, and lo
    CHECK_FALSE(inside("dd if=/dev/zero of=/tmp/much bs=1M count=600 2>/dev/null").ok());
    CHECK_FALSE(inside("mount -t tmpfs none /mnt").ok());
    CHECK(read_text(canary) == "the word is heliotrope\n");
    setenv("SHARDLINGS_CANARY", "heliotrope", 1);
    CHECK_FALSE(has(inside("env; cat /proc/*/environ").output, "heliotrope"));
}

TEST_CASE("nothing outlives a sandbox") {
    const std::string mark = "7" + std::to_string(getpid()) + "77";
    const Ended ended = inside(
        "setsid sleep " + mark + " & (setsid sh -c 'setsid sleep " + mark + " &') ; echo out"
    );
    CHECK(has(ended.output, "out"));
    for (int i = 0; i < 100 && !processes_with("sleep").empty(); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    CHECK(processes_with(mark).empty());
}

int main(int argc, char** argv) {
    if (const std::string missing = sandbox_missing(context()); !missing.empty()) {
        std::printf("%s\n", missing.c_str());
        return 77;
    }
    return dist::harness::session::run_alone(argc, argv);
}
