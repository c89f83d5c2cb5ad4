#include "course/process/sandbox.hpp"

#include <fmt/format.h>

#include "course/process/error.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

constexpr long kMega = 1L << 20;
constexpr int kNotFound = 127;  // what env and shells exit with

using Words = std::vector<std::string>;

void add(Words& words, std::initializer_list<std::string> more) {
    words.insert(words.end(), more);
}

/// What every program needs of a system. Of /etc only what tells a program where libraries are, and who it is.
void add_system(Words& words) {
    add(words, {"--ro-bind", "/usr", "/usr"});
    for (const char* const folder : {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}) {
        if (fs::is_symlink(folder)) {
            add(words, {"--symlink", fs::read_symlink(folder).string(), folder});
        } else {
            add(words, {"--ro-bind-try", folder, folder});
        }
    }
    for (const char* const file :
         {"/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
          "/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/hosts", "/etc/openmpi",
          "/etc/pmix", "/etc/localtime"}) {
        add(words, {"--ro-bind-try", file, file});
    }
    add(words, {"--proc", "/proc", "--dev", "/dev", "--ro-bind-try", "/sys", "/sys"});
}

}  // namespace

std::vector<std::string> sandboxed(
    const std::vector<std::string>& command,
    const Sandbox& sandbox,
    const Environment& environment,
    const fs::path& folder
) {
    // bubblewrap's own environment can be read inside
    Words words = {
        "env",
        "-i",
        "PATH=/usr/local/bin:/usr/bin:/bin",
        "bwrap",
        "--unshare-all",
        "--unshare-user",
        "--uid",
        "1000",
        "--gid",
        "1000",
        "--hostname",
        "sandbox",
        "--new-session",
        "--die-with-parent",
        "--cap-drop",
        "ALL",
        "--clearenv"};
    add_system(words);
    const std::string scratch = std::to_string(sandbox.scratch_mb * kMega);
    add(words, {"--size", scratch, "--tmpfs", "/tmp", "--size", scratch, "--tmpfs", "/dev/shm"});
    add(words, {"--dir", kSandboxShared});
    std::error_code none;
    for (const auto& device : fs::directory_iterator("/dev", none)) {
        if (sandbox.gpu && device.path().filename().string().starts_with("nvidia")) {
            add(words, {"--dev-bind", device.path().string(), device.path().string()});
        }
    }
    for (const fs::path& path : sandbox.readable) {
        add(words, {"--ro-bind", path.string(), path.string()});
    }
    for (const fs::path& path : sandbox.writable) {
        add(words, {"--bind", path.string(), path.string()});
    }
    if (!sandbox.run.empty()) {
        add(words, {"--bind", sandbox.run.string(), kSandboxRun});
    }
    Environment inside = {{"PATH", "/usr/bin:/bin"}, {"HOME", "/tmp"}, {"LC_ALL", "C"}};
    inside.insert(inside.end(), environment.begin(), environment.end());
    for (const auto& [name, value] : inside) {
        add(words, {"--setenv", name, value});
    }
    add(words, {"--chdir", folder.string(), "prlimit", "--core=0", "--nofile=1024"});
    add(words, {fmt::format("--fsize={}", sandbox.file_mb * kMega)});
    if (sandbox.memory_mb > 0) {
        add(words, {fmt::format("--as={}", sandbox.memory_mb * kMega)});
    }
    add(words, {"--"});
    words.insert(words.end(), command.begin(), command.end());
    return words;
}

std::string sandbox_missing(const Context& context) {
    Ended ended;
    try {
        ended = run(context, sandboxed({"true"}, {}, {}, "/"));
    } catch (const UsageError&) {
        ended.status = kNotFound;
    }
    if (ended.ok()) {
        return "";
    }
    if (ended.status == kNotFound) {
        return "bubblewrap (bwrap) is not installed. On Debian: apt-get install bubblewrap";
    }
    return fmt::format(
        "bubblewrap cannot make a sandbox here ({}). In a container, it needs user namespaces: for "
        "Docker "
        "--security-opt seccomp=unconfined, or --privileged",
        ended.output.substr(0, ended.output.find('\n'))
    );
}

}  // namespace dist::cli
