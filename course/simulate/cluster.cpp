#include "course/simulate/cluster.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <string_view>

#include "course/process/error.hpp"
#include "course/process/lists.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

struct Unit {
    std::string_view name;
    double factor;
};

/// A number and one of these units; the first fits a number alone.
template <std::size_t N>
double parse(
    const std::string& option,
    const std::string& text,
    const std::array<Unit, N>& units,
    const std::string& such_as
) {
    double number = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
    for (const Unit& known : units) {
        if (error == std::errc() && unit == known.name && number >= 0 && std::isfinite(number)) {
            return number * known.factor;
        }
    }
    throw UsageError(fmt::format("{}: \"{}\" cannot be read: write {}", option, text, such_as));
}

// The simulated time is the model's, and nothing is added to it; SimGrid's defaults are fitted to a cluster of 2011. No send
// ends before it is received, however short the message: luck by buffers is no algorithm.
constexpr std::array kExact = {
    "smpi/send-is-detached-thresh:0", "smpi/lat-factor:0:1", "smpi/bw-factor:0:1",
    "network/crosstraffic:0",         "network/TCP-gamma:0", "network/weight-S:0",
    "smpi/simulate-computation:no"};

void write_platform(const Cluster& cluster, int ranks, const fs::path& file) {
    // a message goes through two links: its sender's and its receiver's
    std::ofstream(file) << fmt::format(
        "<?xml version=\"1.0\"?>\n"
        "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
        "<platform version=\"4.1\"><cluster id=\"cluster\" prefix=\"node-\" suffix=\"\" "
        "radical=\"0-{}\" speed=\"1Gf\" bw=\"{:.17g}Bps\" lat=\"{:.17g}s\"/></platform>\n",
        ranks - 1, cluster.bytes_per_s, cluster.latency_s / 2
    );
}

/// Of each message the route with the fewest links is taken: two on a node, four between nodes.
void write_nodes(const Cluster& cluster, int ranks, const fs::path& file) {
    std::ofstream out(file);
    const auto link = [&](const std::string& name, double bytes_per_s, double latency_s) {
        out << fmt::format(
            "<link id=\"{}\" bandwidth=\"{:.17g}Bps\" latency=\"{:.17g}s\" "
            "sharing_policy=\"SPLITDUPLEX\"/>\n",
            name, bytes_per_s, latency_s / 2
        );
    };
    const auto route = [&](const std::string& from, const std::string& to,
                           const std::string& links) {
        out << fmt::format(
            "<route src=\"{}\" dst=\"{}\" symmetrical=\"NO\">{}</route>\n", from, to, links
        );
    };
    out << "<?xml version=\"1.0\"?>\n"
           "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
           "<platform version=\"4.1\"><zone id=\"cluster\" routing=\"DijkstraCache\">\n";
    for (int rank = 0; rank < ranks; ++rank) {
        out << fmt::format("<host id=\"node-{}\" speed=\"1Gf\"/>\n", rank);
    }
    out << "<router id=\"between\"/>\n";
    for (int node = 0; node < ranks / cluster.per_node; ++node) {
        out << fmt::format("<router id=\"inside-{}\"/>\n", node);
    }
    out << R"(<link id="longer" bandwidth="1e18Bps" latency="0s" sharing_policy="FATPIPE"/>)"
        << '\n';
    for (int rank = 0; rank < ranks; ++rank) {
        link(fmt::format("in-{}", rank), cluster.inside_bytes_per_s, cluster.inside_latency_s);
        link(fmt::format("out-{}", rank), cluster.bytes_per_s, cluster.latency_s);
    }
    const auto through = [](const std::string& name, int rank, const char* direction) {
        return fmt::format("<link_ctn id=\"{}-{}\" direction=\"{}\"/>", name, rank, direction);
    };
    const std::string longer = R"(<link_ctn id="longer"/>)";
    for (int rank = 0; rank < ranks; ++rank) {
        const std::string host = fmt::format("node-{}", rank);
        const std::string inside = fmt::format("inside-{}", rank / cluster.per_node);
        route(host, inside, through("in", rank, "UP"));
        route(inside, host, through("in", rank, "DOWN"));
        route(host, "between", through("out", rank, "UP") + longer);
        route("between", host, longer + through("out", rank, "DOWN"));
    }
    out << "</zone></platform>\n";
}

}  // namespace

double parse_seconds(const std::string& option, const std::string& text) {
    constexpr std::array kUnits = {
        Unit{"s", 1.0}, Unit{"ms", 1e-3}, Unit{"us", 1e-6}, Unit{"ns", 1e-9}};
    return parse(option, text, kUnits, "2us, 0.5ms or 1s");
}

double parse_duration(const std::string& option, const std::string& text) {
    constexpr std::array kUnits = {Unit{"", 1.0},   Unit{"s", 1.0},    Unit{"ms", 1e-3},
                                   Unit{"m", 60.0}, Unit{"h", 3600.0}, Unit{"d", 86400.0}};
    return parse(option, text, kUnits, "3.1h, 5m, 60s or 54d");
}

