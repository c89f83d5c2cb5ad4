// doctor: what this machine has, and which exercises can run on it.
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <sched.h>
#include <string>
#include <sys/statvfs.h>
#include <vector>

#include "course/build/setup.hpp"
#include "course/cli/command.hpp"
#include "course/manifest/manifest.hpp"
#include "course/process/error.hpp"
#include "course/process/files.hpp"
#include "course/process/subprocess.hpp"
#include "course/report/report.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

struct Finding {
    std::string what;
    std::string state;  // "ok", "missing" (nothing works without it), "absent" (some things do not)
    std::string found;
    std::string advice;  // what is lost, and what to do; empty when ok
};

// The first line that a program prints; empty when the program is not there.
std::string first_line(const Context& context, const std::vector<std::string>& command) {
    try {
        const Ended ended = run(context, command);
        return ended.ok() ? ended.output.substr(0, ended.output.find('\n')) : "";
    } catch (const Interrupted&) {
        throw;
    } catch (const CommandError&) {
        return "";
    }
}

Finding needed(const std::string& what, const std::string& found) {
    return {
        what, found.empty() ? "missing" : "ok", found,
        "nothing works without it: scripts/setup.sh base"};
}

Finding useful(const std::string& what, const std::string& found, const std::string& advice) {
    return {what, found.empty() ? "absent" : "ok", found, advice};
}

Finding mpi(const Context& context) {
    Finding finding = needed("MPI", first_line(context, {"mpirun", "--version"}));
    if (finding.state == "ok" && finding.found.find("Open MPI") == std::string::npos) {
        finding.state = "missing";
        finding.advice = "the course is made for Open MPI 4.1 or newer: scripts/setup.sh base";
    }
    return finding;
}

Finding cores(const Manifest& manifest) {
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof(set), &set);
    int most = 0;
    for (const Exercise& exercise : manifest.exercises) {
        most = std::max(most, exercise.ranks);
    }
    const int count = CPU_COUNT(&set);
    return {"cores", "ok", fmt::format("{}, for tests of up to {} ranks", count, most), ""};
}

// The number that a header defines `macro` as.
std::string defined(const std::string& header, const std::string& macro) {
    const std::string start = "#define " + macro + " ";
    const std::size_t at = header.find(start);
    return at == std::string::npos ? "" : std::to_string(std::atoi(&header[at + start.size()]));
}

std::string torch_version(const Context& context) {
    const fs::path include = cached_value(context, "LibTorch_INCLUDE_DIR");
    for (const char* file :
         {"torch/headeronly/version.h", "torch/csrc/api/include/torch/version.h"}) {
        const std::string header = read_text(include / file);
        const std::string major = defined(header, "TORCH_VERSION_MAJOR");
        if (!major.empty()) {
            const std::string minor = defined(header, "TORCH_VERSION_MINOR");
            return fmt::format(
                "{}.{} ({}; to use another, set LibTorch_ROOT)", major, minor, include.string()
            );
        }
    }
    return include.string();
}

Finding shared_memory() {
    struct statvfs shm = {};
    if (statvfs("/dev/shm", &shm) != 0) {
        return {"/dev/shm", "missing", "", "ranks send messages through it: mount a tmpfs there"};
    }
    const auto mib = static_cast<unsigned long>(shm.f_frsize) * shm.f_blocks >> 20U;
    const auto free_mib = static_cast<unsigned long>(shm.f_frsize) * shm.f_bavail >> 20U;
    return {
        "/dev/shm", free_mib < 64 ? "absent" : "ok",
        fmt::format("{} MiB, {} MiB free", mib, free_mib),
        "under 64 MiB many ranks may fail to start: in Docker, --shm-size=1g"};
}

std::string data_set(const Context& context) {
    const char* elsewhere = std::getenv("SHARDLINGS_CIFAR10");
    for (const fs::path& folder :
         {context.root / "datasets" / "cifar-10-batches-bin",
          fs::path(elsewhere == nullptr ? "" : elsewhere)}) {
        if (fs::exists(folder / "data_batch_1.bin")) {
            return folder.string();
        }
    }
    return "";
}

std::string gpu(const Context& context) {
    return first_line(context, {"nvidia-smi", "-L"});
}

