// Right: a test makes a call that Forbid names; and a message that went through another
// communicator is recorded by the ranks of the one that record() was given.
// state: pass

#include "tests/harness/harness.hpp"
#include "tests/harness/states/state.hpp"

namespace dist {
namespace {

Communicator forbidden_to_answers(const Communicator& comm) {
    const harness::Permit the_tests_own;
    MPI_Comm made = MPI_COMM_NULL;
    MPI_CHECK(MPI_Comm_split_type(comm.handle(), MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made));
    const Communicator all = Communicator::borrow(made);
    Communicator turned = all.split(0, -all.rank());
    MPI_CHECK(MPI_Comm_free(&made));
    return turned;
}

}  // namespace

void state(const Communicator& comm) {
    const Communicator turned = forbidden_to_answers(comm);
    float number = 0;
    harness::record(comm, [&] {
        if (turned.rank() == 0) {
            MPI_CHECK(MPI_Send(&number, 1, MPI_FLOAT, 1, 5, turned.handle()));
        } else if (turned.rank() == 1) {
            MPI_CHECK(MPI_Recv(&number, 1, MPI_FLOAT, 0, 5, turned.handle(), MPI_STATUS_IGNORE));
        }
    });
    const auto messages = harness::recorded_messages(comm);
    const int last = comm.size() - 1;
    if (messages.size() != 1 || messages[0].src != last || messages[0].dst != last - 1) {
        throw Error("the message went from the last rank to the one before it");
    }
}

}  // namespace dist
