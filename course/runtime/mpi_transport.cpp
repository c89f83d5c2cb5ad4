#include "course/runtime/mpi_transport.hpp"

#include <limits>
#include <memory>

namespace dist {
namespace {

constexpr int kTags = 8;
constexpr std::uint32_t kGroups = 4096;

struct MpiPending : Pending {
    MPI_Request request = MPI_REQUEST_NULL;
    int tag = 0;  // the transport's
    bool is_receive = false;
};

MpiPending& mpi_part(const Request& request) {
    return static_cast<MpiPending&>(*request);
}

int mpi_tag(std::uint32_t group, int tag) {
    expects(group < kGroups, "MpiTransport: a group is at most 4095");
    expects(0 <= tag && tag < kTags, "MpiTransport: a tag is at least 0, and at most 7");
    return static_cast<int>(group) * kTags + tag;
}

int mpi_count(std::size_t bytes) {
    expects(
        bytes <= static_cast<std::size_t>(std::numeric_limits<int>::max()),
        "MpiTransport: a message has at most 2^31 - 1 bytes"
    );
    return static_cast<int>(bytes);
}

Arrival arrival_of(const MPI_Status& status, int tag) {
    int bytes = 0;
    MPI_CHECK(MPI_Get_count(&status, MPI_BYTE, &bytes));
    return {status.MPI_SOURCE, tag, static_cast<std::size_t>(bytes)};
}

void finish(MpiPending& pending, const MPI_Status& status) {
    pending.is_done = true;
    if (pending.is_receive) {
        pending.arrival = arrival_of(status, pending.tag);
    }
}

}  // namespace

Request MpiTransport::isend(
    std::span<const std::byte> data, int dst, std::uint32_t group, int tag
) {
    expects(0 <= dst && dst < size(), "isend: there is no such rank");
    auto pending = std::make_shared<MpiPending>();
    MPI_CHECK(MPI_Isend(
        data.data(), mpi_count(data.size()), MPI_BYTE, dst, mpi_tag(group, tag), comm_.handle(),
        &pending->request
    ));
    return pending;
}

Request MpiTransport::irecv(std::span<std::byte> data, int src, std::uint32_t group, int tag) {
    expects(0 <= src && src < size(), "irecv: there is no such rank");
    auto pending = std::make_shared<MpiPending>();
    pending->tag = tag;
    pending->is_receive = true;
    MPI_CHECK(MPI_Irecv(
        data.data(), mpi_count(data.size()), MPI_BYTE, src, mpi_tag(group, tag), comm_.handle(),
        &pending->request
    ));
    return pending;
}

Arrival MpiTransport::wait(const Request& request) {
    MpiPending& pending = mpi_part(request);
    if (!pending.is_done) {
        MPI_Status status;
        MPI_CHECK(MPI_Wait(&pending.request, &status));
        finish(pending, status);
    }
    return pending.arrival;
}

bool MpiTransport::test(const Request& request) {
    MpiPending& pending = mpi_part(request);
    if (!pending.is_done) {
        MPI_Status status;
        int done = 0;
        MPI_CHECK(MPI_Test(&pending.request, &done, &status));
        if (done != 0) {
            finish(pending, status);
        }
    }
    return pending.is_done;
}

Arrival MpiTransport::probe(int src, std::uint32_t group, int tag) {
    expects(0 <= src && src < size(), "probe: there is no such rank");
    MPI_Status status;
    MPI_CHECK(MPI_Probe(src, mpi_tag(group, tag), comm_.handle(), &status));
    return arrival_of(status, tag);
}

}  // namespace dist
