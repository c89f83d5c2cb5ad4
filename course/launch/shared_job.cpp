#include "course/launch/shared_job.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <fmt/format.h>
#include <fstream>
#include <future>
#include <optional>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "course/build/setup.hpp"
#include "course/launch/job.hpp"
#include "course/launch/start.hpp"
#include "course/process/error.hpp"
#include "course/process/room.hpp"
#include "course/process/seconds_since.hpp"
#include "course/process/subprocess.hpp"
#include "course/protocol/await.hpp"

namespace dist::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostWaiting = 4;
constexpr int kHostLookEveryMs = 20;
constexpr double kStopS = 4;  // an answer that is called off takes to end

/// The folder of one answer in that of the job: gone with it.
class AnswerFolder {
  public:
    AnswerFolder(fs::path path, const fs::path& library, const Environment& settings)
        : path_(std::move(path)) {
        fs::create_directories(path_ / "work");
        std::ofstream file(path_ / "answer");
        file << library.string() << '\n';
        for (const auto& [name, value] : settings) {
            file << name << '=' << value << '\n';
        }
    }
    ~AnswerFolder() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    AnswerFolder(const AnswerFolder&) = delete;
    AnswerFolder& operator=(const AnswerFolder&) = delete;
    [[nodiscard]] const fs::path& path() const { return path_; }

  private:
    fs::path path_;
};

void kill_ranks(const harness::Board& board, int ranks) {
    for (int r = 0; r < ranks; ++r) {
        const harness::Slot& slot = board.slot[r];
        if (slot.pid > 0 && slot.end == harness::End::none) {
            kill(slot.pid, SIGKILL);
        }
    }
}

}  // namespace

/// One mpirun that waits for answers.
class SharedJobs::Job {
  public:
    Job(const Context& context, const Program& program, std::string host, int ranks)
        : host_(std::move(host)),
          ranks_(ranks),
          context_(quiet(context)),
          folder_(context_, false),
          board_(folder_.path()) {
        const LaunchOptions options = {.ranks = ranks, .wall_limit_s = 0};
        Start start = start_of(
            context_, program, context_.build_folder() / "tests" / host_, options, folder_, *board_,
            {{harness::kEnvSharedJob, "1"}}
        );
        start.options.watch = nullptr;
        start.options.over = [this, stuck = start.options.over] { return ends_ || stuck(); };
        start.options.at_once = true;
        ended_ = std::async(std::launch::async, [this, start = std::move(start)] {
            return cli::run(context_, start.command, start.options);
        });
    }
    /// Ends it: all of its processes are gone afterwards.
    ~Job() { ends_ = true; }  // ended_ waits
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;

    [[nodiscard]] bool is_for(const std::string& host, int ranks) const {
        return host == host_ && ranks == ranks_;
    }
    [[nodiscard]] bool lives() const {
        return ended_.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
    }

    /// What became of the answer; none where the job ended under it.
    std::optional<Verdict> run(
        Context& context,
        const Program& program,
        const fs::path& library,
        const LaunchOptions& options,
        const std::string& after
    ) {
        const AnswerFolder folder(
            folder_.path() / std::to_string(number_), library, answer_environment(options, after)
        );
        BoardFile board(folder.path());
        const harness::Secret secret = draw_secret(options);
        write_secret(folder.path(), secret);
        harness::store_and_wake(board_->handed_in, ++number_);
        RestOver rest_over(*board, options.rest_limit_s, !after.empty());
        const std::optional<Ended> ended = await(context, *board, options, rest_over);
        if (!ended) {
            return std::nullopt;
        }
        Verdict verdict = judge_job(
            context, program, options, after, folder.path(), *board, secret, *ended,
            rest_over.is_over()
        );
        spend(context, ended->seconds, verdict);
        return verdict;
    }

  private:
    /// Nobody asks it, and it tells nobody: it runs beside the one who does.
    static Context quiet(Context context) {
        context.cancelled = nullptr;
        context.running = nullptr;
        return context;
    }

