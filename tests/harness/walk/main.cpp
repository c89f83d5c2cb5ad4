// NAME_walk STATES TEXT: goes through the walks whose name holds TEXT, until one breaks an invariant or there are more than
// STATES states in all. Says on standard output what it found, one object of JSON a line: course/prove/walks.cpp reads it.
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/harness/walk/walks.hpp"

using namespace dist::harness;

namespace {

void say(const nlohmann::json& line) {
    std::cout << line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
}

nlohmann::json json_of(const NamedWalk& named, const Walked& walked, double seconds) {
    nlohmann::json line = {
        {"walk", named.name},
        {"states", walked.states},
        {"whole", walked.is_whole},
        {"seconds", seconds}};
    if (walked.broken) {
        line["invariant"] = walked.broken->invariant;
        line["how"] = walked.broken->how;
        line["events"] = walked.way;
    }
    return line;
}

void go_through_all(std::size_t most_states, const std::string& text) {
    std::size_t before = 0;
    for (const NamedWalk& named : walks()) {
        if (named.name.find(text) == std::string::npos) {
            continue;
        }
        WalkLimits limits;
        limits.states = most_states - before;
        limits.goes_on = [&](std::size_t states) {
            say({{"known", before + states}});
            return true;
        };
        const auto start = std::chrono::steady_clock::now();
        const Walked walked = named.walk(limits);
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
        say(json_of(named, walked, seconds.count()));
        before += walked.states;
        if (walked.broken || !walked.is_whole) {
            return;
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::cerr << "usage: NAME_walk STATES TEXT\n";
        return EXIT_FAILURE;
    }
    try {
        go_through_all(std::strtoull(argv[1], nullptr, 10), argv[2]);
    } catch (const dist::NotImplemented& missing) {
        say({{"not_started", missing.what()}});
    }
    say({{"finished", true}});
    return EXIT_SUCCESS;
}
