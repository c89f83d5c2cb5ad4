// The worker processes of a node: small scripts of the shell, and no process is left of them.
#include "course/elastic/worker_processes.hpp"

#include <array>
#include <chrono>
#include <csignal>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "tests/harness/catch2.hpp"

using namespace dist;
using dist::elastic::WorkerProcesses;
using namespace std::chrono_literals;

namespace {

/// A pipe that workers inherit, with all that they start: it ends when the last of them has.
class Pipe {
  public:
    Pipe() { REQUIRE(pipe(ends_.data()) == 0); }
    ~Pipe() {
        close(ends_[0]);
        close_writing();
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;

    [[nodiscard]] std::string reading() const { return path(ends_[0]); }
    [[nodiscard]] std::string writing() const { return path(ends_[1]); }

    /// So many bytes; fewer if it ends before.
    [[nodiscard]] std::string read(std::size_t most) const {
        std::string text;
        char letter = 0;
        while (text.size() < most && ::read(ends_[0], &letter, 1) == 1) {
            text += letter;
        }
        return text;
    }

    /// All that comes, until no process can write any more: for ever, where one is left.
    std::string read_all() {
        close_writing();
        return read(std::string::npos);
    }

  private:
    static std::string path(int end) { return "/proc/self/fd/" + std::to_string(end); }

    void close_writing() {
        if (ends_[1] >= 0) {
            close(std::exchange(ends_[1], -1));
        }
    }

    std::array<int, 2> ends_ = {-1, -1};
};

WorkerRound round_of(int workers) {
    return {
        .number = 7,
        .node = 1,
        .nodes = 3,
        .first_rank = workers,
        .workers = workers,
        .world_size = 3 * workers};
}

/// How these workers have ended, by local rank.
std::vector<WorkerEnd> ends_of(WorkerProcesses& group, std::size_t workers) {
    std::vector<WorkerEnd> ends(workers);
    for (std::size_t n = 0; n < workers;) {
        for (const WorkerEnd& end : group.ended()) {
            ends.at(static_cast<std::size_t>(end.local_rank)) = end;
            ++n;
        }
        usleep(1000);
    }
    return ends;
}

}  // namespace

TEST_CASE("workers have torchrun's variables, and no program is exit code 127") {
    Pipe told;
    WorkerProcesses group(
        {"sh", "-c",
         "echo $RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $GROUP_RANK $GROUP_WORLD_SIZE "
         "$TORCHELASTIC_RESTART_COUNT $SHARDLINGS_ROUND > " +
             told.writing()}
    );
    group.start(round_of(2), 5);
    for (const WorkerEnd& end : ends_of(group, 2)) {
        CHECK(end.is_good());
    }
    const std::string text = told.read_all();
    CHECK(text.find("2 0 6 2 1 3 5 7\n") != std::string::npos);
    CHECK(text.find("3 1 6 2 1 3 5 7\n") != std::string::npos);
    WorkerProcesses none({"/no/such/program"});
    none.start(round_of(1), 0);
    CHECK(ends_of(none, 1)[0].exit_code == 127);
}

TEST_CASE("a signal reaches workers that are stopped, and no child of a worker is left") {
    Pipe lives;
    Pipe ready;
    // 0 ignores SIGTERM, and so does its child; 1 stands still, and has a child
    WorkerProcesses group(
        {"sh", "-c",
         "case $LOCAL_RANK in 0) trap '' TERM; printf x > " + ready.writing() +
             "; sleep 1000; sleep 1000;; 1) sleep 1000 & printf x > " + ready.writing() +
             "; kill -STOP $$;; esac"}
    );
    group.start(round_of(2), 0);
    REQUIRE(ready.read(2) == "xx");
    group.signal(SIGTERM);
    std::vector<WorkerEnd> ends;
    while (ends.empty()) {
        ends = group.ended();
        usleep(1000);
    }
    REQUIRE(ends.size() == 1);
    CHECK(ends[0].local_rank == 1);
    CHECK(ends[0].signal == SIGTERM);
    group.signal(SIGKILL);
    while ((ends = group.ended()).empty()) {
        usleep(1000);
    }
    CHECK(ends[0].signal == SIGKILL);
    CHECK(lives.read_all().empty());
}

TEST_CASE("each worker is noted with the time when it ended, however late that is asked for") {
    Pipe lives;
    Pipe go;
    WorkerProcesses group(
        {"sh", "-c",
         "case $LOCAL_RANK in 0) read other < " + go.reading() +
             "; while kill -0 $other; do sleep 0.01; done; sleep 0.02; exit 5;; 1) echo $$ > " +
             go.writing() + "; exit 4;; esac 2> /dev/null"}
    );
    group.start(round_of(2), 0);
    CHECK(lives.read_all().empty());  // until both have ended
    const std::vector<WorkerEnd> ends = ends_of(group, 2);
    CHECK(ends[0].exit_code == 5);
    CHECK(ends[1].exit_code == 4);
    CHECK(ends[0].at >= ends[1].at + 20ms);
}

TEST_CASE("the process that started workers is killed, and none of them is left") {
    Pipe lives;
    Pipe here;
    const pid_t agent = fork();
    if (agent == 0) {
        // both ignore SIGTERM, and one has a child
        WorkerProcesses group(
            {"sh", "-c",
             "trap '' TERM; case $LOCAL_RANK in 0) sleep 1000 & ;; esac; printf x > " +
                 here.writing() + "; exec sleep 1000"}
        );
        group.start(round_of(2), 0);
        if (here.read(2).size() == 2) {
            raise(SIGKILL);
        }
        _exit(1);
    }
    int status = 0;
    REQUIRE(waitpid(agent, &status, 0) == agent);
    CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
    CHECK(lives.read_all().empty());
}
