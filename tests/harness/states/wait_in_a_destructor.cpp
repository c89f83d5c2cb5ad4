// A destructor waits for a message that never comes.
// state: hang
// says: MPI_Irecv(from rank
// says: pass  before: a test that passes
// says: pass  after: a test that passes all the same

#include "tests/harness/states/state.hpp"

namespace dist {
namespace {

class Request {
  public:
    Request(float* x, const Communicator& comm) {
        const int prev = (comm.rank() + comm.size() - 1) % comm.size();
        MPI_CHECK(MPI_Irecv(x, 1, MPI_FLOAT, prev, 0, comm.handle(), &request_));
    }
    ~Request() { MPI_Wait(&request_, MPI_STATUS_IGNORE); }
    Request(const Request&) = delete;
    Request& operator=(const Request&) = delete;

  private:
    MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace

void state(const Communicator& comm) {
    float x = 0;
    const Request request(&x, comm);
}

}  // namespace dist
