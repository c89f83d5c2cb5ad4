#include "course/trainer/timeout.hpp"

#include <array>
#include <cstdio>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

#include <mpi.h>

#include "course/parallel/flight.hpp"
#include "course/runtime/clock.hpp"
#include "course/runtime/error.hpp"
#include "course/runtime/patient_calls.hpp"

namespace dist::trainer {

namespace {

// A window of MPI's is freed by all ranks together: one that throws alone would wait for the others.
std::span<std::atomic<double>> share_memory(const Communicator& comm) {
    const auto ranks = static_cast<std::size_t>(comm.size());
    const std::size_t bytes = ranks * sizeof(std::atomic<double>);
    std::array<char, 64> name{};
    ("/shardlings." + std::to_string(getpid())).copy(name.data(), name.size() - 1);
    MPI_CHECK(MPI_Bcast(name.data(), name.size(), MPI_CHAR, 0, comm.handle()));

    const int file = shm_open(name.data(), O_CREAT | O_RDWR, S_IRUSR | S_IWUSR);
    const bool made = file >= 0 && ftruncate(file, static_cast<off_t>(bytes)) == 0;
    void* const memory =
        made ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
    close(file);
    MPI_CHECK(MPI_Barrier(comm.handle()));
    shm_unlink(name.data());  // whoever is first
    if (memory == MAP_FAILED) {
        throw Error("no shared memory for the ranks: is /dev/shm full?");
    }
    return {static_cast<std::atomic<double>*>(memory), ranks};
}

}  // namespace

Timeout::Timeout(double limit_s, const Communicator& comm)
    : limit_s_(limit_s), comm_(comm), waits_until_(share_memory(comm)) {
    on_long_wait([this](double waited_s) { look(waited_s); });
}

Timeout::~Timeout() {
    on_long_wait([](double) {});
    munmap(waits_until_.data(), waits_until_.size_bytes());
}

void Timeout::look(double waited_s) const {
    const double now = now_s();
    const auto me = static_cast<std::size_t>(comm_.rank());
    waits_until_[me] = now;
    if (waited_s < limit_s_) {
        return;
    }
    std::string late;
    std::size_t speaker = waits_until_.size();
    for (std::size_t rank = waits_until_.size(); rank-- > 0;) {
        if (now - waits_until_[rank] > limit_s_ / 2) {
            late.insert(0, std::to_string(rank) + (late.empty() ? "" : ", "));
        } else {
            speaker = rank;
        }
    }
    if (speaker != me) {
        return;  // one is enough to say it
    }
    const std::string who =
        late.empty() ? "all ranks wait for each other" : "rank " + late + " stopped, or too slow";
    std::fprintf(
        stderr, "train: %s: rank %zu has waited for %.0f s (--timeout)\n", who.c_str(), me, waited_s
    );
    write_flight_record();
    MPI_Abort(comm_.handle(), 1);
}

}  // namespace dist::trainer
