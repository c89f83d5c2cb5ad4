#include "course/launch/start.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <optional>
#include <random>
#include <string_view>

#include "course/process/mpirun.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;

using Clock = std::chrono::steady_clock;

constexpr const char* kWork = "work";  // the folder that ranks are in

/// Whether nothing more can come of a job. mpirun may fail to notice: Open MPI 5.0.7 waits for ever, now
/// and then, after a rank was killed, and 4.1 after MPI could not start on one.
class Stuck {
  public:
    Stuck(const harness::Board& board, int ranks) : board_(board), ranks_(ranks) {}

    bool operator()() {
        if (!seen([](const harness::Slot& slot) { return slot.planned != 0; }) &&
            gone(begin_) > kStart) {
            return true;
        }
        const bool all_ended =
            !seen([](const harness::Slot& slot) { return slot.end == harness::End::none; });
        if (board_.died == 0 && !all_ended) {
            return false;
        }
        over_since_ = over_since_.value_or(Clock::now());
        return gone(*over_since_) > kPatience;
    }

  private:
    static constexpr auto kStart =
        std::chrono::seconds(60);  // of the first rank; a second is usual
    static constexpr auto kPatience = std::chrono::seconds(8);

    static Clock::duration gone(Clock::time_point since) { return Clock::now() - since; }
    /// Whether any rank is so.
    template <class Predicate>
    [[nodiscard]] bool seen(Predicate is_so) const {
        return std::any_of(board_.slot, board_.slot + ranks_, is_so);
    }

    const harness::Board& board_;
    int ranks_;
    Clock::time_point begin_ = Clock::now();
    std::optional<Clock::time_point> over_since_;
};

/// The harness's own processes: a busy machine may end mpirun before them. The one that they were forked from is their parent.
bool belongs_to_ranks(const harness::Board& board, int ranks, pid_t pid) {
    return std::any_of(board.slot, board.slot + ranks, [pid](const harness::Slot& slot) {
        return slot.pid == pid || slot.watcher == pid || slot.proxy == pid;
    });
}

/// What holds for all answers that a job tries.
Environment job_environment(const Program& program, int ranks, const fs::path& folder) {
    Environment environment = mpi_environment(ranks, Purpose::test);
    if (program.for_gpu() && !program.on_stand_in) {
        // CUDA and NCCL need much of both to start, and a rank that waits for its GPU computes; NCCL's
        // watchdog is there for the rest
        environment.emplace_back(harness::kEnvMemoryMb, "16384");
        environment.emplace_back(harness::kEnvComputeS, "200");
        for (auto& [name, value] : environment) {
            // CUDA maps memory where AddressSanitizer would have a gap
            value += name == "ASAN_OPTIONS" ? ":protect_shadow_gap=0" : "";
        }
    }
    environment.emplace_back(harness::kEnvFolder, folder.string());
    return environment;
}

/// Where ranks keep what they share, the files through which Open MPI passes messages among it.
void share_memory_in(const std::string& shared, Environment& environment) {
    if (!shared.empty()) {
        environment.emplace_back(harness::kEnvShared, shared);
        environment.emplace_back("OMPI_MCA_btl_vader_backing_directory", shared);  // 4
        environment.emplace_back("OMPI_MCA_btl_sm_backing_directory", shared);     // 5
    }
}

/// Puts the command that starts the ranks into a sandbox, and what they may know and touch with it.
void enter_sandbox(
    const Context& context,
    const Program& program,
    const fs::path& executable,
    Sandbox sandbox,
    const fs::path& run_folder,
    Start& start
) {
    sandbox.readable.push_back(context.build_folder() / "tests/rank_proxy");
    sandbox.readable.push_back(fs::absolute(executable));
    sandbox.run = run_folder;
    start.options.environment.emplace_back(harness::kEnvClosed, "1");
    if (!program.kind().makes_code) {
        start.options.environment.emplace_back(harness::kEnvNoNewCode, "1");
    }
    start.command =
        sandboxed(start.command, sandbox, start.options.environment, fs::path(kSandboxRun) / kWork);
    start.options.environment.clear();
    start.options.folder = context.root;
}

}  // namespace

