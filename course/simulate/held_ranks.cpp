#include "course/simulate/held_ranks.hpp"

#include <algorithm>
#include <array>
#include <elf.h>
#include <fmt/format.h>
#include <fstream>
#include <limits>
#include <sys/statvfs.h>

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

constexpr double kMb = 1e6;
constexpr const char* kCopies = "/tmp";  // SMPI's setting smpi/tmpdir

// Measured with SimGrid 3.32, as lines of /proc/PID/maps.
constexpr double kOfProcess = 300;   // the libraries', whatever the number of ranks
constexpr double kOfStack = 2;       // with the page that guards it
constexpr double kOfSharedData = 4;  // input, output, and what an algorithm puts aside
constexpr double kOfReplay = 7;      // of the program that replays, and its stack

constexpr double kShared =
    64.0 * 1024 * 1024;                // bytes over all ranks, from which on they share data
constexpr double kRankBytes = 100e3;   // of memory, beside data
constexpr double kReplayBytes = 20e3;  // the program that replays
constexpr double kUsualMappings = 5;   // of a module that is not there yet, ...
constexpr double kUsualBytes = 0.5e6;  // ... and its length

/// Mappings that the loader makes of a library: one for each part, and one more where the end of relocation cuts a part in two.
double mappings_of(const fs::path& library) {
    std::ifstream in(library, std::ios::binary);
    Elf64_Ehdr head{};
    in.read(reinterpret_cast<char*>(&head), sizeof head);
    in.seekg(static_cast<std::streamoff>(head.e_phoff));
    std::vector<Elf64_Phdr> parts(in ? head.e_phnum : 0U);
    in.read(
        reinterpret_cast<char*>(parts.data()),
        static_cast<std::streamsize>(parts.size() * sizeof(Elf64_Phdr))
    );
    double mappings = 0;
    for (const Elf64_Phdr& part : parts) {
        const bool cuts = part.p_type == PT_GNU_RELRO &&
                          std::ranges::none_of(parts, [&](const Elf64_Phdr& other) {
                              return other.p_type == PT_LOAD && other.p_vaddr == part.p_vaddr &&
                                     other.p_memsz == part.p_memsz;
                          });
        mappings += part.p_type == PT_LOAD || cuts ? 1 : 0;
    }
    return in && mappings > 0 ? mappings : kUsualMappings;
}

double number_in(const char* file, const std::string& name) {
    std::ifstream in(file);
    for (std::string word; in >> word;) {
        double number = 0;
        if (name.empty()) {
            return std::stod(word);
        }
        if (word == name && in >> number) {
            return number;
        }
    }
    return std::numeric_limits<double>::infinity();
}

}  // namespace

Supply supply_here() {
    struct statvfs disk {};
    const bool known = statvfs(kCopies, &disk) == 0;
    return {
        .mappings = number_in("/proc/sys/vm/max_map_count", ""),
        .disk_bytes = known
                          ? static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize)
                          : std::numeric_limits<double>::infinity(),
        .memory_bytes = 1024 * number_in("/proc/meminfo", "MemAvailable:")};
}

Demand demand_with_code(const fs::path& module, std::size_t bytes, int ranks) {
    std::error_code absent;
    const auto length = fs::file_size(module, absent);
    const double all_bytes = static_cast<double>(bytes) * ranks;
    const bool shared = all_bytes > kShared;
    return {
        .mappings = mappings_of(module) + kOfStack + (shared ? kOfSharedData : 0),
        .disk_bytes = absent ? kUsualBytes : static_cast<double>(length),
        .memory_bytes = kRankBytes + (shared ? 0 : 3 * static_cast<double>(bytes))};
}

Demand demand_replayed() {
    return {.mappings = kOfReplay, .disk_bytes = kReplayBytes, .memory_bytes = kRankBytes};
}

Held held_ranks(const Supply& supply, const Demand& demand) {
    struct Limit {
        double ranks;
        std::string words;
    };
    const auto each = [](double has, double takes) {
        return takes > 0 ? std::max(has, 0.0) / takes : std::numeric_limits<double>::infinity();
    };
    const std::array limits = {
        Limit{
            each(supply.mappings - kOfProcess, demand.mappings),
            fmt::format(
                "each takes {:.0f} of the {:.0f} mappings that Linux allows a process "
                "(vm.max_map_count)",
                demand.mappings, supply.mappings
            )},
        Limit{
            each(supply.disk_bytes, demand.disk_bytes),
            fmt::format(
                "each takes {:.1f} MB of the {:.0f} MB free in {}", demand.disk_bytes / kMb,
                supply.disk_bytes / kMb, kCopies
            )},
        Limit{
            each(supply.memory_bytes, demand.memory_bytes),
            fmt::format(
                "each takes {:.1f} MB of the {:.0f} MB of memory that are free",
                demand.memory_bytes / kMb, supply.memory_bytes / kMb
            )}};
    const Limit& first = *std::ranges::min_element(limits, {}, &Limit::ranks);
    return {static_cast<int>(std::min(first.ranks, 1e9)), first.words};
}

}  // namespace dist::cli