    std::optional<Ended> await(
        const Context& context,
        const harness::Board& board,
        const LaunchOptions& options,
        RestOver& rest_over
    ) {
        const auto begin = Clock::now();
        Ended ended;
        std::optional<Clock::time_point> stopped;
        bool interrupts = false;
        for (int tried = board_->tried; tried < number_; tried = board_->tried) {
            harness::wait_while(board_->tried, tried, kHostLookEveryMs);
            if (!lives()) {
                go_on_unless_interrupted();
                return std::nullopt;
            }
            tell(context, board);
            interrupts = interrupted() || (context.cancelled && context.cancelled());
            ended.timed_out =
                options.wall_limit_s > 0 && seconds_since(begin) > options.wall_limit_s;
            if (!stopped && (interrupts || ended.timed_out || rest_over())) {
                stopped = Clock::now();
                kill_ranks(board, ranks_);
            }
            if (stopped && seconds_since(*stopped) > kStopS) {
                if (interrupts) {
                    throw Interrupted();
                }
                return std::nullopt;
            }
        }
        if (stopped && !ended.timed_out && !rest_over.is_over()) {
            throw Interrupted();
        }
        ended.seconds = seconds_since(begin);
        ended.left_processes = board.left;
        return ended;
    }

    std::string host_;
    int ranks_;
    Context context_;
    RunFolder folder_;
    BoardFile board_;
    int number_ = 0;  // of answers that were handed in
    std::atomic<bool> ends_ = false;
    std::future<Ended> ended_;
};

std::string host_of(const Context& context, const Program& program) {
    // what MPI keeps there is put back after each answer
    const bool can =
        cached_value(context, "SHARDLINGS_SHARED_JOBS") == "ON" && access(kSharedMemory, W_OK) == 0;
    return program.kind().shares_jobs && can ? "host_" + program.needs : "";
}

SharedJobs::SharedJobs(Context& context) : context_(context) {}

SharedJobs::~SharedJobs() = default;

std::unique_ptr<SharedJobs::Job> SharedJobs::take(const Program& program, int ranks) {
    const std::string host = host_of(context_, program);
    const std::scoped_lock guard(lock_);
    std::erase_if(waiting_, [](const auto& job) { return !job->lives(); });
    const auto found =
        std::ranges::find_if(waiting_, [&](const auto& job) { return job->is_for(host, ranks); });
    if (found == waiting_.end()) {
        return std::make_unique<Job>(context_, program, host, ranks);
    }
    std::unique_ptr<Job> job = std::move(*found);
    waiting_.erase(found);
    return job;
}

void SharedJobs::give_back(std::unique_ptr<Job> job) {
    std::unique_ptr<Job> oldest;  // ends when nobody waits for the lock
    const std::scoped_lock guard(lock_);
    waiting_.push_front(std::move(job));
    if (waiting_.size() > kMostWaiting) {
        oldest = std::move(waiting_.back());
        waiting_.pop_back();
    }
}

void SharedJobs::warm(const Program& program, int ranks) {
    if (missing_room(ranks, run_folders(context_)).empty()) {
        give_back(take(program, ranks));
    }
}

Verdict SharedJobs::run(
    const Program& program,
    const fs::path& library,
    const LaunchOptions& options,
    const std::string& after
) {
    const int ranks = ranks_of(program, options);
    if (const std::string reason = missing_room(ranks, run_folders(context_)); !reason.empty()) {
        return cannot_start(ranks, reason);
    }
    std::unique_ptr<Job> job = take(program, ranks);
    std::optional<Verdict> verdict = job->run(context_, program, library, options, after);
    if (!verdict) {
        return cannot_start(ranks, "the job that tried this answer has ended under it");
    }
    give_back(std::move(job));
    return *std::move(verdict);
}

}  // namespace dist::cli
