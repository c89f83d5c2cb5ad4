#include "tests/harness/mpi/groups.hpp"

#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>
#include <string>

#include "course/runtime/seeded.hpp"
#include "tests/harness/mpi/delays.hpp"
#include "tests/harness/roll_call/roll_call.hpp"

namespace dist::harness {
namespace {

std::mutex groups_lock;
std::map<MPI_Comm, Group> groups;

Group make_group(MPI_Comm comm, std::uint64_t identity) {
    MPI_Group members = MPI_GROUP_NULL;
    MPI_Group world = MPI_GROUP_NULL;
    int size = 0;
    PMPI_Comm_group(comm, &members);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_size(members, &size);
    Group group;
    group.members.resize(static_cast<std::size_t>(size));
    std::vector<int> ranks(group.members.size());
    std::iota(ranks.begin(), ranks.end(), 0);
    PMPI_Group_translate_ranks(members, size, ranks.data(), world, group.members.data());
    PMPI_Group_rank(members, &group.rank);
    PMPI_Group_free(&members);
    PMPI_Group_free(&world);
    group.id = seeded_bits(identity, 0);
    for (const int member : group.members) {
        group.id = seeded_bits(group.id, static_cast<std::uint64_t>(member));
    }
    return group;
}

Arrivals& arrivals_of(Slot& slot, std::uint64_t group) {
    for (Arrivals& arrivals : slot.arrivals) {
        std::uint64_t none = 0;
        if (arrivals.group == group || arrivals.group.compare_exchange_strong(none, group)) {
            return arrivals;
        }
    }
    throw std::runtime_error("collectives on too many communicators in one test");
}

// The other rank's arrivals, or nullptr while it has none on this communicator.
const Arrivals* find_arrivals(const Slot& slot, std::uint64_t group) {
    for (const Arrivals& arrivals : slot.arrivals) {
        if (arrivals.group == group) {
            return &arrivals;
        }
    }
    return nullptr;
}

void compare(const Group& group, const std::string& mine, long count, int other) {
    const Arrivals* theirs = find_arrivals(slot_of(other), group.id);
    if (theirs == nullptr || theirs->count < count || theirs->count > count + 1) {
        return;
    }
    const std::string signature = theirs->signature[count % 2];
    if (signature != mine) {
        const auto rank_here = [&](int world) {
            for (int r = 0; r < group.size(); ++r) {
                if (group.world_rank(r) == world) {
                    return std::to_string(r);
                }
            }
            return std::string("?");
        };
        stop_all(
            Stop::collectives_differ, "rank " + rank_here(world_rank()) + " is in " + mine +
                                          ", rank " + rank_here(other) + " is in " + signature
        );
        capture_frames(my_line().frames);
        leave_if_stopped();
    }
}

}  // namespace

const Group& group_of(MPI_Comm comm) {
    const std::scoped_lock guard(groups_lock);
    auto found = groups.find(comm);
    if (found == groups.end()) {
        found = groups.emplace(comm, make_group(comm, 0)).first;
    }
    return found->second;
}

void declare_group(MPI_Comm comm, std::uint64_t parent_id, std::uint64_t count) {
    if (comm != MPI_COMM_NULL) {
        const std::scoped_lock guard(groups_lock);
        groups[comm] = make_group(comm, seeded_bits(parent_id, count));
    }
}

void forget_group(MPI_Comm comm) {
    const std::scoped_lock guard(groups_lock);
    groups.erase(comm);
}

std::uint64_t arrive(MPI_Comm comm, const std::string& signature, bool wait) {
    leave_if_stopped();
    seeded_delay();
    const Group group = group_of(comm);
    Arrivals& mine = arrivals_of(my_slot(), group.id);
    const long count = mine.count + 1;
    std::snprintf(mine.signature[count % 2], sizeof mine.signature[0], "%s", signature.c_str());
    mine.count = count;
    moved();
    if (wait) {
        await_arrivals(comm, static_cast<std::uint64_t>(count), signature);
    } else {
        for (const int other : group.members) {
            compare(group, signature, count, other);
        }
    }
    return static_cast<std::uint64_t>(count);
}

void await_arrivals(MPI_Comm comm, std::uint64_t count, const std::string& signature) {
    const Group group = group_of(comm);
    const long number = static_cast<long>(count);
    Wait gate({.call = signature, .kind = CallKind::collective});
    for (const int other : group.members) {
        const Arrivals* theirs = nullptr;
        while ((theirs = find_arrivals(slot_of(other), group.id)) == nullptr ||
               theirs->count < number) {
            gate.poll();
        }
        compare(group, signature, number, other);
    }
}

void reset_arrivals() {
    for (Arrivals& arrivals : my_slot().arrivals) {
        arrivals.count = 0;
        arrivals.group = 0;
    }
}

}  // namespace dist::harness
