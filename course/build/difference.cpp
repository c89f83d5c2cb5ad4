#include "course/build/difference.hpp"

#include <fmt/format.h>
#include <sstream>

#include "course/process/error.hpp"
#include "course/process/files.hpp"
#include "course/process/subprocess.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

/// The file that a difference is made against, relative to the repository.
/// Errors  UsageError when no line names one.
fs::path base_of(const fs::path& difference) {
    std::istringstream lines(read_text(difference));
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("--- ")) {
            return line.substr(4, line.find_first_of("\t\r", 4) - 4);
        }
    }
    throw UsageError(fmt::format(
        "{} is no difference: no line '--- FILE' names the file that it changes",
        difference.string()
    ));
}

}  // namespace

bool is_difference(const fs::path& file) {
    return file.extension() == ".diff";
}

fs::path source_of(const Context& context, const fs::path& file) {
    fs::path absolute = fs::absolute(file);
    if (!is_difference(file)) {
        return absolute;
    }
    const std::size_t place = std::hash<std::string>{}(absolute.parent_path().string());
    const fs::path folder = context.build_folder() / "differences" / fmt::format("{:016x}", place);
    return folder / file.stem().replace_extension(base_of(file).extension());
}

fs::path make_source(const Context& context, const fs::path& file) {
    fs::path source = source_of(context, file);
    if (!is_difference(file)) {
        return source;
    }
    const fs::path base = base_of(file);
    if (!fs::is_regular_file(context.root / base)) {
        throw UsageError(
            fmt::format("{} changes {}, which is not there", file.string(), base.string())
        );
    }
    fs::create_directories(source.parent_path());
    fs::remove(source);
    // no fuzz: a line that is not as it was is a difference that no longer means what it says
    const Ended ended =
        run(context,
            {"patch", "--silent", "--force", "--fuzz=0", "--reject-file=-", "--output",
             source.string(), (context.root / base).string(), fs::absolute(file).string()});
    if (!ended.ok()) {
        fs::remove(source);
        throw UsageError(fmt::format(
            "{} no longer applies to {}: make the change anew", file.string(), base.string()
        ));
    }
    return source;
}

}  // namespace dist::cli
