#include "course/simulate/replayed.hpp"

#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <vector>

#include "course/launch/run_folder.hpp"
#include "course/process/progress_line.hpp"
#include "course/process/subprocess.hpp"

namespace dist::cli {
namespace {

/// What a rank does, as SMPI's traces say it: {} is the number of elements, 5 their type, float.
const std::map<std::string, std::string>& actions() {
    static const std::map<std::string, std::string> all = {
        {"all_reduce", "allreduce {} 0 5"},
        {"broadcast", "bcast {} 0 5"},
        {"reduce", "reduce {} 0 0 5"}};
    return all;
}

}  // namespace

std::optional<double> replayed_s(
    const Context& context,
    const Cluster& cluster,
    int ranks,
    const std::string& collective,
    std::size_t bytes,
    const std::string& setting
) {
    const auto known = actions().find(collective);
    if (known == actions().end()) {
        return std::nullopt;
    }
    const RunFolder folder(context, false);
    const std::string trace = folder.path() / "trace";
    const std::string traces =
        folder.path() / "traces";  // which of them are whose: one is everybody's
    std::ofstream(traces) << trace << '\n';
    std::ofstream out(trace);
    const std::string action = fmt::format(fmt::runtime(known->second), bytes / sizeof(float));
    for (int rank = 0; rank < ranks; ++rank) {
        out << fmt::format("{0} init\n{0} {1}\n{0} finalize\n", rank, action);
    }
    out.close();
    std::vector<std::string> line = on_cluster(cluster, ranks, folder.path(), {setting});
    line.insert(line.end(), {"--log=smpi_replay.threshold:info", "-replay", traces});
    RunOptions options;
    options.environment = {{"LC_ALL", "C"}};
    ProgressLine progress;
    options.watch = [&](const std::string& /*output*/, double seconds) {
        progress.show(fmt::format("simulating {} ranks of a peer, {:.0f} s", ranks, seconds));
    };
    const Ended ended = run(context, line, options);
    const std::string mark = "Simulation time ";
    const std::size_t at = ended.output.find(mark);
    if (!ended.ok() || at == std::string::npos) {
        return std::nullopt;
    }
    return std::strtod(ended.output.c_str() + at + mark.size(), nullptr);
}

}  // namespace dist::cli