double parse_bytes_per_s(const std::string& option, const std::string& text) {
    constexpr std::array kUnits = {
        Unit{"B", 1.0},        Unit{"KB", 1e3},       Unit{"MB", 1e6},      Unit{"GB", 1e9},
        Unit{"Kbit", 1e3 / 8}, Unit{"Mbit", 1e6 / 8}, Unit{"Gbit", 1e9 / 8}};
    const double rate = parse(option, text, kUnits, "10Gbit, 1.25GB or 200MB, a second");
    if (rate <= 0) {
        throw UsageError(
            fmt::format("{}: \"{}\" is no rate: nothing would ever arrive", option, text)
        );
    }
    return rate;
}

double parse_flops_per_s(const std::string& option, const std::string& text) {
    constexpr std::array kUnits = {Unit{"", 1.0}, Unit{"G", 1e9}, Unit{"T", 1e12}, Unit{"P", 1e15}};
    const double rate = parse(option, text, kUnits, "312T or 1P, operations a second");
    if (rate <= 0) {
        throw UsageError(fmt::format("{}: nothing is ever computed with {}", option, text));
    }
    return rate;
}

double parse_memory(const std::string& option, const std::string& text) {
    constexpr std::array kUnits = {
        Unit{"GB", 1e9}, Unit{"MB", 1e6}, Unit{"TB", 1e12}, Unit{"G", 1e9}, Unit{"M", 1e6}};
    return parse(option, text, kUnits, "80GB or 500MB");
}

double parse_share(const std::string& option, const std::string& text) {
    constexpr std::array kUnits = {Unit{"", 1.0}, Unit{"%", 0.01}};
    const double share = parse(option, text, kUnits, "0.5 or 50%");
    if (share <= 0 || share > 1) {
        throw UsageError(fmt::format("{}: {} is no share: above 0, and at most 1", option, text));
    }
    return share;
}

std::size_t parse_bytes(const std::string& option, const std::string& text) {
    constexpr std::array kUnits = {
        Unit{"", 1.0}, Unit{"K", 1024.0}, Unit{"M", 1024.0 * 1024},
        Unit{"G", 1024.0 * 1024 * 1024}};
    const double bytes = parse(option, text, kUnits, "bytes, or with K, M, G: 64K,1M,85M");
    if (bytes < sizeof(float) || bytes > 0x7fffffff * double{sizeof(float)} ||
        std::fmod(bytes, sizeof(float)) != 0) {
        throw UsageError(fmt::format(
            "{}: {} is no size: give a multiple of 4 bytes, as the data are floats, from 4 to 8G",
            option, text
        ));
    }
    return static_cast<std::size_t>(bytes);
}

std::vector<std::string> on_cluster(
    const Cluster& cluster,
    int ranks,
    const fs::path& folder,
    const std::vector<std::string>& settings,
    const std::string& log
) {
    std::vector<std::string> line = {"smpirun", "-np", std::to_string(ranks)};
    if (cluster.platform.empty()) {
        std::ofstream hosts(folder / "hosts");
        for (int rank = 0; rank < ranks; ++rank) {
            hosts << "node-" << rank << '\n';
        }
        hosts.close();
        (cluster.per_node > 0 ? write_nodes : write_platform
        )(cluster, ranks, folder / "platform.xml");
        if (!hosts || fs::file_size(folder / "platform.xml") == 0) {
            throw CommandError(exit_status::kOurs, "cannot write to " + folder.string());
        }
        line.insert(line.end(), {"-hostfile", (folder / "hosts").string()});
        line.insert(line.end(), {"-platform", (folder / "platform.xml").string()});
        for (const char* const setting : kExact) {
            line.push_back(fmt::format("--cfg={}", setting));
        }
    } else {
        line.insert(line.end(), {"-platform", cluster.platform.string()});
        line.emplace_back("--cfg=smpi/simulate-computation:no");
    }
    for (const std::string& setting : settings) {
        line.push_back("--cfg=" + setting);
    }
    line.push_back("--log=root.threshold:" + log);
    return line;
}

std::string first_complaint(const std::string& output) {
    const std::string words = rest_of_line("[root/CRITICAL] ", output);
    return words.empty() ? output.substr(0, output.find('\n')) : words;
}

EarlyEnd early_end(const Ended& ended) {
    if (ended.timed_out) {
        return {exit_status::kHang, "took too long and was ended"};
    }
    if (ended.ok()) {
        return {exit_status::kCrash, "ended too early, as by exit()"};
    }
    const std::string why = first_complaint(ended.output);
    const char* const signal = ended.status > 128 ? sigabbrev_np(ended.status - 128) : nullptr;
    if (signal != nullptr) {
        return {exit_status::kCrash, fmt::format("died of SIG{}: {}", signal, why)};
    }
    return {exit_status::kFailed, fmt::format("ended with status {}: {}", ended.status, why)};
}

}  // namespace dist::cli
