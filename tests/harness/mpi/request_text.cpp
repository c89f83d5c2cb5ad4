// A call in the words of reports. Here alone, since the ranks of a simulation (tests/harness/simulated) have the same words.
#include <string_view>

#include "course/protocol/counted.hpp"
#include "tests/harness/mpi/groups.hpp"
#include "tests/harness/mpi/pending.hpp"

namespace dist::harness {

RequestText request_text(
    const char* name, bool is_send, int rank, int tag, int bytes, const Group& group
) {
    const bool from_anyone = !is_send && rank == MPI_ANY_SOURCE;
    const bool is_exchange = std::string_view(name).starts_with("MPI_Sendrecv");
    RequestText text;
    text.peer = from_anyone ? -1 : group.world_rank(rank);
    text.rank_in_comm = group.rank;
    text.peer_in_comm = from_anyone ? -1 : rank;
    text.tag = tag;
    text.kind = is_exchange ? CallKind::exchange : bytes < 0 ? CallKind::probe : CallKind::message;
    text.direction = is_send ? Direction::send : Direction::receive;
    const bool has_tag = std::string_view(name).starts_with("MPI_");
    const std::string tag_text = tag == MPI_ANY_TAG ? "any tag" : "tag " + std::to_string(tag);
    text.call = std::string(name) + (is_send ? "(to " : "(from ") +
                (from_anyone ? "any rank" : "rank " + std::to_string(rank)) +
                (has_tag ? ", " + tag_text : "") +
                (bytes < 0 ? "" : ", " + counted(bytes, "byte")) + ")";
    return text;
}

}  // namespace dist::harness
