// mpirun -n RANKS trainer OPTIONS
#include <csignal>
#include <cstdio>
#include <string>

#include "course/parallel/stop.hpp"
#include "course/runtime/environment.hpp"
#include "course/runtime/error.hpp"
#include "course/runtime/last_words.hpp"
#include "course/trainer/options.hpp"
#include "course/trainer/other_runs.hpp"
#include "course/trainer/progress.hpp"
#include "course/trainer/train.hpp"

namespace {

using namespace dist::trainer;

/// SIGTERM and SIGCONT belong to the first thread (course/parallel/flight.cpp), and not to those that MPI starts.
void mask_signals(int how) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGCONT);
    pthread_sigmask(how, &signals, nullptr);
}

int run(int argc, char** argv, const dist::Communicator& comm) {
    const bool first = comm.rank() == 0;
    try {
        Options options;
        if (const auto help = parse_options(argc, argv, options)) {
            if (first) {
                std::fputs(help->c_str(), stdout);
            }
            return 0;
        }
        train(options, comm);
        return 0;
    } catch (const Stop& stop) {
        if (first) {
            const std::string text = "train: " + std::string(stop.what());
            std::fprintf(stderr, "%s\n", wrapped(text, columns_shown()).c_str());
        }
        return stop.status();
    } catch (const dist::NotImplemented& missing) {  // a stub: it throws on every rank
        if (first) {
            std::fprintf(
                stderr, "train: %s; write it, or train with --stack reference\n", missing.what()
            );
        }
        return 1;
    }
}

}  // namespace

int main(int argc, char** argv) {
    dist::tell_of_death();
    leave_world_if_replica(argc, argv);
    mask_signals(SIG_BLOCK);
    return dist::run_main(argc, argv, [&](const dist::Communicator& comm) {
        mask_signals(SIG_UNBLOCK);
        return run(argc, argv, comm);
    });
}
