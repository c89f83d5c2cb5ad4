// A run on disk: everything that is needed to go on as if it had never stopped.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>

#include <torch/serialize/archive.h>

namespace dist::trainer {

/// The checkpoint's file in a folder.
std::filesystem::path checkpoint_file(const std::filesystem::path& folder);

/// Makes `folder`, and tries whether a file can be written there.
///
/// Errors  std::runtime_error with the system's reason.
void expect_writable(const std::filesystem::path& folder);

/// Writes how far the run is, and the state in `archive`. The old checkpoint stays until the new one is
/// complete.
///
/// run      see describe_run.
/// step     steps done.
/// archive  parts by name; "run" and "step" are added.
///
/// Errors   std::runtime_error with the system's reason.
void save_checkpoint(
    const std::filesystem::path& folder,
    const std::string& run,
    std::size_t step,
    torch::serialize::OutputArchive& archive
);

/// Reads what save_checkpoint wrote; returns the steps done.
///
/// load     gets the archive, and reads its parts.
///
/// Errors   std::runtime_error, saying what to do, if there is no checkpoint, if it is damaged, or
///          of another run. What was loaded is then of no use.
std::size_t load_checkpoint(
    const std::filesystem::path& folder,
    const std::string& run,
    const std::function<void(torch::serialize::InputArchive&)>& load
);

/// Writes a module or an optimizer as the part of that name.
template <class T>
void save_part(torch::serialize::OutputArchive& archive, const std::string& name, const T& what) {
    torch::serialize::OutputArchive part(archive.compilation_unit());
    what.save(part);
    archive.write(name, part);
}

/// Reads what save_part wrote.
template <class T>
void load_part(torch::serialize::InputArchive& archive, const std::string& name, T& what) {
    torch::serialize::InputArchive part;
    archive.read(name, part);
    what.load(part);
}

}  // namespace dist::trainer
