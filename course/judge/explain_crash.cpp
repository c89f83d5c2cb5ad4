// From the signal that ended a rank to a sentence.

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fmt/format.h>
#include <sstream>

#include "course/judge/explain.hpp"

namespace dist::cli {
namespace {

bool holds(const std::string& line, std::initializer_list<const char*> words) {
    return std::any_of(words.begin(), words.end(), [&](const char* word) {
        return line.find(word) != std::string::npos;
    });
}

/// What a sanitizer or the allocator said before it ended the program explains more than the signal.
std::string last_words(int signal, const std::string& output) {
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);) {
        for (const char* words : {"ERROR: AddressSanitizer: ", "runtime error: "}) {
            if (const std::size_t at = line.find(words); at != std::string::npos) {
                return line.substr(at);
            }
        }
        if (signal == SIGABRT && holds(line, {"free", "malloc", "corrupted", "stack smashing"})) {
            return line + "; as if memory was freed twice, or written outside of a buffer";
        }
    }
    return "";
}

/// Whether the fault was at the lower end of a stack, where it cannot grow any more. What lies at the other end is far
/// above the pointer: what main was called with.
bool is_end_of_stack(std::uint64_t pointer, std::uint64_t address) {
    constexpr std::uint64_t kBelow = 65536;
    constexpr std::uint64_t kFrame = 4096;
    return address + kBelow > pointer && address < pointer + kFrame;
}

}  // namespace

std::string explain_signal(int rank, const harness::Slot& slot, const std::string& output) {
    constexpr std::uint64_t kNearNull = 4096;
    const int signal = slot.end_code;
    const std::uint64_t address = slot.fault_address;
    const std::string died = fmt::format("rank {} died of SIG{}", rank, sigabbrev_np(signal));
    const std::string said = last_words(signal, output);
    if (slot.overrun[0] != '\0') {
        return fmt::format("{}: {}{}", died, slot.overrun, said.empty() ? "" : " (" + said + ")");
    }
    if (!said.empty()) {
        return died + ": " + said;
    }
    const bool is_access = signal == SIGSEGV || signal == SIGBUS;
    if (is_access && slot.fault_code == SI_KERNEL) {
        return died +
               ": it used an invalid pointer, as if memory was written outside of a buffer: a "
               "loop that goes one too far, or a count in bytes where elements are meant";
    }
    if (signal == SIGSEGV && address < kNearNull) {
        return died + ": it used a null pointer, or what lies behind one";
    }
    if (signal == SIGSEGV && is_end_of_stack(slot.fault_stack, address)) {
        return died + ": its stack is full, as when a function calls itself without end";
    }
    if (is_access) {
        return fmt::format(
            "{}: it used address {:#x}, which is not its memory, as if an index went beyond a "
            "buffer",
            died, address
        );
    }
    return fmt::format("{} ({})", died, strsignal(signal));
}

}  // namespace dist::cli
