// The harness's own test: one program for each state, from tests/harness/states/, takes the place
// of state(). Its neighbours in this file must keep their results whatever it does.

#include <array>
#include <csignal>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "tests/harness/channel.hpp"
#include "tests/harness/harness.hpp"
#include "tests/harness/processes/processes.hpp"
#include "tests/harness/states/state.hpp"

using namespace dist;
using namespace dist::harness;

namespace {

const Forbid kNone{{"MPI_Allreduce", "MPI_Comm_split_type"}, "This program may not call it."};

/// A transport of three ranks that are plain processes: a pair of sockets for each two of them, which tells the channel.
class Sockets {
  public:
    Sockets() {
        for (auto& [a, b] : std::array{std::pair(0, 1), std::pair(0, 2), std::pair(1, 2)}) {
            std::array<int, 2> pair{};
            socketpair(AF_UNIX, SOCK_STREAM, 0, pair.data());
            end_[a][b] = pair[0];
            end_[b][a] = pair[1];
        }
    }
    ~Sockets() { close_all(); }
    Sockets(const Sockets&) = delete;
    Sockets& operator=(const Sockets&) = delete;

    void close_all() {
        for (int r = 0; r < 3; ++r) {
            hang_up(r);
        }
    }

    /// Leaves open what rank r talks through.
    void be(int r) {
        for (int other = 0; other < 3; ++other) {
            if (other != r) {
                hang_up(other);
            }
        }
    }

    void send(int from, int to, int value) const {
        channel::sends({.peer = to, .bytes = sizeof value});
        const auto written = write(end_[from][to], &value, sizeof value);
        CHECK(written == sizeof value);
    }

    /// -1 where the other one has died.
    int receive(int at, int from) const {
        int value = -1;
        const int id = channel::awaits();
        if (read(end_[at][from], &value, sizeof value) != sizeof value) {
            return -1;
        }
        channel::receives({.peer = from, .bytes = sizeof value}, id);
        return value;
    }

  private:
    void hang_up(int r) {
        for (int& end : end_[r]) {
            if (end > 0) {
                close(end);
            }
            end = 0;
        }
    }

    std::array<std::array<int, 3>, 3> end_{};
};

}  // namespace

TEST_CASE("before: a test that passes") {
    on_ranks({1, 2, 3, 4}, [](const Communicator& comm) { CHECK(comm.size() > comm.rank()); });
}

TEST_CASE("the state under test") {
    on_ranks({4}, [](const Communicator& comm) {
        INFO("a world of " << comm.size() << " ranks");
        record(comm, [&] { state(comm); });
        CHECK(comm.size() == 4);
    });
}

TEST_CASE("after: a test that passes all the same") {
    on_ranks({2, 3, 4}, [](const Communicator& comm) {
        const int next = (comm.rank() + 1) % comm.size();
        const int prev = (comm.rank() - 1 + comm.size()) % comm.size();
        const auto out = static_cast<float>(comm.rank());
        float in = -1;
        const Traffic traffic = record(comm, [&] {
            MPI_CHECK(MPI_Sendrecv(
                &out, 1, MPI_FLOAT, next, 0, &in, 1, MPI_FLOAT, prev, 0, comm.handle(),
                MPI_STATUS_IGNORE
            ));
        });
        CHECK(in == static_cast<float>(prev));
        CHECK(traffic.rounds == 1);
        CHECK(traffic.bytes_sent == 4);
    });
}

TEST_CASE("after: ranks that are plain processes are counted, and one may die") {
    on_ranks({1}, [](const Communicator&) {
        Sockets sockets;
        // each rank sends around the ring; then rank 2 dies, and the others find out and go on
        const Processes run = on_processes(
            3,
            [&](int rank, int p) {
                sockets.be(rank);
                const int next = (rank + 1) % p;
                const int prev = (rank - 1 + p) % p;
                sockets.send(rank, next, rank);
                CHECK(sockets.receive(rank, prev) == prev);
                if (rank == 2) {
                    raise(SIGKILL);
                }
                CHECK(sockets.receive(rank, 2) == -1);
                sockets.send(rank, 1 - rank, 7);
                CHECK(sockets.receive(rank, 1 - rank) == 7);
            },
            {.die = {2}, .go_on_alone = [&] { sockets.close_all(); }}
        );
        CHECK(run.died == std::vector<std::string>{"", "", "killed by SIGKILL"});
        for (int rank = 0; rank < 3; ++rank) {
            const long messages = rank == 2 ? 1 : 2;
            CHECK(within(
                run, rank,
                {.messages_sent = exactly(messages),
                 .bytes_sent = exactly(4 * messages),
                 .messages_received = exactly(messages),
                 .rounds = exactly(2),
                 .sent_to = rank == 0   ? std::set{1}
                            : rank == 1 ? std::set{2, 0}
                                        : std::set{0}}
            ));
        }
        CHECK(run.messages.size() == 5);
        CHECK(run.messages.back().end == 2);
    });
}
