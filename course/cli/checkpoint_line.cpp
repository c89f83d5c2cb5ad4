#include "course/cli/checkpoint_line.hpp"

#include <fmt/format.h>
#include <system_error>
#include <utility>

#include "course/process/subprocess.hpp"

namespace dist::cli {
namespace {

std::optional<std::filesystem::file_time_type> written_at(const std::filesystem::path& file) {
    std::error_code error;
    const auto time = std::filesystem::last_write_time(file, error);
    return error ? std::nullopt : std::optional(time);
}

/// The same words with --resume, and without --stop-after.
std::vector<std::string> resumed(const std::vector<std::string>& words) {
    const std::string stop = "--stop-after";
    std::vector<std::string> kept;
    bool is_number = false;  // of --stop-after
    for (const std::string& word : words) {
        const bool leaves = is_number || word.starts_with(stop) || word == "--resume";
        is_number = word == stop;
        if (!leaves) {
            kept.push_back(word);
        }
    }
    kept.emplace_back("--resume");
    return kept;
}

std::filesystem::path file_of(const trainer::Options& options) {
    if (options.checkpoint.empty()) {
        return "";
    }
    return options.async_save ? trainer::snapshot_file(options.checkpoint)
                              : trainer::checkpoint_file(options.checkpoint);
}

}  // namespace

CheckpointLine::CheckpointLine(const trainer::Options& options, std::vector<std::string> command)
    : file_(file_of(options)),
      before_(written_at(file_)),
      command_(std::move(command)),
      resumed_(options.resume) {}

std::string CheckpointLine::text(bool done) const {
    const auto now = written_at(file_);
    if (!now || now == before_) {
        return "";
    }
    return lines(done);
}

std::string CheckpointLine::text_when_interrupted() const {
    if (file_.empty()) {
        return "";
    }
    const auto now = written_at(file_);
    if (!now || (now == before_ && !resumed_)) {
        return "checkpoint: none yet; one is written after each epoch, and with --save-every STEPS "
               "more often\n";
    }
    return lines(false);
}

std::string CheckpointLine::lines(bool done) const {
    return fmt::format(
        "checkpoint: {}\nto go on{}:  {}\n", file_.string(),
        done ? ", with more --epochs or --steps" : "", shell_line(resumed(command_))
    );
}

}  // namespace dist::cli
