// Files that are there as a whole or not at all.
#include <csignal>
#include <filesystem>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>

#include "course/files/atomic_file.hpp"
#include "tests/course/files_support.hpp"
#include "tests/harness/catch2.hpp"

using namespace dist::files;

namespace fs = std::filesystem;

TEST_CASE("a file is replaced as a whole") {
    const Folder folder;
    const fs::path file = folder.path / "file";
    write_atomically(file, "old");
    write_atomically(file, "new text");
    CHECK(text_of(file) == "new text");
    CHECK(folder.count() == 1);
}

TEST_CASE("when there is no room, the old file stays, nothing else is left, and the reason is named"
) {
    const Folder folder;
    const fs::path file = folder.path / "file";
    write_atomically(file, "old");
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const rlimit little{.rlim_cur = 100, .rlim_max = before.rlim_max};
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &little);
    const std::string text = refusal([&] { write_atomically(file, std::string(1000, 'x')); });
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    CHECK(
        text ==
        "cannot write " + file.string() + "; what was there before is untouched: File too large"
    );
    CHECK(text_of(file) == "old");
    CHECK(folder.count() == 1);
}

TEST_CASE("a device is written, never replaced") {
    CHECK(refusal([] { write_atomically("/dev/null", "text"); }).empty());
    CHECK(fs::is_character_file("/dev/null"));
    if (fs::exists("/dev/full")) {
        const std::string text = refusal([] { write_atomically("/dev/full", "text"); });
        CHECK(text.ends_with("No space left on device"));
    }
}

TEST_CASE("what cannot be written is known beforehand, and trying leaves nothing") {
    const Folder folder;
    CHECK(refusal([&] { check_writable(folder.path / "file"); }).empty());
    CHECK(folder.count() == 0);
    CHECK(refusal([&] { check_writable(folder.path); }).ends_with("Is a directory"));
    CHECK(refusal([&] { check_writable(folder.path / "absent" / "file"); }
    ).ends_with("No such file or directory"));
}

TEST_CASE("two threads may write at the same time, also the same file") {
    const Folder folder;
    const auto handler = std::signal(SIGTERM, SIG_IGN);
    std::string text;  // what went wrong in the thread
    const auto write = [&](char letter) {
        for (int i = 0; i < 100; ++i) {
            write_atomically(folder.path / std::string(1, letter), std::string(10'000, letter));
            write_atomically(folder.path / "both", std::string(10'000, letter));
        }
    };
    std::thread other([&] { text = refusal([&] { write('b'); }); });
    CHECK(refusal([&] { write('a'); }).empty());
    other.join();
    CHECK(text.empty());
    CHECK(text_of(folder.path / "a") == std::string(10'000, 'a'));
    CHECK(text_of(folder.path / "b") == std::string(10'000, 'b'));
    const std::string both = text_of(folder.path / "both");
    REQUIRE(both.size() == 10'000);
    CHECK(both == std::string(10'000, both.front()));
    CHECK(folder.count() == 3);
    CHECK(std::signal(SIGTERM, handler) == SIG_IGN);  // as before the first write
}

TEST_CASE("a signal removes the unfinished files of all threads") {
    const Folder folder;
    const pid_t child = fork();
    if (child == 0) {
        std::signal(SIGTERM, SIG_DFL);  // Catch2 has one of its own
        const auto write = [&](const char* name) {
            const std::string bytes(std::size_t{4} << 20U, 'x');
            while (refusal([&] { write_atomically(folder.path / name, bytes); }).empty()) {
            }
        };
        std::thread(write, "a").detach();
        std::thread(write, "b").detach();
        usleep(50'000);
        std::raise(SIGTERM);
        _exit(1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == SIGTERM);
    for (const auto& entry : fs::directory_iterator(folder.path)) {
        CHECK(entry.path().extension() != ".partial");
    }
}

TEST_CASE("a signal during the write leaves the old file alone, and ends the process") {
    const Folder folder;
    const fs::path file = folder.path / "file";
    write_atomically(file, "old");
    const pid_t child = fork();
    if (child == 0) {
        std::signal(SIGTERM, SIG_DFL);  // Catch2 has one of its own
        std::signal(SIGALRM, [](int) { std::raise(SIGTERM); });
        ualarm(20'000, 0);
        const std::string bytes(std::size_t{4} << 20U, 'x');
        while (true) {  // sooner or later the signal falls into a write
            write_atomically(file, bytes);
            write_atomically(file, "old");
        }
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == SIGTERM);
    CHECK(folder.count() == 1);
    const auto size = fs::file_size(file);
    CHECK((size == 3 || size == std::uintmax_t{4} << 20U));
}
