#include "course/process/mpirun.hpp"

#include <cstdlib>
#include <sys/uio.h>
#include <thread>
#include <unistd.h>

#include "course/process/screen.hpp"

namespace dist::cli {
namespace {

constexpr const char* kTerminal = "SHARDLINGS_TERMINAL";  // what the trainer asks for

bool one_core_each(int ranks, Purpose purpose) {
    return purpose == Purpose::measure &&
           ranks <= static_cast<int>(std::thread::hardware_concurrency());
}

/// Whether a process may read another's memory, which is how Open MPI passes large messages with
/// one copy. Some containers forbid the call, and Open MPI would complain of it for each message.
bool single_copy_allowed() {
    int from = 1;
    int to = 0;
    const iovec local{&to, sizeof to};
    const iovec remote{&from, sizeof from};
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == sizeof from;
}

/// Neither nodes nor ways to start there, of a scheduler whose job this shell may be, or of a default hostfile.
void keep_to_this_machine(Environment& environment) {
    const char* const schedulers = "^slurm,gridengine,tm,pbs,lsf,alps,loadleveler,flux";
    const char* const starters = "^slurm,tm,lsf,alps,pals";
    environment.insert(
        environment.end(), {{"OMPI_MCA_ras", schedulers},
                            {"OMPI_MCA_plm", starters},
                            {"OMPI_MCA_plm_rsh_disable_qrsh", "1"},
                            {"OMPI_MCA_orte_default_hostfile", "none"},  // 4
                            {"PRTE_MCA_ras", schedulers},
                            {"PRTE_MCA_plm", starters},
                            {"PRTE_MCA_prte_default_hostfile", "none"}}  // 5
    );
}

/// Whether lines that ranks print may be rewritten, which no rank can see: the columns of the terminal; 1, where they are
/// not known; or 0. Who reads the command's output for a terminal says so by the same variable.
std::string output_of_ranks() {
    const char* const told = std::getenv(kTerminal);
    const auto screen = screen_of(STDOUT_FILENO);
    return told != nullptr                 ? told
           : !obeys_escapes(STDOUT_FILENO) ? "0"
           : screen                        ? std::to_string(screen->columns)
                                           : "1";
}

/// mpirun's words on hosts: their slots are all that it may fill, and of the environment it hands on only what is named.
std::vector<std::string> mpirun_on_hosts(int ranks, Purpose purpose, const Hosts& hosts) {
    std::vector<std::string> command = {"mpirun", "--bind-to"};
    command.emplace_back(purpose == Purpose::measure ? "core:overload-allowed" : "none");
    if (!hosts.file.empty()) {
        command.insert(command.end(), {"--hostfile", hosts.file.string()});
    }
    for (const auto& [name, value] : mpi_environment(ranks, purpose, hosts)) {
        if (!name.starts_with("OMPI_")) {
            command.insert(command.end(), {"-x", name});
        }
    }
    for (const char* name : {"GLOO_SOCKET_IFNAME", "NO_COLOR", "SHARDLINGS_CIFAR10"}) {
        if (std::getenv(name) != nullptr) {
            command.insert(command.end(), {"-x", name});
        }
    }
    if (ranks > 0) {
        command.insert(command.end(), {"-np", std::to_string(ranks)});
    }
    return command;
}

}  // namespace

std::vector<std::string> mpirun(int ranks, Purpose purpose, const Hosts& hosts) {
    if (!hosts.none()) {
        return mpirun_on_hosts(ranks, purpose, hosts);
    }
    std::vector<std::string> command = {"mpirun", "--map-by", ":OVERSUBSCRIBE", "--bind-to"};
    command.emplace_back(one_core_each(ranks, purpose) ? "core:overload-allowed" : "none");
    for (const char* word : {"--mca", "pml", "ob1", "--mca", "btl", "self,vader", "-np"}) {
        command.emplace_back(word);
    }
    command.push_back(std::to_string(ranks));
    return command;
}

Environment mpi_environment(int ranks, Purpose purpose, const Hosts& hosts) {
    Environment environment = {
        {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
        {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
        {"OMP_NUM_THREADS", "1"},
        // how the cores lie is all that is asked for: the bus and its devices take a tenth of a start
        {"HWLOC_COMPONENTS", "-linuxio,-pci,-gl,-opencl,-cuda,-nvml,-rsmi,-levelzero"},
    };
    if (hosts.none()) {
        keep_to_this_machine(environment);
    }
    if (purpose == Purpose::work) {  // what a test's ranks print is read by the command
        environment.emplace_back(kTerminal, output_of_ranks());
    }
    if (hosts.none() && !one_core_each(ranks, purpose)) {
        environment.emplace_back("OMPI_MCA_mpi_yield_when_idle", "1");
    }
    // A rank that has died can no longer be read from. And Open MPI 5.0 reads a message that is
    // longer than the receiver's buffer to its end, over whatever comes behind the buffer.
    if (purpose == Purpose::test || !single_copy_allowed()) {
        environment.emplace_back("OMPI_MCA_btl_vader_single_copy_mechanism", "none");  // 4
        environment.emplace_back("OMPI_MCA_smsc", "^cma,knem,xpmem");                  // 5
    }
    // which instructions LibTorch's kernels may use: so a machine computes as an older one would
    for (const char* name : {"ATEN_CPU_CAPABILITY", "DNNL_MAX_CPU_ISA", "ONEDNN_MAX_CPU_ISA"}) {
        if (const char* const value = std::getenv(name)) {
            environment.emplace_back(name, value);
        }
    }
    // Open MPI itself leaks at its end; and a report must end the program, or nobody looks
    environment.emplace_back("ASAN_OPTIONS", "detect_leaks=0:abort_on_error=1");
    environment.emplace_back("UBSAN_OPTIONS", "halt_on_error=1:abort_on_error=1");
    if (purpose == Purpose::test) {
        environment.emplace_back("OMPI_MCA_opal_signal", "");  // no stack traces: reports say where
    } else {
        // the program has said what is wrong: no page of mpirun's about its exit status
        environment.emplace_back("OMPI_MCA_orte_execute_quiet", "1");
        // a step of training asks for the same memory as the one before: what is given back to the
        // system would come again page by page
        if (std::getenv("GLIBC_TUNABLES") == nullptr) {
            environment.emplace_back(
                "GLIBC_TUNABLES",
                "glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=1073741824:"
                "glibc.malloc.trim_threshold=1073741824"
            );
        }
    }
    return environment;
}

}  // namespace dist::cli
