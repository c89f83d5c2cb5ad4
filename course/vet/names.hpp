// Names that answers may need, and names that they may not: the tables behind symbols.cpp.
#pragma once

#include <array>
#include <string_view>

namespace dist::cli::names {

/// What is needed, and why nobody needs it.
struct Refused {
    std::string_view name;
    std::string_view sentence;
};

constexpr std::string_view kProcesses = "no exercise needs processes of its own";
constexpr std::string_view kKernel = "no exercise needs the kernel itself";
constexpr std::string_view kLooking = "no exercise needs to look for names at run time";
constexpr std::string_view kEnvironment =
    "the variables of the environment say which ranks and tests there are";
constexpr std::string_view kSignals = "a signal is the tests' to notice";

/// Refused to everybody.
constexpr std::array<Refused, 89> kRefused = {
    {{"fork", kProcesses},
     {"vfork", kProcesses},
     {"_Fork", kProcesses},
     {"clone", kProcesses},
     {"clone3", kProcesses},
     {"execl", kProcesses},
     {"execle", kProcesses},
     {"execlp", kProcesses},
     {"execv", kProcesses},
     {"execve", kProcesses},
     {"execvp", kProcesses},
     {"execvpe", kProcesses},
     {"fexecve", kProcesses},
     {"execveat", kProcesses},
     {"system", kProcesses},
     {"popen", kProcesses},
     {"posix_spawn", kProcesses},
     {"posix_spawnp", kProcesses},
     {"daemon", kProcesses},
     {"setsid", kProcesses},
     {"setpgid", kProcesses},
     {"setpgrp", kProcesses},
     {"kill", kProcesses},
     {"killpg", kProcesses},
     {"tgkill", kProcesses},
     {"pthread_kill", kProcesses},
     {"pthread_sigqueue", kProcesses},
     {"sigqueue", kProcesses},
     {"prctl", kProcesses},
     {"unshare", kProcesses},
     {"setns", kProcesses},
     {"raise", kProcesses},
     {"pthread_cancel", kProcesses},
     {"ptrace", kKernel},
     {"mprotect", kKernel},
     {"pkey_mprotect", kKernel},
     {"mmap", kKernel},
     {"mmap64", kKernel},
     {"mremap", kKernel},
     {"munmap", kKernel},
     {"madvise", kKernel},
     {"remap_file_pages", kKernel},
     {"memfd_create", kKernel},
     {"process_vm_readv", kKernel},
     {"process_vm_writev", kKernel},
     {"shm_open", kKernel},
     {"shmget", kKernel},
     {"shmat", kKernel},
     {"brk", kKernel},
     {"sbrk", kKernel},
     {"personality", kKernel},
     {"arch_prctl", kKernel},
     {"modify_ldt", kKernel},
     {"socket", kKernel},
     {"connect", kKernel},
     {"bind", kKernel},
     {"dlopen", kLooking},
     {"dlmopen", kLooking},
     {"dlsym", kLooking},
     {"dlvsym", kLooking},
     {"dlinfo", kLooking},
     {"dladdr", kLooking},
     {"dladdr1", kLooking},
     {"dl_iterate_phdr", kLooking},
     {"__tls_get_offset", kLooking},
     {"_dl_find_object", kLooking},
     {"backtrace", kLooking},
     {"_r_debug", kLooking},
     {"_DYNAMIC", kLooking},
     {"__libc_dlsym", kLooking},
     {"__libc_dlopen_mode", kLooking},
     {"setenv", kEnvironment},
     {"putenv", kEnvironment},
     {"unsetenv", kEnvironment},
     {"clearenv", kEnvironment},
     {"environ", kEnvironment},
     {"__environ", kEnvironment},
     {"_environ", kEnvironment},
     {"signal", kSignals},
     {"__sysv_signal", kSignals},
     {"sigaction", kSignals},
     {"sigprocmask", kSignals},
     {"pthread_sigmask", kSignals},
     {"sigaltstack", kSignals},
     {"setitimer", kSignals},
     {"timer_create", kSignals},
     {"alarm", kSignals},
     {"bsd_signal", kSignals},
     {"sigset", kSignals}}};

/// Of the C library what talks through sockets, and sees to it that nobody waits: for exercises with sockets, beside course/net/.
/// Nothing that makes a second descriptor (dup, fcntl, and sendmsg, which can send one).
constexpr std::array<std::string_view, 42> kSockets = {
    "accept",        "accept4",      "bind",        "close",       "connect",
    "epoll_create1", "epoll_ctl",    "epoll_pwait", "epoll_wait",  "eventfd",
    "freeaddrinfo",  "gai_strerror", "getaddrinfo", "getpeername", "getsockname",
    "getsockopt",    "htonl",        "htons",       "in6addr_any", "in6addr_loopback",
    "inet_ntop",     "inet_pton",    "listen",      "ntohl",       "ntohs",
    "pipe",          "pipe2",        "poll",        "ppoll",       "read",
    "readv",         "recv",         "recvfrom",    "select",      "send",
    "sendto",        "setsockopt",   "shutdown",    "socket",      "socketpair",
    "write",         "writev"};

/// Of the course's namespaces within dist, what answers are given. All else in them is for the course: what counts memory, above all.
constexpr std::array<std::string_view, 34> kGiven = {
    "dist::data::",
    "dist::files::",
    "dist::nn::AutocastScope",
    "dist::nn::AutocastState",
    "dist::nn::GradientEdge",
    "dist::nn::GradientHook",
    "dist::nn::GradientRow",
    "dist::nn::GraphNode",
    "dist::nn::MemoryScope",
    "dist::nn::Model",
    "dist::nn::NumbersAndTensors",
    "dist::nn::Optimizer",
    "dist::nn::Part",
    "dist::nn::TensorFile",
    "dist::nn::TensorPart",
    "dist::nn::all_behind(",
    "dist::nn::alloc_storage(",
    "dist::nn::at_end_of_backward(",
    "dist::nn::backward(",
    "dist::nn::bytes_of(",
    "dist::nn::expect_trainable(",
    "dist::nn::floats(",
    "dist::nn::free_storage(",
    "dist::nn::functional_call(",
    "dist::nn::grad(",
    "dist::nn::has_storage(",
    "dist::nn::make_model(",
    "dist::nn::make_resnet34(",
    "dist::nn::name(",
    "dist::nn::numbers_and_tensors_of(",
    "dist::nn::read_tensor_file(",
    "dist::nn::tensors_of(",
    "dist::nn::to_bytes",
    "dist::nn::with_backward("};

/// Of dist itself, what is for programs and for tests.
constexpr std::array<std::string_view, 3> kNotGiven = {
    "dist::run_main", "dist::seeded_data", "dist::tell_of_death"};

constexpr std::array<std::string_view, 2> kTests = {"dist::harness", "Catch::"};

/// Whose functions only their own headers define, also where a function is inline or a template.
constexpr std::array<std::string_view, 7> kLibraries = {
    "std::", "__gnu_cxx::", "at::", "c10::", "caffe2::", "torch::", "fmt::"};

/// Refused to who is graded: parts of readable names of C++.
constexpr std::array<Refused, 18> kReaching = {
    {{"filebuf", "reads or writes files"},
     {"__basic_file", "reads or writes files"},
     {"basic_fstream", "reads or writes files"},
     {"basic_ifstream", "reads or writes files"},
     {"basic_ofstream", "reads or writes files"},
     {"std::filesystem", "reads or writes files"},
     {"stdio_sync_filebuf", "reads or writes files"},
     {"from_file", "reads files"},
     {"MapAllocator", "maps files, or memory that no test counts"},
     {"DynamicLibrary", "looks for names at run time"},
     {"serialize", "reads or writes files"},
     {"torch::jit", "compiles code at run time"},
     {"SetCPUAllocator", "takes the allocator's place, by which bytes are counted"},
     {"SetAllocator", "takes the allocator's place, by which bytes are counted"},
     {"c10d", "takes messages past the course's ring"},
     {"std::set_terminate", "takes the place of what notices exceptions"},
     {"std::set_new_handler", "takes the place of what notices a full memory"},
     {"std::set_unexpected", "takes the place of what notices exceptions"}}};

/// Of the C library: what computes, waits, or writes to the standard output. syscall is what std::atomic waits with;
/// the tests look at which one it is (tests/harness/job/system_calls.cpp).
constexpr std::array<std::string_view, 119> kHarmlessC = {
    "_Exit",
    "_GLOBAL_OFFSET_TABLE_",
    "__assert_fail",
    "__ctype_b_loc",
    "__ctype_tolower_loc",
    "__ctype_toupper_loc",
    "__dso_handle",
    "__errno_location",
    "__isoc23_sscanf",
    "__isoc23_strtol",
    "__isoc23_strtoll",
    "__isoc23_strtoul",
    "__isoc23_strtoull",
    "__isoc99_sscanf",
    "__libc_single_threaded",
    "__pthread_key_create",
    "__stack_chk_fail",
    "__tls_get_addr",
    "_exit",
    "abort",
    "abs",
    "aligned_alloc",
    "atof",
    "atoi",
    "atol",
    "atoll",
    "bsearch",
    "btowc",
    "calloc",
    "clock",
    "clock_getres",
    "clock_gettime",
    "clock_nanosleep",
    "difftime",
    "div",
    "drand48",
    "erand48",
    "exit",
    "fflush",
    "fprintf",
    "fputc",
    "fputs",
    "free",
    "fwrite",
    "get_nprocs",
    "getpid",
    "getppid",
    "gettid",
    "gettimeofday",
    "gmtime",
    "gmtime_r",
    "labs",
    "ldiv",
    "llabs",
    "lldiv",
    "localtime",
    "localeconv",
    "localtime_r",
    "lrand48",
    "malloc",
    "malloc_usable_size",
    "memalign",
    "mktime",
    "nanosleep",
    "perror",
    "posix_memalign",
    "printf",
    "pthread_attr_destroy",
    "pthread_attr_init",
    "pthread_attr_setdetachstate",
    "pthread_create",
    "pthread_detach",
    "pthread_equal",
    "pthread_exit",
    "pthread_getspecific",
    "pthread_join",
    "pthread_key_create",
    "pthread_key_delete",
    "pthread_self",
    "pthread_setname_np",
    "pthread_setspecific",
    "pthread_testcancel",
    "pthread_yield",
    "putc",
    "putchar",
    "puts",
    "qsort",
    "quick_exit",
    "rand",
    "rand_r",
    "random",
    "realloc",
    "sched_getcpu",
    "sched_yield",
    "sem_post",
    "sem_wait",
    "sleep",
    "snprintf",
    "sprintf",
    "srand",
    "srandom",
    "sscanf",
    "stderr",
    "stdout",
    "strdup",
    "strftime",
    "strndup",
    "syscall",
    "sysconf",
    "time",
    "tolower",
    "toupper",
    "usleep",
    "vfprintf",
    "vprintf",
    "vsnprintf",
    "vsprintf",
    "vsscanf",
    "wctob"};

/// Of the C library, for answers that write and read files: what opens one, and works on it. Nothing that makes a second
/// descriptor (dup, fcntl), maps it, or waits for a device.
constexpr std::array<std::string_view, 25> kFileCalls = {
    "__open64_2", "__open_2",  "close",       "fdatasync", "flock",   "fstat",    "fstat64",
    "fsync",      "ftruncate", "ftruncate64", "lseek",     "lseek64", "lstat",    "lstat64",
    "open",       "open64",    "pread",       "pread64",   "pwrite",  "pwrite64", "read",
    "readv",      "stat",      "write",       "writev"};

/// What begins so is likewise harmless.
constexpr std::array<std::string_view, 17> kHarmlessPrefixes = {
    "mem",           "str",          "wmem",
    "wcs",           "is",           "__mem",
    "__str",         "__memcpy",     "bcmp",
    "pthread_mutex", "pthread_cond", "pthread_rwlock",
    "pthread_once",  "pthread_spin", "pthread_barrier",
    "sem_",          "thrd_"};

/// <cmath>, as the C library calls it; with f and l behind them, too.
constexpr std::array<std::string_view, 68> kMathematics = {
    "acos",         "acosh",        "asin",      "asinh",    "atan",       "atan2",
    "atanh",        "cbrt",         "ceil",      "copysign", "cos",        "cosh",
    "erf",          "erfc",         "exp",       "exp2",     "expm1",      "fabs",
    "fdim",         "floor",        "fma",       "fmax",     "fmin",       "fmod",
    "frexp",        "hypot",        "ilogb",     "ldexp",    "lgamma",     "llrint",
    "llround",      "log",          "log10",     "log1p",    "log2",       "logb",
    "lrint",        "lround",       "modf",      "nan",      "nearbyint",  "nextafter",
    "nexttoward",   "pow",          "remainder", "remquo",   "rint",       "round",
    "roundeven",    "scalbln",      "scalbn",    "sin",      "sincos",     "sinh",
    "sqrt",         "tan",          "tanh",      "tgamma",   "trunc",      "fegetround",
    "feholdexcept", "feupdateenv",  "fegetenv",  "fesetenv", "fesetround", "feclearexcept",
    "fetestexcept", "feraiseexcept"};

/// What stands behind the constants of mpi.h, such as MPI_FLOAT and MPI_REQUEST_NULL.
constexpr const char* kMpiData =
    "ompi_mpi_(?!abort|dynamics|errc|errn|finalize|init|register|thread|.*_handler$).*|ompi_"
    "request_null|"
    "ompi_message_(null|no_proc)";

/// What the compiler asks for by itself: exceptions, casts, static objects, arithmetic.
constexpr std::array<std::string_view, 13> kCompilersPrefixes = {
    "__cxa_",
    "_Unwind_",
    "__gxx_personality",
    "__gcc_personality",
    "__dynamic_cast",
    "DW.ref.",
    "__udiv",
    "__div",
    "__mul",
    "__extend",
    "__trunc",
    "__float",
    "__fix"};

/// Likewise, as whole names.
constexpr std::array<std::string_view, 3> kCompilers = {
    "__once_proxy", "__emutls_get_address", "__sfp_handle_exceptions"};

/// The C++ library, and operators new and delete, as the linker knows them: after what says vtable, thunk or const stands std,
/// or one of its short forms.
constexpr const char* kOfTheCxxLibrary =
    "_Z(T[VTISc]|GV|T[hv][0-9n_]*)?N?[KVRO]*S[tabsiod].*|_Z(n[wa]|d[la]).*|_ZT[IV]N10__cxxabiv1.*|_"
    "ZT["
    "IS][a-z].*";

/// LibTorch, the course, and libstdc++'s own, in names as the linker knows them.
constexpr std::array<std::string_view, 7> kSpaces = {"2at",   "3c10",       "5torch",     "6caffe2",
                                                     "4dist", "9__gnu_cxx", "N9__gnu_cxx"};

}  // namespace dist::cli::names
