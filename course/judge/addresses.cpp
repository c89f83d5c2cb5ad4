#include "course/judge/addresses.hpp"

#include <cstdint>
#include <fmt/format.h>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "course/process/subprocess.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

/// "/path/file.cpp:12", innermost first: a call that was inlined has several.
using Places = std::vector<std::string>;

/// One call of addr2line for all addresses.
std::map<std::uint64_t, Places> places_of(
    const Context& context, const fs::path& executable, const std::set<std::uint64_t>& addresses
) {
    std::vector<std::string> command = {"addr2line", "-C", "-f", "-i",
                                        "-p",        "-a", "-e", executable.string()};
    for (const std::uint64_t address : addresses) {
        command.push_back(fmt::format("{:#x}", address));
    }
    std::map<std::uint64_t, Places> places;
    std::istringstream lines(run(context, command).output);
    std::uint64_t address = 0;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("0x")) {
            address = std::stoull(line, nullptr, 16);
        }
        const std::size_t at = line.rfind(" at ");
        if (at != std::string::npos) {
            const std::string place = line.substr(at + 4);
            places[address].push_back(place.substr(0, place.find(" (discriminator")));
        }
    }
    return places;
}

constexpr int kUnderTest = 4;
constexpr int kReference = 3;

/// How near a place is to what the student wrote; 0: not theirs and not the course's.
int nearness(const std::string& place, const fs::path& file, const fs::path& root) {
    const std::string path = place.substr(0, place.rfind(':'));
    const std::string relative = fs::path(path).lexically_relative(root).string();
    if (path == file.string()) {
        return kUnderTest;
    }
    if (relative.starts_with("exercises/") || relative.starts_with("solutions/")) {
        return kReference;
    }
    if (relative.starts_with("tests/") && !relative.starts_with("tests/harness/")) {
        return 2;
    }
    return relative.starts_with("tests/harness/states/") ? 2 : 0;
}

/// The places of a stack, innermost first.
Places stack_of(const RankResult& rank, const std::map<std::uint64_t, Places>& places) {
    Places stack;
    for (const std::uint64_t frame : rank.frames) {
        if (const auto found = places.find(frame); found != places.end()) {
            stack.insert(stack.end(), found->second.begin(), found->second.end());
        }
    }
    return stack;
}

void locate_rank(
    RankResult& rank, const Places& stack, const fs::path& file, const fs::path& root
) {
    int best = 0;
    std::string called;  // the exercise whose reference the next place called
    for (const std::string& place : stack) {
        const int near = nearness(place, file, root);
        if (near > best) {
            best = near;
            rank.where = fs::path(place).filename().string();
            rank.reference = near == kUnderTest ? called : "";
        }
        if (near == kReference) {
            called = fs::path(place.substr(0, place.rfind(':'))).stem().string();
        }
    }
}

}  // namespace

void locate(
    const Context& context,
    const fs::path& executable,
    const fs::path& file,
    std::vector<TestResult>& tests
) {
    const std::vector<RankResult> none;
    std::set<std::uint64_t> addresses;
    for (const TestResult& test : tests) {
        for (const RankResult& rank : test.status == State::not_started ? none : test.per_rank) {
            addresses.insert(rank.frames.begin(), rank.frames.end());
        }
    }
    if (addresses.empty()) {
        return;
    }
    const auto places = places_of(context, executable, addresses);
    for (TestResult& test : tests) {
        for (RankResult& rank : test.per_rank) {
            locate_rank(rank, stack_of(rank, places), file, context.root);
        }
    }
}

}  // namespace dist::cli
