#include "course/build/setup.hpp"

#include <cstdlib>
#include <fmt/format.h>
#include <fstream>

#include "course/build/build_lock.hpp"
#include "course/build/diagnostics.hpp"
#include "course/process/error.hpp"
#include "course/process/subprocess.hpp"

namespace dist::cli {

void install(const Context& context, const std::string& group) {
    const std::string script = (context.root / "scripts" / "setup.sh").string();
    // not run(): it may ask for a password, so it has to own the terminal
    if (std::system((shell_line({script, group}) + " 1>&2").c_str()) != 0) {
        throw CommandError(exit_status::kUsage, "this command needs what is named above");
    }
}

void configure(const Context& context, const std::vector<std::string>& additions) {
    std::vector<std::string> command = {"cmake", "--preset", context.preset};
    command.insert(command.end(), additions.begin(), additions.end());
    const BuildLock lock(context.root, [](const std::string& who) {
        fmt::print(stderr, "waits for {}, which builds here\n", who);
    });
    const Ended ended = run(context, command);
    if (!ended.ok()) {
        throw CommandError(
            exit_status::kUsage, first_error(ended.output, context.root, "CMakeLists.txt")
        );
    }
}

std::string cached_value(const Context& context, const std::string& variable) {
    std::ifstream cache(context.build_folder() / "CMakeCache.txt");
    for (std::string line; std::getline(cache, line);) {
        // NAME:TYPE=value
        if (line.size() > variable.size() && line.starts_with(variable) &&
            line[variable.size()] == ':') {
            const std::string value = line.substr(line.find('=') + 1);
            return value.ends_with("NOTFOUND") ? "" : value;
        }
    }
    return "";
}

namespace {

/// What the environment says of where LibTorch is, as FindLibTorch.cmake keeps it in the cache.
std::string named_torch() {
    std::string named;
    for (const char* name :
         {"LibTorch_ROOT", "Torch_ROOT", "TORCH_ROOT", "LIBTORCH", "Torch_DIR",
          "CMAKE_PREFIX_PATH"}) {
        if (const char* value = std::getenv(name)) {
            named += std::string(name) + "=" + value + " ";
        }
    }
    return named;
}

}  // namespace

void ensure_torch(const Context& context) {
    const std::string named = named_torch();
    if (!named.empty() && named != cached_value(context, "LibTorch_NAMED")) {
        configure(context);
    }
    if (!cached_value(context, "LibTorch_INCLUDE_DIR").empty()) {
        return;
    }
    install(context, "torch");
    configure(context);
    if (cached_value(context, "LibTorch_INCLUDE_DIR").empty()) {
        throw CommandError(
            exit_status::kUsage,
            "LibTorch is installed, but CMake does not find it: set LibTorch_ROOT to its folder"
        );
    }
}

void ensure_installed(const Context& context, const Needs& kind) {
    if (kind.install == "torch") {
        ensure_torch(context);
    } else if (!kind.install.empty()) {
        install(context, std::string(kind.install));
    }
}

bool is_installed(const Context& context, const Needs& kind) {
    return kind.install.empty() ||
           (kind.install == "torch" && !cached_value(context, "LibTorch_INCLUDE_DIR").empty());
}

void ensure_simgrid(const Context& context) {
    install(context, "simulate");
    if (cached_value(context, "SimGrid_LIBRARY").empty()) {
        configure(context);
    }
    if (cached_value(context, "SimGrid_LIBRARY").empty()) {
        throw CommandError(
            exit_status::kUsage, "SimGrid is installed, but CMake does not find its library"
        );
    }
}

std::filesystem::path gloo_folder(const Context& context) {
    for (const std::string& folder :
         {cached_value(context, "Gloo_INCLUDE_DIR"), std::string("/usr/include")}) {
        if (!folder.empty() &&
            std::filesystem::exists(std::filesystem::path(folder) / "gloo" / "config.h")) {
            return folder;
        }
    }
    return "";
}

void notice_gloo(const Context& context) {
    if (gloo_folder(context) != cached_value(context, "Gloo_INCLUDE_DIR")) {
        configure(context, {"-UGloo_*"});
    }
}

void ensure_model_checker(const Context& context) {
    ensure_simgrid(context);
    if (cached_value(context, "SimGrid_MODEL_CHECKER").empty()) {
        configure(context);  // it may have come since
    }
    if (cached_value(context, "SimGrid_MODEL_CHECKER").empty()) {
        throw CommandError(
            exit_status::kUsage,
            "prove needs simgrid-mc, which SimGrid has from version 4 on (Debian 13: apt-get "
            "install libsimgrid-dev); here is an older one"
        );
    }
}

}  // namespace dist::cli