std::vector<Finding> examine(const Context& context, const Manifest& manifest) {
    const std::string missing = cached_value(context, "SHARDLINGS_GPU_MISSING");
    const std::string needed_by_gpu =
        "only the GPU exercises need it, and are skipped" + (missing.empty() ? "" : "; " + missing);
    return {
        needed("compiler", first_line(context, {"c++", "--version"})),
        needed("CMake", first_line(context, {"cmake", "--version"})),
        needed("Ninja", first_line(context, {"ninja", "--version"})),
        mpi(context),
        cores(manifest),
        shared_memory(),
        useful(
            "LibTorch", torch_version(context),
            "installed when first needed, by chapters 05 and later and by train"
        ),
        useful(
            "CUDA toolkit", missing.empty() ? cached_value(context, "CMAKE_CUDA_COMPILER") : "",
            needed_by_gpu
        ),
        useful("NCCL", cached_value(context, "NCCL_LIBRARY"), needed_by_gpu),
        useful(
            "GPU", gpu(context),
            missing.empty()
                ? "GPU exercises are skipped, and tried on the host's stand-in; all others run"
                : "GPU exercises are skipped; all others run"
        ),
        useful(
            "SimGrid", first_line(context, {"smpirun", "--version"}),
            "simulate runs on it, and installs it when first needed"
        ),
        useful(
            "simgrid-mc", first_line(context, {"sh", "-c", "command -v simgrid-mc"}),
            "prove needs it; it is part of SimGrid 4 (Debian 13: apt-get install libsimgrid-dev)"
        ),
        useful(
            "gnuplot", first_line(context, {"gnuplot", "--version"}),
            "bench --svg and plot install it when first needed"
        ),
        useful(
            "Sphinx", first_line(context, {"sphinx-build", "--version"}),
            "book is made by it, with MyST, and installs both when first needed"
        ),
        useful(
            "Gloo", gloo_folder(context).string(),
            "bench measures it beside the others where it is installed: apt-get install libgloo-dev"
        ),
        useful(
            "bubblewrap", first_line(context, {"bwrap", "--version"}),
            "grade runs submissions in it, and installs it when first needed"
        ),
        useful(
            "CIFAR-10", data_set(context),
            "training uses a synthetic set; datasets/README.md says how to get the real one"
        ),
    };
}

/// Which exercises can run here, and what the others wait for.
struct Runnable {
    std::vector<std::string> ready;
    std::vector<std::string> for_torch;
    std::vector<std::string> for_gpu;
};

Runnable runnable(const Context& context, const Manifest& manifest) {
    const bool torch = !cached_value(context, "LibTorch_INCLUDE_DIR").empty();
    const bool with_gpu =
        cached_value(context, "SHARDLINGS_GPU_MISSING").empty() && !gpu(context).empty();
    Runnable sorted;
    for (const Exercise& exercise : manifest.exercises) {
        if (exercise.for_gpu()) {
            (with_gpu ? sorted.ready : sorted.for_gpu).push_back(exercise.name);
        } else {
            const bool ready = exercise.kind().install.empty() || torch;
            (ready ? sorted.ready : sorted.for_torch).push_back(exercise.name);
        }
    }
    return sorted;
}

void print_findings_json(const std::vector<Finding>& findings, const Runnable& exercises) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Finding& finding : findings) {
        list.push_back({
            {"what", finding.what},
            {"state", finding.state},
            {"found", finding.found},
            {"advice", finding.state == "ok" ? "" : finding.advice},
        });
    }
    const nlohmann::ordered_json document = {
        {"format", 1},
        {"findings", list},
        {"exercises",
         {{"ready", exercises.ready},
          {"waiting", exercises.for_torch},
          {"waiting_for_gpu", exercises.for_gpu}}},
    };
    fmt::print("{}\n", document.dump(2));
}

void print_text(const std::vector<Finding>& findings, const Runnable& exercises) {
    const bool colours = use_colours();
    for (const Finding& finding : findings) {
        const Colour colour = finding.state == "ok"        ? Colour::green
                              : finding.state == "missing" ? Colour::red
                                                           : Colour::yellow;
        std::string text = finding.found;
        if (finding.state != "ok") {
            text += (text.empty() ? "" : "; ") + finding.advice;
        }
        const std::string state = fmt::format("{:8}", finding.state);
        fmt::print("{} {:13} {}\n", paint(state, colour, colours), finding.what, text);
    }
    fmt::print("\n{} exercises can run here", exercises.ready.size());
    if (!exercises.for_torch.empty()) {
        fmt::print("; with LibTorch also {}", fmt::join(exercises.for_torch, ", "));
    }
    if (!exercises.for_gpu.empty()) {
        fmt::print("; with CUDA, NCCL and a GPU also {}", fmt::join(exercises.for_gpu, ", "));
    }
    fmt::print(".\n");
}

void examine_and_print(Context& context) {
    const Manifest manifest = read_manifest(context.root);
    const std::vector<Finding> findings = examine(context, manifest);
    (context.json ? print_findings_json : print_text)(findings, runnable(context, manifest));
    for (const Finding& finding : findings) {
        if (finding.state == "missing") {
            context.status = exit_status::kFailed;
        }
    }
}

}  // namespace

void add_doctor(Command& app, Context& context) {
    auto command =
        app.add_subcommand("doctor", "Show what this machine has, and what can run on it");
    command.add_flag("--json", context.json, "One JSON document");
    command.callback([&context] { examine_and_print(context); });
}

}  // namespace dist::cli
