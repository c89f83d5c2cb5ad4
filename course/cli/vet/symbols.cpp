#include "course/cli/vet/symbols.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cxxabi.h>
#include <fmt/format.h>
#include <memory>
#include <sstream>

#include "course/cli/process/error.hpp"
#include "course/cli/process/subprocess.hpp"

namespace dist::cli {
namespace {

bool starts_with_one_of(std::string_view text, const auto& prefixes) {
    return std::any_of(prefixes.begin(), prefixes.end(), [&](std::string_view prefix) {
        return text.starts_with(prefix);
    });
}

bool is_one_of(std::string_view text, const auto& words) {
    return std::find(words.begin(), words.end(), text) != words.end();
}

/// "vtable for dist::X" speaks of dist::X.
std::string_view subject_of(std::string_view readable) {
    const std::size_t at = readable.rfind(" for ");
    const bool about = readable.starts_with("vtable ") || readable.starts_with("VTT ") ||
                       readable.starts_with("typeinfo ") || readable.starts_with("guard ") ||
                       readable.starts_with("construction vtable ") || readable.starts_with("TLS ");
    return about && at != std::string_view::npos ? readable.substr(at + 5) : readable;
}

/// What is needed, and why nobody needs it.
struct Refused {
    std::string_view sentence;
    std::vector<std::string_view> names;
};

const std::vector<Refused>& refused_names() {
    static const std::vector<Refused> all = {
        {"no exercise needs processes of its own",
         {"fork",     "vfork",         "_Fork",
          "clone",    "clone3",        "execl",
          "execle",   "execlp",        "execv",
          "execve",   "execvp",        "execvpe",
          "fexecve",  "execveat",      "system",
          "popen",    "posix_spawn",   "posix_spawnp",
          "daemon",   "setsid",        "setpgid",
          "setpgrp",  "kill",          "killpg",
          "tgkill",   "pthread_kill",  "pthread_sigqueue",
          "sigqueue", "prctl",         "unshare",
          "setns",    "pidfd_open",    "pidfd_send_signal",
          "raise",    "pthread_cancel"}},
        {"no exercise needs the kernel itself",
         {"ptrace",
          "mprotect",
          "pkey_mprotect",
          "mmap",
          "mmap64",
          "mremap",
          "munmap",
          "madvise",
          "remap_file_pages",
          "memfd_create",
          "process_vm_readv",
          "process_vm_writev",
          "shm_open",
          "shmget",
          "shmat",
          "brk",
          "sbrk",
          "personality",
          "arch_prctl",
          "modify_ldt",
          "socket",
          "connect",
          "bind"}},
        {"no exercise needs to look for names at run time",
         {"dlopen", "dlmopen", "dlsym", "dlvsym", "dlinfo", "dladdr", "dladdr1", "dl_iterate_phdr",
          "__tls_get_offset", "_dl_find_object", "backtrace", "_r_debug", "_DYNAMIC",
          "__libc_dlsym", "__libc_dlopen_mode"}},
        {"the variables of the environment say which ranks and tests there are",
         {"setenv", "putenv", "unsetenv", "clearenv", "environ", "__environ", "_environ"}},
        {"a signal is the tests' to notice",
         {"signal", "__sysv_signal", "sigaction", "sigprocmask", "pthread_sigmask", "sigaltstack",
          "setitimer", "timer_create", "alarm", "bsd_signal", "sigset"}},
    };
    return all;
}

/// Of the C library: what computes, and touches nothing but its arguments and the standard output.
bool is_harmless_c(std::string_view name) {
    static const std::set<std::string_view> names = {
        "malloc",
        "calloc",
        "realloc",
        "free",
        "aligned_alloc",
        "posix_memalign",
        "memalign",
        "malloc_usable_size",
        "strdup",
        "strndup",
        "abort",
        "exit",
        "_exit",
        "_Exit",
        "quick_exit",
        "abs",
        "labs",
        "llabs",
        "div",
        "ldiv",
        "lldiv",
        "qsort",
        "bsearch",
        "rand",
        "srand",
        "rand_r",
        "random",
        "srandom",
        "drand48",
        "erand48",
        "lrand48",
        "atoi",
        "atol",
        "atoll",
        "atof",
        "printf",
        "vprintf",
        "puts",
        "putchar",
        "putc",
        "fputc",
        "fputs",
        "fprintf",
        "vfprintf",
        "fwrite",
        "fflush",
        "perror",
        "snprintf",
        "vsnprintf",
        "sprintf",
        "vsprintf",
        "sscanf",
        "vsscanf",
        "stdout",
        "stderr",
        "time",
        "clock",
        "clock_gettime",
        "clock_getres",
        "gettimeofday",
        "nanosleep",
        "clock_nanosleep",
        "usleep",
        "sleep",
        "sched_yield",
        "sched_getcpu",
        "gmtime",
        "gmtime_r",
        "localtime",
        "localtime_r",
        "strftime",
        "mktime",
        "difftime",
        "__errno_location",
        "__assert_fail",
        "__stack_chk_fail",
        "__tls_get_addr",
        "__libc_single_threaded",
        "__dso_handle",
        "_GLOBAL_OFFSET_TABLE_",
        "toupper",
        "tolower",
        "getpid",
        "gettid",
        "getppid",
        "get_nprocs",
        "sysconf",
        "btowc",
        "wctob",
        "__ctype_b_loc",
        "__ctype_tolower_loc",
        "__ctype_toupper_loc",
        "__isoc99_sscanf",
        "__isoc23_sscanf",
        "__isoc23_strtol",
        "__isoc23_strtoll",
        "__isoc23_strtoul",
        "__isoc23_strtoull"};
    // the checked forms end in _chk; what begins so only computes
    static constexpr std::array<std::string_view, 9> prefixes = {
        "mem", "str", "wmem", "wcs", "is", "__mem", "__str", "__memcpy", "bcmp"};
    static constexpr std::array<std::string_view, 8> threads = {
        "pthread_mutex", "pthread_cond",    "pthread_rwlock", "pthread_once",
        "pthread_spin",  "pthread_barrier", "sem_",           "thrd_"};
    static const std::set<std::string_view> more_threads = {
        "pthread_create",
        "pthread_join",
        "pthread_detach",
        "pthread_self",
        "pthread_equal",
        "pthread_key_create",
        "pthread_key_delete",
        "pthread_getspecific",
        "pthread_setspecific",
        "pthread_yield",
        "pthread_exit",
        "__pthread_key_create",
        "pthread_attr_init",
        "pthread_attr_destroy",
        "pthread_attr_setdetachstate",
        "pthread_setname_np",
        "pthread_testcancel",
        "sem_wait",
        "sem_post",
        "syscall"};  // std::atomic's wait; the tests look at which one it is (job/system_calls.cpp)
    if (name.starts_with("__") && name.ends_with("_chk")) {
        return is_harmless_c(name.substr(2, name.size() - 6));
    }
    return names.contains(name) || more_threads.contains(name) ||
           starts_with_one_of(name, prefixes) ||
           (starts_with_one_of(name, threads) && name != "sem_open" && name != "sem_unlink");
}

/// <cmath>: GCC calls the functions of the C library by their names.
bool is_mathematics(std::string_view name) {
    static const std::set<std::string_view> names = {
        "acos",       "acosh",         "asin",         "asinh",        "atan",      "atan2",
        "atanh",      "cbrt",          "ceil",         "copysign",     "cos",       "cosh",
        "erf",        "erfc",          "exp",          "exp2",         "expm1",     "fabs",
        "fdim",       "floor",         "fma",          "fmax",         "fmin",      "fmod",
        "frexp",      "hypot",         "ilogb",        "ldexp",        "lgamma",    "llrint",
        "llround",    "log",           "log10",        "log1p",        "log2",      "logb",
        "lrint",      "lround",        "modf",         "nan",          "nearbyint", "nextafter",
        "nexttoward", "pow",           "remainder",    "remquo",       "rint",      "round",
        "roundeven",  "scalbln",       "scalbn",       "sin",          "sincos",    "sinh",
        "sqrt",       "tan",           "tanh",         "tgamma",       "trunc",     "fegetround",
        "fesetround", "feclearexcept", "fetestexcept", "feraiseexcept"};
    if (names.contains(name)) {
        return true;
    }
    return (name.ends_with('f') || name.ends_with('l')) &&
           names.contains(name.substr(0, name.size() - 1));
}

/// What the compiler asks for by itself: exceptions, casts, static objects, OpenMP's none.
bool is_compilers(std::string_view name) {
    static constexpr std::array<std::string_view, 6> prefixes = {
        "__cxa_",         "_Unwind_", "__gxx_personality", "__gcc_personality",
        "__dynamic_cast", "DW.ref."};
    static constexpr std::array<std::string_view, 3> arithmetic = {"__udiv", "__div", "__mul"};
    static constexpr std::array<std::string_view, 4> conversions = {
        "__extend", "__trunc", "__float", "__fix"};
    static constexpr std::array<std::string_view, 3> once = {
        "__once_proxy", "__emutls_get_address", "__sfp_handle_exceptions"};
    return starts_with_one_of(name, prefixes) || starts_with_one_of(name, arithmetic) ||
           is_one_of(name, once) || starts_with_one_of(name, conversions) ||
           name.ends_with("tf3") || name.ends_with("ti3");
}

/// Of the C++ library, LibTorch and the course.
std::string why_not_cxx(std::string_view readable) {
    struct Part {
        std::string_view holds;
        std::string_view sentence;
    };
    static constexpr std::array<Part, 16> parts = {{
        {"filebuf", "reads or writes files"},
        {"basic_fstream", "reads or writes files"},
        {"basic_ifstream", "reads or writes files"},
        {"basic_ofstream", "reads or writes files"},
        {"std::filesystem", "reads or writes files"},
        {"stdio_sync_filebuf", "reads or writes files"},
        {"from_file", "reads files"},
        {"DynamicLibrary", "looks for names at run time"},
        {"serialize", "reads or writes files"},
        {"torch::jit", "compiles code at run time"},
        {"SetCPUAllocator", "takes the allocator's place, by which bytes are counted"},
        {"SetAllocator", "takes the allocator's place, by which bytes are counted"},
        {"c10d", "takes messages past the course's ring"},
        {"std::set_terminate", "takes the place of what notices exceptions"},
        {"std::set_new_handler", "takes the place of what notices a full memory"},
        {"std::set_unexpected", "takes the place of what notices exceptions"},
    }};
    for (const Part& part : parts) {
        if (readable.find(part.holds) != std::string_view::npos) {
            return std::string(part.sentence);
        }
    }
    return "";
}

bool is_known_cxx(std::string_view mangled) {
    // std, and what it is spelt with; operators new and delete; LibTorch's; the course's
    static constexpr std::array<std::string_view, 23> prefixes = {
        "_ZSt",
        "_ZNSt",
        "_ZNKSt",
        "_ZNSi",
        "_ZNSo",
        "_ZNSs",
        "_ZNKSs",
        "_ZNRSt",
        "_ZNOSt",
        "_ZNKRSt",
        "_ZTVSt",
        "_ZTVNSt",
        "_ZTISt",
        "_ZTINSt",
        "_ZTSSt",
        "_ZTTNSt",
        "_ZNVSt",
        "_ZTVN10__cxxabiv1",
        "_ZTIN10__cxxabiv1",
        "_Zn",
        "_Zd",
        "_ZTT",
        "_ZNKSi"};
    static constexpr std::array<std::string_view, 4> fundamental = {"_ZTI", "_ZTS", "_ZTV", "_ZGV"};
    static constexpr std::array<std::string_view, 7> spaces = {
        "2at", "3c10", "5torch", "6caffe2", "4dist", "9__gnu_cxx", "N9__gnu_cxx"};
    if (starts_with_one_of(mangled, prefixes)) {
        return true;
    }
    // _ZN2at..., _ZNK3c10..., _ZTIN4dist..., and operators of them: _ZN2atlsE, _ZlsRSoRKN2at6TensorE
    return std::any_of(
               spaces.begin(), spaces.end(),
               [&](std::string_view space) { return mangled.find(space) != std::string_view::npos; }
           ) ||
           (starts_with_one_of(mangled, fundamental) && mangled.size() < 8);
}

}  // namespace

std::string Symbol::readable() const {
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(
        abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free
    );
    return status == 0 ? text.get() : name;
}

std::vector<Symbol> symbols_of(
    const Context& context, const std::vector<std::filesystem::path>& objects
) {
    std::vector<std::string> command = {"nm", "--extern-only", "--format=posix"};
    for (const std::filesystem::path& object : objects) {
        command.push_back(object.string());
    }
    RunOptions options;
    options.folder = context.build_folder();
    options.environment = {{"LC_ALL", "C"}};
    const Ended ended = run(context, command, options);
    if (!ended.ok()) {
        throw CommandError(
            exit_status::kOurs,
            "nm cannot read what was built: " + ended.output.substr(0, ended.output.find('\n'))
        );
    }
    std::vector<Symbol> symbols;
    std::istringstream lines(ended.output);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t space = line.find(' ');
        if (space != std::string::npos && space + 1 < line.size() && line.back() != ':') {
            symbols.push_back({line.substr(0, space), line[space + 1]});
        }
    }
    return symbols;
}

