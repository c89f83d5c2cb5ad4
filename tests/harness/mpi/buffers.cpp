#include "tests/harness/mpi/buffers.hpp"

#include <cstdio>
#include <cstring>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "course/protocol/counted.hpp"
#include "tests/harness/job/allocations.hpp"
#include "tests/harness/mpi/allowed.hpp"
#include "tests/harness/roll_call/roll_call.hpp"

namespace dist::harness {
namespace {

// under the lock of pending()
std::string first_changed;
int changes = 0;

bool overlap(std::span<const std::byte> a, std::span<const std::byte> b) {
    const std::less<> before;
    return !a.empty() && !b.empty() && before(a.data(), b.data() + b.size()) &&
           before(b.data(), a.data() + a.size());
}

}  // namespace

bool is_contiguous(MPI_Datatype type) {
    int size = 0;
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    PMPI_Type_size(type, &size);
    PMPI_Type_get_extent(type, &lower, &extent);
    return lower == 0 && extent == size;
}

std::span<const std::byte> watched(const void* data, int n, MPI_Datatype type, const char* name) {
    if (!is_contiguous(type) || std::string_view(name) == "MPI_Sendrecv_replace") {
        return {};
    }
    int size = 0;
    PMPI_Type_size(type, &size);
    return {
        static_cast<const std::byte*>(data),
        static_cast<std::size_t>(n) * static_cast<std::size_t>(size)};
}

void note_overrun(std::span<const std::byte> buffer, const char* name) {
    const auto room = buffer.empty() ? std::nullopt : room_at(buffer.data());
    if (room && *room < buffer.size()) {
        std::snprintf(
            my_slot().overrun, sizeof my_slot().overrun,
            "%s was told of %s, and the buffer has %zu: is a count in bytes where elements are "
            "meant, or did a loop go one too far?",
            name, counted(static_cast<long>(buffer.size()), "byte").c_str(), *room
        );
    }
}

void refuse_overlap(const Pending& posted, const char* name) {
    for (const auto& [request, other] : pending().by_request) {
        if ((posted.is_send && other->is_send) || !overlap(posted.buffer, other->buffer)) {
            continue;
        }
        const bool one_call = std::string_view(name) == "MPI_Sendrecv";
        const std::string which = one_call ? "Its two buffers overlap: "
                                           : "Its buffer overlaps the one of " + other->text.call +
                                                 ", which has not been waited for: ";
        const bool both_in = !posted.is_send && !other->is_send;
        const std::string why = both_in ? "two messages would come into the same place"
                                        : "what comes in would overwrite what has not left yet";
        refuse(name, (which + why + ". MPI wants buffers that have no element in common.").c_str());
    }
}

void note_change(const Pending& sent) {
    const char* copy = sent.staging.get() + sizeof(Header);
    if (!sent.buffer.empty() && std::memcmp(sent.buffer.data(), copy, sent.buffer.size()) != 0) {
        first_changed = changes++ == 0 ? sent.text.call : first_changed;
    }
}

std::string changed_buffers() {
    const std::scoped_lock guard(pending().lock);
    const int others = std::exchange(changes, 0) - 1;
    if (others < 0) {
        return {};
    }
    return first_changed +
           ": its buffer was changed before the send was waited for; MPI may still be reading it" +
           (others == 0 ? "" : " (" + std::to_string(others) + " more like this)");
}

}  // namespace dist::harness
