#include "course/plots/gnuplot.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <stdexcept>
#include <system_error>
#include <unistd.h>

#include "course/files/atomic_file.hpp"

namespace dist::plots {
namespace {

namespace fs = std::filesystem;

/// A file that is there as long as this.
class Script {
  public:
    explicit Script(const std::string& text)
        : path_(fs::temp_directory_path() / fmt::format("shardlings.{}.gnuplot", getpid())) {
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

std::string quoted(const std::string& text) {
    std::string inside;
    for (const char c : text) {
        const bool control = (c >= 0 && c < ' ') || c == '\x7f';
        inside += control ? '?' : c;
        inside += c == '\'' ? "'" : "";
    }
    return "'" + inside + "'";
}

std::string missing_gnuplot() {
    return std::system("gnuplot --version > /dev/null 2>&1") == 0
               ? ""
               : "needs gnuplot. On Debian: apt-get install gnuplot-nox";
}

void draw(const fs::path& svg, const std::string& script) {
    const Script file(script);
    // gnuplot says nothing when a disk is full: it writes to this process
    std::FILE* gnuplot = popen(fmt::format("gnuplot '{}'", file.path().string()).c_str(), "r");
    if (gnuplot == nullptr) {
        throw std::runtime_error("cannot start gnuplot");
    }
    std::string drawn;
    std::array<char, 16384> block{};
    while (const std::size_t count = std::fread(block.data(), 1, block.size(), gnuplot)) {
        drawn.append(block.data(), count);
    }
    if (pclose(gnuplot) != 0 || drawn.find("</svg>") == std::string::npos) {
        throw std::runtime_error("gnuplot could not draw " + svg.string());
    }
    files::write_atomically(svg, drawn);
}

}  // namespace dist::plots
