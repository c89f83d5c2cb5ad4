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
            const fs::path path = place.substr(0, place.find(" (discriminator"));
            places[address].push_back(path.lexically_normal().string());  // ccache's may have ".."
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
Places stack_of(
    const std::vector<std::uint64_t>& frames, const std::map<std::uint64_t, Places>& places
) {
    Places stack;
    for (const std::uint64_t frame : frames) {
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

/// The collective of chapters 02 and 03 that a stack is in, and the line that called it: "ring_all_gather
/// zero2.cpp:57". Of several it is the outermost that the file under test called. Empty if there is none.
std::string call_in(const Places& stack, const fs::path& file, const fs::path& root) {
    std::string collective;
    std::string caller;
    for (const std::string& place : stack) {
        const fs::path path = place.substr(0, place.rfind(':'));
        const std::string relative = path.lexically_relative(root).string();
        const int near = nearness(place, file, root);
        if (near == kReference &&
            (relative.starts_with("solutions/02") || relative.starts_with("solutions/03"))) {
            collective = path.stem().string();
            caller.clear();
        } else if (near > 0 && caller.empty()) {
            caller =
                near < kReference ? "   of the test" : "   " + fs::path(place).filename().string();
        }
        if (near == kUnderTest) {
            break;
        }
    }
    return collective.empty() ? "" : collective + caller;
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
            for (const auto& stack : rank.log.stacks) {
                addresses.insert(stack.begin(), stack.end());
            }
        }
    }
    if (addresses.empty()) {
        return;
    }
    const auto places = places_of(context, executable, addresses);
    for (TestResult& test : tests) {
        for (RankResult& rank : test.per_rank) {
            locate_rank(rank, stack_of(rank.frames, places), file, context.root);
            for (const auto& stack : rank.log.stacks) {
                rank.log.calls.push_back(call_in(stack_of(stack, places), file, context.root));
            }
        }
    }
}

}  // namespace dist::cli
