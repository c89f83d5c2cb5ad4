#include "course/lab/gloo.hpp"

#include <chrono>
#include <gloo/allreduce.h>
#include <gloo/context.h>
#include <gloo/math.h>
#include <gloo/transport/context.h>
#include <gloo/transport/device.h>
#include <gloo/transport/tcp/device.h>
#include <memory>

#include <mpi.h>

#include "course/lab/gloo_thread.hpp"
#include "course/runtime/error.hpp"

namespace dist::lab {
namespace {

constexpr std::chrono::minutes kTimeout(10);  // a rank may have no core for long

std::shared_ptr<gloo::transport::Device> make_device() {
    gloo::transport::tcp::attr where("127.0.0.1");
    if (const char* const interface = std::getenv(kGlooInterface)) {
        where.hostname.clear();
        where.iface = interface;
    }
    const GloosThreads started_here;
    return gloo::transport::tcp::CreateDevice(where);
}

/// Gloo's name for a group whose ranks are connected in pairs. MPI brings each pair's addresses to each other.
class Mesh : public gloo::Context {
  public:
    explicit Mesh(const Communicator& comm) : gloo::Context(comm.rank(), comm.size()) {
        device_ = make_device();
        setTimeout(kTimeout);  // a Context comes without one
        transportContext_ = device_->createContext(rank, size);
        transportContext_->setTimeout(kTimeout);
        std::vector<std::vector<char>> addresses(static_cast<std::size_t>(size));
        for (int i = 0; i < size; ++i) {
            if (i != rank) {
                addresses[static_cast<std::size_t>(i)] =
                    transportContext_->createPair(i)->address().bytes();
            }
        }
        addresses = exchange(addresses, comm);
        for (int i = 0; i < size; ++i) {
            if (i != rank) {
                transportContext_->getPair(i)->connect(addresses[static_cast<std::size_t>(i)]);
            }
        }
    }

  private:
    /// Rank i gets what stands at place i here. All are of one length.
    static std::vector<std::vector<char>> exchange(
        const std::vector<std::vector<char>>& addresses, const Communicator& comm
    ) {
        const std::size_t length = std::max(addresses.front().size(), addresses.back().size());
        std::vector<char> out(length * addresses.size());
        for (std::size_t i = 0; i < addresses.size(); ++i) {
            std::ranges::copy(addresses[i], out.begin() + static_cast<long>(i * length));
        }
        std::vector<char> in(out.size());
        const int count = static_cast<int>(length);
        MPI_CHECK(
            MPI_Alltoall(out.data(), count, MPI_BYTE, in.data(), count, MPI_BYTE, comm.handle())
        );
        std::vector<std::vector<char>> others;
        for (auto at = in.begin(); at != in.end(); at += count) {
            others.emplace_back(at, at + count);
        }
        return others;
    }
};

using SharedMesh = std::shared_ptr<gloo::Context>;

int forget_mesh(MPI_Comm /*comm*/, int /*key*/, void* mesh, void* /*extra*/) {
    delete static_cast<SharedMesh*>(mesh);
    return MPI_SUCCESS;
}

/// The mesh of these ranks: made once, and kept with their communicator as one of MPI's attributes.
SharedMesh mesh_of(const Communicator& comm) {
    static const int key = [] {
        int made = MPI_KEYVAL_INVALID;
        MPI_CHECK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget_mesh, &made, nullptr));
        return made;
    }();
    void* kept = nullptr;
    int found = 0;
    MPI_CHECK(MPI_Comm_get_attr(comm.handle(), key, static_cast<void*>(&kept), &found));
    if (found == 0) {
        kept = new SharedMesh(std::make_shared<Mesh>(comm));
        MPI_CHECK(MPI_Comm_set_attr(comm.handle(), key, kept));
    }
    return *static_cast<SharedMesh*>(kept);
}

void over_gloo(const Call& call) {
    gloo::AllreduceOptions options(mesh_of(call.comm));
    options.setOutput(call.data.data(), call.data.size());
    options.setReduceFunction([](void* out, const void* a, const void* b, std::size_t n) {
        gloo::sum<float>(out, a, b, n);
    });
    gloo::allreduce(options);
}

}  // namespace

Run gloo_all_reduce() {
    return over_gloo;
}

}  // namespace dist::lab
