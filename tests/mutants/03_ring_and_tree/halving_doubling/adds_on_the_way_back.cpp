// On the way back, too, it adds what comes in to what is there, which is in it already.
// state: fail
// says: FAIL  halving_doubling takes in every rank once
#include <bit>
#include <utility>

#include "course/runtime/buffer.hpp"
#include "exercises/01_point_to_point/isend_irecv.hpp"
#include "exercises/01_point_to_point/send_recv.hpp"
#include "exercises/03_ring_and_tree/halving_doubling.hpp"

namespace dist {

namespace {

void exchange(
    std::span<const float> out, std::span<float> in, int partner, const Communicator& comm
) {
    Request sent = isend(out, partner, comm);
    recv(in, partner, comm);
    sent.wait();
}

/// Reduces `part` over the 2d ranks that share it: those that differ from this one in the bit of d
/// and in the bits below it.
void reduce_part(std::span<float> part, int d, ReduceOp op, const Communicator& comm) {
    if (d == 0) {  // it is this rank's alone, and finished
        if (op == ReduceOp::mean) {
            scale(part, 1.0F / static_cast<float>(comm.size()));
        }
        return;
    }
    const int partner = comm.rank() ^ d;
    auto kept = part.first(part.size() / 2);
    auto given = part.subspan(part.size() / 2);
    if ((comm.rank() & d) != 0) {
        std::swap(kept, given);
    }
    Buffer incoming(kept.size());
    exchange(given, incoming.span(), partner, comm);
    accumulate(incoming.span(), kept, op);
    reduce_part(kept, d / 2, op, comm);
    Buffer finished(given.size());
    exchange(kept, finished.span(), partner, comm);
    accumulate(finished.span(), given, op);
}

}  // namespace

void halving_doubling_all_reduce(std::span<float> data, ReduceOp op, const Communicator& comm) {
    const int p = comm.size();
    const int r = comm.rank();
    const int halving = static_cast<int>(std::bit_floor(static_cast<unsigned>(p)));  // q
    if (r >= halving) {  // rank r - q works for this one, too
        send(data, r - halving, comm);
        recv(data, r - halving, comm);
        return;
    }
    const bool for_two = r + halving < p;
    if (for_two) {
        Buffer incoming(data.size());
        recv(incoming.span(), r + halving, comm);
        accumulate(incoming.span(), data, op);
    }
    reduce_part(data, halving / 2, op, comm);
    if (for_two) {
        send(data, r + halving, comm);
    }
}

}  // namespace dist
