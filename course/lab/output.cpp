#include "course/lab/output.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <regex>
#include <unistd.h>
#include <vector>

#include "course/lab/options.hpp"

namespace dist::lab {
namespace {

constexpr double kMicro = 1e6;

/// The file that is written in the place of `path` until it is whole. A device or a pipe has no
/// such place: it is written as it is, and never replaced by a file.
std::string unfinished(const std::string& path) {
    const bool device = std::filesystem::exists(path) && !std::filesystem::is_regular_file(path);
    return device ? path : fmt::format("{}.{}.tmp", path, getpid());
}

/// A gnuplot string: a quote in it is doubled.
std::string quoted(const std::string& text) {
    return fmt::format("'{}'", std::regex_replace(text, std::regex("'"), "''"));
}

/// gnuplot's script, with the data in it.
std::string script(const std::string& svg, const Report& report) {
    std::string data;
    std::vector<std::string> curves;
    for (const Algorithm& algorithm : report.algorithms) {
        data += fmt::format("${} << EOD\n", algorithm.name);
        for (const Point& point : report.points) {
            if (point.algorithm == algorithm.name) {
                data += fmt::format("{} {}\n", point.size_bytes, point.median_s * kMicro);
            }
        }
        data += "EOD\n";
        curves.push_back(
            fmt::format("${0} with linespoints lw 2 pt 7 ps 0.6 title '{0}'", algorithm.name)
        );
    }
    data += "$bound << EOD\n";
    for (const Row& row : rows(report)) {
        if (row.bound_s > 0.0) {
            data += fmt::format("{} {}\n", row.point.size_bytes, row.bound_s * kMicro);
        }
    }
    data += "EOD\n";
    if (report.machine.ranks > 1) {
        curves.emplace_back("$bound with lines lw 2 dt 2 lc 'gray' title 'lower bound'");
    }
    return fmt::format(
        "set terminal svg size 900,600 noenhanced background 'white'\n"
        "set output {}\n"
        "set title '{} of float32, {} ranks: {}'\n"
        "set xlabel 'size (bytes)'\nset ylabel 'time (us)'\n"
        "set logscale x 2\nset logscale y 10\nset format x '%.0b %BB'\n"
        "set xrange [{}:{}]\nset grid\nset key left top\n{}plot {}\n",
        quoted(svg), report.collective.name, report.machine.ranks, report.machine.mpi,
        report.points.front().size_bytes / 2, report.points.back().size_bytes * 2, data,
        fmt::join(curves, ", ")
    );
}

[[noreturn]] void cannot_write(const std::string& path, int reason) {
    throw std::runtime_error(fmt::format("cannot write {}: {}", path, std::strerror(reason)));
}

/// Gives the finished file its name; if it is not `whole`, nothing of it is left.
void finish(const std::string& path, bool whole, int reason) {
    const std::string part = unfinished(path);
    if (part != path && whole && std::rename(part.c_str(), path.c_str()) != 0) {
        whole = false;
        reason = errno;
    }
    if (!whole) {
        if (part != path) {
            std::remove(part.c_str());
        }
        cannot_write(path, reason);
    }
}

/// Whether the file holds `text`: gnuplot says nothing when the disk is full, and leaves out the end.
bool holds(const std::string& path, const std::string& text) {
    std::ifstream file(path);
    const std::string all{std::istreambuf_iterator<char>(file), {}};
    return all.find(text) != std::string::npos;
}

}  // namespace

void check_writable(const std::string& path) {
    const std::string part = unfinished(path);
    std::FILE* file = std::filesystem::is_directory(path) ? nullptr : std::fopen(part.c_str(), "w");
    if (file == nullptr) {
        throw UsageError(fmt::format("cannot write {}: give a file in a folder that exists", path));
    }
    std::fclose(file);
    if (part != path) {
        std::remove(part.c_str());
    }
}

void check_gnuplot() {
    if (std::system("gnuplot --version > /dev/null 2>&1") != 0) {
        throw UsageError("--svg needs gnuplot. On Debian: apt-get install gnuplot-nox");
    }
}

void write_file(const std::string& path, const std::string& text) {
    std::FILE* file = std::fopen(unfinished(path).c_str(), "w");
    if (file == nullptr) {
        cannot_write(path, errno);
    }
    const bool written = std::fputs(text.c_str(), file) >= 0 && std::fflush(file) == 0;
    const int reason = errno;
    std::fclose(file);
    finish(path, written, reason);
}

void write_svg(const std::string& path, const Report& report) {
    const std::string part = unfinished(path);
    std::FILE* gnuplot = popen("gnuplot", "w");
    if (gnuplot == nullptr) {
        throw std::runtime_error("cannot start gnuplot");
    }
    fmt::print(gnuplot, "{}", script(part, report));
    const bool drawn = pclose(gnuplot) == 0;
    finish(path, drawn && (part == path || holds(part, "</svg>")), drawn ? ENOSPC : EIO);
}

}  // namespace dist::lab
