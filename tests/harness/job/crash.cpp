#include "tests/harness/job/crash.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <execinfo.h>
#include <sys/statvfs.h>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

#include "tests/harness/harness.hpp"
#include "tests/harness/roll_call/roll_call.hpp"

namespace dist::harness {
namespace {

constexpr unsigned long kNothingLeft = 1U << 16U;  // bytes

std::uint64_t program_counter(const void* context) {
    const auto* machine = static_cast<const ucontext_t*>(context);
#if defined(__x86_64__)
    return static_cast<std::uint64_t>(machine->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
    return machine->uc_mcontext.pc;
#else
    (void)machine;
    return 0;
#endif
}

std::uint64_t stack_pointer(const void* context) {
    const auto* machine = static_cast<const ucontext_t*>(context);
#if defined(__x86_64__)
    return static_cast<std::uint64_t>(machine->uc_mcontext.gregs[REG_RSP]);
#elif defined(__aarch64__)
    return machine->uc_mcontext.sp;
#else
    (void)machine;
    return 0;
#endif
}

void leave_frames(const void* context) {
    Frames& frames = my_slot().end_frames;
    capture_frames(frames);
    // The place of the fault itself comes first; the stack below it starts with this handler.
    const std::uint64_t counter = program_counter(context);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): a register is a number
    const std::uint64_t place = in_executable(reinterpret_cast<const void*>(counter));
    if (place != 0 && frames.count < kMaxFrames) {
        for (int i = frames.count; i > 0; --i) {
            frames.address[i] = frames.address[i - 1].load();
        }
        frames.address[0] = place;
        frames.count = frames.count + 1;
    }
}

void on_fatal_signal(int signal, siginfo_t* info, void* context) {
    my_slot().fault_address = reinterpret_cast<std::uint64_t>(info->si_addr);
    my_slot().fault_stack = stack_pointer(context);
    my_slot().fault_code = info->si_code;
    leave_frames(context);
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

void on_where_signal(int /*signal*/, siginfo_t* /*info*/, void* context) {
    leave_frames(context);
}

}  // namespace

void note_if_full() {
    const std::array<const char*, 4> folders = {
        "/dev/shm", std::getenv(kEnvFolder), std::getenv("TMPDIR"), "/tmp"};
    for (const char* folder : folders) {
        struct statvfs disk {};
        if (folder != nullptr && statvfs(folder, &disk) == 0 && disk.f_blocks > 0 &&
            disk.f_bavail * disk.f_frsize < kNothingLeft) {
            std::snprintf(
                my_slot().end_message, sizeof my_slot().end_message,
                "rank %d: no space left in %s; make room there", world_rank(), folder
            );
            my_slot().end = End::no_room;
            return;
        }
    }
}

CrashReports::CrashReports() {
    // a stack overflow leaves no stack to handle it on
    static std::vector<char> stack(std::size_t{64} << 10U);
    stack_t alternative{};
    alternative.ss_sp = stack.data();
    alternative.ss_size = stack.size();
    sigaltstack(&alternative, nullptr);

    struct sigaction action {};
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    action.sa_sigaction = on_fatal_signal;
    for (std::size_t i = 0; i < kFatalSignals.size(); ++i) {
        sigaction(kFatalSignals[i], &action, &before_[i]);
    }
    action.sa_sigaction = on_where_signal;
    sigaction(kWhereSignal, &action, &before_.back());
    // Catch2 3 would tell all listeners first, which wait for the other ranks
    std::signal(SIGTERM, SIG_DFL);
    std::signal(SIGINT, SIG_DFL);
}

CrashReports::~CrashReports() {
    for (std::size_t i = 0; i < kFatalSignals.size(); ++i) {
        sigaction(kFatalSignals[i], &before_[i], nullptr);
    }
    sigaction(kWhereSignal, &before_.back(), nullptr);
}

CrashMeans::CrashMeans(const std::string& sentence) : before_(my_slot().end_message) {
    std::snprintf(
        my_slot().end_message, sizeof my_slot().end_message, "rank %d: %s", world_rank(),
        sentence.c_str()
    );
}
CrashMeans::~CrashMeans() {
    std::snprintf(my_slot().end_message, sizeof my_slot().end_message, "%s", before_.c_str());
}

void install_terminate_handler() {
    std::set_terminate([] {
        if (guarded() && stopped()) {
            my_slot().end = End::unwound;
            std::fflush(nullptr);
            _exit(1);
        }
        if (const auto error = std::current_exception()) {
            try {
                std::rethrow_exception(error);
            } catch (const std::exception& e) {
                std::snprintf(
                    my_slot().end_message, sizeof my_slot().end_message,
                    "an exception that nobody caught ended the program: %s", e.what()
                );
            } catch (...) {
            }
        }
        std::abort();
    });
}

}  // namespace dist::harness
