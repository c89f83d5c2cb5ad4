#include "course/check/verdicts.hpp"

#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <sstream>
#include <system_error>

#include "course/files/atomic_file.hpp"
#include "course/process/files.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLarge = 4U << 20U;  // bytes: libraries, compilers, precompiled headers

std::string number_of(const std::string& text) {
    return fmt::format("{:016x}", std::hash<std::string>{}(text));
}

}  // namespace

Verdicts::Verdicts(const Context& context, bool fresh)
    : folder_(context.root / ".shardlings" / "verdicts" / context.preset),
      fresh_(fresh || std::getenv("CI") != nullptr) {}

fs::path Verdicts::file_of(const std::string& trial) const {
    return folder_ / number_of(trial);
}

std::string Verdicts::digest(const fs::path& file) {
    const std::lock_guard guard(lock_);
    std::string& known = digests_[file];
    if (known.empty()) {
        std::error_code absent;
        const std::uintmax_t bytes = fs::file_size(file, absent);
        if (absent) {
            known = "absent";
        } else if (bytes > kLarge) {
            const auto time = fs::last_write_time(file, absent).time_since_epoch().count();
            known = number_of(fmt::format("{} {}", bytes, time));
        } else {
            known = number_of(read_text(file));
        }
    }
    return known;
}

bool Verdicts::hold(const Basis& basis) {
    std::ifstream file(file_of(basis.trial));
    std::string line;
    if (fresh_ || !std::getline(file, line) || line != number_of(basis.trial + basis.how)) {
        return false;
    }
    std::size_t files = 0;
    while (std::getline(file, line)) {
        const std::size_t space = line.find(' ');
        if (space == std::string::npos || digest(line.substr(space + 1)) != line.substr(0, space)) {
            return false;
        }
        ++files;
    }
    return files > 0;
}

void Verdicts::keep(const Basis& basis) {
    std::ostringstream text;
    text << number_of(basis.trial + basis.how) << '\n';
    for (const fs::path& file : basis.files) {
        const std::string one = digest(file);
        if (one == "absent") {
            return;
        }
        text << one << ' ' << file.string() << '\n';
    }
    try {
        fs::create_directories(folder_);
        files::write_atomically(file_of(basis.trial), text.str());
    } catch (const std::system_error&) {  // told in the header
    }
}

void Verdicts::forget(const Basis& basis) {
    std::error_code ignored;
    fs::remove(file_of(basis.trial), ignored);
}

}  // namespace dist::cli