std::string why_not_needed(const Symbol& symbol, Strictness strictness) {
    const std::string readable = symbol.readable();
    const std::string_view subject = subject_of(readable);
    if (symbol.name.starts_with("PMPI_")) {
        return fmt::format(
            "calls {}: messages are to pass the tests' eyes, so call {}", symbol.name,
            symbol.name.substr(1)
        );
    }
    if (subject.starts_with("dist::harness") || subject.starts_with("Catch::")) {
        return fmt::format("uses {}: that is the tests' own", readable);
    }
    for (const Refused& refused : refused_names()) {
        if (is_one_of(symbol.name, refused.names)) {
            return fmt::format("calls {}: {}", symbol.name, refused.sentence);
        }
    }
    if (strictness == Strictness::learner || symbol.name.starts_with("MPI_") ||
        symbol.name.starts_with("ompi_") || symbol.name.starts_with("nccl") ||
        symbol.name.starts_with("cuda") || symbol.name.starts_with("__cuda")) {
        return "";
    }
    if (const std::string sentence = why_not_cxx(subject); !sentence.empty()) {
        return fmt::format("{}: it needs {}", sentence, readable);
    }
    const bool known = symbol.name.starts_with("_Z")
                           ? is_known_cxx(symbol.name)
                           : is_harmless_c(symbol.name) || is_mathematics(symbol.name) ||
                                 is_compilers(symbol.name);
    return known ? "" : kUnknown;
}

std::string why_not_defined(const Symbol& symbol, const std::set<std::string>& taken) {
    const std::string readable = symbol.readable();
    const std::string_view subject = subject_of(readable);
    if (symbol.kind == 'i' || symbol.kind == 'I') {
        return fmt::format("defines {} by another name's code", readable);
    }
    if (!symbol.name.starts_with("_Z")) {
        return symbol.name.starts_with("DW.ref.")
                   ? ""
                   : fmt::format(
                         "defines {} as a name of C: the tests and the libraries would use it",
                         symbol.name
                     );
    }
    if (subject.starts_with("dist::harness") || subject.starts_with("Catch::")) {
        return fmt::format("defines {}: that is the tests' own", readable);
    }
    if (symbol.name.starts_with("_Zn") || symbol.name.starts_with("_Zd")) {
        return fmt::format("defines {}, by which the tests count what is allocated", readable);
    }
    if (!symbol.is_weak() && subject.starts_with("std::")) {
        return fmt::format("defines {}: that is the C++ library's", readable);
    }
    return taken.contains(symbol.name)
               ? fmt::format("defines {}: that is the course's, or another exercise's", readable)
               : "";
}

}  // namespace dist::cli