RestOver::RestOver(const harness::Board& board, double limit_s, bool failed)
    : board_(board),
      limit_s_(limit_s),
      since_(failed ? std::optional(Clock::now()) : std::nullopt) {}

bool RestOver::operator()() {
    const long failed = board_.failed_test;
    if (!since_ && failed > 0 && board_.slot[0].tests_done >= failed) {
        since_ = Clock::now();
    }
    is_over_ = limit_s_ > 0 && since_ &&
               std::chrono::duration<double>(Clock::now() - *since_).count() > limit_s_;
    return is_over_;
}

void tell(const Context& context, const harness::Board& board) {
    const char* const test = board.slot[0].test;
    const std::string_view name(test, strnlen(test, sizeof board.slot[0].test));
    const bool started = board.slot[0].pid != 0;
    if (context.running && !(started && name.empty())) {
        context.running(started ? name : "starting the processes");
    }
}

int ranks_of(const Program& program, const LaunchOptions& options) {
    return options.ranks > 0 ? options.ranks : options.many ? harness::kManyRanks : program.ranks;
}

harness::Secret draw_secret(const LaunchOptions& options) {
    std::random_device device;
    const auto number = [&] { return std::uint64_t{device()} << 32U | device(); };
    return harness::Secret::of(
        number(), number(), number(), {number(), number()}, options.seed, options.garble
    );
}

Environment answer_environment(const LaunchOptions& options, const std::string& after) {
    Environment environment;
    const auto set = [&](bool wanted, const char* name, const std::string& value) {
        if (wanted) {
            environment.emplace_back(name, value);
        }
    };
    set(options.ranks > 0, harness::kEnvRanks, std::to_string(options.ranks));
    set(!options.test.empty(), harness::kEnvTest, options.test);
    set(options.many, harness::kEnvMany, "1");
    set(options.delays, harness::kEnvDelays, "1");
    set(options.trace, harness::kEnvTrace, "1");
    set(options.enough != nullptr, harness::kEnvUntilFailure, "1");
    set(options.compute_s > 0, harness::kEnvComputeS, fmt::format("{}", options.compute_s));
    set(!after.empty(), harness::kEnvAfter, after);
    return environment;
}

void write_secret(const fs::path& folder, const harness::Secret& secret) {
    std::ofstream(folder / "secret", std::ios::binary)
        .write(reinterpret_cast<const char*>(&secret), sizeof secret);
}

Start start_of(
    const Context& context,
    const Program& program,
    const fs::path& executable,
    const LaunchOptions& options,
    const RunFolder& folder,
    const harness::Board& board,
    const Environment& more
) {
    const int ranks = ranks_of(program, options);
    Start start;
    start.command = mpirun(ranks, Purpose::test);
    start.command.push_back((context.build_folder() / "tests/rank_proxy").string());
    start.command.push_back(fs::absolute(executable).string());
    // not the repository: code under test may write files there, or clear it
    start.options.folder = folder.path() / kWork;
    fs::create_directory(start.options.folder);
    const fs::path place = options.sandbox != nullptr ? kSandboxRun : folder.path();
    Environment& environment = start.options.environment;
    environment = job_environment(program, ranks, place);
    environment.insert(environment.end(), more.begin(), more.end());
    if (options.sandbox == nullptr) {  // a sandbox has a /tmp of its own
        folder.session().add_to(environment);
    }
    share_memory_in(
        options.sandbox != nullptr ? kSandboxShared : folder.shared().string(), environment
    );
    start.options.time_limit_s = options.wall_limit_s;
    start.options.watch = [&context, &board](const std::string&, double) { tell(context, board); };
    start.options.over = Stuck(board, ranks);
    start.options.is_known = [&board, ranks](pid_t pid) {
        return belongs_to_ranks(board, ranks, pid);
    };
    if (options.sandbox != nullptr) {
        enter_sandbox(context, program, executable, *options.sandbox, folder.path(), start);
    }
    return start;
}

}  // namespace dist::cli
