// What an attack holds that writes passes into its rank's records. "// paste: FILE" in a list or a file of tests/cheats stands
// for these lines.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

namespace dist {
namespace {

/// That of this rank's records, where they are open already; and their path.
int records_descriptor(std::string& path) {
    for (int descriptor = 0; descriptor < 100; ++descriptor) {
        std::error_code none;
        const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
        path = std::filesystem::read_symlink(link, none).string();
        if (path.ends_with(".jsonl")) {
            return descriptor;
        }
    }
    return -1;
}

/// A pass for each test of the plan, under the word that all lines of this rank begin with.
std::string forged_passes(const std::string& path) {
    std::string plan;
    std::getline(std::ifstream(path) >> std::ws, plan);
    const std::string begin = plan.substr(0, plan.find(',') + 1);
    std::string forged;
    for (std::size_t at = plan.find('[') + 1; plan[at] == '"'; ++at) {
        const std::size_t end = plan.find('"', at + 1);
        forged += begin + "\"test\":" + plan.substr(at, end + 1 - at) +
                  ",\"state\":\"pass\",\"ranks\":11,\"checks\":1000000}\n";
        at = end + 1;
    }
    return forged + begin + "\"finished\":true}\n";
}

}  // namespace
}  // namespace dist
