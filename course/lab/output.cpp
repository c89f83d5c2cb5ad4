#include "course/lab/output.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <stdexcept>
#include <unistd.h>

#include "course/files/atomic_file.hpp"
#include "course/lab/options.hpp"
#include "course/lab/picture.hpp"

namespace dist::lab {
namespace {

namespace fs = std::filesystem;

/// A file that is there as long as this.
class Script {
  public:
    explicit Script(const std::string& text)
        : path_(fs::temp_directory_path() / fmt::format("bench.{}.gnuplot", getpid())) {
        files::write_atomically(path_, text);
    }
    ~Script() {
        std::error_code ignored;
        fs::remove(path_, ignored);
    }
    Script(const Script&) = delete;
    Script& operator=(const Script&) = delete;
    Script(Script&&) = delete;
    Script& operator=(Script&&) = delete;

    [[nodiscard]] const fs::path& path() const { return path_; }

  private:
    fs::path path_;
};

}  // namespace

void check_gnuplot() {
    if (std::system("gnuplot --version > /dev/null 2>&1") != 0) {
        throw UsageError("--svg needs gnuplot. On Debian: apt-get install gnuplot-nox");
    }
}

void write_svg(const std::string& path, const Report& report) {
    const Script script(gnuplot_script(report));
    // gnuplot says nothing when a disk is full: it writes to this process
    std::FILE* gnuplot = popen(fmt::format("gnuplot '{}'", script.path().string()).c_str(), "r");
    if (gnuplot == nullptr) {
        throw std::runtime_error("cannot start gnuplot");
    }
    std::string svg;
    std::array<char, 16384> block{};
    while (const std::size_t count = std::fread(block.data(), 1, block.size(), gnuplot)) {
        svg.append(block.data(), count);
    }
    if (pclose(gnuplot) != 0 || svg.find("</svg>") == std::string::npos) {
        throw std::runtime_error("gnuplot could not draw " + path);
    }
    files::write_atomically(path, svg);
}

}  // namespace dist::lab
