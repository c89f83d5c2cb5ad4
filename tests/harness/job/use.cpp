#include "tests/harness/job/use.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <unistd.h>

#include "course/protocol/protocol.hpp"

namespace dist::harness {

double number_from(const char* variable, double otherwise) {
    const char* text = std::getenv(variable);
    return text == nullptr ? otherwise : std::atof(text);
}

double most_computing_s() {
    return number_from(kEnvComputeS, 5);
}

Use use_of(pid_t pid) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string field;
    Use use;
    // the name, field 2, is ours: it has no spaces
    for (int i = 1; i <= 13 && stat >> field; ++i) {
        use.asleep = i == 3 ? field == "S" || field == "T" : use.asleep;
    }
    double user = 0;
    double system = 0;
    stat >> user >> system;
    use.cpu_s = (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
    return use;
}

Rest rest_of(pid_t pid) {
    Rest rest = {.asleep = true};
    std::error_code ended;  // the process has, meanwhile
    const std::string threads = "/proc/" + std::to_string(pid) + "/task";
    for (const auto& thread : std::filesystem::directory_iterator(threads, ended)) {
        std::ifstream status(thread.path() / "status");
        std::string state = "?";
        for (std::string field; status >> field;) {
            if (field == "State:") {
                status >> state;
            } else if (field == "voluntary_ctxt_switches:") {
                long naps = 0;
                status >> naps;
                rest.naps += naps;
            }
        }
        rest.asleep = rest.asleep && (state == "S" || state == "T");
    }
    return rest;
}

}  // namespace dist::harness
