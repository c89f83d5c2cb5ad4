#include "course/judge/deaths.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <sys/wait.h>

#include "course/judge/explain.hpp"

namespace dist::cli {
namespace {

using harness::End;
using harness::Phase;

constexpr long kTail = 1L << 40;  // "to the end"

/// The thread of a rank that waits. If the rank was stopped: the thread that had waited for long.
const harness::Line& line_that_waited(const harness::Slot& slot) {
    for (const harness::Line& line : slot.line) {
        if (line.phase == Phase::waiting || (slot.end == End::unwound && line.frames.count > 0)) {
            return line;
        }
    }
    return slot.line[0];
}

constexpr const char* kMpirunKilled =
    "mpirun, which started the ranks, was killed, as if by kill() in the code under test: a "
    "function leaves other processes alone";

/// Ranks whose watching process ended without a word. mpirun asks the others to end, and they say so,
/// unless the machine gives them no time to; then it names the first.
std::vector<int> unwatched(const Job& job) {
    std::vector<int> ranks;
    for (int r = 0; r < static_cast<int>(job.logs.size()); ++r) {
        const harness::Slot& slot = job.board->slot[r];
        if (slot.watcher != 0 && slot.end == End::none) {
            ranks.push_back(r);
        }
    }
    const std::string words = "process rank ";
    const std::size_t at = job.output.find(words);
    const int first = at == std::string::npos ? -1 : std::atoi(&job.output[at + words.size()]);
    if (std::find(ranks.begin(), ranks.end(), first) != ranks.end()) {
        return {first};
    }
    return ranks;
}

/// What each rank has written down: "rank 0: 2 of 2 records, and that it has finished; rank 1: 1 of 2 records".
std::string written_records(const Job& job) {
    std::string text;
    for (std::size_t r = 0; r < job.logs.size(); ++r) {
        const RankLog& log = job.logs[r];
        text += fmt::format(
            "{}rank {}: {} of {} records{}", r == 0 ? "" : "; ", r, log.records.size(),
            log.plan.size(), log.finished ? ", and that it has finished" : ""
        );
    }
    return text;
}

/// Whether Open MPI complains of a full disk, in one of its ways.
bool says_full(const std::string& output) {
    const auto has = [&](const char* text) { return output.find(text) != std::string::npos; };
    return has("OUT-OF-RESOURCE") || has("not enough space") || has("No space left");
}

/// The line in which the harness itself says why it cannot go on; empty: it did not.
std::string words_of_ours(const std::string& output) {
    for (const std::string who : {"shardlings: ", "rank_proxy: "}) {
        if (const std::size_t at = output.find(who); at != std::string::npos) {
            return output.substr(at, output.find('\n', at) - at);
        }
    }
    return "";
}

/// What the loader says of a library that it did not find; empty: it found all.
std::string not_loaded(const Job& job) {
    constexpr int kStatusOfLoader = 127;
    const std::string words = "error while loading shared libraries: ";
    const std::size_t at = job.output.find(words);
    if (job.status != kStatusOfLoader || at == std::string::npos) {
        return "";
    }
    const std::size_t begin = at + words.size();
    return job.output.substr(begin, job.output.find('\n', begin) - begin);
}

TestResult about_the_program(const std::string& name, const Job& job) {
    TestResult test;
    test.name = name;
    test.planned = false;
    test.ranks = static_cast<int>(job.logs.size());
    return test;
}

/// Whether a rank is in MPI_Init, or ended there.
bool is_starting(const Job& job) {
    const auto* const first = job.board->slot;
    const auto starting = [](const harness::Slot& slot) { return slot.starting != 0; };
    return std::any_of(first, first + job.logs.size(), starting);
}

bool was_unwound(const Job& job) {
    const auto* const first = job.board->slot;
    const auto unwound = [](const harness::Slot& slot) { return slot.end == End::unwound; };
    return std::any_of(first, first + job.logs.size(), unwound);
}

}  // namespace

std::pair<State, std::string> explain_end(
    int rank, const harness::Slot& slot, const std::string& output
) {
    const int code = slot.end_code;
    const auto limit = [&](State state, const std::string& otherwise) {
        return std::pair(state, slot.end_message[0] != '\0' ? slot.end_message : otherwise);
    };
    switch (slot.end.load()) {
        case End::signalled:
            return limit(State::crash, explain_signal(rank, slot, output));
        case End::exited:
        case End::finished:
            return limit(
                State::early_exit, fmt::format(
                                       "rank {} ended in the middle of the test by {}({}): a "
                                       "function returns, it does "
                                       "not end the program",
                                       rank, slot.exit_called != 0 ? "exit" : "_exit", code
                                   )
            );
        case End::aborted:
            return {State::abort, fmt::format("rank {} called MPI_Abort with code {}", rank, code)};
        case End::time_limit:
            return limit(
                State::time_limit,
                fmt::format("rank {} computes without end and calls no MPI: an endless loop?", rank)
            );
        case End::asleep:
            return limit(
                State::time_limit, fmt::format(
                                       "rank {} sleeps, or was stopped, outside of MPI calls: "
                                       "what does it wait for?",
                                       rank
                                   )
            );
        case End::memory_limit:
            return limit(
                State::memory_limit, fmt::format("rank {} took more and more memory", rank)
            );
        case End::output_limit:
            return limit(State::output_limit, fmt::format("rank {} printed without end", rank));
        case End::no_room:
            return {State::harness_error, slot.end_message};
        case End::none:
        case End::left:
        case End::unwound:
            break;
    }
    return {State::not_run, ""};
}

RankResult rank_from_board(int rank, const Job& job) {
    const harness::Slot& slot = job.board->slot[rank];
    RankResult result;
    result.rank = rank;
    const long begin = job.logs[static_cast<std::size_t>(rank)].output_end;
    result.output = read_output(job.folder, rank, begin, kTail);
    const auto [state, message] = explain_end(rank, slot, result.output);
    const harness::Frames* frames = &slot.end_frames;
    if (state != State::not_run) {
        const End end = slot.end;
        result.phase = Phase::died;
        result.message = message;
        result.exit_code = slot.end_code;
        result.state = end == End::signalled ? RankState::signal
                       : end == End::aborted ? RankState::abort
                                             : RankState::exit;
        if (end == End::time_limit || end == End::asleep) {
            result.state = RankState::computing;
            result.phase = end == End::asleep ? Phase::asleep : Phase::computing;
        }
        if (end == End::signalled) {
            result.signal = fmt::format("SIG{}", sigabbrev_np(slot.end_code));
        }
    } else {
        const harness::Line& line = line_that_waited(slot);
        const bool waited = line.phase == Phase::waiting || slot.end == End::unwound;
        const bool waiting = waited && line.call[0] != '\0';
        result.phase = waiting ? Phase::waiting : Phase::stopped;
        result.state = waiting ? RankState::blocked : RankState::ok;
        result.call = waiting ? line.call : "";
        result.kind = waiting ? line.kind.load() : harness::CallKind::none;
        result.direction = waiting ? line.direction.load() : harness::Direction::none;
        result.collectives = harness::collective_calls(slot);
        result.peer = line.peer;
        result.rank_in_comm = waiting ? line.rank_in_comm.load() : -1;
        result.peer_in_comm = waiting ? line.peer_in_comm.load() : -1;
        result.tag = line.tag;
        frames = &line.frames;
    }
    for (int i = 0; i < std::clamp(frames->count.load(), 0, harness::kMaxFrames); ++i) {
        result.frames.push_back(frames->address[i]);
    }
    return result;
}

std::pair<State, std::string> explain_stop(const Job& job) {
    if (job.timed_out) {
        return {
            State::time_limit,
            fmt::format("the run took longer than {:.0f} s and was ended", job.wall_limit_s)};
    }
    if (job.killed) {
        return {State::crash, kMpirunKilled};
    }
    if (was_unwound(job)) {  // why they were stopped, before they died of it
        const bool forbidden = job.board->stop == harness::Stop::forbidden;
        return {forbidden ? State::forbidden : State::hang, job.board->stop_message};
    }
    if (const int end = job.board->loaded_end; end != 0 && WIFSIGNALED(end - 1)) {
        return {
            State::crash,
            "the process that all ranks were forked from was killed, as if by kill() in the code "
            "under test: a function leaves other processes alone"};
    }
    if (const std::vector<int> ranks = unwatched(job); !ranks.empty()) {
        return {
            State::crash, fmt::format(
                              "{} ended the process that watches over it, as if by kill() on its "
                              "parent or on its "
                              "whole group: a function leaves other processes alone",
                              ranks_text(ranks)
                          )};
    }
    const std::string said = job.output.empty() ? "nothing" : job.output;
    return {
        State::harness_error, fmt::format(
                                  "the processes ended without saying why. They have written, {}. "
                                  "mpirun ended with status "
                                  "{} and said {}",
                                  written_records(job), job.status, said
                              )};
}

TestResult explain_no_plan(const Job& job) {
    TestResult test = about_the_program("the program reaches its tests", job);
    const std::string& text = job.output;
    if (job.killed) {
        test.status = State::crash;
        test.message = kMpirunKilled;
    } else if (is_starting(job) || job.called_off) {
        test.status = State::harness_error;
        test.message = fmt::format(
            "MPI did not start{}. mpirun said:\n{}",
            says_full(text) ? ", as if no space were left in /tmp (or TMPDIR) or in /dev/shm" : "",
            text.empty() ? "nothing" : text
        );
    } else if (job.timed_out) {
        test.status = State::time_limit;
        test.message =
            fmt::format("it had not begun after {:.0f} s, and was ended", job.wall_limit_s);
    } else if (const std::string words = words_of_ours(text); !words.empty()) {
        test.status = State::harness_error;
        test.message = words;
    } else if (const std::string loader = not_loaded(job); !loader.empty()) {
        test.status = State::harness_error;
        test.message = fmt::format(
            "the program cannot be loaded: {}\nA library that it needs is missing: ./shardlings "
            "doctor says which LibTorch is used",
            loader
        );
    } else if (text.find("on signal") != std::string::npos) {
        test.status = State::crash;
        test.message = "it died before the first test: does something run before main?";
    } else if (job.status == 0 || text.find("non-zero") != std::string::npos) {
        test.status = State::early_exit;
        test.message = fmt::format(
            "it ended with status {} before the first test: something calls exit() before main, or "
            "has taken main's place",
            job.status
        );
    } else {
        test.status = State::harness_error;
        test.message = "mpirun did not start the processes:\n" + text;
    }
    return test;
}

TestResult explain_no_folder(const Job& job) {
    TestResult test = about_the_program("the program leaves the run's folder alone", job);
    test.status = State::fail;
    test.message = "it removed the run's folder, and with it the records of all tests";
    return test;
}

TestResult explain_left(const Job& job) {
    TestResult test = about_the_program("the program leaves no process behind", job);
    test.status = State::fail;
    const bool one = job.left_processes == 1;
    test.message = fmt::format(
        "{} process{} that the program had started {} still there, and {} ended",
        job.left_processes, one ? "" : "es", one ? "was" : "were", one ? "was" : "were"
    );
    return test;
}

}  // namespace dist::cli
