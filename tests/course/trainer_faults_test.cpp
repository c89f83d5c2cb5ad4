// A rank that dies, stands still or reads something else: the others end, and its name is said.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "course/data/synthetic.hpp"
#include "tests/course/trainer_run.hpp"
#include "tests/course/trainer_support.hpp"

namespace fs = std::filesystem;

namespace {

/// Its parent's number; empty if it has ended.
std::string parent_of(const std::string& process) {
    std::ifstream status("/proc/" + process + "/status");
    for (std::string line; std::getline(status, line);) {
        if (line.rfind("PPid:\t", 0) == 0) {
            return line.substr(6);
        }
    }
    return "";
}

/// The process that computes as `rank` of the run that has this word in its command line: the child of
/// the one that mpirun started. 0 if there is none.
pid_t process_of(int rank, const std::string& word) {
    const std::string variable = "OMPI_COMM_WORLD_RANK=" + std::to_string(rank) + '\0';
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator("/proc")) {
        const std::string name = entry.path().filename();
        if (name.find_first_not_of("0123456789") == std::string::npos &&
            contains(read_file(entry.path() / "cmdline"), word) &&
            contains(read_file(entry.path() / "environ"), variable)) {
            found.push_back(name);
        }
    }
    const auto child = std::find_if(found.begin(), found.end(), [&](const std::string& process) {
        return std::find(found.begin(), found.end(), parent_of(process)) != found.end();
    });
    return child == found.end() ? 0 : std::stoi(*child);
}

/// A long run on three ranks, of which rank 1 gets this signal when it has trained for a while.
Run run_with_signal(int signal, const fs::path& folder, const std::string& options) {
    const auto log = folder / "log.jsonl";
    auto run = std::async(std::launch::async, [&] {
        return run_trainer(
            3, kLittle + "--batch 8 --steps 1000000 --log " + log.string() + " --checkpoint " +
                   (folder / "run").string() + " --save-every 3 " + options
        );
    });
    const auto trains = [&] { return fs::exists(folder / "run" / "checkpoint.pt"); };
    while (!trains() && run.wait_for(std::chrono::milliseconds(10)) != std::future_status::ready) {
    }
    const pid_t process = process_of(1, log.string());
    CHECK(process > 0);
    if (process > 0) {
        kill(process, signal);
    }
    return run.get();
}

/// No process of the run is left. The kernel takes a while to free the memory of one that was killed; mpirun does not wait
/// for that.
void check_ended(const fs::path& folder) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    for (int rank = 0; rank < 3; ++rank) {
        pid_t left = process_of(rank, folder.string());
        while (left != 0 && std::chrono::steady_clock::now() < limit) {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
            left = process_of(rank, folder.string());
        }
        CHECK(left == 0);
    }
}

}  // namespace

TEST_CASE("a rank that is killed is named, and the last checkpoint is whole", "[trainer]") {
    const TemporaryFolder folder;
    const Run run = run_with_signal(SIGKILL, folder.path(), "");
    INFO(run.output);
    CHECK(run.status == 128 + SIGKILL);
    CHECK(contains(run.output, "rank 1 died of SIGKILL"));
    CHECK_FALSE(contains(run.output, "rank 0 died"));
    CHECK_FALSE(contains(run.output, "rank 2 died"));
    check_ended(folder.path());
    const Run rest = run_trainer(
        3, kLittle + "--batch 8 --steps 1000000 --resume --stop-after 1 --log " +
               (folder.path() / "log.jsonl").string() + " --checkpoint " +
               (folder.path() / "run").string()
    );
    INFO(rest.output);
    CHECK(rest.status == 0);
    CHECK(contains(rest.output, "going on after step "));
}

TEST_CASE("a rank that stands still is named after --timeout, and all end", "[trainer]") {
    const TemporaryFolder folder;
    const std::string way = GENERATE("average", "ddp");
    const Run run = run_with_signal(SIGSTOP, folder.path(), "--timeout 2 --parallel " + way);
    INFO(run.output);
    CHECK(run.status == 1);
    CHECK(contains(run.output, "rank 1 stopped, or too slow: rank 0 has waited for 2 s (--timeout)")
    );
    check_ended(folder.path());
}

TEST_CASE("a record that is broken on one rank alone is told with the rank's name", "[trainer]") {
    const TemporaryFolder folder;
    for (const char* const rank : {"0", "1"}) {
        const fs::path own = folder.path() / rank;
        fs::create_directory(own);
        for (const char* const name :
             {"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5",
              "test_batch"}) {
            std::ofstream(own / (std::string(name) + ".bin"))
                << dist::data::synthetic_records(10, 1);
        }
    }
    fs::resize_file(folder.path() / "1" / "data_batch_3.bin", 3073 * 4 + 5);
    // two programs in one line, each with a folder of its own, end Open MPI 5.0.7's mpirun by a segmentation fault
    const Run run = run_program(
        "sh", 2,
        "-c 'exec " TRAINER " --model small --batch 12 --steps 2 --data " + folder.path().string() +
            "/$OMPI_COMM_WORLD_RANK'"
    );
    INFO(run.output);
    CHECK(run.status == 2);
    CHECK(contains(run.output, "train: rank 1: " + (folder.path() / "1").string()));
    CHECK(contains(run.output, "data_batch_3.bin: cut off in record 4"));
}
