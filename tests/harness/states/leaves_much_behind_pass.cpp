// Right, and leaves behind what a program can: it finds nothing of that, whoever was tried before it.
// state: pass

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <unistd.h>

#include "tests/harness/harness.hpp"
#include "tests/harness/states/state.hpp"

namespace dist {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVariable = "SHARDLINGS_LEFT_BEHIND";

int calls = 0;

void sleep_for_ever() {
    while (true) {
        pause();
    }
}

}  // namespace

void state(const Communicator& comm) {
    const std::string mine = std::to_string(comm.rank());
    CHECK(calls == 0);
    CHECK(std::getenv(kVariable) == nullptr);
    CHECK(!fs::exists("file" + mine));
    CHECK(fs::current_path().filename() == "work");
    CHECK(std::signal(SIGUSR1, SIG_IGN) == SIG_DFL);
    ++calls;
    setenv(kVariable, "1", 1);
    std::ofstream("file" + mine) << "left behind";
    fs::create_directory("folder" + mine);
    fs::current_path("folder" + mine);
    std::thread(sleep_for_ever).detach();
}

}  // namespace dist
