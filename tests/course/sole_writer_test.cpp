// A file that one process after another writes: at most one of them, and not one that came before the last.
#include "course/files/sole_writer.hpp"

#include <csignal>
#include <filesystem>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "tests/course/files_support.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist::files;

namespace {

namespace fs = std::filesystem;

/// The exit status of a process that writes "I" again and again, and ends when it may no more.
constexpr int kRefused = 7;

pid_t start_writer(const fs::path& file) {
    const pid_t child = fork();
    if (child == 0) {
        std::signal(SIGALRM, SIG_DFL);
        alarm(20);  // nobody refuses it, or waits for it
        SoleWriter writer(file);
        while (refusal([&] { writer.write("I"); }).empty()) {
        }
        _exit(kRefused);
    }
    return child;
}

int status_of(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("who takes a file over writes it, and whoever had it before does not any more") {
    const Folder folder;
    const fs::path file = folder.path / "file";
    {
        SoleWriter first(file);
        CHECK_FALSE(fs::exists(file));
        first.write("of the first");
        first.write("of the first again");
        SoleWriter second(file);
        CHECK(text_of(file) == "of the first again");
        const std::string told = refusal([&] { first.write("too late"); });
        CHECK(told.starts_with(file.string()));
        CHECK(told.ends_with("another run has gone on from it, and writes it now"));
        CHECK(text_of(file) == "of the first again");
        second.write("of the second");
        CHECK_FALSE(refusal([&] { first.write("too late"); }).empty());
        CHECK(text_of(file) == "of the second");
    }
    CHECK(folder.count() == 1);
}

TEST_CASE("a writer that stood still, wherever it was, is too late when it goes on") {
    const Folder folder;
    const fs::path file = folder.path / "file";
    for (int turn = 0; turn < 40; ++turn) {
        const pid_t child = start_writer(file);
        while (!fs::exists(file)) {
            usleep(100);
        }
        usleep(static_cast<useconds_t>(turn) * 37);
        kill(child, SIGSTOP);
        int status = 0;
        waitpid(child, &status, WUNTRACED);
        REQUIRE(WIFSTOPPED(status));
        {
            SoleWriter next(file);
            next.write("of the next");
            kill(child, SIGCONT);
            CHECK(status_of(child) == kRefused);
            CHECK(text_of(file) == "of the next");
        }
        CHECK(folder.count() == 1);
        fs::remove(file);
    }
}

TEST_CASE("what a writer that was killed has left goes when the next one takes its place") {
    const Folder folder;
    const fs::path file = folder.path / "file";
    const pid_t child = start_writer(file);
    while (!fs::exists(file)) {
        usleep(100);
    }
    kill(child, SIGKILL);
    status_of(child);
    CHECK(folder.count() == 2);
    { const SoleWriter next(file); }
    CHECK(folder.count() == 1);
    CHECK(text_of(file) == "I");
}

TEST_CASE("of many that take a file over at the same time at most one has it") {
    const Folder folder;
    const fs::path file = folder.path / "file";
    for (int turn = 0; turn < 20; ++turn) {
        int ready[2] = {};
        int go[2] = {};
        REQUIRE(pipe(ready) == 0);
        REQUIRE(pipe(go) == 0);
        std::vector<pid_t> children(6);
        for (pid_t& child : children) {
            child = fork();
            if (child == 0) {
                SoleWriter writer(file);
                close(go[1]);
                char byte = 0;
                const bool told = ::write(ready[1], &byte, 1) == 1 && read(go[0], &byte, 1) == 0;
                _exit(told && refusal([&] { writer.write("I"); }).empty() ? 0 : kRefused);
            }
        }
        for (std::size_t i = 0; i < children.size(); ++i) {
            char byte = 0;
            REQUIRE(read(ready[0], &byte, 1) == 1);
        }
        close(go[1]);
        int writers = 0;
        for (const pid_t child : children) {
            writers += status_of(child) == 0 ? 1 : 0;
        }
        CHECK(writers <= 1);
        for (const int end : {ready[0], ready[1], go[0]}) {
            close(end);
        }
    }
    SoleWriter last(file);
    CHECK(refusal([&] { last.write("of the last"); }).empty());
}
