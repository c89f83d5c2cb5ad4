#include "course/parallel/fault.hpp"

#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <unistd.h>

namespace dist::trainer {

namespace {

std::string environment(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? "" : value;
}

}  // namespace

void inject_fault(int rank, std::size_t step) {
    const std::string asked = environment("SHARDLINGS_FAULT");
    const std::string round = environment("SHARDLINGS_ROUND");
    const auto is = [&](const char* kind) {
        const std::string fault =
            std::to_string(rank) + ":" + std::to_string(step) + ":" + kind + ":" + round;
        return ("," + asked + ",").find("," + fault + ",") != std::string::npos;
    };
    constexpr int kStatus = 3;
    if (asked.empty()) {
        return;
    }
    if (is("kill")) {
        raise(SIGKILL);
    } else if (is("stop")) {
        raise(SIGSTOP);
    } else if (is("exit")) {
        _exit(kStatus);
    } else if (is("throw")) {
        throw std::runtime_error("a fault was asked for");
    }
}

}  // namespace dist::trainer
