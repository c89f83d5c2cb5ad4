#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <thread>
#include <unistd.h>

#include "course/build/build_lock.hpp"
#include "course/launch/launch.hpp"
#include "course/launch/run_folder.hpp"
#include "course/process/error.hpp"
#include "course/process/hosts.hpp"
#include "course/process/mpirun.hpp"
#include "course/process/room.hpp"
#include "course/process/session_folder.hpp"
#include "course/process/subprocess.hpp"
#include "tests/course/error_text.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist::cli;

namespace {

namespace fs = std::filesystem;

Context context() {
    Context result;
    result.root = fs::temp_directory_path();
    return result;
}

/// Whether this process still runs a second from now; what has ended has no program any more, even
/// before its parent has asked for its status.
bool lives(const std::string& line_with_pid) {
    const fs::path program = "/proc/" + std::to_string(std::stoi(line_with_pid)) + "/exe";
    std::error_code gone;
    for (int i = 0; i < 50 && !gone; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        static_cast<void>(fs::read_symlink(program, gone));
    }
    return !gone;
}

}  // namespace

TEST_CASE("a program's output, status and environment come back") {
    RunOptions options;
    options.environment = {{"COLOUR", "blue"}};
    const Ended ended = run(context(), {"sh", "-c", "echo $COLOUR; echo two >&2; exit 7"}, options);
    CHECK(ended.output == "blue\ntwo\n");
    CHECK(ended.status == 7);
    CHECK(run(context(), {"sh", "-c", "kill -SEGV $$"}).status == 128 + 11);
}

TEST_CASE("a program that runs too long is ended, with its children") {
    RunOptions options;
    options.time_limit_s = 2;  // time enough for the echo on a busy machine
    const Ended ended = run(context(), {"sh", "-c", "sleep 60 & echo $!; wait"}, options);
    CHECK(ended.timed_out);
    CHECK(ended.seconds < 5);
    CHECK_FALSE(lives(ended.output));
}

TEST_CASE("what a program leaves behind is ended with it and counted, whatever it made of itself") {
    RunOptions options;
    const auto left_by = [&](const std::string& daemon) {
        const Ended ended =
            run(context(), {"bash", "-c", daemon + " >&- 2>&- & echo $!; disown; exit 3"}, options);
        CHECK(ended.status == 3);
        CHECK_FALSE(lives(ended.output));
        return ended.left_processes;
    };
    CHECK(left_by("sleep 60") == 1);
    CHECK(left_by("setsid sleep 60") == 1);
    CHECK(left_by("env -i setsid sleep 60") == 1);
    CHECK(run(context(), {"sh", "-c", "sleep 0.1 & wait"}).left_processes == 0);
    CHECK(left_by("sleep 0.2") == 0);  // ends by itself
    const auto command_of = [](pid_t pid) {
        std::string name;
        std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/comm"), name);
        return name;
    };
    options.is_known = [&](pid_t pid) { return command_of(pid) == "sleep"; };
    CHECK(left_by("sleep 60") == 0);
    CHECK(left_by("bash -c 'sleep 60 & wait'") == 0);  // and its parent
    CHECK(left_by("sh -c 'kill -STOP $$'") == 1);
}

TEST_CASE("a process that falls to the keeper, and ends it, is ended; other programs are not") {
    auto another = std::async(std::launch::async, [] {
        return run(context(), {"sh", "-c", "setsid sleep 2 & wait; echo whole"});
    });
    const std::string orphan =
        "sleep 0.2; read _ _ _ parent _ < /proc/$BASHPID/stat; kill -9 $parent; exec sleep 60";
    const Ended ended = run(context(), {"bash", "-c", "( (" + orphan + ") & echo $! ); sleep 60"});
    CHECK(ended.killed);
    CHECK(ended.seconds < 20);
    CHECK_FALSE(lives(ended.output));
    CHECK(another.get().output == "whole\n");
}

TEST_CASE("whoever waits for a program may call it off") {
    Context impatient = context();
    impatient.cancelled = [] { return true; };
    CHECK_THROWS_AS(run(impatient, {"sleep", "60"}), Interrupted);
}

TEST_CASE("a program that is not there is named") {
    try {
        run(context(), {"no_such_program_anywhere"});
        FAIL("it ran");
    } catch (const CommandError& error) {
        CHECK(std::string(error.what()).find("no_such_program_anywhere was not found") == 0);
    }
}

TEST_CASE("a command line is shown as a shell would take it") {
    CHECK(
        shell_line({"run", "--test", "it's one"}, {{"A", "b c"}}) ==
        "A='b c' run --test 'it'\\''s one'"
    );
}

