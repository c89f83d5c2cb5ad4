#include "course/build/failed.hpp"

#include "course/build/diagnostics.hpp"
#include "course/process/error.hpp"
#include "course/process/files.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

/// `path` as people say it: relative to the repository where it lies inside.
std::string readable_path(const fs::path& path, const fs::path& root) {
    const std::string relative = inside(root, fs::absolute(path));
    return relative.empty() ? path.string() : relative;
}

}  // namespace

void refuse_full_disk(const Context& context, const std::string& log) {
    if (log.find("No space left on device") != std::string::npos) {
        const std::string folder = context.build_folder().string();
        throw CommandError(
            exit_status::kOurs, "no space left on the disk of " + folder +
                                    ", or in TMPDIR, where compilers write: make room there"
        );
    }
}

Built failed(
    const Context& context, const Program& program, const fs::path& file, const std::string& log
) {
    refuse_full_disk(context, log);
    const std::string header = read_text((context.root / program.source).replace_extension(".hpp"));
    Built built;
    built.error = first_error(log, context.root, readable_path(file, context.root), header);
    built.log = log;
    return built;
}

}  // namespace dist::cli
