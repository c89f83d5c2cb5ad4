// What a command needs beyond the base: installed when it is first asked for.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "course/manifest/needs.hpp"
#include "course/process/context.hpp"

namespace dist::cli {

/// Installs a group of scripts/setup.sh ("torch", "plot") unless it is there; may ask on a
/// terminal.
/// Errors  CommandError, status 2, when it is not there afterwards; what to type is on the screen.
void install(const Context& context, const std::string& group);

/// Runs CMake's configure step for the context's preset with these additions ("-DNAME=value").
/// Errors  CommandError, status 2, with CMake's words.
void configure(const Context& context, const std::vector<std::string>& additions = {});

/// The value that the build folder's CMakeCache.txt holds; empty when it holds none, or "NOTFOUND".
std::string cached_value(const Context& context, const std::string& variable);

/// SimGrid, installed and known to the build.
/// Errors  as install and configure
void ensure_simgrid(const Context& context);

/// Where Gloo's headers are; empty if they are not there.
std::filesystem::path gloo_folder(const Context& context);

/// Has CMake look for Gloo again if it was installed, or removed, since it last did.
/// Errors  as configure
void notice_gloo(const Context& context);

/// SimGrid with its model checker, known to the build.
/// Errors  as ensure_simgrid; CommandError, status 2, where this system's SimGrid has none
void ensure_model_checker(const Context& context);

/// LibTorch, installed and known to the build.
/// Errors  as install and configure
void ensure_torch(const Context& context);

/// What exercises of that kind are built on, installed and known to the build.
/// Errors  as install and configure
void ensure_installed(const Context& context, const Needs& kind);

/// Whether ensure_installed() would find all there.
bool is_installed(const Context& context, const Needs& kind);

}  // namespace dist::cli