TEST_CASE("rank counts that make no sense are refused") {
    CHECK_THROWS_AS(expect_rank_count(0), UsageError);
    CHECK_THROWS_AS(expect_rank_count(-3), UsageError);
    CHECK_THROWS_AS(expect_rank_count(65), UsageError);
    CHECK_NOTHROW(expect_rank_count(5));
}

TEST_CASE("the folder of a run goes with it, and takes along what a killed command has left") {
    Context here = context();
    here.root /= "cli_folder_" + std::to_string(getpid());
    const pid_t gone = std::stoi(run(context(), {"sh", "-c", "echo $$"}).output);
    const fs::path stale = run_folders(here) / (std::to_string(gone) + "-1");
    const fs::path kept = run_folders(here) / ("kept-" + std::to_string(gone) + "-1");
    const fs::path shared = "/dev/shm/shardlings-" + std::to_string(gone) + "-1";
    const fs::path of_another = run_folders(here) / (std::to_string(getppid()) + "-1");
    for (const fs::path& folder : {stale, kept, shared, of_another}) {
        fs::create_directories(folder);
    }
    fs::path mine;
    {
        const RunFolder folder(here, false);
        mine = folder.path();
        CHECK(fs::is_directory(mine));
        CHECK_FALSE(fs::exists(stale));
        CHECK_FALSE(fs::exists(shared));
    }
    CHECK_FALSE(fs::exists(mine));
    CHECK(fs::exists(kept));
    CHECK(fs::exists(of_another));
    fs::remove_all(here.root);
}

TEST_CASE("every mpirun keeps its session in a folder of its own, which goes whatever mpirun left"
) {
    const fs::path base =
        fs::temp_directory_path() / ("shardlings-base-" + std::to_string(getpid()));
    const fs::path stale = base / "shardlings-mpi-99999999-abcdef";  // no process has that number
    fs::create_directories(stale);
    const char* before = std::getenv("TMPDIR");
    const std::string kept = before == nullptr ? "/tmp" : before;
    setenv("TMPDIR", base.c_str(), 1);
    {
        const SessionFolder one;
        const SessionFolder other;
        Environment first;
        Environment second;
        one.add_to(first);
        other.add_to(second);
        REQUIRE(first.size() == 2);  // for Open MPI 4 and 5
        const fs::path folder = first[0].second;
        CHECK(first[1].second == folder);
        CHECK(second[0].second != folder);
        CHECK(folder.parent_path() == base);
        CHECK_FALSE(fs::exists(stale));
        std::ofstream(folder / "left") << "by an mpirun that was killed";
    }
    CHECK(fs::is_empty(base));
    setenv("TMPDIR", "/dev/full", 1);
    const SessionFolder none;
    Environment environment;
    none.add_to(environment);
    CHECK(environment.empty());
    setenv("TMPDIR", kept.c_str(), 1);
    fs::remove_all(base);
}

