#include "tests/harness/words/attempt.hpp"

#include "course/protocol/counted.hpp"
#include "tests/harness/mpi/traffic.hpp"
#include "tests/harness/words/cost.hpp"

namespace dist::harness {

std::string text_of(const Attempt& attempt, const Call& call, const Communicator& comm) {
    std::string text = attempt.takes.op ? std::string(name(call.op)) + " of " : "";
    const std::size_t n =
        attempt.takes.blocks ? static_cast<std::size_t>(ceil_div(call.n, comm.size())) : call.n;
    text += attempt.takes.blocks ? counted(comm.size(), "block") + " of " : "";
    text += counted(n, "float");
    if (call.values == Values::negative || call.values == Values::positive) {
        text += call.values == Values::negative ? ", all negative" : ", all positive";
    }
    if (attempt.takes.root) {
        text += ", root " + std::to_string(call.root);
    }
    if (attempt.takes.segments) {
        text += ", " + counted(call.segments, "segment");
    }
    text += ", p = " + std::to_string(comm.size());
    return attempt.note ? text + "; " + attempt.note(call, comm) : text;
}

Traffic record(
    const Attempt& attempt, Buffers& buffers, const Call& call, const Communicator& comm
) {
    return record(comm, [&] {
        names_memory("data", buffers.data);
        names_memory("out", buffers.out);
        attempt.call(buffers, call, comm);
    });
}

Buffers contribution(const Call& call, const Communicator& comm) {
    return {
        call.values == Values::order_matters ? order_matters(call.n, comm.rank(), comm.size())
                                             : input(call.n, comm.rank(), call.salt, call.values)};
}

std::vector<float> reduction(const Call& call, int p) {
    return reduced_input(call.n, p, call.op, call.salt, call.values);
}

}  // namespace dist::harness