TEST_CASE("a build's lock ends with the build, whatever was started meanwhile and still runs") {
    Context here = context();
    here.root /= "shardlings-lock-" + std::to_string(getpid());
    fs::create_directories(here.root / ".shardlings");
    std::future<Ended> other;
    {
        const BuildLock lock(here.root);
        other = std::async(std::launch::async, [&] {
            return run(
                here, {"sh", "-c", "touch started; while [ ! -e end ]; do sleep 0.02; done"}
            );
        });
        while (!fs::exists(here.root / "started")) {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
    }
    const Ended again = run(here, {"flock", "-n", ".shardlings/build.lock", "true"});
    CHECK(again.status == 0);
    run(here, {"touch", "end"});
    CHECK(other.get().ok());
    fs::remove_all(here.root);
}

TEST_CASE("who waits for a build is told at once who builds") {
    const fs::path root = fs::path("shardlings-wait-" + std::to_string(getpid()));
    fs::create_directories(root / ".shardlings");
    std::promise<std::string> told;
    std::future<void> other;
    {
        const BuildLock lock(root);
        other = std::async(std::launch::async, [&] {
            const BuildLock second(root, [&](const std::string& who) { told.set_value(who); });
        });
        const std::string who = told.get_future().get();
        CHECK(who.find("(process " + std::to_string(getpid()) + ")") != std::string::npos);
    }
    other.get();
    fs::remove_all(root);
}

TEST_CASE("where MPI has no room is said before it is tried, with the folder") {
    CHECK(missing_room(4, fs::temp_directory_path()).empty());
    const char* before = std::getenv("TMPDIR");
    const std::string kept = before == nullptr ? "/tmp" : before;
    setenv("TMPDIR", "/dev/full/session", 1);
    CHECK(
        missing_room(4) ==
        "/dev/full/session, where MPI keeps its session, cannot be written; set TMPDIR to a folder "
        "with room"
    );
    setenv("TMPDIR", kept.c_str(), 1);
    // more ranks than any memory can hold
    const std::string line = missing_room(2'000'000'000);
    CHECK(line.find("no space left in /dev/shm, the memory that ranks share: ") == 0);
    CHECK(missing_room(4, "/dev/full/runs").find("/dev/full/runs, where a run leaves") == 0);
}

TEST_CASE("on hosts mpirun takes the network that it finds, and the slots that there are") {
    const auto has = [](const std::vector<std::string>& words, const std::string& word) {
        return std::ranges::find(words, word) != words.end();
    };
    const std::vector<std::string> here = mpirun(2, Purpose::work);
    CHECK(has(here, "self,vader"));
    CHECK(has(here, ":OVERSUBSCRIBE"));
    const Hosts hosts{.file = "/tmp/hosts.txt"};
    const std::vector<std::string> there = mpirun(0, Purpose::work, hosts);
    CHECK(has(there, "/tmp/hosts.txt"));
    CHECK(has(there, "OMP_NUM_THREADS"));
    for (const char* word : {"self,vader", ":OVERSUBSCRIBE", "-np"}) {
        INFO(word);
        CHECK_FALSE(has(there, word));
    }
    CHECK(has(mpirun(4, Purpose::work, hosts), "4"));
    // Open MPI leaks, whatever it is for: that is no fault of a program under sanitizers
    for (const Purpose purpose : {Purpose::test, Purpose::work, Purpose::measure}) {
        CHECK(has(mpirun(2, purpose, hosts), "ASAN_OPTIONS"));
    }
    // a cap on the processor's instructions is every rank's
    const bool capped = std::getenv("ONEDNN_MAX_CPU_ISA") != nullptr;
    setenv("ONEDNN_MAX_CPU_ISA", "AVX2", 0);
    CHECK(has(mpirun(2, Purpose::work, hosts), "ONEDNN_MAX_CPU_ISA"));
    if (!capped) {
        unsetenv("ONEDNN_MAX_CPU_ISA");
    }
}

TEST_CASE("a run on this machine asks no scheduler whose job it is in, and no default hostfile") {
    const std::string hostfile = (fs::temp_directory_path() / "no_such_hostfile").string();
    const std::vector<Environment> shells = {
        {{"SLURM_JOBID", "7"}},
        {{"SLURM_JOBID", "7"}, {"SLURM_NODELIST", "node[1-2]"}, {"SLURM_TASKS_PER_NODE", "2(x2)"}},
        {{"PE_HOSTFILE", hostfile}, {"SGE_ROOT", "/"}, {"ARC", "x"}, {"JOB_ID", "7"}},
        {{"OMPI_MCA_orte_default_hostfile", hostfile},
         {"PRTE_MCA_prte_default_hostfile", hostfile}},
    };
    for (const Environment& shell : shells) {
        for (const auto& [name, value] : shell) {
            setenv(name.c_str(), value.c_str(), 1);
        }
        RunOptions options;
        options.environment = mpi_environment(2, Purpose::work);
        std::vector<std::string> words = mpirun(2, Purpose::work);
        words.emplace_back("true");
        const Ended ended = run(context(), words, options);
        for (const auto& [name, value] : shell) {
            unsetenv(name.c_str());
        }
        INFO(shell.front().first << ": " << ended.output);
        CHECK(ended.ok());
    }
}

TEST_CASE("hosts are those of a file, else those of a job of Slurm's, else none") {
    for (const char* name : {"SLURM_JOB_ID", "SLURM_JOB_NODELIST"}) {
        unsetenv(name);
    }
    CHECK(find_hosts("").none());
    setenv("SLURM_JOB_ID", "7", 1);
    setenv("SLURM_JOB_NODELIST", "node[1-2]", 1);
    CHECK(find_hosts("").allocated);
    for (const char* name : {"SLURM_JOB_ID", "SLURM_JOB_NODELIST"}) {
        unsetenv(name);
    }
    const fs::path file = fs::temp_directory_path() / ("hosts." + std::to_string(getpid()));
    const auto refusal = [&] { return error_text([&] { static_cast<void>(find_hosts(file)); }); };
    CHECK(refusal() == "--hostfile: there is no file " + file.string());
    std::ofstream(file) << "# node1\n\n";
    CHECK(refusal().ends_with("names no host; write one on each line: node1 slots=2"));
    std::ofstream(file) << "node1 slots=2  # the one with the disk\n";
    CHECK(find_hosts(file).file == file);
    fs::remove(file);
}
